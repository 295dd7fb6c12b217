"""Elements side by side: functions that make batches of elements, and take rows of batches.

Knows nothing of plans. Uses `tensors`, `records` and `expressions`.
"""
