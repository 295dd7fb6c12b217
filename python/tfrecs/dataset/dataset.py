"""Files → batches, on all cores, in any order, and on from where it stopped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

from tfrecs._internal.checks import (
    UNREACHED,
    checked_compression,
    checked_limit,
    checked_limits,
    checked_threads,
)
from tfrecs._internal.optional import integration
from tfrecs.dataset.exports import Exports
from tfrecs.dataset.methods import Transforms
from tfrecs.dataset.plan.losses import Losses
from tfrecs.dataset.plan.node import Node
from tfrecs.dataset.plan.source import roots_of
from tfrecs.dataset.plan.spec import Spec
from tfrecs.dataset.run.iterator import DatasetIterator
from tfrecs.dataset.run.pass_log import PassLog
from tfrecs.dataset.run.timings import DatasetTimings
from tfrecs.dataset.sources.factory import Sources, source_of
from tfrecs.dataset.sources.files import Reading
from tfrecs.dataset.sources.memory import RecordSource
from tfrecs.dataset.sources.skip_damage import checked_choice
from tfrecs.dataset.stages.stage import Run
from tfrecs.features import Features
from tfrecs.records.indexed import IndexedRecords
from tfrecs.records.reader import Records
from tfrecs.records.salvage import SkippedRegion
from tfrecs.storage.paths import Paths

_IN_ORDER = (
    "it is read in order. PyTorch's DataLoader takes ds.to_torch(); for records by number there is "
    "tfrecs.open(paths)"
)


class Dataset(Transforms, Exports, Sources):
    """The records of TFRecord files, parsed or not, in batches or one by one.

    A dataset is a plan: it only describes what to do, a step for each call, and iterating does it.
    Files are read one after the other, unless a step says otherwise, and what comes is in order;
    reading, checking, decompressing and decoding run on several threads, which begin with an
    iterator and end with it. A pass that is left early leaves nothing behind. An iterator knows
    where it is, and continues from there in another process (DatasetIterator).

    Args:
        paths: A path, a pattern (`*`, `?`, `[…]`, `**`), or several of them, in order. Or records:
            Records, a list of bytes, what open() returns, or any object with `__len__()` and
            `read_records(indices)`, which returns Records or a list of bytes; how files are read
            does not matter then. (Text and other files: from_lines(), from_fixed_length(),
            from_files().)
        features: What to parse of `tf.train.Example` records, as for parse_example; None gives the
            records themselves.
        context_features: What to parse of the contexts of SequenceExamples, as for
            parse_sequence_example.
        sequence_features: What to parse of their feature lists.
        compression_type: As for RecordReader.
        verify: Whether to check the checksum of each record's data.
        max_record_bytes, max_decompressed_bytes: As for RecordReader. A batch of `n` records may
            take `n` times as much; lower them for files that somebody else made.
        num_threads: How many threads read and parse (at most 1,024); None is one for each core.
        memory_map: Whether records at random places (shuffle(), shard()) are copied out of mapped
            memory, as for open(): faster, and not for files that others may cut.
        on_corrupt: What to do about damage: "raise", or "skip" what it touched and continue, as
            salvage() does (which always checks the data). Files must then be regular ones.
        max_buffer_bytes: How many bytes of records may be read ahead, in whole batches; the next
            batch always is, whatever it has. None: up to twice as many batches as threads. A
            buffered shuffle() of files that are not compressed keeps no window of more bytes
            either (None: 1 GiB), and reads its records one by one then; the order stays the same.
        progress: Whether each pass shows a bar on the standard error stream; it is tqdm's, and
            nothing is shown where that is not installed (extra `progress`).
            How many elements there are is only said where that is known already (the files have
            indices) or they are small.
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
        >>> ds.shuffle(seed=1).repeat(2).batch(4)
        Dataset('ages.tfrecord')
          features:
            age: FixedLenFeature(shape=[], dtype='int64', default_value=None)
          .shuffle(1)
          .repeat(2)
          .batch(4)
    """

    # What is known of the pass that began last.
    _log: PassLog | None = None

    def __init__(
        self,
        paths: Paths | Records | IndexedRecords | Sequence[bytes] | RecordSource,
        features: Features | None = None,
        *,
        context_features: Features | None = None,
        sequence_features: Features | None = None,
        compression_type: str | None = "auto",
        verify: bool = True,
        num_threads: int | None = None,
        memory_map: bool = False,
        on_corrupt: str = "raise",
        on_skip: Callable[[str, SkippedRegion], object] | None = None,
        progress: bool = False,
        max_buffer_bytes: int | None = None,
        max_record_bytes: int | None = None,
        max_decompressed_bytes: int | None = None,
    ) -> None:
        """Describe what to read."""
        reading = Reading(
            checked_compression(compression_type),
            bool(verify),
            checked_limits(max_record_bytes, max_decompressed_bytes),
            checked_threads(num_threads),
            bool(memory_map),
            checked_choice(on_corrupt, on_skip) == "skip",
            on_skip,
            None
            if max_buffer_bytes is None
            else min(checked_limit("max_buffer_bytes", max_buffer_bytes), UNREACHED),
        )
        spec = Spec(features, context_features, sequence_features)
        self._node: Node = source_of(paths, spec, reading, progress=bool(progress))
        self._epoch = 0

    @property
    def node(self) -> Node:
        """The last step of the plan."""
        return self._node

    @property
    def epoch(self) -> int:
        """Which epoch the next pass is."""
        return self._epoch

    def _with(self, node: Node) -> Self:
        return self.of(node)

    @classmethod
    def of(cls, node: Node) -> Self:
        """Return the dataset of a plan."""
        made = object.__new__(cls)
        made._node, made._epoch = node, 0
        return made

    @classmethod
    def from_hf(cls, dataset: Any, batch_size: int | None = None) -> Self:
        """Return a dataset of the rows of a dataset of Hugging Face; needs datasets.

        Rows are dicts: numbers as arrays, strings and binaries as bytes, lists as arrays, images
        and audio as the bytes of their files (for decode_images()), structs as a value for each
        field (`name/field`). They are read as Arrow, without an object for each value.

        Args:
            dataset: A `datasets.Dataset`, which is read from any row on, or an IterableDataset,
                whose own state a state then holds; epochs are said to it (`set_epoch`).
            batch_size: None gives the rows one by one; a number gives batches of that many.

        Raises:
            ModuleNotFoundError: datasets is not installed.
            SpecError: It is no such dataset. By iterating: a column has null, or what is neither
                numbers, strings nor lists of them.
        """
        return cls.of(integration("huggingface").source_of(dataset, batch_size))

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
        files = roots_of(self._node)
        return files[0].losses if files else Losses()

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch the next pass is: what shuffle() makes another order in each.

        The passes over a dataset count on from 0 by themselves; this is for passes that begin in
        the middle of a training.

        Example:
            >>> import tfrecs
            >>> with tfrecs.RecordWriter("nine.tfrecord") as out:
            ...     out.write_batch([b"%d" % i for i in range(9)])
            >>> ds = tfrecs.Dataset("nine.tfrecord").shuffle(seed=3)
            >>> first, second = list(ds), list(ds)
            >>> ds.set_epoch(1)
            >>> first != second, list(ds) == second
            (True, True)
        """
        self._epoch = epoch

    def __len__(self) -> int:
        """Refuse: how many elements there are may be unknown before all is read."""
        raise TypeError(f"a Dataset has no len(): {_IN_ORDER}")

    def __getitem__(self, number: Any) -> Any:
        """Refuse: elements come in order."""
        raise TypeError(f"a Dataset has no elements by number: {_IN_ORDER}")

    def __bool__(self) -> bool:
        """Return True: whether there are elements is not asked."""
        return True

    def __iter__(self) -> DatasetIterator:
        """Begin a pass: the next epoch.

        Raises:
            Error: By iterating: what is wrong with a file or a record, with its path, number and
                offset. Nothing comes after it.
        """
        self._epoch += 1
        iterator = DatasetIterator(self._node, Run(self._epoch - 1))
        self._log = iterator.log
        return iterator

    def timings(self) -> DatasetTimings:
        """Return what the pass that began last has given so far, and where the time went.

        It is measured always, because that costs next to nothing, and can be asked for while the
        pass runs; its iterator has the same method. Printed it is a table that names the slowest
        step. Before the first pass everything is 0.

        Example:
            >>> import tfrecs
            >>> with tfrecs.RecordWriter("seven.tfrecord") as out:
            ...     out.write_batch([b"1234"] * 7)
            >>> ds = tfrecs.Dataset("seven.tfrecord").batch(2)
            >>> for batch in ds:
            ...     pass
            >>> timings = ds.timings()
            >>> timings.elements, timings.records, timings.nbytes
            (4, 7, 28)
        """
        log = self._log or PassLog(self._node, Run(self._epoch))
        return log.timings()

    def __getstate__(self) -> dict[str, Any]:
        """Leave after what was measured in this process."""
        return {name: value for name, value in self.__dict__.items() if name != "_log"}

    def cardinality(self) -> int | float | None:
        """Return how many elements there are; math.inf without end; None if unknown.

        Files are counted for that, by an index. So it is no `len()`, which list() asks for too.

        Example:
            >>> import tfrecs
            >>> with tfrecs.RecordWriter("seven.tfrecord") as out:
            ...     out.write_batch([b""] * 7)
            >>> ds = tfrecs.Dataset("seven.tfrecord")
            >>> ds.batch(2).cardinality(), ds.repeat().cardinality(), ds.filter(len).cardinality()
            (4, inf, None)
        """
        return self._node.length()

    def __repr__(self) -> str:
        """Show what is read and what is made of it, a step a line."""
        return "\n".join(self._node.lines())
