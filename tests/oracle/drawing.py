"""Random specs, and what records may hold for them: fast, from `random.Random`, for many cases.

Map: `example_spec` and `sequence_spec` draw what to parse; a `Source` is what features that belong
together (a RaggedFeature and its partitions) need in one record, and `sources` finds those of a
spec; `draw_features` and `draw_lists` fill the keys of a record, mostly so that it fits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from random import Random
from typing import Any

from reference import Divided, Feature, Fixed, Repeated, Scattered, SequenceSpec, Spec, Var
from reference_wire import Feature as Content
from reference_wire import Value
from strategies import FLOAT_BITS, INT64S, STRINGS

DTYPES = ("int64", "float32", "string")
PARTITIONS = ("RowSplits", "RowLengths", "RowStarts", "RowLimits", "ValueRowIds")
SHAPES = ((), (), (1,), (2,), (3,), (2, 2), (1, 3), (0,), (2, 0), (2, 1, 2))
STRIDES = ((), (), (1,), (2,), (2, 1), (3,))
NAMES = ("a", "b", "label", "é", "日本", "image/encoded", "b*has+a:tricky_name", "a b", "x" * 130)

_rng = Random(7)
POOL: dict[str, Sequence[Value]] = {
    "int64": (*INT64S, *range(-3, 60), *(_rng.randint(-(2**63), 2**63 - 1) for _ in range(40))),
    "float32": (*FLOAT_BITS, *(_rng.getrandbits(32) for _ in range(80))),
    "string": (*STRINGS, *(_rng.randbytes(i % 9) for i in range(30))),
}

Filled = dict[str, Content]


# ---------------------------------------------------------------- specs


def example_spec(rng: Random) -> Spec:
    """One to five features of any kind; index and partition keys are shared now and then."""
    return _spec(rng, (_fixed, _var, _repeated, _scattered, _divided), rng.randint(1, 5))


def sequence_spec(rng: Random) -> SequenceSpec:
    """Up to three features of a context, and up to three lists; at least one in all."""
    context = _spec(rng, (_fixed, _var, _divided), rng.randint(0, 3))
    lists = _spec(rng, (_listed, _listed, _var, _divided), rng.randint(not context, 3))
    return SequenceSpec(context, lists)


def _spec(rng: Random, kinds: Sequence[Callable[..., None]], count: int) -> Spec:
    names = rng.sample(NAMES, count)
    spec: dict[str, Feature] = {}
    for number, name in enumerate(names):
        rng.choice(kinds)(rng, spec, name, f"k{number}")
    return spec


def _values(rng: Random, dtype: str, count: int) -> list[Value]:
    return rng.choices(POOL[dtype], k=count)


def _fixed(rng: Random, spec: dict[str, Feature], name: str, _: str) -> None:
    dtype, shape = rng.choice(DTYPES), rng.choice(SHAPES)
    default = tuple(_values(rng, dtype, prod(shape))) if rng.random() < 0.6 else None
    spec[name] = Fixed(shape, dtype, default)


def _var(rng: Random, spec: dict[str, Feature], name: str, _: str) -> None:
    spec[name] = Var(rng.choice(DTYPES))


def _repeated(rng: Random, spec: dict[str, Feature], name: str, _: str) -> None:
    dtype = rng.choice(DTYPES)
    padding = rng.choice(POOL[dtype]) if rng.random() < 0.5 else None
    spec[name] = Repeated(rng.choice(STRIDES), dtype, True, padding)


def _listed(rng: Random, spec: dict[str, Feature], name: str, _: str) -> None:
    spec[name] = Repeated(rng.choice(STRIDES), rng.choice(DTYPES), rng.random() < 0.7)


def _scattered(rng: Random, spec: dict[str, Feature], name: str, key: str) -> None:
    count = rng.choice((1, 1, 2, 3))
    keys = tuple(f"{key}/index{i}" for i in range(count))
    size = tuple(rng.choice((0, 1, 5, 100, 2**40, -1)) for _ in keys)
    dtype = rng.choice(DTYPES)
    spec[name] = Scattered(keys, f"{key}/value", dtype, size, rng.random() < 0.3)
    if rng.random() < 0.2:
        spec[f"{key}/again"] = Scattered(keys[:1], f"{key}/value", dtype, (9,), True)
    if rng.random() < 0.2:
        spec[keys[-1]] = Var("int64")


def _divided(rng: Random, spec: dict[str, Feature], name: str, key: str) -> None:
    depth = rng.choice((0, 0, 1, 1, 1, 2, 2, 3))
    partitions = tuple(_partition(rng, f"{key}/part{i}") for i in range(depth))
    splits, validate = rng.choice(("int32", "int64")), rng.random() < 0.5
    value_key = None if rng.random() < 0.3 else f"{key}/value"
    feature = Divided(rng.choice(DTYPES), value_key, partitions, splits, validate)
    spec[name] = feature
    if depth and rng.random() < 0.15:  # the same values, in the rows of the outer level only
        spec[f"{key}/flat"] = Divided(feature.dtype, value_key or name, (), splits)
    if depth and rng.random() < 0.15:
        other = Divided(rng.choice(DTYPES), f"{key}/other", partitions, splits, validate)
        spec[f"{key}/same"] = other


def _partition(rng: Random, key: str) -> tuple[str, Any]:
    if rng.random() < 0.3:
        return "UniformRowLength", rng.choice((1, 2, 2, 3))
    return rng.choice(PARTITIONS), key


# ---------------------------------------------------------------- what a record needs


@dataclass(frozen=True)
class Source:
    """Keys that belong together: values by key with their dtypes, and what they must fit.

    Attributes:
        values: the keys of the values, with the dtype of each.
        count: how many values there must be; a negative number is a stride; None is any number.
        indices: keys of as many indices.
        partitions: of RaggedFeatures.
        required: whether the first key must be there.
    """

    values: tuple[tuple[str, str], ...]
    count: int | None = None
    indices: tuple[str, ...] = ()
    partitions: tuple[tuple[str, Any], ...] = ()
    required: bool = False


def sources(spec: Spec) -> list[Source]:
    """The sources of a spec, those that are part of another left out."""
    found: dict[tuple[Any, ...], Source] = {}
    for name, feature in spec.items():
        source = _source(name, feature)
        group: tuple[Any, ...] = source.indices[:1] or source.partitions or source.values
        other = found.get(group)
        if other is None or len(source.indices) > len(other.indices):
            found[group] = source
        elif source.partitions and any(kind != "UniformRowLength" for kind, _ in group):
            values = tuple(dict.fromkeys((*other.values, *source.values)))
            found[group] = Source(values, None, (), source.partitions)
        elif source.partitions:
            found[name,] = source
    taken = {k for s in found.values() if s.indices or s.partitions for k in _keys(s)}
    return [
        source
        for source in found.values()
        if source.indices or source.partitions or source.values[0][0] not in taken
    ]


def _keys(source: Source) -> list[str]:
    keyed = [key for kind, key in source.partitions if kind != "UniformRowLength"]
    return [*(key for key, _ in source.values), *source.indices, *keyed]


def _source(name: str, feature: Feature) -> Source:
    match feature:
        case Fixed(shape, dtype, default):
            return Source(((name, dtype),), prod(shape), required=not default)
        case Var(dtype):
            return Source(((name, dtype),))
        case Repeated(shape, dtype, allow_missing):
            return Source(((name, dtype),), -prod(shape), required=not allow_missing)
        case Scattered(indices, values, dtype):
            return Source(((values, dtype),), None, indices)
        case Divided(dtype, values, partitions):
            return Source(((values or name, dtype),), None, (), partitions)


def fill(rng: Random, source: Source) -> Filled:
    """Contents for all keys of a source that fit each other."""
    if source.partitions:
        return _fill_divided(rng, source)
    count = source.count
    if count is None:
        count = rng.choice((0, 1, 2, 3, 3, 4, 20 if source.indices else 5))
    elif count < 0:
        count = -count * rng.choice((0, 1, 2, 3))
    out: Filled = {key: (dtype, _values(rng, dtype, count)) for key, dtype in source.values}
    for key in source.indices:
        pool = (0, 1, 2, 3, 4, 4, rng.randint(-2, 120))
        out[key] = ("int64", rng.choices(pool, k=count))
    return out


def _fill_divided(rng: Random, source: Source) -> Filled:
    out: Filled = {}
    rows = rng.choice((0, 1, 1, 2, 3))
    for kind, key in source.partitions:
        if kind == "UniformRowLength":
            rows *= key
            continue
        lengths = rng.choices((0, 1, 1, 2, 3), k=rows)
        if kind == "ValueRowIds" and lengths and not lengths[-1]:
            lengths[-1] = 1  # they cannot say that there are empty rows at the end
        out[key] = ("int64", _numbers(kind, lengths))
        rows = sum(lengths)
    for key, dtype in source.values:
        out[key] = (dtype, _values(rng, dtype, rows))
    return out


def _numbers(kind: str, lengths: list[int]) -> list[int]:
    """A partition that says this."""
    ends = list(accumulate(lengths))
    match kind:
        case "RowLengths":
            return lengths
        case "RowLimits":
            return ends
        case "RowStarts":
            return [0, *ends[:-1]] if ends else []
        case "RowSplits":
            return [0, *ends]
        case _:
            return [row for row, length in enumerate(lengths) for _ in range(length)]


# ---------------------------------------------------------------- records


def draw_features(rng: Random, wanted: list[Source], faulty: bool) -> Filled:
    """The features of an Example or a context; at most one of them is spoilt if `faulty`."""
    out: Filled = {}
    spoilt = rng.randrange(len(wanted)) if faulty and wanted else -1
    for number, source in enumerate(wanted):
        filled = fill(rng, source)
        if number == spoilt:
            _spoil(rng, source, filled)
        elif not source.required and rng.random() < 0.15:
            _leave_out(rng, source, filled)
        out.update(filled)
    return out


def _leave_out(rng: Random, source: Source, filled: Filled) -> None:
    """Nothing of a source: its keys absent, there without a kind, or, if that fits, empty."""
    for key, (kind, _) in list(filled.items()):
        way = rng.random()
        if way < 0.5:
            del filled[key]
        elif way < 0.8 or source.count is not None:
            filled[key] = (None, [])
        else:
            filled[key] = (kind, [])


def _spoil(rng: Random, source: Source, filled: Filled) -> None:
    """Change one of the keys so that, mostly, the record must be refused."""
    key = rng.choice(list(filled))
    kind, values = filled[key]
    way = rng.random()
    if way < 0.2:
        del filled[key]
    elif way < 0.3:
        filled[key] = (None, [])
    elif way < 0.5:
        other = rng.choice([dtype for dtype in DTYPES if dtype != kind])
        filled[key] = (other, _values(rng, other, rng.choice((0, len(values)))))
    else:
        kind = kind or "int64"
        small = [n for n in (-1, 0, 1, 2, 3, 5) if kind == "int64"] or POOL[kind]
        filled[key] = (kind, _edited(rng, values, small))


def _edited(rng: Random, values: list[Value], pool: Sequence[Value]) -> list[Value]:
    out = list(values)
    way = rng.choice(("more", "less", "other", "none", "twice"))
    at = rng.randint(0, len(out))
    if way == "more":
        out.insert(at, rng.choice(pool))
    elif way == "less":
        del out[at : at + 1]
    elif way == "other":
        out[at : at + 1] = [rng.choice(pool)]
    elif way == "none":
        out = []
    else:
        out += out
    return out


def draw_lists(rng: Random, wanted: list[Source], faulty: bool) -> dict[str, list[Content]]:
    """The feature lists of a SequenceExample."""
    out: dict[str, list[Content]] = {}
    spoilt = rng.randrange(len(wanted)) if faulty and wanted else -1
    for number, source in enumerate(wanted):
        if number != spoilt and not source.required and rng.random() < 0.1:
            continue
        steps = [_step(rng, source) for _ in range(rng.choice((0, 1, 2, 3, 4)))]
        lists = {key: [step[key] for step in steps] for key in _keys(source)}
        if number == spoilt:
            _spoil_lists(rng, lists)
        out.update(lists)
    return out


def _step(rng: Random, source: Source) -> Filled:
    if source.count is not None:
        count = -source.count
        return {key: (dtype, _values(rng, dtype, count)) for key, dtype in source.values}
    step = fill(rng, source)
    if rng.random() < 0.15:
        for key in step:
            step[key] = rng.choice(((None, []), (step[key][0], [])))
    return step


def _spoil_lists(rng: Random, lists: dict[str, list[Content]]) -> None:
    key = rng.choice(list(lists))
    steps = lists[key]
    way = rng.random()
    if way < 0.15:
        del lists[key]
    elif way < 0.4 or not steps:
        at = rng.randint(0, len(steps))
        steps[at : at + rng.randint(0, 1)] = [] if rng.random() < 0.3 else [("int64", [1])]
    else:
        at = rng.randrange(len(steps))
        filled = {key: steps[at]}
        _spoil(rng, Source(((key, "int64"),)), filled)
        steps[at] = filled.get(key, (None, []))
