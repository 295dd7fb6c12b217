"""How a plan runs: who runs each step, the iterator, and what is measured of a pass.

Uses `native`, `plan` and `stages`.
"""
