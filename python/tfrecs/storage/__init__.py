"""Where files are: paths, patterns, folders.

Uses `_internal`, `errors` and the native module.
"""
