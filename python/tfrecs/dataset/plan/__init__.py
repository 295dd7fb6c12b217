"""What a dataset is, as data: nodes with their inputs, and which records they read in which order.

A node says what it does to elements (`Traits`) and what the native side can make of it
(`native_form`); `run/start.py` decides who runs it. Uses `stages`, `collate`, `parsing`, `records`.
"""
