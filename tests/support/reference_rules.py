"""What the parse functions must return for a spec, in plain Python: slow, short, on its own.

Map: `example_rows` and `sequence_rows` apply TensorFlow's rules to one decoded record and give a
row for each feature, or the reasons why the record is refused; `parse` and its like decode records,
gather their rows, and put them together as columns.

Where TensorFlow lets values of one record land in another, a record is refused here: partitions
and indices must fit the values of their own record (reason "misfit").
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from math import prod
from typing import Any, NamedTuple

import reference_wire
from reference import (
    Column,
    Columns,
    Dense,
    Divided,
    Feature,
    Fixed,
    Ragged,
    Repeated,
    Scattered,
    SequenceColumns,
    SequenceSpec,
    Sparse,
    Spec,
    Var,
    asked,
    wire_keys,
)
from reference_wire import Decoded, MalformedError, SequenceMessage, Value
from reference_wire import Feature as Content

MOST_ROWS = 1000  # that a row number may make; who could make more has memory to lose
PADDING: dict[str, Value] = {"int64": 0, "float32": 0, "string": b""}
# The words in the text of tfrecs for each reason: mostly TensorFlow's, which people search for.
WORDS = {
    "missing": ("is required but could not be found",),
    "kind": ("Data types don't match",),
    "count": ("values != expected",),
    "stride": ("is not a multiple of",),
    "misfit": (
        "do not form a valid RaggedTensor",
        "cannot be divided",
        "are not compatible",
        "row number",
        "not aligned",
        "in a partition does not fit",
    ),
}


class Fault(NamedTuple):
    """Why a record is refused.

    `feature` is None if the record as a whole cannot be read; `keys` are other names that a
    message may give for it. `reason` is one of malformed, missing, kind, count, stride, misfit, and
    huge: of what a record of this kind must give, nothing is said here.
    """

    record: int
    feature: str | None
    reason: str
    keys: tuple[str, ...] = ()


class RejectedError(Exception):
    """The parse function must fail, for any one of these faults."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__(faults)
        self.faults = faults


class _RefusedError(Exception):
    """A feature of a record is refused, for any of these reasons."""


class Nest(NamedTuple):
    """Values in rows, to any depth: how long the rows of each level are, outermost first."""

    levels: list[list[int]]
    values: list[Value]

    def tops(self) -> int:
        """How many outermost elements there are; the innermost shape is not looked at."""
        return len(self.levels[0]) if self.levels else len(self.values)


Row = Any  # list[Value]; of Scattered, (indices, value) pairs; of Divided and in lists, see below
Rows = dict[str, Row]


# ---------------------------------------------------------------- one record's features


def example_rows(decoded: Decoded, spec: Spec, *, context: bool = False) -> Rows | list[Fault]:
    """Each feature's row of one Example (or of the context of a SequenceExample)."""
    return _rows_of(spec, lambda name, feature: _row(decoded, name, feature, context))


def _rows_of(spec: Spec, read: Callable[[str, Feature], Row]) -> Rows | list[Fault]:
    rows: Rows = {}
    faults: list[Fault] = []
    for name, feature in spec.items():
        try:
            rows[name] = read(name, feature)
        except _RefusedError as refused:
            keys = tuple(wire_keys(name, feature))
            faults += [Fault(0, name, reason, keys) for reason in refused.args]
    return faults or rows


def _row(decoded: Decoded, name: str, feature: Feature, context: bool) -> Row:
    match feature:
        case Fixed():
            return _fixed_row(decoded, name, feature, context)
        case Var(dtype):
            return _values(decoded, name, dtype)
        case Repeated(shape, dtype):
            values = _values(decoded, name, dtype)
            if len(values) % prod(shape):
                raise _RefusedError("stride")
            return values
        case Scattered():
            return _scattered_row(decoded, feature)
        case Divided():
            keys = wire_keys(name, feature)
            values = _values(decoded, keys[0], feature.dtype)
            return _nest(feature, values, [_values(decoded, key, "int64") for key in keys[1:]])


def _values(decoded: Decoded, key: str, dtype: str) -> list[Value]:
    """The values of a key; none if it is absent, or there without a kind."""
    kind, values = decoded.get(key.encode(), (None, []))
    if kind not in (None, dtype):
        raise _RefusedError("kind")
    return values


def _fixed_row(decoded: Decoded, name: str, feature: Fixed, context: bool) -> list[Value]:
    kind, values = decoded.get(name.encode(), (None, []))
    # Of a Feature that is there without a kind, a context takes it that it has no values.
    is_absent = kind is None and not (context and name.encode() in decoded)
    if is_absent:
        # A default of no elements counts as none: also for shape (0,) the key must be there.
        if not feature.default:
            raise _RefusedError("missing")
        return list(feature.default)
    if kind not in (None, feature.dtype):
        raise _RefusedError("kind")
    if len(values) != prod(feature.shape):
        raise _RefusedError("count")
    return values


def _scattered_row(decoded: Decoded, feature: Scattered) -> list[tuple[tuple[int, ...], Value]]:
    values = _values(decoded, feature.values, feature.dtype)
    indices = [_values(decoded, key, "int64") for key in feature.indices]
    if any(len(index) != len(values) for index in indices):
        raise _RefusedError("misfit")
    row = list(zip(zip(*indices, strict=True), values, strict=True))
    return row if feature.already_sorted else sorted(row, key=lambda pair: pair[0])


def _nest(feature: Divided, values: list[Value], numbers: Sequence[list[int]]) -> Nest:
    """Divide one record's values (in feature lists: one step's) into rows, innermost first."""
    levels: list[list[int]] = []
    size, left = len(values), list(numbers)
    for kind, key in reversed(feature.partitions):
        if kind == "UniformRowLength":
            if size % key:
                raise _RefusedError("misfit")
            size //= key
            if levels:  # those at the end become dimensions of the values, not rows
                levels.insert(0, [key] * size)
        else:
            lengths = _LENGTHS[kind](left.pop(), size)
            levels.insert(0, lengths)
            size = len(lengths)
    return Nest(levels, values)


def _by_lengths(lengths: list[int], size: int) -> list[int]:
    if any(length < 0 for length in lengths) or sum(lengths) != size:
        raise _RefusedError("misfit")
    return lengths


def _by_limits(limits: list[int], size: int) -> list[int]:
    return _by_lengths([b - a for a, b in zip([0, *limits], limits, strict=False)], size)


def _by_starts(starts: list[int], size: int) -> list[int]:
    if starts and starts[0] != 0:
        raise _RefusedError("misfit")
    return _by_limits([*starts[1:], size] if starts else [], size)


def _by_splits(splits: list[int], size: int) -> list[int]:
    if splits and splits[0] != 0:
        raise _RefusedError("misfit")
    return _by_limits(splits[1:], size)


def _by_row_ids(ids: list[int], size: int) -> list[int]:
    if len(ids) != size or sorted(ids) != ids or min(ids, default=0) < 0:
        raise _RefusedError("misfit")
    if ids and ids[-1] >= MOST_ROWS:
        raise _RefusedError("huge")
    lengths = [0] * (ids[-1] + 1) if ids else []
    for row in ids:
        lengths[row] += 1
    return lengths


_LENGTHS: dict[str, Callable[[list[int], int], list[int]]] = {
    "RowLengths": _by_lengths,
    "RowLimits": _by_limits,
    "RowStarts": _by_starts,
    "RowSplits": _by_splits,
    "ValueRowIds": _by_row_ids,
}


# ---------------------------------------------------------------- one record's feature lists


def sequence_rows(message: SequenceMessage, spec: SequenceSpec) -> tuple[Rows, Rows] | list[Fault]:
    """Each feature's row of one SequenceExample: of the context, and of the lists."""
    context = example_rows(message.context, spec.context, context=True)
    lists = _rows_of(spec.lists, lambda name, feature: _list_row(message, name, feature))
    if isinstance(context, list) or isinstance(lists, list):
        return [fault for part in (context, lists) if isinstance(part, list) for fault in part]
    return context, lists


def _list_row(message: SequenceMessage, name: str, feature: Feature) -> Row:
    """Of Var, the values of each step; of Divided, a Nest of each; else all values."""
    match feature:
        case Repeated(shape, dtype, allow_missing):
            if name.encode() not in message.lists and not allow_missing:
                raise _RefusedError("missing")
            return _listed_row(message.lists.get(name.encode(), []), shape, dtype)
        case Var(dtype):
            return _steps(message, name, dtype)
        case Divided():
            key, *keys = wire_keys(name, feature)
            steps = _steps(message, key, feature.dtype)
            numbers = [_steps(message, key, "int64") for key in keys]
            if any(len(of_key) != len(steps) for of_key in numbers):
                raise _RefusedError("misfit")
            return [_nest(feature, *step) for step in _aligned(steps, numbers)]
    raise AssertionError(feature)


def _listed_row(steps: list[Content], shape: tuple[int, ...], dtype: str) -> list[Value]:
    reasons = ["kind"] * any(kind not in (None, dtype) for kind, _ in steps)
    reasons += ["count"] * any(len(values) != prod(shape) for _, values in steps)
    if reasons:
        raise _RefusedError(*reasons)
    return [value for _, values in steps for value in values]


def _aligned(
    steps: list[list[Value]], numbers: list[list[list[int]]]
) -> Iterable[tuple[list[Value], list[list[int]]]]:
    return [(step, [of_key[i] for of_key in numbers]) for i, step in enumerate(steps)]


def _steps(message: SequenceMessage, key: str, dtype: str) -> list[list[Value]]:
    steps = message.lists.get(key.encode(), [])
    if any(kind not in (None, dtype) for kind, _ in steps):
        raise _RefusedError("kind")
    return [values for _, values in steps]


# ---------------------------------------------------------------- columns


def example_columns(spec: Spec, rows: Sequence[Rows]) -> Columns:
    """The columns of a batch of Examples."""
    return {
        name: _batch_column(feature, [row[name] for row in rows]) for name, feature in spec.items()
    }


def _batch_column(feature: Feature, rows: list[Row]) -> Column:
    match feature:
        case Fixed(shape, dtype):
            return Dense(dtype, (len(rows), *shape), _joined(rows))
        case Var(dtype):
            indices = [[i, j] for i, row in enumerate(rows) for j in range(len(row))]
            return Sparse(dtype, indices, _joined(rows), [len(rows), _longest(rows)])
        case Repeated():
            return _padded(feature, rows)
        case Scattered(_, _, dtype, size):
            indices = [[i, *index] for i, row in enumerate(rows) for index, _ in row]
            values = [value for row in rows for _, value in row]
            return Sparse(dtype, indices, values, [len(rows), *size])
        case Divided():
            return _ragged(feature, rows, [[row.tops() for row in rows]])


def _padded(feature: Repeated, rows: list[list[Value]]) -> Dense:
    size = prod(feature.shape)
    longest = _longest(rows)
    padding = PADDING[feature.dtype] if feature.padding is None else feature.padding
    values = [v for row in rows for v in [*row, *[padding] * (longest - len(row))]]
    return Dense(feature.dtype, (len(rows), longest // size, *feature.shape), values)


def _ragged(feature: Divided, nests: list[Nest], outer: list[list[int]]) -> Ragged | Dense:
    """Nests one after the other, below levels of rows whose lengths are given."""
    flat = _flat(feature, nests)
    depth = _depth(feature)
    if not depth:  # elements that nothing divides are counted where they are rows themselves
        outer = [*outer[:-1], [len(n.values) // _inner_size(feature) for n in nests]]
    levels = [*outer, *(_joined([nest.levels[i] for nest in nests]) for i in range(depth))]
    return Ragged([_splits(lengths) for lengths in levels], feature.splits, flat)


def _flat(feature: Divided, nests: list[Nest]) -> Dense:
    values = _joined([nest.values for nest in nests])
    return Dense(feature.dtype, (len(values) // _inner_size(feature), *_inner(feature)), values)


def _inner(feature: Divided) -> tuple[int, ...]:
    """The lengths of the uniform partitions at the end, which are dimensions of the values."""
    kinds = [kind for kind, _ in feature.partitions]
    depth = max((i + 1 for i, kind in enumerate(kinds) if kind != "UniformRowLength"), default=0)
    return tuple(length for _, length in feature.partitions[depth:])


def _inner_size(feature: Divided) -> int:
    return prod(_inner(feature))


def _depth(feature: Divided) -> int:
    return len(feature.partitions) - len(_inner(feature))


def single_columns(spec: Spec, row: Rows) -> Columns:
    """What parse_single_example gives."""
    return {name: _single_column(feature, row[name]) for name, feature in spec.items()}


def _single_column(feature: Feature, row: Row) -> Column:
    match feature:
        case Fixed(shape, dtype):
            return Dense(dtype, shape, row)
        case Var(dtype):
            return Sparse(dtype, [[j] for j in range(len(row))], row, [len(row)])
        case Repeated(shape, dtype):
            return Dense(dtype, (len(row) // prod(shape), *shape), row)
        case Scattered(_, _, dtype, size):
            indices, values = [list(index) for index, _ in row], [value for _, value in row]
            return Sparse(dtype, indices, values, list(size))
        case Divided():
            if not _depth(feature):
                return _flat(feature, [row])
            splits = [_splits(lengths) for lengths in row.levels]
            return Ragged(splits, feature.splits, _flat(feature, [row]))


def list_columns(spec: Spec, rows: Sequence[Rows]) -> Columns:
    """The columns of the feature lists of a batch."""
    return {
        name: _list_column(feature, [row[name] for row in rows]) for name, feature in spec.items()
    }


def _list_column(feature: Feature, rows: list[Row]) -> Column:
    match feature:
        case Repeated():
            return _padded(feature, rows)
        case Var(dtype):
            places = [
                [i, j, k]
                for i, steps in enumerate(rows)
                for j, step in enumerate(steps)
                for k in range(len(step))
            ]
            shape = [len(rows), _longest(rows), max(map(_longest, rows), default=0)]
            return Sparse(dtype, places, _joined(_joined(rows)), shape)
        case Divided():
            nests = _joined(rows)
            return _ragged(feature, nests, [list(map(len, rows)), [n.tops() for n in nests]])
    raise AssertionError(feature)


def list_lengths(spec: Spec, rows: Sequence[Rows]) -> Columns:
    """The number of steps of each record, of the FixedLenSequenceFeatures."""
    return {
        name: Dense("int64", (len(rows),), [len(row[name]) // prod(feature.shape) for row in rows])
        for name, feature in spec.items()
        if isinstance(feature, Repeated)
    }


def _single_list_column(feature: Feature, row: Row) -> Column:
    """As in a batch of one, without its dimension."""
    batch = _list_column(feature, [row])
    if isinstance(batch, Dense):
        return batch._replace(shape=batch.shape[1:])
    if isinstance(batch, Sparse):
        indices = [index[1:] for index in batch.indices]
        return batch._replace(indices=indices, dense_shape=batch.dense_shape[1:])
    return batch._replace(splits=batch.splits[1:])


def _joined(parts: Iterable[Iterable[Any]]) -> list[Any]:
    return [item for part in parts for item in part]


def _longest(rows: Iterable[Sequence[Any]]) -> int:
    return max(map(len, rows), default=0)


def _splits(lengths: Iterable[int]) -> list[int]:
    return [0, *accumulate(lengths)]


# ---------------------------------------------------------------- the functions


def parse(records: Sequence[bytes], spec: Spec, *, strict: bool = True) -> Columns:
    """parse_example. With strict=False, what does not matter to the result is not looked into."""
    return example_columns(spec, _all_rows(records, _example_reader(spec, strict)))


def parse_single(record: bytes, spec: Spec, *, strict: bool = True) -> Columns:
    """parse_single_example: the same without the batch dimension."""
    (row,) = _all_rows([record], _example_reader(spec, strict))
    return single_columns(spec, row)


def parse_sequence(
    records: Sequence[bytes], spec: SequenceSpec, *, strict: bool = True
) -> SequenceColumns:
    """parse_sequence_example."""
    rows = _all_rows(records, _sequence_reader(spec, strict))
    contexts, lists = [row[0] for row in rows], [row[1] for row in rows]
    return SequenceColumns(
        example_columns(spec.context, contexts),
        list_columns(spec.lists, lists),
        list_lengths(spec.lists, lists),
    )


def parse_single_sequence(
    record: bytes, spec: SequenceSpec, *, strict: bool = True
) -> SequenceColumns:
    """parse_single_sequence_example; it has no lengths."""
    ((context, lists),) = _all_rows([record], _sequence_reader(spec, strict))
    columns = {n: _single_list_column(feature, lists[n]) for n, feature in spec.lists.items()}
    return SequenceColumns(single_columns(spec.context, context), columns, {})


def _example_reader(spec: Spec, strict: bool) -> Callable[[bytes], Any]:
    only = None if strict else asked(spec)
    return lambda record: example_rows(reference_wire.decode(record, only), spec)


def _sequence_reader(spec: SequenceSpec, strict: bool) -> Callable[[bytes], Any]:
    only = (None, None) if strict else (asked(spec.context), asked(spec.lists))
    return lambda record: sequence_rows(reference_wire.decode_sequence(record, *only), spec)


def _all_rows(records: Sequence[bytes], read: Callable[[bytes], Any]) -> list[Any]:
    rows: list[Any] = []
    faults: list[Fault] = []
    for number, record in enumerate(records):
        try:
            found = read(record)
        except MalformedError:
            found = [Fault(number, None, "malformed")]
        if isinstance(found, list):
            faults += [fault._replace(record=number) for fault in found]
        else:
            rows.append(found)
    if faults:
        raise RejectedError(faults)
    return rows
