"""Pipelines from files to batches."""

from tfrecs.dataset.batched_features import make_batched_features_dataset
from tfrecs.dataset.dataset import Dataset
from tfrecs.dataset.iterator import DatasetIterator
from tfrecs.dataset.stats import DatasetStats

__all__ = ["Dataset", "DatasetIterator", "DatasetStats", "make_batched_features_dataset"]
