"""Orders of records, written as steps: ("records", n) first, then ("take", 3), …"""

from collections.abc import Sequence
from typing import Any, TypeAlias

import tfrecs
from tfrecs import _core

Step: TypeAlias = tuple[Any, ...]


def order_of(steps: Sequence[Step]) -> _core.Order:
    (_, records), *rest = steps
    order = _core.Order(records)
    for name, *given in rest:
        order = getattr(order, name)(*given)
    return order


def order_at(steps: Sequence[Step], start: int, stop: int, epoch: int) -> list[int]:
    return order_of(steps).records(start, stop, epoch)


def order_length(steps: Sequence[Step]) -> int | None:
    return order_of(steps).length


def output_of(features: Any = None, lists: Any = None, *, keep: bool = False) -> _core.Output:
    if lists is not None:
        return _core.Output.sequence_columns(features, lists)
    if features is None:
        return _core.Output.records(False)
    made = _core.Output.columns_and_records if keep else _core.Output.columns
    return made(features)


def gathered(
    records: tfrecs.IndexedRecords | tfrecs.Records,
    steps: Sequence[Step],
    *,
    epoch: int = 0,
    batch: int = 7,
    drop_remainder: bool = False,
    first_batch: int = 0,
    num_threads: int = 2,
    most_ahead: int | None = None,
    **wanted: Any,
) -> _core.Gather:
    batching = _core.Batching(batch, drop_remainder, num_threads, most_ahead=most_ahead)
    output = output_of(**wanted)
    return _core.Gather(records, order_of(steps), epoch, first_batch, batching, output)
