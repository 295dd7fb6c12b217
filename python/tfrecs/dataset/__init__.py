"""Pipelines from files to batches."""

from tfrecs.dataset.dataset import Dataset

__all__ = ["Dataset"]
