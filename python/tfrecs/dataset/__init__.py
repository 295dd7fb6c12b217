"""Pipelines from files to batches."""

from tfrecs.dataset.dataset import Dataset
from tfrecs.dataset.iterator import DatasetIterator

__all__ = ["Dataset", "DatasetIterator"]
