"""What comes out of many records at once: columns, and batches of named columns.

Uses `tensors` and `features`.
"""
