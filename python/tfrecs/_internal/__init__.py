"""What every room needs, and nobody outside: checks of arguments, optional imports, logging.

Uses `errors` and the native module only.
"""
