"""What runs of a step: the stage that gives its elements, its state, its threads and its meters.

Knows nothing of plans. Uses `_internal`, `tensors` and `errors`.
"""
