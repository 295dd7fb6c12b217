"""What a `tf.data.Dataset` is made of: arrays, numbers, names of files, other datasets."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from typing import Any

import numpy as np

from tfrecs._internal.optional import integration
from tfrecs._internal.wording import counted
from tfrecs.dataset import Dataset as Plan
from tfrecs.errors import MissingFileError, SpecError
from tfrecs.tf.data.elements import flat, normal
from tfrecs.tf.data.rows import Generated, listed, sliced
from tfrecs.tf.data.steps import Formed, Picked
from tfrecs.tf.data.weighted import Weighted
from tfrecs.tf.functions.filesystem import matching
from tfrecs.tf.functions.python_errors import as_tf_errors
from tfrecs.tf.tensor.conversion import integer
from tfrecs.tf.tensor.dtypes import as_dtype
from tfrecs.tf.tensor.nest import mapped
from tfrecs.tf.tensor.shapes import TensorShape, TensorSpec, compatible
from tfrecs.tf.tensor.values import tensor, unwrapped


class Making:
    """The static methods of `tf.data.Dataset`."""

    @property
    def plan(self) -> Plan:
        """The same dataset as a tfrecs.Dataset."""
        raise NotImplementedError

    @classmethod
    def of(cls, plan: Plan) -> Any:
        """Return the dataset of a plan of ours."""
        raise NotImplementedError

    @classmethod
    def from_tensors(cls, tensors: Any, name: str | None = None) -> Any:
        """Return a dataset of one element.

        Raises:
            InvalidArgumentError: It is None.
        """
        if tensors is None:
            raise SpecError("from_tensors() needs an element, and not None")
        return cls.of(Plan.of(listed("from_tensors(...)", [normal(tensors)])))

    @classmethod
    def from_tensor_slices(cls, tensors: Any, name: str | None = None) -> Any:
        """Return a dataset of the rows of arrays, in tuples and dicts as these are.

        Example:
            >>> from tfrecs import tf
            >>> list(tf.data.Dataset.from_tensor_slices(([1, 2], ["a", "b"])).as_numpy_iterator())
            [(np.int32(1), b'a'), (np.int32(2), b'b')]
        """
        if tensors is None:
            raise SpecError("from_tensor_slices() needs an array, and not None")
        return cls.of(Plan.of(sliced(normal(tensors))))

    @classmethod
    def from_generator(
        cls,
        generator: Callable[..., Iterable[Any]],
        output_types: Any = None,
        output_shapes: Any = None,
        args: Any = None,
        output_signature: Any = None,
        name: str | None = None,
    ) -> Any:
        """Return a dataset of what a function yields, each time that it is called.

        Raises:
            InvalidArgumentError: It yields what is not of the types and shapes, when it does.
            TypeError: It is no function.
        """
        if not callable(generator):
            raise TypeError("`generator` must be a Python callable.")
        specs = output_signature
        if specs is None and output_types is not None:
            specs = _specs(output_types, output_shapes)
        given = tuple(map(tensor, args or ()))

        def elements() -> Any:
            with as_tf_errors():
                yielded = iter(generator(*(one.numpy() for one in given)))
            return (_typed(one, specs) for one in _with_tf_errors(yielded))

        name_of = getattr(generator, "__qualname__", "function")
        return cls.of(Plan.of(Generated(f"from_generator({name_of})", elements)))

    @classmethod
    def range(cls, *args: Any, output_type: Any = "int64", name: str | None = None) -> Any:
        """Return a dataset of numbers, from `start` up to `stop`, `step` apart."""
        try:
            numbers = range(*map(int, args))
        except ValueError as error:
            raise SpecError(str(error)) from None
        dtype = as_dtype(output_type).dtype
        made = Plan.of(listed(f"range({', '.join(map(str, args))})", numbers))
        return cls.of(made.map(dtype.type))

    @classmethod
    def zip(cls, *args: Any, datasets: Any = None, name: str | None = None) -> Any:
        """Return a dataset of elements of several side by side, in a structure as they are in."""
        structure = datasets if datasets is not None else args[0] if len(args) == 1 else args
        plans = [_plan_of(part) for part in flat(structure)]
        if not plans:
            raise SpecError("zip() needs at least one dataset")
        first, *others = plans
        places = count()
        form = Formed(mapped(lambda _: Picked((next(places),)), structure))
        return cls.of(Plan.of(form.over(first.zip(*others).node)))

    @classmethod
    def sample_from_datasets(
        cls,
        datasets: Any,
        weights: Any = None,
        seed: int | None = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: bool | None = None,
    ) -> Any:
        """Return a dataset of elements of several, drawn at random; without a seed, others each.

        Datasets whose weight is not above 0 are never drawn from. A dataset of weights gives those
        of draw after draw, and ends the draws where it ends.
        """
        if not datasets:
            raise SpecError("there must be datasets to draw from")
        drawn = secrets.randbits(32) if seed is None else integer(seed, "seed")
        if isinstance(weights, Making):
            return cls.of(_weighted(datasets, weights, drawn, stop_on_empty_dataset))
        parts = [_plan_of(one, "sample_from_datasets") for one in datasets]
        shares = None if weights is None else _weights(weights, len(parts))
        stop = "first" if stop_on_empty_dataset else "all"
        if shares is not None:
            chosen = [at for at, share in enumerate(shares) if share > 0]
            parts, shares = [parts[at] for at in chosen], [shares[at] for at in chosen]
        if len(parts) < 2:  # noqa: PLR2004 - nothing to draw
            return cls.of(parts[0]) if parts else cls.range(0)
        first, *others = parts
        return cls.of(first.mix(*others, weights=shares, seed=drawn, stop=stop))


def _weights(given: Any, count: int) -> list[float]:
    """Return the weights of that many datasets.

    Raises:
        TypeError: They are not floats.
        SpecError: There are not as many.
    """
    made = tensor(given)
    if made.dtype.name not in ("float32", "float64"):
        raise TypeError(f"`weights` must be float32 or float64, not {made.dtype.name}")
    shares: list[float] = np.asarray(made).tolist()
    if made.shape != (count,):
        raise SpecError(f"{count} datasets need as many weights, not {shares}")
    return shares


def _weighted(datasets: Any, weights: Making, seed: int, stop_on_empty: bool) -> Plan:
    """Return the plan of elements, each drawn by the weights that a dataset gives for it."""
    parts = [weights.plan.node, *[_plan_of(one, "sample_from_datasets").node for one in datasets]]
    return Plan.of(Weighted(tuple(parts), seed, stop_on_empty))


def for_library(kind: type[Any]) -> type[Any]:
    """Return the class whose datasets Keras takes, if that is loaded: it knows them by class."""
    keras = sys.modules.get("keras")
    if not hasattr(getattr(keras, "utils", None), "PyDataset"):
        return kind
    fitted: type[Any] = integration("keras").fitted(kind)
    return fitted


def listed_files(file_pattern: Any) -> Plan:
    """Return the plan of the names of files that patterns match, in order.

    Raises:
        MissingFileError: There is none.
    """
    names = matching(file_pattern)
    if not names:
        raise MissingFileError(str(unwrapped(file_pattern)))
    return Plan.of(listed("list_files(...)", names))


def _with_tf_errors(yielded: Iterator[Any]) -> Iterator[Any]:
    """Yield what a generator does; its errors are those of `tf.errors`, as TensorFlow's are."""
    end = object()
    while True:
        with as_tf_errors():
            one = next(yielded, end)
        if one is end:
            return
        yield one


def _plan_of(dataset: Any, function: str = "zip") -> Plan:
    if not isinstance(dataset, Making):
        raise TypeError(f"{function}() takes datasets, in tuples and dicts, not {dataset!r}")
    return dataset.plan


def _specs(types: Any, shapes: Any) -> Any:
    """Return a TensorSpec for each of the types, which are in a structure, as the shapes are."""
    if isinstance(types, dict):
        return {name: _specs(one, shapes and shapes[name]) for name, one in types.items()}
    if isinstance(types, tuple):
        parts = shapes or [None] * len(types)
        return tuple([_specs(*pair) for pair in zip(types, parts, strict=True)])
    return TensorSpec(shapes, types)


def _typed(element: Any, specs: Any) -> Any:
    """Return an element whose values are as specs say; without specs, as values are."""
    if specs is None:
        return normal(element)
    if isinstance(specs, dict):
        return {name: _typed(element[name], one) for name, one in specs.items()}
    if isinstance(specs, TensorSpec):
        return _as_said(element, specs)
    if len(specs) != len(element):
        raise SpecError(
            f"the generator yields {counted(len(element), 'value')}, and not {len(specs)}"
        )
    return tuple([_typed(*pair) for pair in zip(element, specs, strict=True)])


def _as_said(value: Any, spec: TensorSpec) -> Any:
    try:
        made = tensor(value, spec.dtype)
    except (TypeError, ValueError) as error:
        raise SpecError(f"the generator yields {value!r}: {error}") from None
    if not compatible(TensorShape(spec.shape), made.shape):
        raise SpecError(f"the generator yields shape {made.shape}, and not {spec.shape}")
    return normal(made)
