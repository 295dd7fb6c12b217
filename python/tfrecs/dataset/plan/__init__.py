"""What a dataset is: nodes with their inputs, what they read and in which order, and their states.

Nothing here runs. Uses `parsing`, `records` and `_internal`.
"""
