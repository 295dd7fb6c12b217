"""The transforms, one a file: a step of a plan, and the stage that runs it in Python.

`one_by_one` and `multi_source` are bases of several. Uses `run`, `plan`, `stages` and `collate`.
"""
