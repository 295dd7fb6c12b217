"""`tf.data`: datasets of records, lines, and arrays, over the plans of tfrecs.Dataset."""

from typing import Any

from tfrecs.tf.data import experimental
from tfrecs.tf.data.dataset import AUTOTUNE, Dataset, Options, checked_dataset
from tfrecs.tf.data.files import FixedLengthRecordDataset, TextLineDataset, TFRecordDataset
from tfrecs.tf.data.iterators import DatasetIterator, GraphIterator
from tfrecs.tf.functions.suggestions import no_such

INFINITE_CARDINALITY = -1
UNKNOWN_CARDINALITY = -2
Iterator = DatasetIterator

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "Dataset",
    "FixedLengthRecordDataset",
    "Iterator",
    "Options",
    "TFRecordDataset",
    "TextLineDataset",
    "experimental",
    "make_initializable_iterator",
    "make_one_shot_iterator",
]


def make_one_shot_iterator(dataset: Dataset) -> GraphIterator:
    """Begin a pass, in code for graphs: `tf.compat.v1.data.make_one_shot_iterator`."""
    return checked_dataset(dataset).make_one_shot_iterator()


def make_initializable_iterator(dataset: Dataset, shared_name: str | None = None) -> GraphIterator:
    """Begin a pass, which its `initializer` begins again."""
    return checked_dataset(dataset).make_initializable_iterator(shared_name)


def __getattr__(name: str) -> Any:
    raise no_such("tf.data", name, __all__)
