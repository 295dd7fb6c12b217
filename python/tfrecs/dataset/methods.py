"""The steps that a dataset can be given, each a method that returns another dataset."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from tfrecs import _core
from tfrecs._internal.checks import (
    UNREACHED,
    checked_callers,
    checked_integer,
    checked_limit,
    checked_name,
    checked_threads,
)
from tfrecs.dataset.batch_methods import Batching, checked_callable
from tfrecs.dataset.plan.node import Node
from tfrecs.dataset.transforms.cache import Cache
from tfrecs.dataset.transforms.cache_file import CacheFile
from tfrecs.dataset.transforms.concatenate import Concatenate
from tfrecs.dataset.transforms.decode_images import DecodeImages
from tfrecs.dataset.transforms.enumerate import Enumerate
from tfrecs.dataset.transforms.filter_columns import Where
from tfrecs.dataset.transforms.interleave import Interleave
from tfrecs.dataset.transforms.map import Filter, Map
from tfrecs.dataset.transforms.mix import STOPS, Mix
from tfrecs.dataset.transforms.prefetch import MOST_AHEAD, Prefetch
from tfrecs.dataset.transforms.repeat import Repeat
from tfrecs.dataset.transforms.shard import POLICIES, Shard
from tfrecs.dataset.transforms.shuffle import BufferShuffle, Shuffle
from tfrecs.dataset.transforms.take import Skip, Take
from tfrecs.dataset.transforms.unbatch import Unbatch
from tfrecs.dataset.transforms.with_keys import with_keys
from tfrecs.dataset.transforms.zip import Zip
from tfrecs.errors import SpecError
from tfrecs.expressions import Expression
from tfrecs.storage.paths import Path


class Transforms(Batching):
    """What all datasets can be made into."""

    def shard(self, num: int, index: int, remainder: str = "uneven") -> Self:
        """Return a dataset of every `num`-th element, from element `index` on.

        Args:
            num: How many shards there are, for example of processes that train together.
            index: Which one this is, from 0 on.
            remainder: What becomes of a last round of fewer than `num` elements: "uneven", as in
                TensorFlow, some shards have one more; "drop", it is left out, and "pad", its
                elements come again, so that all shards have equally many.

        Example:
            >>> import tfrecs
            >>> with tfrecs.RecordWriter("five.tfrecord") as out:
            ...     out.write_batch([b"%d" % i for i in range(5)])
            >>> list(tfrecs.Dataset("five.tfrecord").shard(2, index=0))
            [b'0', b'2', b'4']
        """
        num, index = checked_limit("num", num), checked_integer("index", index)
        if num > UNREACHED:
            raise SpecError(f"num must be at most {UNREACHED}, not {num}")
        if not 0 <= index < num:
            raise SpecError(f"there is no shard {index} of {num}: they are counted from 0")
        if remainder not in POLICIES:
            raise SpecError(f"remainder must be one of {', '.join(POLICIES)}, not {remainder!r}")
        return self._with(Shard(self.node, num, index, remainder))

    def shuffle(self, seed: int = 0, buffer_size: int | None = None) -> Self:
        """Return a dataset of the same elements in random order, another one in each epoch.

        Without `buffer_size` all records of all files are shuffled: the order is computed, so it
        takes no memory, and is the same on every machine; records are read where they lie, by an
        index that is made when it is first needed. Put it before what works on elements (map(),
        filter()). If any of the files is compressed, blocks of about 2 MiB of records are shuffled
        and then the records in windows of 16 blocks, so that each part of a file is inflated about
        once; that takes up to 100 MB of memory, and is the same order on every machine too.

        With `buffer_size` any elements are shuffled as they come: blocks of that size, and again
        in blocks that begin in the middle of the first ones. A dataset that fits into the buffer is
        shuffled uniformly. Two buffers of records, or one and a half of what Python functions make,
        are held in memory.

        Which epoch it is, repeat() and the passes over a dataset count: `set_epoch`.

        Raises:
            SpecError: All elements are to be shuffled, and they are not just records of files.

        Example:
            >>> import tfrecs
            >>> with tfrecs.RecordWriter("five.tfrecord") as out:
            ...     out.write_batch([b"%d" % i for i in range(5)])
            >>> sorted(tfrecs.Dataset("five.tfrecord").shuffle(seed=7))
            [b'0', b'1', b'2', b'3', b'4']
        """
        seed = checked_integer("seed", seed) % 2**64
        if buffer_size is not None:
            size = min(checked_limit("buffer_size", buffer_size), UNREACHED)
            return self._with(BufferShuffle(self.node, seed, size))
        if self.node.order() is None:
            raise SpecError(
                "only records of files can be shuffled all at once: call shuffle() before what "
                "works on elements, or give a buffer_size"
            )
        return self._with(Shuffle(self.node, seed))

    def repeat(self, count: int | None = None) -> Self:
        """Return a dataset of all elements `count` times, without end if that is None or -1.

        Each pass is an epoch: a shuffle() before it has another order in each. Batches made after
        it continue across the ends of passes.
        """
        if count is not None:
            count = min(checked_integer("count", count), UNREACHED)
        return self._with(Repeat(self.node, None if count is None or count < 0 else count))

    def take(self, count: int) -> Self:
        """Return a dataset of the first `count` elements, of all if that is -1."""
        count = min(checked_integer("count", count), UNREACHED)
        return self._with(Take(self.node, count)) if count >= 0 else self

    def skip(self, count: int) -> Self:
        """Return a dataset of the elements after the first `count`, of none if that is -1."""
        count = min(checked_integer("count", count), UNREACHED)
        return self._with(Skip(self.node, count) if count >= 0 else Take(self.node, 0))

    def map(
        self, function: Callable[[Any], Any], num_threads: int = 0, ordered: bool = True
    ) -> Self:
        """Return a dataset of what `function` makes of each element: of batches, after batch().

        Args:
            function: It is called with one element. To resume exactly, it must give the same for
                the same element.
            num_threads: How many threads call it (at most 1,024); 0 calls it when an element is
                asked for.
            ordered: Whether results come in the order of the elements. False gives what is ready,
                so that one that takes long holds up none of the others (at most 16 for each thread
                go before it). Each comes once, across a resume too, but in another order each time:
                no two runs are the same any more.
        """
        threads = checked_callers(num_threads)
        return self._with(
            Map(self.node, checked_callable(function), threads, bool(ordered or not threads))
        )

    def filter(self, predicate: Callable[[Any], Any] | Expression) -> Self:
        """Return a dataset of the elements for which `predicate` is true.

        Args:
            predicate: A function of an element; or a condition on features, made of col(), which is
                worked out for many records at once. Of records of files only the features that it
                needs are decoded then, and the rest of those that are kept; batches made after it
                are full. After batch() it leaves out rows, and batches of which none is left.

        Raises:
            SpecError: The condition makes no sense for these features.

        Example:
            >>> import tfrecs
            >>> with tfrecs.RecordWriter("ages.tfrecord") as out:
            ...     out.write_batch([tfrecs.encode_example({"age": n}) for n in range(100)])
            >>> ds = tfrecs.Dataset("ages.tfrecord", {"age": tfrecs.FixedLenFeature([], "int64")})
            >>> for batch in ds.filter(tfrecs.col("age") % 30 == 1).batch(3):
            ...     print(batch["age"])
            [ 1 31 61]
            [91]
        """
        if isinstance(predicate, Expression):
            return self._with(Where.of(self.node, predicate))
        given: Any = predicate
        if isinstance(given, str):
            how = 'filter(tfrecs.col("age") > 3)'
            raise SpecError(f"a condition is a function or an expression, not text: {how}")
        return self._with(Filter(self.node, checked_callable(given)))

    def enumerate(self, start: int = 0) -> Self:
        """Return a dataset of pairs of a number, from `start` on, and an element."""
        return self._with(Enumerate(self.node, checked_integer("start", start)))

    def with_keys(self) -> Self:
        """Return a dataset of pairs of a key and an element; batches after it have arrays of keys.

        A key is `file:record` as bytes: the file's path, and the record's number in it (of records
        in memory `memory:record`, of lines `file:line`, of whole files the path). What follows
        stays native; call it before what works on elements or makes batches.

        Raises:
            SpecError: The elements are not just records of files.

        Example:
            >>> import tfrecs
            >>> with tfrecs.RecordWriter("words.tfrecord") as out:
            ...     out.write_batch([b"a", b"b", b"c"])
            >>> ds = tfrecs.Dataset("words.tfrecord").with_keys()
            >>> next(iter(ds.skip(2)))
            (b'words.tfrecord:2', b'c')
            >>> keys, batch = next(iter(ds.batch(2)))
            >>> keys.tolist(), batch.tolist()
            ([b'words.tfrecord:0', b'words.tfrecord:1'], [b'a', b'b'])
        """
        node = with_keys(self.node)
        if node is None:
            raise SpecError(
                "only records of files have keys: call with_keys() before what works on elements "
                'or makes batches, and not with on_corrupt="skip"'
            )
        return self._with(node)

    def decode_images(
        self,
        key: str,
        size: tuple[int, int] | None = None,
        channels: int = 0,
        num_threads: int | None = None,
        **options: Any,
    ) -> Self:
        """Return a dataset whose images are arrays of pixels, in batches or one by one.

        Args:
            key: The feature with the bytes of the images.
            size: Height and width to resize to, which makes one array of a batch; it needs
                `channels`. Without it a batch has a list of arrays.
            channels: 1: grey; 3: colours; 4: colours and alpha; 0: as the image has.
            num_threads: How many threads decode a batch (at most 1,024); None is one for each core.
            options: Others of decode_image(): dtype, resample, apply_orientation, max_pixels, ….

        Returns:
            A dataset of dicts; what is beside a batch (a label, keys) stays beside it.

        Raises:
            ModuleNotFoundError: Pillow is not installed.
            SpecError: By iterating: there is no such feature, or an option makes no sense.
            ParseError: By iterating: an image is broken; the text names its record.

        Example:
            >>> import numpy as np, tfrecs
            >>> image = tfrecs.encode_image(np.zeros((4, 6, 3), np.uint8))
            >>> with tfrecs.RecordWriter("images.tfrecord") as out:
            ...     for n in range(3):
            ...         out.write(tfrecs.encode_example({"image": image, "label": n}))
            >>> features = {
            ...     "image": tfrecs.FixedLenFeature([], "string"),
            ...     "label": tfrecs.FixedLenFeature([], "int64"),
            ... }
            >>> ds = tfrecs.Dataset("images.tfrecord", features).batch(2)
            >>> batch = next(iter(ds.decode_images("image", size=(8, 8), channels=3)))
            >>> batch["image"].shape, batch["label"]
            ((2, 8, 8, 3), array([0, 1]))
        """
        checked_threads(num_threads)
        given = {"size": size, "channels": channels, **options}
        if not DecodeImages.takes >= set(options):
            unknown = sorted(set(options) - DecodeImages.takes)
            raise SpecError(f"decode_images() has no options {', '.join(unknown)}")
        return self._with(DecodeImages.of(self.node, key, given, num_threads))

    def unbatch(self) -> Self:
        """Return a dataset of the rows of batches, one by one."""
        return self._with(Unbatch(self.node))

    def prefetch(self, n: int = 2, max_bytes: int | None = None) -> Self:
        """Return the same dataset; a thread makes up to `n` elements ahead of the one in use.

        What is read and parsed natively is made ahead anyway; this is for what Python functions
        make.

        Args:
            n: How many elements may be ready, or in the making, beside the one in use; more than
                1,000,000 need `max_bytes`.
            max_bytes: How many bytes their values may take together; one element may be ahead,
                whatever it takes. None: any number.
        """
        most = None if max_bytes is None else checked_limit("max_bytes", max_bytes)
        count = min(checked_limit("n", n), UNREACHED)
        if most is None and count > MOST_AHEAD:
            raise SpecError(f"prefetch() of more than {MOST_AHEAD:,} elements needs max_bytes")
        return self._with(Prefetch(self.node, count, most))

    def cache(self, path: Path | None = None) -> Self:
        """Return the same dataset, whose first whole pass keeps all elements.

        Args:
            path: A file to keep them in, for other processes and runs too. It appears when the
                first pass has come to its end, whole or not at all; several may try at the same
                time. Arrays, byte strings, numbers and text are kept, in tuples, lists and
                dicts; a Batch comes back as a dict. None keeps the elements in memory, as they are.

        Raises:
            StateError: By iterating: the file is of another plan, or of other files; the text says
                what differs. Functions are known by their names and their own code, not by what
                they call.
            SpecError: The name ends in a compression that cannot be written, such as .zst. By
                iterating: there is something in an element that no file can keep.

        Example:
            >>> import tfrecs
            >>> with tfrecs.RecordWriter("three.tfrecord") as out:
            ...     out.write_batch([b"1", b"2", b"3"])
            >>> ds = tfrecs.Dataset("three.tfrecord").map(int).cache("three.cache")
            >>> list(ds), list(ds)
            ([1, 2, 3], [1, 2, 3])
        """
        if path is None:
            return self._with(Cache(self.node))
        name = checked_name(path)
        _core.compression_of_name(name)
        return self._with(CacheFile(self.node, name))

    def zip(self, *others: Transforms) -> Self:
        """Return a dataset of tuples of an element of each, until the first of them ends."""
        return self._with(Zip(self._parts(others)))

    def concatenate(self, *others: Transforms) -> Self:
        """Return a dataset of all elements of this one, and then of the others."""
        return self._with(Concatenate(self._parts(others)))

    def mix(
        self,
        *others: Transforms,
        weights: Sequence[float] | None = None,
        seed: int = 0,
        stop: str = "first",
    ) -> Self:
        """Return a dataset of elements of this one and the others, drawn at random.

        Args:
            others: Datasets.
            weights: How often to draw from each, this one first; None is equally often.
            seed: Which draws.
            stop: "first": it ends when one of them does; "all": when all have.
        """
        parts = self._parts(others)
        try:
            given = [1.0] * len(parts) if weights is None else [float(weight) for weight in weights]
        except (ValueError, OverflowError):
            raise SpecError(f"weights must be numbers, not {weights!r}") from None
        if len(given) != len(parts) or not all(0 < weight < np.inf for weight in given):
            raise SpecError(f"{len(parts)} datasets need as many positive weights, not {weights!r}")
        if stop not in STOPS:
            raise SpecError(f'stop must be "first" or "all", not {stop!r}')
        return self._with(Mix(parts, tuple(given), checked_integer("seed", seed), stop))

    def interleave(
        self, function: Callable[[Any], Transforms], cycle_length: int = 2, block_length: int = 1
    ) -> Self:
        """Return a dataset of elements of several datasets in turn.

        Args:
            function: Makes a dataset of an element of this one.
            cycle_length: How many datasets are read at a time.
            block_length: How many elements come of one before it is the next one's turn.
        """

        def make(element: Any) -> Node:
            made = checked_callable(function)(element)
            if not isinstance(made, Transforms):
                raise SpecError(f"interleave() needs a function that makes a Dataset, not {made!r}")
            return made.node

        cycle = min(checked_limit("cycle_length", cycle_length), UNREACHED)
        block = min(checked_limit("block_length", block_length), UNREACHED)
        return self._with(Interleave(self.node, function, make, cycle, block))

    def _parts(self, others: Sequence[Transforms]) -> tuple[Node, ...]:
        if not all(isinstance(other, Transforms) for other in others):
            raise SpecError(f"these must be Datasets: {others!r}")
        return (self.node, *(other.node for other in others))
