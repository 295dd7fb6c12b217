"""The steps that make batches of elements, each a method that returns another dataset."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from tfrecs._internal.checks import UNREACHED, checked_integer, checked_limit
from tfrecs.dataset.collate.fill import Fill
from tfrecs.dataset.collate.pad import Padding, Shape
from tfrecs.dataset.plan.native_form import Division
from tfrecs.dataset.plan.node import Node
from tfrecs.dataset.transforms.batch import Batch, FixedBatch, check_fill
from tfrecs.dataset.transforms.bucket import Bucket, fixed_features
from tfrecs.dataset.transforms.padded_batch import PaddedBatch
from tfrecs.errors import SpecError
from tfrecs.expressions import Expression


class Batching(ABC):
    """Makes datasets of batches."""

    @property
    @abstractmethod
    def node(self) -> Node:
        """The last step of the plan."""

    @abstractmethod
    def _with(self, node: Node) -> Self:
        """Return the dataset of a plan with one step more."""

    def batch(self, n: int, drop_remainder: bool = False, *, fill: Any = None) -> Self:
        """Return a dataset of batches of `n` elements.

        Batches of records are Records; with features, Batches of what parse_example gives; with the
        features of SequenceExamples, tuples as parse_sequence_example returns them.

        Of elements that Python functions made, numbers and arrays of one shape become an array with
        a dimension more, byte strings and text a BytesArray. Mappings and tuples are structures:
        their values are batched key by key, place by place. A list is a value, the row of a
        RaggedTensor (also if all lists are equally long, so that the type does not depend on the
        data); in such a column None is a missing row.

        Args:
            n: How many elements a batch has. Batches continue across the ends of files.
            drop_remainder: Whether to leave out the last batch if it has fewer.
            fill: What to put where an element lacks a key that others have, or has None: one value,
                or a mapping of keys to values. Every batch has the keys of the mapping. The value
                takes the type of the column and must fit it; an array is filled whole, and in a
                column of lists `[]` is an empty row, a single value a row of one, and None (in a
                mapping) a missing row.

        Raises:
            SpecError: `n` is no positive integer, or `fill` has a key that the features lack. By
                iterating: elements have different keys, and there is no `fill`; or they have
                different types or shapes. The text names the element.

        Example:
            >>> import tfrecs
            >>> with tfrecs.RecordWriter("letters.tfrecord") as out:
            ...     out.write_batch([b"a", b"b", b"c"])
            >>> [batch.tolist() for batch in tfrecs.Dataset("letters.tfrecord").batch(2)]
            [[b'a', b'b'], [b'c']]
            >>> rows = tfrecs.Dataset("letters.tfrecord").map(
            ...     lambda record: {"id": 1} if record == b"a" else {"id": 2, "tags": ["x"]}
            ... )
            >>> next(iter(rows.batch(2, fill={"tags": []})))["tags"].tolist()
            [[], [b'x']]
        """
        if isinstance(n, bool) or not hasattr(n, "__index__") or n < 1:
            raise SpecError(f"a batch has a positive number of records, not {n!r}")
        if isinstance(self.node, FixedBatch):
            raise SpecError(f"this dataset has batches of {self.node.size} already")
        made = self._fill(fill)
        return self._with(
            Batch(self.node, min(n.__index__(), UNREACHED), bool(drop_remainder), made)
        )

    def padded_batch(
        self,
        n: int,
        padded_shapes: Mapping[str, Shape] | Shape | None = None,
        padding_values: Mapping[str, Any] | Any = None,
        drop_remainder: bool = False,
        *,
        fill: Any = None,
    ) -> Self:
        """Return a dataset of batches of `n` elements, whose values are made equally long.

        Args:
            n: How many elements a batch has.
            padded_shapes: The shape of each value, by name or one for all; None, or None for a
                dimension, is as long as the longest of the batch.
            padding_values: What comes after short values, by name or for all: 0 or b"".
            drop_remainder: Whether to leave out the last batch if it has fewer.
            fill: As for batch(). A single value fills a whole row, a list is padded as others are.

        Raises:
            SpecError: As for batch().

        Example:
            >>> import tfrecs
            >>> with tfrecs.RecordWriter("words.tfrecord") as out:
            ...     for n in (1, 3):
            ...         out.write(tfrecs.encode_example({"ids": list(range(n))}))
            >>> ds = tfrecs.Dataset("words.tfrecord", {"ids": tfrecs.VarLenFeature("int64")})
            >>> next(iter(ds.padded_batch(2, padding_values=-1)))["ids"]
            array([[ 0, -1, -1],
                   [ 0,  1,  2]])
        """
        size, padding = (
            min(checked_limit("n", n), UNREACHED),
            Padding(padded_shapes, padding_values),
        )
        made = self._fill(fill)
        return self._with(PaddedBatch(self.node, size, bool(drop_remainder), padding, made))

    def _fill(self, given: Any) -> Fill | None:
        fill = Fill.of(given)
        check_fill(fill, self.node)
        return fill

    def bucket_by_length(
        self,
        length_of: Callable[[Any], int] | Expression,
        boundaries: Sequence[int],
        batch_sizes: Sequence[int],
        padded_shapes: Mapping[str, Shape] | Shape | None = None,
        padding_values: Mapping[str, Any] | Any = None,
        drop_remainder: bool = False,
        pad_to_bucket_boundary: bool = False,
        *,
        fill: Any = None,
    ) -> Self:
        """Return a dataset of padded batches of elements of about the same length.

        Args:
            length_of: A function that returns the length of an element; or that as an expression,
                `col("ids").length()`: of records of files nothing else is parsed for it, and
                batches are parsed and padded whole.
            boundaries: Where one bucket ends and the next begins: the lengths below the first,
                those from it up to the second, and so on.
            batch_sizes: How many elements make a batch, for each of the buckets: one more than
                boundaries.
            padded_shapes: As for padded_batch().
            padding_values: As for padded_batch().
            drop_remainder: Whether to leave out what is left in the buckets in the end.
            pad_to_bucket_boundary: Whether to make everything as long as it can be in its bucket,
                one less than where that ends, in place of as long as the longest: lists, and of
                arrays the first dimension, or those that are None in `padded_shapes`. So there are
                few shapes of batches. No element may be in the last bucket then.
            fill: As for padded_batch().

        Raises:
            SpecError: An argument makes no sense.

        Example:
            >>> import tfrecs
            >>> with tfrecs.RecordWriter("sentences.tfrecord") as out:
            ...     for n in (1, 3, 2, 4):
            ...         out.write(tfrecs.encode_example({"ids": list(range(n))}))
            >>> ds = tfrecs.Dataset("sentences.tfrecord", {"ids": tfrecs.VarLenFeature("int64")})
            >>> length = tfrecs.col("ids").length()
            >>> for batch in ds.bucket_by_length(length, boundaries=[3], batch_sizes=[2, 2]):
            ...     print(batch["ids"].tolist())
            [[0, 0], [0, 1]]
            [[0, 1, 2, 0], [0, 1, 2, 3]]
        """
        edges = tuple(checked_integer("boundaries", edge) for edge in boundaries)
        sizes = tuple(min(checked_limit("batch_sizes", size), UNREACHED) for size in batch_sizes)
        if list(edges) != sorted(set(edges)) or len(sizes) != len(edges) + 1:
            raise SpecError(
                f"{len(edges)} boundaries, which must rise, need {len(edges) + 1} batch_sizes, "
                f"not {len(sizes)}"
            )
        padding = Padding(padded_shapes, padding_values)
        if not isinstance(length_of, Expression):
            length_of = checked_callable(length_of)
        flags = (bool(drop_remainder), bool(pad_to_bucket_boundary))
        division = Division(edges, sizes, padding, *flags, fixed_features(self.node))
        return self._with(Bucket.of(self.node, length_of, division, self._fill(fill)))


def checked_callable(given: Any) -> Callable[[Any], Any]:
    """Return a function that somebody has given.

    Raises:
        SpecError: It is none.
    """
    if not callable(given):
        raise SpecError(f"this must be a function, not {given!r}")
    function: Callable[[Any], Any] = given
    return function
