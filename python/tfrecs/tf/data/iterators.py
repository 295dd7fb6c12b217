"""Passes over datasets: elements now, in an Optional, as arrays, or in each run of a graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tfrecs import _core
from tfrecs.errors import SpecError
from tfrecs.errors.tf_errors import FailedPreconditionError, OutOfRangeError
from tfrecs.tf.data.elements import as_numpy
from tfrecs.tf.graph.deferred import Deferred, Upcoming
from tfrecs.tf.tensor.values import Tensor, wrapped


class Optional:
    """As `tf.experimental.Optional`: an element, or nothing.

    Example:
        >>> from tfrecs import tf
        >>> iterator = iter(tf.data.Dataset.range(1))
        >>> iterator.get_next_as_optional().get_value().numpy()
        np.int64(0)
        >>> bool(iterator.get_next_as_optional().has_value())
        False
    """

    def __init__(self, *element: Any) -> None:
        """Keep an element, or nothing."""
        self._element = element

    def has_value(self, name: str | None = None) -> Tensor:
        """Whether there is an element."""
        has_value: Tensor = wrapped(bool(self._element))
        return has_value

    def get_value(self, name: str | None = None) -> Any:
        """Return the element.

        Raises:
            InvalidArgumentError: There is none.
        """
        if not self._element:
            raise SpecError("The given optional does not have a value.")
        return self._element[0]


class DatasetIterator(_core.Exclusive, Iterator[Any]):
    """A pass over a dataset: gives values, and the states of the plan's own iterator.

    Threads may share it: each element goes to exactly one of them.
    """

    def __init__(self, begin: Callable[[], Iterator[Any]]) -> None:
        """Begin with the first element."""
        self._begin = begin
        self.elements = begin()

    def _next(self) -> Any:
        """Return the next element."""
        return wrapped(next(self.elements))

    def next(self) -> Any:
        """Return the next element, as `next()` does."""
        return self.__next__()

    def get_next(self, name: str | None = None) -> Any:
        """Return the next element.

        Raises:
            OutOfRangeError: There is none.
        """
        try:
            return self.__next__()
        except StopIteration:
            raise OutOfRangeError("End of sequence") from None

    def get_next_as_optional(self) -> Optional:
        """Return the next element in an Optional, which is empty at the end."""
        try:
            return Optional(self.__next__())
        except StopIteration:
            return Optional()


class NumpyIterator(DatasetIterator):
    """A pass that gives arrays, NumPy's scalars and bytes."""

    def _next(self) -> Any:
        """Return the next element."""
        return as_numpy(next(self.elements))


class GraphIterator(DatasetIterator):
    """A pass in code for graphs: `get_next()` stands for the next element of each run."""

    def __init__(self, begin: Callable[[], Iterator[Any]], *, waits: bool = False) -> None:
        """Begin with the first element, now or (`waits`) when `initializer` is run."""
        super().__init__(begin)
        self._ahead: list[Any] = []
        self._asked: list[Upcoming] = []
        self._waits = waits

    def _next(self) -> Any:
        """Return the next element."""
        return self._ahead.pop() if self._ahead else super()._next()

    def get_next(self, name: str | None = None) -> Any:
        """Return what will be the next element, each time that it is computed.

        One is made ahead, to see of what parts they are. Without a session, `numpy()` and the like
        take the elements in the order of the calls.
        """
        upcoming = Upcoming(self._computed, self._claim)
        self._asked.append(upcoming)
        try:
            self._ahead = [next(self)]
        except StopIteration:
            return upcoming
        return _like(self._ahead[0], upcoming)

    def _claim(self, wanted: Upcoming) -> None:
        """Give elements to those that were asked for, in order, up to one."""
        while wanted in self._asked:
            self._asked[0].element = wrapped(self._computed())
            self._asked.pop(0)

    def _computed(self) -> Any:
        if self._waits:
            raise FailedPreconditionError("the iterator has not been initialized")
        return super().get_next()

    @property
    def initializer(self) -> Deferred:
        """What begins again, when it is run."""
        return Deferred(self._begin_again)

    def _begin_again(self) -> None:
        with self._turn:
            self._ahead, self.elements, self._waits = [], self._begin(), False


def _like(element: Any, upcoming: Any) -> Any:
    """Return the parts of an element that is not there yet, in the structure of one that is."""
    if isinstance(element, dict):
        return {name: _like(one, upcoming[name]) for name, one in element.items()}
    if isinstance(element, tuple):
        return tuple([_like(one, upcoming[place]) for place, one in enumerate(element)])
    return upcoming
