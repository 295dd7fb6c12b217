"""Pipelines from files to batches."""

from tfrecs.dataset.batched_features import make_batched_features_dataset
from tfrecs.dataset.dataset import Dataset
from tfrecs.dataset.iterator import DatasetIterator

__all__ = ["Dataset", "DatasetIterator", "make_batched_features_dataset"]
