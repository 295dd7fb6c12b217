"""Files → batches, on all cores."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, Self

from tfrecs import _core
from tfrecs.dataset.parsed import ParsedBatch, parsed_batch, parsed_sequences
from tfrecs.dataset.skipping import Losses, Skipping, checked_choice
from tfrecs.errors import SpecError
from tfrecs.features import Features
from tfrecs.limits import checked_limits, checked_threads
from tfrecs.parsing import parse_single_example, parse_single_sequence_example
from tfrecs.parsing.assembly import Recipes
from tfrecs.parsing.plan import Plan, plan_context, plan_examples, plan_lists
from tfrecs.paths import Paths, expand_paths
from tfrecs.salvage import SkippedRegion

# What is read at once for a dataset that is iterated record by record: records, or bytes.
_AHEAD = 256
_AHEAD_BYTES = 1 << 20


class _Plans:
    """What to parse: features of Examples, or of contexts, and feature lists."""

    def __init__(self, features: Plan, lists: Plan | None = None) -> None:
        """Keep what is the same for every batch."""
        self.features = Recipes(features)
        self.lists = None if lists is None else Recipes(lists)

    def columns(self) -> tuple[Any, Any]:
        """Return the columns as the native side takes them."""
        lists = None if self.lists is None else tuple(self.lists.plan.columns)
        return tuple(self.features.plan.columns), lists


class Dataset:
    """The records of TFRecord files, parsed or not, in batches or one by one.

    A dataset only describes what to read; iterating reads. Files are read one behind the other, and
    batches come in order; reading, checking, decompressing and decoding run on several threads,
    which begin with an iterator and end with it. A pass that is left early leaves nothing behind.

    Args:
        paths: A path, a pattern (`*`, `?`, `[…]`, `**`), or several of them, in order.
        features: What to parse of `tf.train.Example` records, as for parse_example; None gives the
            records themselves.
        context_features: What to parse of the contexts of SequenceExamples, as for
            parse_sequence_example.
        sequence_features: What to parse of their feature lists.
        compression_type: As for RecordReader.
        verify: Whether to check the checksum of each record's data.
        max_record_bytes, max_decompressed_bytes: As for RecordReader. A batch of `n` records may
            take `n` times as much; lower them for files that somebody else made.
        num_threads: How many threads read and parse; None is one for each core.
        on_corrupt: What to do about damage: "raise", or "skip" what it touched and go on, as
            salvage() does (which always checks the data). Files must then be regular ones.
        on_skip: Called with a file's path and a SkippedRegion for each region that is skipped, in
            order, at the latest before the next batch is returned.

    Raises:
        FileError: No file matches a pattern. What is wrong with a file is raised by iterating.
        SpecError: Something is wrong with the features.

    Example:
        >>> import tfrecs
        >>> with tfrecs.RecordWriter("ages.tfrecord") as out:
        ...     out.write_batch([tfrecs.encode_example({"age": n}) for n in range(5)])
        >>> ds = tfrecs.Dataset("ages.tfrecord", {"age": tfrecs.FixedLenFeature([], "int64")})
        >>> for batch in ds.batch(3):
        ...     print(batch["age"])
        [0 1 2]
        [3 4]
    """

    def __init__(
        self,
        paths: Paths,
        features: Features | None = None,
        *,
        context_features: Features | None = None,
        sequence_features: Features | None = None,
        compression_type: str | None = "auto",
        verify: bool = True,
        num_threads: int | None = None,
        on_corrupt: str = "raise",
        on_skip: Callable[[str, SkippedRegion], object] | None = None,
        max_record_bytes: int | None = None,
        max_decompressed_bytes: int | None = None,
    ) -> None:
        """Describe what to read."""
        self._paths = expand_paths(paths)
        self._features = features
        self._context_features = context_features
        self._sequence_features = sequence_features
        self._plans = _plans(features, context_features, sequence_features)
        self._compression_type = compression_type or ""
        self._verify = bool(verify)
        self._limits = checked_limits(max_record_bytes, max_decompressed_bytes)
        self._num_threads = checked_threads(num_threads)
        self._on_corrupt = checked_choice(on_corrupt, on_skip)
        self._on_skip = on_skip
        self._losses = Losses()
        self._batch: _BatchSize | None = None

    @property
    def losses(self) -> Losses:
        """What the pass that began last has skipped so far, if `on_corrupt` is "skip".

        Example:
            >>> import tfrecs
            >>> with tfrecs.RecordWriter("sound.tfrecord") as out:
            ...     out.write(b"a")
            >>> ds = tfrecs.Dataset("sound.tfrecord", on_corrupt="skip")
            >>> list(ds), ds.losses.regions, ds.losses.nbytes
            ([b'a'], 0, 0)
        """
        return self._losses

    def batch(self, n: int, drop_remainder: bool = False) -> Self:
        """Return a dataset of batches of `n` records.

        Args:
            n: How many records a batch has. Batches go on across the ends of files.
            drop_remainder: Whether to leave out the last batch if it has fewer.

        Returns:
            A dataset whose elements are, without features, Records; with features, Batches of what
            parse_example makes of them; with those of SequenceExamples, tuples of a Batch of the
            context, a Batch of the feature lists, and a dict of the lengths of those that are
            padded, as parse_sequence_example returns them.

        Raises:
            SpecError: `n` is no positive integer, or the dataset has batches already.

        Example:
            >>> import tfrecs
            >>> with tfrecs.RecordWriter("letters.tfrecord") as out:
            ...     out.write_batch([b"a", b"b", b"c"])
            >>> [batch.tolist() for batch in tfrecs.Dataset("letters.tfrecord").batch(2)]
            [[b'a', b'b'], [b'c']]
        """
        if self._batch is not None:
            raise SpecError(f"this dataset has batches of {self._batch.size} already")
        if isinstance(n, bool) or not hasattr(n, "__index__") or n < 1:
            raise SpecError(f"a batch has a positive number of records, not {n!r}")
        batched = object.__new__(type(self))
        batched.__dict__.update(self.__dict__)
        batched._batch = _BatchSize(n.__index__(), bool(drop_remainder))
        return batched

    def __iter__(self) -> Iterator[Any]:
        """Read from the beginning.

        Raises:
            Error: What is wrong with a file or a record, with its path, number and offset. Nothing
                comes behind it.
        """
        if self._batch is None:
            return self._one_by_one()
        return self._batches(self._batch)

    def _batches(self, batch: "_BatchSize") -> Iterator[Any]:
        scan = self._scan(batch, self._plans)
        return scan if self._plans is None else _Parsed(scan, self._plans)

    def _scan(self, batch: "_BatchSize", plans: _Plans | None) -> _core.Scan | Skipping:
        features, lists = (None, None) if plans is None else plans.columns()
        skips = self._on_corrupt == "skip"
        scan = _core.Scan(
            self._paths,
            batch.size,
            batch.drop_remainder,
            self._num_threads,
            self._compression_type,
            self._verify,
            self._limits,
            batch.most_bytes,
            features,
            lists,
            skips,
        )
        if not skips:
            return scan
        self._losses.clear()
        return Skipping(scan, self._losses, self._on_skip)

    def _one_by_one(self) -> Iterator[Any]:
        records: Iterator[bytes] = chain.from_iterable(
            self._scan(_BatchSize(_AHEAD, most_bytes=_AHEAD_BYTES), None)
        )
        if self._plans is None:
            return records
        if self._features is not None:
            features = self._features
            return (parse_single_example(record, features) for record in records)
        context, lists = self._context_features, self._sequence_features
        return (parse_single_sequence_example(record, context, lists) for record in records)

    def __repr__(self) -> str:
        """Show what is read and what is made of it, a step a line."""
        files = repr(self._paths[0]) if len(self._paths) == 1 else f"{len(self._paths)} files"
        lines = [f"Dataset({files})"]
        for name in ("features", "context_features", "sequence_features"):
            features = getattr(self, f"_{name}")
            if features is not None:
                lines += [f"  {name}:", *(f"    {key}: {one}" for key, one in features.items())]
        if self._batch is not None:
            rest = ", drop_remainder=True" if self._batch.drop_remainder else ""
            lines.append(f"  .batch({self._batch.size}{rest})")
        return "\n".join(lines)


@dataclass(frozen=True)
class _BatchSize:
    size: int
    drop_remainder: bool = False
    most_bytes: int | None = None


class _Parsed(Iterator[Any]):
    """Batches of what is made of decoded columns."""

    def __init__(self, scan: _core.Scan | Skipping, plans: _Plans) -> None:
        """Iterate over the batches of `scan`."""
        self._scan = scan
        self._plans = plans

    def __next__(self) -> ParsedBatch | tuple[Any, ...]:
        """Return the next batch."""
        decoded = next(self._scan)
        try:
            if self._plans.lists is None:
                return parsed_batch(decoded, self._plans.features)
            return parsed_sequences(decoded, self._plans.features, self._plans.lists)
        except BaseException:
            self._scan.close()
            raise


def _plans(
    features: Features | None, context: Features | None, lists: Features | None
) -> _Plans | None:
    of_sequences = context is not None or lists is not None
    if features is not None and of_sequences:
        raise SpecError(
            "features are those of Examples, context_features and sequence_features those of "
            "SequenceExamples: a file holds one of the two"
        )
    if of_sequences:
        return _Plans(plan_context(context), plan_lists(lists))
    return None if features is None else _Plans(plan_examples(features))
