"""The transforms, one a file, over a few modules that several share (collate, fill, nest, rows).

Uses `plan`, `run`, `sources` and `native`.
"""
