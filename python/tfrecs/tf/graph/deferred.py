"""Values that are not there yet: what functions will make of others.

Two things are made of them: what a function given to `map` does is found out by calling it with one
(data/tracing.py), and the graphs of TensorFlow 1 (queues/) are nothing else.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial, wraps
from inspect import signature
from typing import Any, NamedTuple, ParamSpec, Self, TypeAlias, TypeVar, overload

import numpy as np

from tfrecs.tf.functions.python_errors import our_errors
from tfrecs.tf.graph.known import UNKNOWN, Integers, Known
from tfrecs.tf.graph.static_operators import operated
from tfrecs.tf.tensor.dtypes import DType, as_dtype
from tfrecs.tf.tensor.nest import mapped
from tfrecs.tf.tensor.operators import Operators
from tfrecs.tf.tensor.shapes import TensorShape, compatible
from tfrecs.tf.tensor.values import SparseTensor, Tensor, tensor, wrapped

# What is known of the result of a function, of the arguments of a call (static_shapes.py).
Rule: TypeAlias = Callable[..., Known]

P = ParamSpec("P")
R = TypeVar("R")


class Deferred(Operators):
    """What `function` will make of arguments, some of which are deferred themselves.

    Attributes:
        known_dtype: The type that it will have, where that is known; else None.
        known_shape: As much of its shape as is known; None: nothing.
        known_integers: The integers that it will have, as far as these are known.
    """

    __slots__ = (
        "args",
        "function",
        "known_dtype",
        "known_integers",
        "known_shape",
        "kwargs",
        "name",
    )

    def __init__(
        self, function: Callable[..., Any], args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> None:
        """Keep what to call, and with what."""
        self.function, self.args, self.kwargs = function, args, kwargs or {}
        self.name = getattr(function, "__name__", "value")
        self.known_shape: TensorShape | None = None
        self.known_dtype: DType | None = None
        self.known_integers: Integers = None

    def of_kind(self, dtype: Any, shape: Any) -> Self:
        """Note of which type and shape it will be, as far as that is known."""
        self.known_dtype = None if dtype is None else as_dtype(dtype)
        self.known_shape = None if shape is None else TensorShape(shape)
        return self

    def knowing(self, known: Known) -> Self:
        """Note what is known of it."""
        self.known_dtype, self.known_integers = known.dtype, known.integers
        self.known_shape = None if known.shape is UNKNOWN else known.shape
        return self

    @property  # type: ignore[misc]
    def __class__(self) -> type[Any]:
        """Note that somebody asks for the kind of the value, which is not known yet."""
        note("__class__")
        return Deferred

    @property
    def dtype(self) -> DType:
        """The type that it will have.

        Raises:
            TypeError: It is not known yet.
        """
        if self.known_dtype is None:
            raise self._not_yet("type")
        return self.known_dtype

    def compute(self, memo: dict[int, Any]) -> Any:
        """Return the value; what is asked for twice with one `memo` is computed once."""
        if id(self) not in memo:
            memo[id(self)] = wrapped(self._computed(memo))
        return memo[id(self)]

    def _computed(self, memo: dict[int, Any]) -> Any:
        args, kwargs = computed(self.args, memo), computed(self.kwargs, memo)
        return self.function(*args, **kwargs)

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Compute it, by itself: an array, NumPy's scalar, or bytes."""
        return fetched(self.compute(fed(feed_dict)))

    def run(self, feed_dict: Any = None, session: Any = None) -> None:
        """Compute it, for what it does."""
        self.eval(feed_dict, session)

    @property
    def values(self) -> Deferred:
        """The values of what will be a sparse tensor."""
        return Deferred(_values, (self,)).of_kind(self.known_dtype, [None])

    @property
    def indices(self) -> Deferred:
        """The indices of what will be a sparse tensor."""
        return Deferred(_indices, (self,)).of_kind("int64", [None, self._rank()])

    @property
    def dense_shape(self) -> Deferred:
        """The shape of what will be a sparse tensor."""
        return Deferred(_dense_shape, (self,)).of_kind("int64", [self._rank()])

    def _rank(self) -> int | None:
        return None if self.known_shape is None else self.known_shape.rank

    def set_shape(self, shape: Any) -> None:
        """Add to what is known of its shape.

        Raises:
            ValueError: It is known to have another one.
        """
        before = UNKNOWN if self.known_shape is None else self.known_shape
        self.known_shape = before.merge_with(shape)

    def get_shape(self) -> TensorShape:
        """Return the shape as far as it is known.

        Raises:
            TypeError: It is not, and this is a function given to `map`: with a value it will be.
        """
        if self.known_shape is None and getattr(_noting, "names", None) is not None:
            raise self._not_yet("shape")
        return TensorShape(None) if self.known_shape is None else self.known_shape

    @property
    def shape(self) -> TensorShape:
        """As get_shape()."""
        return self.get_shape()

    def taken(self, value: Any) -> Any:
        """Return a value that is given in place of this one, as one of its type.

        Raises:
            ValueError: It has another shape.
        """
        if hasattr(value, "it"):
            return value  # sparse or ragged
        made = tensor(value, self.known_dtype)
        if not compatible(self.known_shape, made.shape):
            raise ValueError(
                f"Cannot feed value of shape {made.shape} for {self!r}, of shape {self.known_shape}"
            )
        return made

    def _apply(self, function: Callable[..., Any], *values: Any) -> Deferred:
        return Deferred(function, values).knowing(operated(function, *values))

    def _not_yet(self, what: str) -> TypeError:
        return TypeError(
            f"{self!r} has no {what} yet: it stands for a value that a session, or a dataset, "
            "will compute"
        )

    def __bool__(self) -> bool:
        """Return the truth value as numpy() does."""
        return bool(self._now("truth value"))

    def __iter__(self) -> Any:
        """Refuse: it is not known yet how many there are."""
        raise self._not_yet("elements")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        """Return the value as numpy() does."""
        return np.asarray(self._now("array"), dtype)

    def numpy(self) -> Any:
        """Return the value where it comes of an iterator alone; else refuse: there is none yet."""
        return fetched(self._now("array"))

    def __int__(self) -> int:
        """Return a single value as an int, as numpy() does."""
        return int(self._now("value"))

    def __float__(self) -> float:
        """Return a single value as a float, as numpy() does."""
        return float(self._now("value"))

    def _now(self, what: str) -> Any:
        """Return the value, computed of elements that iterators give for it.

        Raises:
            TypeError: It comes of something else, of which each run has another value.
        """
        origins = set(_origins(self))
        if not origins or not all(hasattr(one, "claim") for one in origins):
            raise self._not_yet(what)
        memo = {id(one): one.claim() for one in origins}  # type: ignore[attr-defined]
        return self.compute(memo)

    def __hash__(self) -> int:  # type: ignore[override]
        """Return one of the object: it is equal to itself alone."""
        return id(self)

    def __repr__(self) -> str:
        """Show what makes it."""
        return f"<tf.Tensor {self.name!r}, not computed yet>"


def _origins(value: Any) -> Iterator[Deferred]:
    """Yield the deferred values in a structure that come of no others."""
    if isinstance(value, Deferred):
        inner = (value.args, value.kwargs)
        yield from _origins(inner) if is_deferred(inner) else (value,)
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _origins(one)
    elif isinstance(value, tuple | list):
        for one in value:
            yield from _origins(one)


class Upcoming(Deferred):
    """The next element of an iterator in each run of a session; without one, an element.

    Code without sessions asks `get_next()` for element after element. So the first time that one is
    asked for its value, it takes an element, after those that were asked for before it.
    """

    __slots__ = ("_claim", "element")

    def __init__(self, function: Callable[[], Any], claim: Callable[[Any], None]) -> None:
        """Keep what gives the next element to a run, and what sets `element` of this one."""
        super().__init__(function)
        self._claim = claim
        self.element: Any = None

    def claim(self) -> Any:
        """Return its element, always the same."""
        if self.element is None:
            self._claim(self)
        return self.element


class Looked(Deferred):
    """What stands for a record, to see what a function does with it.

    Attributes:
        calls: How it was parsed.
    """

    __slots__ = ("calls",)

    def __init__(self) -> None:
        """Begin: it was not parsed yet."""
        super().__init__(_nothing)
        self.calls: list[Deferred] = []


def _nothing() -> Any:
    raise TypeError("nothing computes this record: it was only looked at what is done with it")


def _values(sparse: Any) -> Any:
    return sparse.values


def _indices(sparse: Any) -> Any:
    return sparse.indices


def _dense_shape(sparse: Any) -> Any:
    return sparse.dense_shape


def fetched(value: Any) -> Any:
    """Return a value that was computed, or a structure of such, as a session gives it."""
    return mapped(_fetched_one, value)


def _fetched_one(value: Any) -> Any:
    if isinstance(value, SparseTensor):
        return SparseTensorValue(
            *(part.numpy() for part in (value.indices, value.values, value.dense_shape))
        )
    return value.numpy() if isinstance(value, Tensor) else value


class SparseTensorValue(NamedTuple):
    """The three parts of a sparse tensor, as a session gives it."""

    indices: Any
    values: Any
    dense_shape: Any


def is_deferred(value: Any) -> bool:
    """Whether a value is, or has in it, one that is not there yet."""
    if isinstance(value, Deferred):
        return True
    if isinstance(value, Mapping):
        return any(map(is_deferred, value.values()))
    if isinstance(value, tuple | list):
        return any(map(is_deferred, value))
    return False


def computed(value: Any, memo: dict[int, Any]) -> Any:
    """Return a value, or a structure of values, all of which are there."""
    if not is_deferred(value):
        return value
    return mapped(lambda one: one.compute(memo) if isinstance(one, Deferred) else one, value)


def fed(feed_dict: Mapping[Any, Any] | None) -> dict[int, Any]:
    """Return what `compute` is to know already: the values of what a run is fed.

    Raises:
        TypeError: A key is no value of a graph.
        ValueError: A value has another shape than what it stands for.
    """
    memo = {}
    for key, value in (feed_dict or {}).items():
        if not isinstance(key, Deferred):
            raise TypeError(f"feed_dict has {key!r}, which is no value of a graph")
        memo[id(key)] = key.taken(value)
    return memo


def parts(value: Any, count: int | None, each: Sequence[Known] = ()) -> Any:
    """Return a list of `count` values, each of which can be had by itself before it is there.

    `each` is what is known of them.
    """
    if count is None or not isinstance(value, Deferred):
        return value
    made = [value[number] for number in range(count)]
    for one, known in zip(made, each, strict=False):
        one.knowing(known)
    return made


_noting = threading.local()


@contextmanager
def deferring() -> Iterator[list[str]]:
    """Note what this thread asks of deferred values meanwhile, but operators and parsing."""
    before, _noting.names = getattr(_noting, "names", None), []
    try:
        yield _noting.names
    finally:
        _noting.names = before


def note(name: str) -> None:
    """Note what is asked, if somebody wants to know."""
    names = getattr(_noting, "names", None)
    if names is not None:
        names.append(name)


@overload
def deferrable(function: Callable[P, R]) -> Callable[P, R]: ...
@overload
def deferrable(*, rule: Rule) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def deferrable(function: Callable[..., Any] | None = None, rule: Rule | None = None) -> Any:
    """Have a function defer its work where it is given what is not there yet.

    `rule` returns what is known of the result, of the arguments of the function (static_shapes.py).
    """
    if function is None:
        return partial(deferrable, rule=rule)

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if is_deferred(args) or is_deferred(kwargs):
            note(function.__name__)
            made = Deferred(function, args, kwargs)
            return made if rule is None else made.knowing(_known_of(function, rule, args, kwargs))
        with our_errors(function.__name__):
            return function(*args, **kwargs)

    return call


def _known_of(function: Callable[..., Any], rule: Rule, args: Any, kwargs: Any) -> Known:
    """Return what a rule knows of the result of a call."""
    bound = signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    return rule(*bound.args, **bound.kwargs)
