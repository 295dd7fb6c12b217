"""Whose elements are whose: ranks, workers, loaders, and what elements become for other libraries.

Uses every other room of `dataset`.
"""
