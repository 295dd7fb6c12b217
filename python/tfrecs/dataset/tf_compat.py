"""make_batched_features_dataset(): TensorFlow's one call from files to batches to train on."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from tfrecs._internal.checks import checked_threads
from tfrecs.dataset.dataset import Dataset
from tfrecs.dataset.plan.kind import parsed_where_read
from tfrecs.dataset.plan.node import Node, Traits
from tfrecs.dataset.plan.source import roots_of
from tfrecs.dataset.plan.spec import Spec
from tfrecs.dataset.transforms.one_by_one import OneByOne
from tfrecs.errors import MissingFileError, SpecError
from tfrecs.features import Features
from tfrecs.records.reader import RecordReader, Records
from tfrecs.storage.paths import Path, Paths, expand_paths

Reader: TypeAlias = Callable[..., Dataset] | type[RecordReader] | None


def make_batched_features_dataset(
    file_pattern: Paths,
    batch_size: int,
    features: Features,
    reader: Reader = None,
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
    """Return a dataset of batches of features, as tf.data.experimental's function of that name.

    Records are read file by file, shuffled in a buffer, repeated, put into batches, which continue
    across the ends of epochs, and parsed: all of it natively. It is a plan like any other
    (Dataset): further steps can be added, and its iterators have states.

    Args:
        file_pattern: A path, a pattern, or several of them. What they match is sorted as one list;
            one of several may match nothing.
        batch_size: How many records a batch has.
        features: What to parse, as for parse_example.
        reader: How to open the files. None, or RecordReader, is TFRecord files, whose compression
            their first bytes tell; else a function that returns a Dataset of records:
            `lambda files: tfrecs.Dataset(files, on_corrupt="skip")`.
        label_key: The feature that is the label; the elements are then pairs.
        reader_args: What `reader` gets beside the list of files; without one, the first of them
            is the compression type.
        num_epochs: How often to go over all files; None and negative numbers are without end.
        shuffle: Whether to shuffle, anew in each epoch.
        shuffle_buffer_size: How many records are shuffled at a time. `Dataset.shuffle()` without a
            buffer shuffles all of them, and takes no memory for it.
        shuffle_seed: Which orders; None draws one, so that each call has others.
        prefetch_buffer_size: How many batches to make ahead, if Python reads or parses; what is
            native is ahead anyway. None is one.
        reader_num_threads: How many threads read (at most 1,024); None is one for each core. The
            order of records does not depend on it.
        parser_num_threads: How many threads parse (at most 1,024): the same ones, and the larger
            number counts.
        sloppy_ordering: Taken for compatibility: the order is always the same one.
        drop_final_batch: Whether to leave out a last batch that has fewer records.

    Returns:
        A Dataset of Batches; with `label_key`, of pairs of a dict of the other features and the
        label.

    Raises:
        FileError: Nothing matches.
        SpecError: Something is wrong with the arguments, for example no feature is called
            `label_key`.

    Example:
        >>> import tfrecs
        >>> with tfrecs.RecordWriter("houses.tfrecord") as out:
        ...     for n in range(6):
        ...         out.write(tfrecs.encode_example({"rooms": n, "price": 100.0 * n}))
        >>> features = {
        ...     "rooms": tfrecs.FixedLenFeature([], "int64"),
        ...     "price": tfrecs.FixedLenFeature([], "float32"),
        ... }
        >>> ds = tfrecs.make_batched_features_dataset(
        ...     "houses*", 4, features, label_key="price", num_epochs=1, shuffle=False
        ... )
        >>> for inputs, price in ds:
        ...     print(inputs["rooms"], price)
        [0 1 2 3] [  0. 100. 200. 300.]
        [4 5] [400. 500.]
    """
    del sloppy_ordering  # what may come in any order comes in order
    spec = _spec(features, label_key)
    ahead = _ahead(prefetch_buffer_size)
    threads = _threads(reader_num_threads, parser_num_threads)
    node = _opened(_matching(file_pattern), reader, reader_args or (), threads)
    native = None if node.order() is None else parsed_where_read(node, spec)
    ds = Dataset.of(node if native is None else native)
    if shuffle:
        seed = secrets.randbits(32) if shuffle_seed is None else shuffle_seed
        ds = ds.shuffle(seed, shuffle_buffer_size)
    ds = ds.repeat(num_epochs).batch(batch_size, drop_final_batch)
    if native is None:
        ds = Dataset.of(_ParseBatches(ds.node, spec))
        ds = ds.prefetch(ahead) if ahead else ds
    return ds if label_key is None else Dataset.of(_Labelled(ds.node, label_key))


def _spec(features: Features, label_key: str | None) -> Spec:
    """Return what to parse."""
    given: Any = features
    if not isinstance(given, Mapping) or not given:
        raise SpecError(f"features must say what to parse, not {given!r}")
    if label_key is not None and label_key not in features:
        raise SpecError(
            f"label_key must be one of the features, {', '.join(map(repr, features))}, "
            f"not {label_key!r}"
        )
    return Spec(features)


def _ahead(prefetch_buffer_size: int | None) -> int:
    given: Any = prefetch_buffer_size
    if given in (None, -1):  # -1 is tf.data.AUTOTUNE
        return 1
    if isinstance(given, bool) or not isinstance(given, int) or given < 0:
        raise SpecError(f"prefetch_buffer_size must be a number of batches, not {given!r}")
    return given


def _threads(*given: int | None) -> int | None:
    # All are checked, though only the largest counts.
    return max((checked_threads(one) for one in given if one is not None), default=None)


def _matching(file_pattern: Paths) -> list[str]:
    """Return all files that the patterns match, in order, as one list.

    Raises:
        MissingFileError: There is none.
    """
    given: Any = file_pattern
    given = [given] if isinstance(given, str | bytes | os.PathLike) else list(given)
    files = sorted(file for pattern in given for file in _matches(pattern))
    if not files:
        raise MissingFileError(f"no file matches {', '.join(map(str, given)) or 'no pattern'}")
    return files


def _matches(pattern: Path) -> list[str]:
    try:
        return [file for file in expand_paths(pattern) if os.path.lexists(file)]
    except MissingFileError:
        return []


def _opened(
    files: list[str], reader: Reader, reader_args: Sequence[Any], threads: int | None
) -> Node:
    """Return the plan that reads records of the files."""
    if reader is None or (isinstance(reader, type) and issubclass(reader, RecordReader)):
        compression = reader_args[0] if reader_args else "auto"
        return Dataset(files, compression_type=compression, num_threads=threads).node
    function: Any = reader
    made = function(files, *reader_args)
    if not isinstance(made, Dataset):
        raise SpecError(f"reader must return a Dataset of records, not {type(made).__name__}")
    if any(source.parses for source in roots_of(made.node)):
        raise SpecError("reader must return a Dataset of records, and this one parses them")
    order = made.node.order()
    if order is not None and order.keyed:
        raise SpecError("reader must return a Dataset of records, and this one has keys")
    return made.node


@dataclass(frozen=True, eq=False)
class _ParseBatches(
    OneByOne,
    traits=Traits(keeps_kind=False, gives_batches=None, pads=False, divisible=True),
):
    """What is parsed of batches of records that Python has made."""

    spec: Spec

    def describe(self) -> str:
        """Return what is parsed."""
        return "\n".join(["  parse_example", *(f"    {line}" for line in self.spec.lines()[1:])])

    def make(self, element: Any) -> Any:
        """Return a batch of features."""
        if not isinstance(element, Records):
            raise SpecError(f"reader gives no records: a batch is {type(element).__name__}")
        return self.spec.parsed(element)


@dataclass(frozen=True, eq=False)
class _Labelled(
    OneByOne,
    traits=Traits(keeps_kind=False, gives_batches=None, pads=False, divisible=True),
):
    """Batches as pairs of the other features and the label."""

    label_key: str

    def describe(self) -> str:
        """Return which feature it is."""
        return f"  label_key={self.label_key!r}"

    def make(self, element: Any) -> Any:
        """Return the pair."""
        features = dict(element)
        label = features.pop(self.label_key)
        return features, label
