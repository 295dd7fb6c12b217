"""`tf.data.experimental`: one call from files to batches, and what was called so once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from tfrecs import dataset as ours
from tfrecs.dataset.plan.node import Node
from tfrecs.dataset.sources.files import Files
from tfrecs.errors import SpecError
from tfrecs.tf.data.dataset import AUTOTUNE, Dataset, checked_dataset
from tfrecs.tf.data.files import TFRecordDataset
from tfrecs.tf.functions.suggestions import no_such
from tfrecs.tf.tensor.conversion import integer
from tfrecs.tf.tensor.values import Tensor, tensor, unwrapped

__all__ = ["AUTOTUNE", "cardinality", "make_batched_features_dataset", "shuffle_and_repeat"]


def make_batched_features_dataset(
    file_pattern: Any,
    batch_size: int,
    features: Any,
    reader: Any = TFRecordDataset,
    label_key: str | None = None,
    reader_args: Sequence[Any] | None = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: int | None = None,
    reader_num_threads: int | None = None,
    parser_num_threads: int | None = None,
    sloppy_ordering: bool = False,
    drop_final_batch: bool = False,
) -> Dataset:
    """Return a dataset of batches of features: tfrecs.make_batched_features_dataset.

    `reader` is a class or a function of names of files that returns a dataset of their records.
    """
    made = ours.make_batched_features_dataset(
        unwrapped(file_pattern),
        integer(batch_size, "batch_size"),
        unwrapped(features),
        _reader(reader),
        label_key,
        reader_args,
        num_epochs,
        shuffle,
        shuffle_buffer_size,
        shuffle_seed,
        prefetch_buffer_size,
        reader_num_threads,
        parser_num_threads,
        sloppy_ordering,
        drop_final_batch,
    )
    return Dataset.of(made)


def _reader(reader: Any) -> Callable[..., ours.Dataset]:
    """Return what opens files, each with its name alone, as TensorFlow calls a reader."""

    def opened(files: list[str], *args: Any) -> ours.Dataset:
        plans = [_plan_of(reader(tensor(file), *args)) for file in files]
        together = _together([plan.node for plan in plans])
        if together is not None:
            return ours.Dataset.of(together)
        first, *others = plans
        return first.concatenate(*others) if others else first

    return opened if reader is not None else _reader(TFRecordDataset)


def _plan_of(made: Any) -> ours.Dataset:
    if not isinstance(made, Dataset):
        raise SpecError(f"reader must return a dataset of records, not {type(made).__name__}")
    return made.plan


def _together(nodes: list[Node]) -> Files | None:
    """Return files that are all read alike as one source, which is read natively."""
    files = [node for node in nodes if isinstance(node, Files)]
    if len(files) < len(nodes) or len({(node.reading, node.parses) for node in files}) > 1:
        return None
    return replace(files[0], paths=tuple([path for node in files for path in node.paths]))


def cardinality(dataset: Dataset) -> Tensor:
    """Return how many elements a dataset has, as Dataset.cardinality."""
    return checked_dataset(dataset).cardinality()


def shuffle_and_repeat(
    buffer_size: int, count: int | None = None, seed: int | None = None
) -> Callable[[Dataset], Dataset]:
    """Return what shuffles and repeats a dataset: for Dataset.apply."""
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


def __getattr__(name: str) -> Any:
    raise no_such("tf.data.experimental", name, __all__)
