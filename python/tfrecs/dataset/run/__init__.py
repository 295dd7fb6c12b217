"""How a plan runs: stages, iterators, worker threads, and what is measured of them.

Uses `plan`.
"""
