"""Pipelines from files to batches."""

from tfrecs.dataset.dataset import Dataset
from tfrecs.dataset.run.iterator import DatasetIterator
from tfrecs.dataset.run.timings import DatasetTimings
from tfrecs.dataset.tf_compat import make_batched_features_dataset

__all__ = ["Dataset", "DatasetIterator", "DatasetTimings", "make_batched_features_dataset"]
