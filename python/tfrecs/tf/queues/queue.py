"""Queues of elements: what threads put in, and runs take out."""

from __future__ import annotations

import random
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfrecs._internal.wording import counted
from tfrecs.dataset.collate.collate import collate
from tfrecs.dataset.collate.pad import Padding, padded
from tfrecs.errors import SpecError
from tfrecs.errors.tf_errors import CancelledError, OutOfRangeError
from tfrecs.tf.functions.ops import stack
from tfrecs.tf.graph.deferred import Deferred, is_deferred
from tfrecs.tf.queues.graph import check_wanted
from tfrecs.tf.tensor.dtypes import as_dtype, as_numpy
from tfrecs.tf.tensor.shapes import TensorShape, compatible
from tfrecs.tf.tensor.values import tensor, unwrapped, wrapped

# How long waiting continues before it is asked whether it is wanted still.
PULSE = 0.05


class FIFOQueue:
    """As `tf.FIFOQueue`: elements come out as they went in.

    Example:
        >>> from tfrecs import tf
        >>> queue = tf.FIFOQueue(10, [tf.int32])
        >>> with tf.Session() as sess:
        ...     sess.run(queue.enqueue_many([[1, 2, 3]]))
        ...     print(sess.run(queue.dequeue()), sess.run(queue.dequeue_many(2)))
        1 [2 3]
    """

    least = 0  # that many stay in it until it is closed
    pads = False  # whether those that come out side by side may be of different lengths

    def __init__(
        self,
        capacity: int,
        dtypes: Any = None,
        shapes: Any = None,
        names: Sequence[str] | None = None,
        shared_name: str | None = None,
        name: str = "fifo_queue",
    ) -> None:
        """Make one for that many elements, each of as many values as there are dtypes.

        Raises:
            ValueError: There are not as many shapes, or names, as dtypes.
        """
        self.capacity = max(int(capacity), 1)
        self.dtypes = list(dtypes) if isinstance(dtypes, list | tuple) else [dtypes]
        self.dtypes = [one if one is None else as_dtype(one) for one in self.dtypes]
        self.names = list(names) if names else None
        self.shapes = _shapes_of(shapes, len(self.dtypes))
        if self.names is not None and len(self.names) != len(self.dtypes):
            raise SpecError(f"there are {len(self.dtypes)} dtypes, and {len(self.names)} names")
        self.name = name
        # Fills it as long as no threads do.
        self.feed: Callable[[], None] | None = None
        self._elements: deque[tuple[Any, ...]] = deque()
        self._changed = threading.Condition()
        self._is_closed = self._is_cancelled = False
        self._demand = 0  # that many are waited for
        self._pending = 0  # that many wait for room, who may still put in when it is closed
        self._error: BaseException | None = None

    # --- What graphs are made of ---

    def enqueue(self, vals: Any, name: str | None = None) -> Deferred:
        """Return what puts in an element: a value, several, or a dict of them.

        Raises:
            ValueError: They are not as many, or of other types or names, than those of the queue.
        """
        return Deferred(lambda *values: self.put([values]), self._parts(vals))

    def enqueue_many(self, vals: Any, name: str | None = None) -> Deferred:
        """Return what puts in an element for each row of the values."""
        return Deferred(self._put_rows, self._parts(vals))

    def dequeue(self, name: str | None = None) -> Any:
        """Return the value that will come out next, or several, or a dict of them."""
        return self._given(Deferred(lambda: self.take(1)[0]), ())

    def dequeue_many(self, n: Any, name: str | None = None) -> Any:
        """Return the next `n` elements side by side."""
        rows = None if isinstance(n, Deferred) else _count(n)
        return self._given(Deferred(lambda count: self.batch(_count(count)), (n,)), (rows,))

    def dequeue_up_to(self, n: Any, name: str | None = None) -> Any:
        """Return the next `n` elements side by side, fewer at the end."""
        return self._given(Deferred(lambda count: self.batch(_count(count), 1), (n,)), (None,))

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Deferred:
        """Return what closes it: what is in it still comes out."""
        return Deferred(self._close, (cancel_pending_enqueues,))

    def size(self, name: str | None = None) -> Deferred:
        """Return how many elements will be in it."""
        return Deferred(lambda: np.int32(len(self._elements)))

    def is_closed(self, name: str | None = None) -> Deferred:
        """Return whether it will be closed."""
        return Deferred(lambda: np.bool_(self._is_closed))

    def _parts(self, vals: Any) -> tuple[Any, ...]:
        if isinstance(vals, dict) != (self.names is not None):
            raise SpecError("a queue with names takes a dict, and no other does")
        if self.names is not None:
            if set(vals) != set(self.names):
                raise SpecError(f"the queue has the names {self.names}, and not {list(vals)}")
            return tuple(map(_typed, [vals[name] for name in self.names], self.dtypes))
        parts = tuple(vals) if isinstance(vals, list | tuple) else (vals,)
        if len(parts) != len(self.dtypes):
            if len(self.dtypes) > 1:
                raise SpecError(
                    f"an element has {counted(len(self.dtypes), 'value')}, not {len(parts)}"
                )
            parts = (vals,)  # one value, given as a list
        return tuple(map(_typed, parts, self.dtypes))

    def _given(self, element: Deferred, rows: tuple[int | None, ...]) -> Any:
        parts = [element[number] for number in range(len(self.dtypes))]
        for part, dtype, shape in zip(parts, self.dtypes, self.shapes, strict=True):
            part.of_kind(dtype, shape if shape.rank is None else (*rows, *shape))
        if self.names is not None:
            return dict(zip(self.names, parts, strict=True))
        return parts[0] if len(parts) == 1 else parts

    # --- What they do ---

    def put(self, elements: Sequence[tuple[Any, ...]]) -> None:
        """Put elements in, one by one, when there is room.

        Raises:
            CancelledError: It is closed, or waiting for room is not wanted any more.
        """
        for element in elements:
            typed = tuple(map(_typed, element, self.dtypes))
            self._check_shapes(typed)
            with self._changed:
                if self._is_closed:
                    raise CancelledError(f"{self!r} is closed.")
                self._wait_for_room()
                self._elements.append(typed)
                self._changed.notify_all()

    def _put_rows(self, *columns: Any) -> None:
        self.put(list(zip(*(list(tensor(column)) for column in columns), strict=True)))

    def _check_shapes(self, element: tuple[Any, ...]) -> None:
        for value, shape in zip(element, self.shapes, strict=True):
            if not compatible(shape, value.shape):
                raise SpecError(f"{self!r} takes values of shape {shape}, and not {value.shape}")

    def _close(self, cancel: Any) -> None:
        if self._is_closed:
            raise CancelledError(f"{self!r} is already closed.")
        self.shut(cancel=bool(cancel))

    def _wait_for_room(self) -> None:
        if self.feed is not None:
            return  # who fills it by itself takes nothing out before it is done
        self._pending += 1
        try:
            # A caller that waits for more elements than the capacity gets them.
            while len(self._elements) >= max(self.capacity, self._demand):
                if self._is_cancelled:
                    raise CancelledError(f"{self!r} is closed.")
                self._wait()
        finally:
            self._pending -= 1
            self._changed.notify_all()

    def batch(self, count: int, least: int | None = None) -> tuple[Any, ...]:
        """Take out elements side by side."""
        if not count:
            kinds = zip(self.dtypes, self.shapes, strict=True)
            return tuple([_nothing(dtype, shape) for dtype, shape in kinds])
        return side_by_side(self.take(count, least), self.pads)

    def take(self, count: int, least: int | None = None) -> list[tuple[Any, ...]]:
        """Take out `count` elements, or, if no more come, as many as there are, but `least`.

        Raises:
            OutOfRangeError: No more come; or what those who fill it have raised.
        """
        with self._changed:
            while len(self._elements) - (0 if self._is_closed else self.least) < count:
                if self._is_closed and not self._pending:
                    self._check_rest(count, count if least is None else least)
                    break
                self._demand = max(self._demand, count + self.least)
                self._changed.notify_all()
                self._fill_or_wait()
            self._demand = 0
            taken = [self._pop() for _ in range(min(count, len(self._elements)))]
            self._changed.notify_all()
            return taken

    def _check_rest(self, count: int, least: int) -> None:
        if len(self._elements) >= least:
            return
        raise self._error or OutOfRangeError(
            f"{self!r} is closed and has insufficient elements (requested {count}, "
            f"current size {len(self._elements)})"
        )

    def _pop(self) -> tuple[Any, ...]:
        return self._elements.popleft()

    def _fill_or_wait(self) -> None:
        if self.feed is None:
            self._wait()
            return
        self._changed.release()
        try:
            self.feed()
        finally:
            self._changed.acquire()

    def _wait(self) -> None:
        self._changed.wait(PULSE)
        check_wanted()

    def shut(self, error: BaseException | None = None, cancel: bool = False) -> None:
        """Close it; who takes more than there is gets `error`, if there is one."""
        with self._changed:
            self._is_closed = True
            self._error = self._error or error
            self._is_cancelled = self._is_cancelled or cancel
            self._changed.notify_all()

    def __repr__(self) -> str:
        """Return the kind and the name."""
        return f"{type(self).__name__} '{self.name}'"


class RandomShuffleQueue(FIFOQueue):
    """As `tf.RandomShuffleQueue`: elements come out in random order."""

    def __init__(
        self,
        capacity: int,
        min_after_dequeue: int,
        dtypes: Any = None,
        shapes: Any = None,
        names: Sequence[str] | None = None,
        seed: int | None = None,
        shared_name: str | None = None,
        name: str = "random_shuffle_queue",
    ) -> None:
        """Make one in which at least `min_after_dequeue` elements stay until it is closed."""
        super().__init__(capacity, dtypes, shapes, names, shared_name, name)
        self.least = int(min_after_dequeue)
        self._random = random.Random(seed)

    def _pop(self) -> tuple[Any, ...]:
        place = self._random.randrange(len(self._elements))
        self._elements[place], self._elements[-1] = self._elements[-1], self._elements[place]
        return self._elements.pop()


class PaddingFIFOQueue(FIFOQueue):
    """As `tf.PaddingFIFOQueue`: arrays that come out side by side are as long as the longest."""

    pads = True


def _shapes_of(shapes: Any, count: int) -> list[TensorShape]:
    if shapes is None:
        return [TensorShape(None)] * count
    # The one shape of one value may stand alone.
    is_one = isinstance(shapes, TensorShape) or not any(hasattr(one, "__iter__") for one in shapes)
    made = [TensorShape(shapes)] if is_one and count == 1 else list(map(TensorShape, shapes))
    if len(made) != count:
        raise SpecError(f"there are {count} dtypes, and {len(made)} shapes")
    return made


def _count(n: Any) -> int:
    if int(n) < 0:
        raise SpecError(f"n must be at least 0, and is {n}")
    return int(n)


def _nothing(dtype: Any, shape: TensorShape) -> Any:
    """Return no elements side by side."""
    rest = [] if shape.rank is None else [dim or 0 for dim in shape]
    return wrapped(np.empty((0, *rest), as_numpy(dtype or "float32")))


def _typed(value: Any, dtype: Any) -> Any:
    """Return a value of a queue's type: Python's numbers become that.

    Raises:
        ValueError: It has another type.
    """
    if is_deferred(value):
        return value if isinstance(value, Deferred) else stack(value)
    if hasattr(value, "it"):
        return value  # sparse or ragged
    if dtype is None:
        return tensor(value) if isinstance(value, list | tuple) else wrapped(value)
    made = tensor(value) if hasattr(value, "given") else tensor(value, dtype)
    if made.dtype != dtype:
        raise SpecError(f"a value of a queue is {made.dtype.name}, and should be {dtype.name}")
    return made


def side_by_side(elements: Sequence[tuple[Any, ...]], pads: bool = False) -> tuple[Any, ...]:
    """Return elements as one, each value with one dimension more."""
    columns = [unwrapped(list(column)) for column in zip(*elements, strict=True)]
    return tuple([wrapped(_column(column, pads)) for column in columns])


def _column(values: list[Any], pads: bool) -> Any:
    if pads and len({np.shape(value) for value in values}) > 1:
        return padded(values, Padding())
    return collate(values)
