"""Stages that the native side runs: records and batches in any order, filtered, in buckets.

Uses `plan`, `stages` and `collate`.
"""
