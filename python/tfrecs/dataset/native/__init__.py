"""What the native side runs of a plan: batches, filtered and bucketed ones, parsed.

Uses `plan`, `run` and `sources`.
"""
