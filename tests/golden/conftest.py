"""The script that makes the golden files needs TensorFlow, and is no test."""

collect_ignore = ["make_golden.py"]
