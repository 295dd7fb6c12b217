"""Static shapes: what the functions of `tf` know of their results before these are computed.

A rule has the parameters of its function, and returns what is known of the result. Code for graphs
asks for it with `x.shape` and `x.dtype`. A shape that no value can have is an error at once.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

from tfrecs.tf.graph.known import (
    NOTHING,
    UNKNOWN,
    Known,
    known,
    merged,
    of,
    packed,
    shape_of,
)
from tfrecs.tf.graph.static_operators import broadcast, broadcast_shape
from tfrecs.tf.tensor.shapes import TensorShape

Dims: TypeAlias = list[int | None]


def same(x: Any, *others: Any, **options: Any) -> Known:
    """Infer a function that returns its first argument."""
    return known(x)


def same_shape(x: Any, *others: Any, **options: Any) -> Known:
    """Infer a function that keeps the type and the shape of its first argument."""
    return known(x)._replace(integers=None)


def reversed_along(tensor: Any, axis: Any, name: Any = None) -> Known:
    """Infer `reverse`."""
    given = known(tensor)
    if given.shape.rank is not None:
        _axes(axis, given.shape.rank)
    return Known(given.dtype, given.shape)


def alike(input: Any, dtype: Any = None, *others: Any, **options: Any) -> Known:
    """Infer `zeros_like` and `ones_like`."""
    given = known(input)
    return of(given.dtype if dtype is None else dtype, given.shape)


def cast(x: Any, dtype: Any, name: Any = None) -> Known:
    """Infer `cast`."""
    made = of(dtype, known(x).shape)
    is_integer = made.dtype is not None and made.dtype.is_integer
    return made._replace(integers=known(x).integers) if is_integer else made


def converted(value: Any, dtype: Any = None, *others: Any) -> Known:
    """Infer `convert_to_tensor`."""
    given = known(value)
    return given if dtype is None else cast(value, dtype)


# --- Reductions ---


def reduced(input_tensor: Any, axis: Any = None, keepdims: Any = None, *others: Any) -> Known:
    """Infer a reduction of all values, or of those along axes."""
    given = known(input_tensor)
    if axis is None and not keepdims:
        return Known(given.dtype, TensorShape([]))
    if given.shape.rank is None:
        return Known(given.dtype)
    axes = _axes(axis, given.shape.rank)
    if axes is None:
        return of(given.dtype, [None] * given.shape.rank if keepdims else None)
    kept = [1 if at in axes else dim for at, dim in enumerate(given.shape)]
    left = [dim for at, dim in enumerate(kept) if at not in axes or keepdims]
    return of(given.dtype, left)


def _axes(axis: Any, rank: int) -> set[int] | None:
    """Return axes counted from the first one; None if they are not known."""
    if axis is None:
        return set(range(rank))
    given = known(axis)
    axes = [given.integers] if not isinstance(given.integers, list) else given.integers
    axes = [] if given.shape == [0] else axes
    return None if None in axes else {_axis(one, rank) for one in axes if one is not None}


def _axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise ValueError(f"Invalid reduction dimension {axis} for input with {rank} dimensions.")
    return axis % rank


def argmax(input: Any, axis: Any = None, output_type: Any = "int64", *others: Any) -> Known:
    """Infer `argmax`."""
    if known(input).shape.rank == 0:
        return of(output_type, [])
    return of(output_type, reduced(input, 0 if axis is None else axis).shape)


# --- Shapes as values ---


def shape(input: Any, out_type: Any = "int32", name: Any = None) -> Known:
    """Infer `shape`."""
    dims = known(input).shape
    return of(out_type, [dims.rank], None if dims.rank is None else list(dims))


def size(input: Any, out_type: Any = "int32", name: Any = None) -> Known:
    """Infer `size`."""
    return of(out_type, [], known(input).shape.num_elements())


def rank(input: Any, name: Any = None) -> Known:
    """Infer `rank`."""
    return of("int32", [], known(input).shape.rank)


def reshape(tensor: Any, shape: Any, name: Any = None) -> Known:
    """Infer `reshape`.

    Raises:
        ValueError: The values are not as many as the shape has.
    """
    given, wanted = known(tensor), shape_of(shape)
    known(shape).shape.assert_has_rank(1)
    if wanted.rank is None:
        return Known(given.dtype)
    count, missing = given.shape.num_elements(), list(wanted).count(None)
    known_count = math.prod([dim for dim in wanted if dim is not None])
    if missing > 1 or (missing == 1 and count is None):
        return Known(given.dtype, wanted)
    if not _can_be(given.shape, known_count, missing):
        raise ValueError(f"Cannot reshape a tensor of shape {given.shape} to shape {wanted}")
    rest = count // known_count if count is not None and known_count else None
    return of(given.dtype, [rest if dim is None else dim for dim in wanted])


def _can_be(given: TensorShape, count: int, missing: int) -> bool:
    """Whether values of a shape can be `count`, or that times a number (`missing`)."""
    if given.rank is None or list(given).count(None) > 1:
        return True  # TensorFlow leaves it to the run, too
    there = math.prod([dim for dim in given if dim is not None])
    if None in given:
        return count % there == 0 if there else count == 0
    return (there % count == 0 if count else there == 0) if missing else there == count


def filled(dims: Any, value: Any, name: Any = None) -> Known:
    """Infer `fill`."""
    known(dims).shape.assert_has_rank(1)
    return Known(known(value).dtype, shape_of(dims))


def filled_with(shape: Any, dtype: Any = "float32", name: Any = None) -> Known:
    """Infer `zeros` and `ones`."""
    if known(shape).shape.rank == 0:
        return of(dtype, [known(shape).integers])
    return of(dtype, shape_of(shape))


def counted(start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, *_: Any) -> Known:
    """Infer `range`."""
    for one in (start, limit, delta):
        known(0 if one is None else one).shape.assert_has_rank(0)
    first, last = (0, start) if limit is None else (start, limit)
    kind = known(start).dtype if dtype is None else dtype
    numbers = [known(one).integers for one in (first, last, delta)]
    if not all(isinstance(one, int) for one in numbers):
        return of(kind, [None])
    values = list(range(*numbers))  # type: ignore[arg-type]
    return of(kind, [len(values)])


def ensured(x: Any, shape: Any, name: Any = None) -> Known:
    """Infer `ensure_shape`."""
    given = known(x)
    return Known(given.dtype, given.shape.merge_with(shape))


# --- Axes ---


def expand_dims(input: Any, axis: Any = None, name: Any = None) -> Known:
    """Infer `expand_dims`."""
    given = known(input)
    if given.shape.rank is None or axis is None:
        return Known(given.dtype)
    at, count = known(axis).integers, given.shape.rank + 1
    if not isinstance(at, int):
        return Known(given.dtype)
    if not -count <= at < count:
        raise ValueError(f"dim {at} not in the interval [{-count}, {count - 1}].")
    dims: Dims = list(given.shape)
    dims.insert(at % count, 1)
    return of(given.dtype, dims, [given.integers] if isinstance(given.integers, int) else None)


def squeeze(input: Any, axis: Any = None, name: Any = None) -> Known:
    """Infer `squeeze`."""
    given = known(input)
    if given.shape.rank is None:
        return Known(given.dtype)
    asked = [axis] if isinstance(axis, int) else axis
    if not asked:
        fixed = given.shape.is_fully_defined()
        return of(given.dtype, [dim for dim in given.shape if dim != 1] if fixed else None)
    axes = {_axis(int(one), given.shape.rank) for one in asked}
    wrong = [given.shape[at] for at in axes if given.shape[at] not in (1, None)]
    if wrong:
        raise ValueError(f"Can not squeeze dim[{axis}], expected a dimension of 1, got {wrong[0]}")
    return of(given.dtype, [dim for at, dim in enumerate(given.shape) if at not in axes])


def stack(values: Any, axis: Any = 0, name: Any = None) -> Known:
    """Infer `stack`."""
    if hasattr(type(values), "known_shape"):
        return NOTHING
    made = packed([known(one) for one in values])
    if made.shape.rank is None or not axis:
        return made
    dims = list(made.shape)
    at = _axis(axis, len(dims))
    return of(made.dtype, [*dims[1 : at + 1], dims[0], *dims[at + 1 :]])


def concat(values: Any, axis: Any, name: Any = None) -> Known:
    """Infer `concat`.

    Raises:
        ValueError: The shapes do not go together.
    """
    if hasattr(type(values), "known_shape"):
        return NOTHING
    parts, at = [known(one) for one in values], known(axis).integers
    typed = [part.dtype for part in parts if part.dtype is not None]
    dtype = typed[0] if typed else None
    ranks = {part.shape.rank for part in parts} - {None}
    if not ranks:
        return Known(dtype)
    if not isinstance(at, int):
        return of(dtype, [None] * max(one for one in ranks if one is not None))
    return _concatenated(parts, at)._replace(dtype=dtype)


def _concatenated(parts: list[Known], axis: int) -> Known:
    rank = next(part.shape.rank for part in parts if part.shape.rank is not None)
    at = _axis(axis, rank)
    shapes = [part.shape.with_rank(rank) for part in parts]
    rest = merged([TensorShape([*one[:at], None, *one[at + 1 :]]) for one in shapes])
    lengths = [one[at] for one in shapes]
    total = None if None in lengths else sum(lengths)
    integers: Any = None
    if all(isinstance(part.integers, list) for part in parts):
        integers = [one for part in parts for one in part.integers]  # type: ignore[union-attr]
    return of(None, [*rest[:at], total, *rest[at + 1 :]], integers)


def transpose(a: Any, perm: Any = None, *others: Any) -> Known:
    """Infer `transpose`."""
    given = known(a)
    count = given.shape.rank
    if perm is None:
        return Known(given.dtype, given.shape[::-1] if count is not None else UNKNOWN)
    order = known(perm)
    if isinstance(order.integers, list) and None not in order.integers:
        dims = given.shape.with_rank(len(order.integers))
        return of(given.dtype, [dims[at] for at in order.integers if at is not None])
    length = TensorShape([count]).merge_with([order.shape[0]])[0]
    return of(given.dtype, None if length is None else [None] * length)


def gather(params: Any, indices: Any, validate: Any = None, axis: Any = 0, **others: Any) -> Known:
    """Infer `gather`."""
    given, places = known(params), known(indices)
    at = 0 if axis is None else known(axis).integers
    if given.shape.rank is None or places.shape.rank is None or not isinstance(at, int):
        return Known(given.dtype)
    at = _axis(at, given.shape.rank)
    return of(given.dtype, [*given.shape[:at], *places.shape, *given.shape[at + 1 :]])


def tile(input: Any, multiples: Any, name: Any = None) -> Known:
    """Infer `tile`."""
    given, times = known(input), known(multiples)
    if given.shape.rank is None or not isinstance(times.integers, list):
        length = given.shape.rank if given.shape.rank is not None else times.shape[0]
        return of(given.dtype, None if length is None else [None] * length)
    pairs = zip(given.shape, times.integers, strict=True)
    return of(given.dtype, [None if None in pair else math.prod(pair) for pair in pairs])


def boolean_mask(tensor: Any, mask: Any, axis: Any = 0, name: Any = None) -> Known:
    """Infer `boolean_mask`.

    Raises:
        ValueError: The mask has not the shape of what it chooses from.
    """
    given, chosen = known(tensor), known(mask).shape
    if chosen.rank is None:
        raise ValueError("Number of mask dimensions must be specified")
    if given.shape.rank is None:
        return Known(given.dtype)
    at = axis or 0
    given.shape[at : at + chosen.rank].assert_is_compatible_with(chosen)
    return of(given.dtype, [*given.shape[:at], None, *given.shape[at + chosen.rank :]])


def pad(tensor: Any, paddings: Any, *others: Any) -> Known:
    """Infer `pad`."""
    given, count = known(tensor), known(paddings).shape[0]
    shape = given.shape if count is None else given.shape.with_rank(count)
    if shape.rank is None or hasattr(type(paddings), "known_shape"):
        return of(given.dtype, None if shape.rank is None else [None] * shape.rank)
    pairs = zip(shape, map(shape_of, paddings), strict=True)
    return of(given.dtype, [_sum([dim, *width]) for dim, width in pairs])


def _sum(numbers: Dims) -> int | None:
    there = [one for one in numbers if one is not None]
    return sum(there) if len(there) == len(numbers) else None


def sliced(input_: Any, begin: Any, size: Any, name: Any = None) -> Known:
    """Infer `slice`."""
    given, first, counts = known(input_), known(begin).integers, known(size).integers
    if not isinstance(counts, list):
        length = given.shape.rank
        return of(given.dtype, None if length is None else [None] * length)
    starts = first if isinstance(first, list) else [None] * len(counts)
    shape = given.shape.with_rank(len(counts))
    triples = zip(shape, starts, counts, strict=True)
    return of(given.dtype, [_slice_length(*one) for one in triples])


def _slice_length(dim: int | None, start: int | None, count: int | None) -> int | None:
    if count != -1:
        return count
    return None if dim is None or start is None else dim - start


# --- Choice ---


def one_hot(
    indices: Any, depth: Any, on: Any = None, off: Any = None, axis: Any = None, dtype: Any = None,
    name: Any = None,
) -> Known:  # fmt: skip
    """Infer `one_hot`."""
    given, length = known(indices), known(depth).integers
    typed = [known(one).dtype for one in (on, off) if one is not None]
    kind = dtype if dtype is not None else typed[0] if typed else "float32"
    if given.shape.rank is None:
        return of(kind)
    dims: Dims = list(given.shape)
    depth_dim = length if isinstance(length, int) else None
    dims.insert(len(dims) if axis in (None, -1) else axis, depth_dim)
    return of(kind, dims)


def where(condition: Any, x: Any = None, y: Any = None, name: Any = None) -> Known:
    """Infer `where`."""
    chosen = known(condition).shape
    if x is None or y is None:
        return of("int64", [None, chosen.rank])
    pair = broadcast(x, y)
    return Known(pair.dtype, broadcast_shape(chosen, pair.shape))


def where_rows(condition: Any, x: Any = None, y: Any = None) -> Known:
    """Infer `where` of TensorFlow 1."""
    if x is None or y is None:
        return where(condition)
    pair = broadcast(x, y)
    return Known(pair.dtype, merged([known(x).shape, known(y).shape]))
