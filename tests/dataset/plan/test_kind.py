"""What steps say of their elements (`Traits`), and what is concluded of that."""

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfrecs
from tfrecs.dataset.plan.kind import parsed_of, parsed_where_read
from tfrecs.dataset.plan.node import Node, Step, Traits, pads
from tfrecs.dataset.plan.spec import Spec

FEATURES = {"n": tfrecs.FixedLenFeature([], "int64")}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "ten.tfrecord"
    with tfrecs.RecordWriter(path) as out:
        out.write_batch([tfrecs.encode_example({"n": n}) for n in range(10)])
    return path


Change = Callable[[tfrecs.Dataset], tfrecs.Dataset]
KEEPING: dict[str, Change] = {
    "nothing": lambda ds: ds,
    "take": lambda ds: ds.take(4),
    "skip": lambda ds: ds.skip(4),
    "repeat": lambda ds: ds.repeat(2),
    "shard": lambda ds: ds.shard(3, 1),
    "shuffle": lambda ds: ds.shuffle(5),
    "buffer": lambda ds: ds.shuffle(5, buffer_size=3),
    "prefetch": lambda ds: ds.prefetch(2),
    "prefetch, shuffle": lambda ds: ds.prefetch(2).shuffle(5, buffer_size=3).take(7),
}
OTHERS: dict[str, Change] = {
    "map": lambda ds: ds.map(lambda record: record),
    "filter": lambda ds: ds.filter(len),
    "enumerate": lambda ds: ds.enumerate(),
    "with_keys": lambda ds: ds.with_keys(),
    "cache": lambda ds: ds.cache(),
    "concatenate": lambda ds: ds.concatenate(ds),
    "padded_batch": lambda ds: ds.padded_batch(2),
    "unbatch": lambda ds: ds.batch(2).unbatch(),
}


def values(elements: Any) -> list[int]:
    return [int(element["n"]) for element in elements]


@pytest.mark.parametrize("name", KEEPING)
def test_what_keeps_the_kind_can_be_parsed_below(path: Path, name: str) -> None:
    plan = KEEPING[name](tfrecs.Dataset(path)).node
    below = parsed_where_read(plan, Spec(FEATURES))
    assert below is not None
    records = list(tfrecs.Dataset.of(plan))
    assert values(tfrecs.Dataset.of(below)) == values(map(Spec(FEATURES).one, records))
    found = parsed_of(below)
    assert found is not None
    assert (found.spec.features, found.in_batches) == (FEATURES, False)
    assert plan.gives_records
    assert not below.gives_records
    assert not below.gives_batches


@pytest.mark.parametrize("name", KEEPING)
def test_batches_can_be_parsed_below(path: Path, name: str) -> None:
    plan = KEEPING[name](tfrecs.Dataset(path)).batch(3).node
    below = parsed_where_read(plan, Spec(FEATURES))
    assert below is not None
    batches = [tfrecs.parse_example(batch, FEATURES) for batch in tfrecs.Dataset.of(plan)]
    for batch, one in zip(batches, tfrecs.Dataset.of(below), strict=True):
        np.testing.assert_array_equal(batch["n"], one["n"])
    assert below.gives_batches
    assert not pads(below)


@pytest.mark.parametrize("name", OTHERS)
def test_nothing_is_parsed_below_what_looks_at_elements(path: Path, name: str) -> None:
    plan = OTHERS[name](tfrecs.Dataset(path)).node
    assert parsed_where_read(plan, Spec(FEATURES)) is None
    if name != "cache":
        assert not plan.gives_records
    assert pads(plan) == (name == "padded_batch")


def test_a_step_that_says_nothing_of_its_elements_is_refused() -> None:
    with pytest.raises(TypeError, match="traits"):

        class Silent(Step):  # type: ignore[call-arg]
            pass

    with pytest.raises(TypeError, match="divisible"):
        Traits(keeps_kind=True, gives_batches=None, pads=False)  # type: ignore[call-arg]


def kinds(of: Any) -> Iterator[Any]:
    for kind in of.__subclasses__():
        yield kind
        yield from kinds(kind)


def test_each_step_has_traits() -> None:
    ours = [kind for kind in kinds(Node) if kind.__module__.startswith("tfrecs.")]
    steps = [kind for kind in ours if not inspect.isabstract(kind)]
    assert len(steps) > 20
    assert all(hasattr(kind, "traits") for kind in steps)
