"""What to decode, and what to make of it.

The features that people ask for and the columns that are decoded are two things: a SparseFeature is
made of several columns, and features can share one. So a plan has the columns, each by the key that
it has in the records, and for each feature a part that says which columns it is made of and how.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from tfrecs._internal.cached_property import cached_property
from tfrecs._internal.native_types import NativeFeature
from tfrecs.errors import SpecError, feature_error
from tfrecs.features import (
    Features,
    FixedLenFeature,
    FixedLenSequenceFeature,
    Partition,
    RaggedFeature,
    SparseFeature,
    UniformRowLength,
    VarLenFeature,
    checked_name,
)
from tfrecs.parsing.checks import (
    checked_default,
    checked_element_shape,
    checked_padding,
    checked_shape,
)
from tfrecs.tensors.dtypes import dtype_name


@dataclass(frozen=True)
class Whole:
    """The column as it is: FixedLenFeature."""

    column: int
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Packed:
    """The values of each row from the left of a sparse tensor: VarLenFeature."""

    column: int
    dtype: str
    in_lists: bool


@dataclass(frozen=True)
class Padded:
    """The elements of each row, padded to the longest: FixedLenSequenceFeature."""

    column: int
    padding: Any = None


@dataclass(frozen=True)
class Indexed:
    """Values at indices that other columns hold: SparseFeature."""

    indices: tuple[int, ...]
    values: int
    size: tuple[int, ...]
    already_sorted: bool
    keys: tuple[str, ...]


@dataclass(frozen=True)
class Divided:
    """Values divided into rows by other columns, or into rows of one length: RaggedFeature."""

    values: int
    partitions: tuple[tuple[Partition, int | None], ...]
    splits_dtype: np.dtype[Any]


Part: TypeAlias = Whole | Packed | Padded | Indexed | Divided


@dataclass
class Plan:
    """The columns to decode, and the part of each feature."""

    columns: list[NativeFeature] = field(default_factory=list)
    parts: dict[str, Part] = field(default_factory=dict)
    _claims: dict[str, "_Claim"] = field(default_factory=dict)

    @cached_property
    def checked(self) -> list[str]:
        """The features whose making finds faults of records."""
        return [
            name
            for name, part in self.parts.items()
            if isinstance(part, Indexed) or (isinstance(part, Divided) and part.partitions)
        ]

    def column(self, claim: "_Claim", native: NativeFeature) -> int:
        """Return the place of a column, which features of one class can share.

        Raises:
            SpecError: Another feature wants the same key in another way.
        """
        key = native.name
        held = self._claims.setdefault(key, claim)
        if held is claim:
            claim.place = len(self.columns)
            self.columns.append(native)
            return claim.place
        if held.dtype != claim.dtype:
            text = f"Conflicting type {held.dtype} vs {claim.dtype} for feature {key}."
            raise SpecError(text, feature=key)
        if held.group != claim.group:
            first, second = sorted([held.group, claim.group])
            raise SpecError(
                f"{first.capitalize()} and {second} keys must not intersect: two features want "
                f"{key!r}, one {first}, one {second}; rename none, but parse them one by one",
                feature=key,
            )
        if held.splits_dtype != claim.splits_dtype:
            text = f"{held.splits_dtype} vs {claim.splits_dtype} for feature {key}."
            raise SpecError(f"Conflicting partition type {text}", feature=key)
        return held.place


@dataclass(eq=False)
class _Claim:
    """How a feature wants a column: TensorFlow lets features share one only if they agree."""

    group: str  # "dense", "sparse" or "ragged"
    dtype: str
    splits_dtype: str = ""
    place: int = -1


def plan_examples(features: Features) -> Plan:
    """Plan to parse Examples.

    Raises:
        SpecError: Something is wrong with a feature, which the text names.
    """
    kinds = (FixedLenFeature, VarLenFeature, SparseFeature, RaggedFeature, FixedLenSequenceFeature)
    return _plan(features, kinds)


def require_columns(plan: Plan) -> Plan:
    """Return the plan, if each feature is a column as it is.

    Raises:
        SpecError: One is put together from columns.
    """
    for name, part in plan.parts.items():
        is_renamed = isinstance(part, Divided) and plan.columns[part.values].name != name
        is_divided = isinstance(part, Divided) and part.partitions
        if isinstance(part, Indexed) or is_renamed or is_divided:
            raise feature_error(
                name,
                "the columns of a batch are the records' own features, and this "
                "one is put together from others: use parse_example or parse_sequence_example",
            )
    return plan


def plan_context(features: Features | None) -> Plan:
    """Plan to parse the context of SequenceExamples; errors as of `plan_examples`."""
    return _plan(features or {}, (FixedLenFeature, VarLenFeature, RaggedFeature))


def plan_lists(features: Features | None) -> Plan:
    """Plan to parse the feature lists of SequenceExamples; errors as of `plan_examples`."""
    kinds = (FixedLenSequenceFeature, VarLenFeature, RaggedFeature)
    return _plan(features or {}, kinds, in_lists=True)


def _plan(features: Any, kinds: tuple[type, ...], *, in_lists: bool = False) -> Plan:
    if not isinstance(features, Mapping):
        kind = type(features).__name__
        raise SpecError(f"features are a mapping of names to features, not {kind}")
    plan = Plan()
    for name, feature in features.items():
        checked_name(name)
        if not isinstance(feature, kinds):
            expected = ", ".join(kind.__name__ for kind in kinds)
            kind = type(feature).__name__
            text = f"Unsupported {kind} {feature!r} for key {name!r}: here it can be {expected}"
            raise SpecError(text, feature=name)
        plan.parts[name] = _part(plan, name, feature, in_lists=in_lists)
    return plan


def _part(plan: Plan, name: str, feature: Any, *, in_lists: bool) -> Part:
    match feature:
        case FixedLenFeature():
            return _fixed(plan, name, feature)
        case VarLenFeature():
            dtype = dtype_name(feature.dtype, name)
            return Packed(_ragged_column(plan, "sparse", name, dtype), dtype, in_lists)
        case SparseFeature():
            return _sparse(plan, name, feature)
        case FixedLenSequenceFeature():
            return _sequence(plan, name, feature, in_lists=in_lists)
        case _:
            return _ragged(plan, name, feature)


def _fixed(plan: Plan, name: str, feature: FixedLenFeature) -> Whole:
    dtype, shape = dtype_name(feature.dtype, name), checked_shape(feature.shape, name)
    default = checked_default(feature.default_value, dtype, shape, name)
    column = plan.column(
        _Claim("dense", dtype), NativeFeature(name, dtype, "fixed", shape, default)
    )
    return Whole(column, dtype, tuple(shape))


def _sequence(plan: Plan, name: str, feature: FixedLenSequenceFeature, *, in_lists: bool) -> Padded:
    dtype, shape = dtype_name(feature.dtype, name), checked_element_shape(feature.shape, name)
    padding = checked_padding(feature.default_value, dtype, name)
    if in_lists and padding is not None:
        text = f"Value feature_list.dense_defaults[{name}] must be None: padding is always 0 or b''"
        raise SpecError(text, feature=name)
    if not in_lists and not feature.allow_missing:
        text = "Unsupported: FixedLenSequenceFeature requires allow_missing to be True."
        raise feature_error(name, f"{text}")
    allow_missing = bool(feature.allow_missing) if in_lists else None
    native = NativeFeature(name, dtype, "repeated", shape, allow_missing)
    return Padded(plan.column(_Claim("dense", dtype), native), padding)


def _ragged_column(plan: Plan, group: str, key: str, dtype: str, splits_dtype: str = "") -> int:
    claim = _Claim(group, dtype, splits_dtype)
    return plan.column(claim, NativeFeature(checked_name(key), dtype, "ragged", None))


def _sparse(plan: Plan, name: str, feature: SparseFeature) -> Indexed:
    keys, size = _index_keys(name, feature)
    if not feature.value_key:
        raise SpecError(f"Missing value_key for SparseFeature {name!r}: {feature}.", feature=name)
    dtype = dtype_name(feature.dtype, name)
    indices = tuple(_ragged_column(plan, "sparse", key, "int64") for key in keys)
    values = _ragged_column(plan, "sparse", feature.value_key, dtype)
    return Indexed(indices, values, size, bool(feature.already_sorted), (*keys, feature.value_key))


def _index_keys(name: str, feature: SparseFeature) -> tuple[tuple[str, ...], tuple[int, ...]]:
    keys, size = (_unpacked(value) for value in (feature.index_key, feature.size))
    if not keys:
        raise SpecError(f"Missing index_key for SparseFeature {name!r}: {feature}.", feature=name)
    keys, size = ([keys], [size]) if isinstance(keys, str) else (keys, size)
    if not isinstance(size, Sequence):
        raise feature_error(
            name, f"for several index keys, size is a list of integers, not {size!r}"
        )
    if not all(isinstance(dim, int | np.integer) for dim in size):
        raise feature_error(
            name,
            f"size {feature.size!r} is no integer (for one index_key) nor a list of integers (for "
            "a list of them)",
        )
    if len(keys) != len(size):
        raise feature_error(
            name,
            f"index_key and size have to have equal lengths, they have {len(keys)} and {len(size)}",
        )
    return tuple(keys), tuple(int(dim) for dim in size)


def _unpacked(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


def _ragged(plan: Plan, name: str, feature: RaggedFeature) -> Divided:
    splits = dtype_name(feature.row_splits_dtype, name)
    key = name if feature.value_key is None else feature.value_key
    values = _ragged_column(plan, "ragged", key, dtype_name(feature.dtype, name), splits)
    partitions: list[tuple[Partition, int | None]] = []
    for partition in feature.partitions:
        if isinstance(partition, UniformRowLength):
            partitions.append((partition, None))
        else:
            column = _ragged_column(plan, "ragged", partition.key, "int64", splits)
            partitions.append((partition, column))
    return Divided(values, tuple(partitions), np.dtype(splits))
