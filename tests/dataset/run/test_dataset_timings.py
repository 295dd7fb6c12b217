"""What a pass says of itself: counts, times that add up, and a table."""

from __future__ import annotations

import pickle
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from plans import SPEC, STEPS, example

import tfrecs
from tfrecs import _core
from tfrecs.dataset.run.timings import DatasetTimings, StepTimings

COUNT = 24


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("timings") / "a.tfrecord"
    with tfrecs.RecordWriter(path) as out:
        out.write_batch([example(n) for n in range(COUNT)])
    return path


NBYTES = sum(len(example(n)) for n in range(COUNT))


def number(row: Any) -> int:
    return int(row["n"])


def counts(timings: DatasetTimings) -> list[tuple[str, int | None]]:
    return [(step.step.strip().split("(")[0], step.elements) for step in timings.steps]


def test_each_step_is_counted(path: Path) -> None:
    ds = tfrecs.Dataset(path, SPEC).shuffle(1).batch(5).map(len, num_threads=2).prefetch(2)
    list(ds.repeat(2))
    list(ds)
    timings = ds.timings()
    assert counts(timings) == [
        ("Dataset", None),
        (".shuffle", None),
        (".batch", 5),
        (".map", 5),
        (".prefetch", 5),
    ]
    assert (timings.elements, timings.records, timings.nbytes) == (5, COUNT, NBYTES)
    assert timings.steps[0].records == COUNT
    assert timings.steps[3].at_once == 2


def test_passes_of_steps_that_repeat_or_join_are_counted_together(path: Path) -> None:
    first, second = tfrecs.Dataset(path, SPEC), tfrecs.Dataset(path, SPEC)
    both = first.map(number).repeat(2).zip(second.map(number).filter(bool).take(30))
    assert len(list(both)) == COUNT - 1
    assert counts(both.timings()) == [
        ("Dataset", COUNT),
        (".map", COUNT),
        (".repeat", COUNT),  # one that found no other to be zipped with
        ("Dataset", COUNT),
        (".map", COUNT),
        (".filter", COUNT - 1),
        (".take", COUNT - 1),
        (".zip", COUNT - 1),
    ]
    assert both.timings().steps[3].step.startswith("    ")


def test_datasets_that_a_function_makes_are_counted_by_kind(path: Path) -> None:
    ds = tfrecs.Dataset(path).take(3).map(bytes).interleave(lambda _: tfrecs.Dataset(path).batch(5))
    assert len(list(ds)) == 15
    steps = {step.step.strip(): step for step in ds.timings().steps}
    assert steps["Files"].records == 3 * COUNT
    assert steps["Batch"].elements == 15


@pytest.mark.parametrize("name", STEPS)
def test_times_add_up_and_the_table_is_narrow(path: Path, name: str) -> None:
    ds = STEPS[name](tfrecs.Dataset(path, SPEC))
    it = iter(ds)
    elements = list(it)
    timings = ds.timings()
    assert timings.elements == len(elements)
    assert 0 <= timings.outside <= timings.seconds
    for step in timings.steps:
        assert min(step.busy, step.waiting, step.awaited) >= 0
        is_ahead = "prefetch" in step.step or "ordered" in step.step or step.at_once > 1
        if step.elements is not None and step.records is None and not is_ahead:
            assert step.busy + step.waiting == pytest.approx(step.awaited, abs=1e-6)
    lines = repr(timings).splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) == len(timings.steps) + 3
    assert repr(it.timings()) == repr(timings)


def test_it_can_be_asked_at_any_time(path: Path) -> None:
    ds = tfrecs.Dataset(path, SPEC).batch(4)
    nothing = ds.timings()
    assert (nothing.elements, nothing.seconds, nothing.slowest) == (0, 0.0, None)
    it = iter(ds)
    list(islice(it, 2))
    assert (it.timings().elements, ds.timings().elements) == (2, 2)
    state = it.state_dict()
    it.close()
    assert ds.timings() == ds.timings(), "the clock stands still"
    again = iter(ds)
    again.load_state_dict(state)
    list(again)
    assert (ds.timings().elements, ds.timings().epoch) == (4, 0)
    list(ds)
    assert (ds.timings().elements, ds.timings().epoch) == (6, 2)
    forgotten = iter(ds)
    next(forgotten)
    del forgotten
    assert ds.timings() == ds.timings(), "the clock of what nobody holds stands still"
    assert pickle.loads(pickle.dumps(ds)).timings().elements == 0


def test_what_is_skipped_of_damaged_files_is_no_record(path: Path, tmp_path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[30] ^= 1
    (tmp_path / "hurt").write_bytes(data)
    ds = tfrecs.Dataset(tmp_path / "hurt", on_corrupt="skip").batch(5)
    list(ds)
    assert ds.timings().records == COUNT - 1


def test_the_slowest_is_who_others_wait_for() -> None:
    def timings(*steps: StepTimings, outside: float = 0.0) -> DatasetTimings:
        return DatasetTimings(0, 10.0, 5, 50, 10**9, outside, steps)

    reading = StepTimings("Dataset('a')", None, 50, 10**9, busy=4.0, awaited=1.0, at_once=4)
    slow = StepTimings("  .map(f)", 5, busy=8.0, at_once=2)
    quick = StepTimings("  .map(g)", 5, busy=3.0)
    assert timings(reading, slow, quick).slowest is slow
    assert timings(reading, slow, quick, outside=5.0).slowest is None
    waited_for = StepTimings("Dataset('a')", None, 50, 10**9, busy=4.0, awaited=9.0, at_once=4)
    assert timings(waited_for, slow, quick).slowest is waited_for
    assert (timings(slow).records_per_second, timings(slow).bytes_per_second) == (5.0, 10**8)
    text = repr(timings(reading, slow, quick))
    assert text.endswith("10.00 s; the slowest is .map(f), for 40% of the time")
    assert "100.0" in text.splitlines()[1]


def test_a_watch_gives_what_it_watches() -> None:
    meter = _core.Meter()
    watch = _core.Watch(iter([1, 2]), meter)
    assert (list(watch), list(watch), meter.read()[0]) == ([1, 2], [], 2)

    def fails() -> Any:
        yield 1
        raise KeyError("on purpose")

    watch = _core.Watch(fails(), meter)
    assert next(watch) == 1
    with pytest.raises(KeyError, match="on purpose"):
        next(watch)
    with pytest.raises(StopIteration):
        next(watch)
    assert (meter.read()[0], watch.meter) == (3, meter)
    with pytest.raises(TypeError, match="Iterator"):
        _core.Watch([1], meter)  # type: ignore[arg-type]


TABLE = """\
step                            elements  per second    MB/s   busy s  waiting s
Dataset('/data/train.tfrec…    1,000,000     250,000    38.0     0.31       0.00
  .shuffle(1)
  .batch(256)                      3,907         977             0.02       0.00
  .map(nnnnnnnnnnnnnnnnnnn…          100          25             3.56       0.10
  .map(nnnnnnnnnnnnnnnnnnn)          100          25             0.00       0.00
what iterates                                                    0.25       3.75
4.00 s; the slowest is .map(nnnnnnnnnnnnnnnnnnnn), for 89% of the time"""


def test_the_table_as_it_is_printed() -> None:
    steps = (
        StepTimings("Dataset('/data/train.tfrecord')", None, 10**6, 152 * 10**6, 0.31, 0, 0.3, 2),
        StepTimings("  .shuffle(1)"),
        StepTimings("  .batch(256)", 3907, busy=0.02, awaited=0.2),
        StepTimings("  .map(nnnnnnnnnnnnnnnnnnnn)", 100, busy=3.56, waiting=0.1, awaited=3.9),
        StepTimings("  .map(nnnnnnnnnnnnnnnnnnn)", 100, awaited=0.1),
    )
    made = DatasetTimings(0, 4.0, 100, 10**6, 152 * 10**6, 0.25, steps)
    assert repr(made) == TABLE
    assert max(map(len, TABLE.splitlines())) == 80
