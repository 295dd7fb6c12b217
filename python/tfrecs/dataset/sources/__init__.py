"""Where elements come from: files of records, records in memory, text and other files.

Uses `plan`, `native` and `stages`.
"""
