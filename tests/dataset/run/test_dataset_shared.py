"""Iterators that several threads share: each element goes to exactly one of them."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import frames
import pytest
from plans import PLANS, SPEC, save_shards

import tfrecs
from tfrecs import _core, tf

# A wait that long has failed.
HANG = 60.0
ROUNDS = 4


@pytest.fixture(autouse=True)
def _switching() -> Iterator[None]:
    """Threads change as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.fixture(scope="module", params=["", "GZIP"])
def paths(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return save_shards(tmp_path_factory.mktemp("shards"), request.param)


@pytest.fixture(scope="module")
def numbered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("numbered")
    return frames.save(folder / "n.tfrecord", frames.plain([b"%d" % n for n in range(3000)]))


def taken_by(num_threads: int, it: Iterator[Any] | Callable[[], Iterator[Any]]) -> list[Any]:
    """Return what several threads get of one iterator, each by what a function makes of it."""
    start = threading.Barrier(num_threads)
    found: list[Any] = []

    def take() -> None:
        start.wait(HANG)
        found.extend(it() if callable(it) else it)

    threads = [threading.Thread(target=take, daemon=True) for _ in range(num_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG)
        assert not thread.is_alive()
    return found


def known(elements: list[Any]) -> Counter[bytes]:
    """Return elements as something to be counted."""
    return Counter(map(frozen, elements))


def frozen(element: Any) -> bytes:
    if isinstance(element, tfrecs.Batch | dict):
        element = {name: element[name] for name in element}
        return pickle.dumps([(name, frozen(value)) for name, value in element.items()])
    if isinstance(element, tfrecs.SparseTensor):
        element = (element.indices, element.values, element.dense_shape)
    if isinstance(element, tuple):
        return pickle.dumps([frozen(value) for value in element])
    return repr(element.tolist() if hasattr(element, "tolist") else element).encode()


@pytest.mark.parametrize("name", PLANS)
def test_each_element_goes_to_one_thread(paths: list[Path], name: str) -> None:
    def begin() -> Iterator[Any]:
        return iter(PLANS[name](tfrecs.Dataset(paths, SPEC, num_threads=2)))

    expected = known(list(begin()))
    for num_threads in (2, 8):
        for _ in range(ROUNDS):
            assert known(taken_by(num_threads, begin())) == expected


@pytest.mark.parametrize("name", ["records", "batch", "shuffle batch", "buffer", "take batches"])
def test_records_without_features_do_too(paths: list[Path], name: str) -> None:
    ds = PLANS[name](tfrecs.Dataset(paths))
    expected = known(list(ds))
    for num_threads in (2, 8):
        ds.set_epoch(0)
        assert known(taken_by(num_threads, iter(ds))) == expected


def double(record: bytes) -> int:
    return 2 * int(record)


def even(record: bytes) -> bool:
    return int(record) % 2 == 0


# Of more elements, so that threads meet in the middle of each step.
LONG: dict[str, Callable[[tfrecs.Dataset], tfrecs.Dataset]] = {
    "plain": lambda ds: ds,
    "keyed and mapped": lambda ds: ds.with_keys().map(lambda pair: (pair[0], double(pair[1]))),
    "filtered": lambda ds: ds.filter(even),
    "shuffled": lambda ds: ds.map(double).shuffle(1, buffer_size=100),
    "shuffled, unbatched": lambda ds: ds.batch(7).shuffle(1, buffer_size=9).unbatch(),
    "on threads": lambda ds: ds.map(double, num_threads=3).prefetch(2),
    "in any order": lambda ds: ds.map(double, num_threads=3, ordered=False),
    "kept": lambda ds: ds.map(double).cache().repeat(2),
}


@pytest.mark.parametrize("num_threads", [2, 8])
@pytest.mark.parametrize("name", LONG)
def test_long_passes(numbered: Path, name: str, num_threads: int) -> None:
    ds = LONG[name](tfrecs.Dataset(numbered))
    found = known(taken_by(num_threads, iter(ds)))
    ds.set_epoch(0)
    assert found == known(list(ds))


OTHERS: dict[str, Callable[[Path], Iterator[Any]]] = {
    "RecordReader": lambda path: iter(tfrecs.RecordReader(path)),
    "open": lambda path: iter(tfrecs.open(path)),
    "Records": lambda path: iter(tfrecs.open(path)[:]),
    "BytesArray": lambda path: iter(tfrecs.BytesArray.from_values(list(tfrecs.open(path)))),
    "salvage": lambda path: iter(tfrecs.salvage(path)),
    "salvage in batches": lambda path: iter(tfrecs.salvage(path).batches(3)),
    "read_range": lambda path: iter(tfrecs.read_range(tfrecs.plan_ranges(path, 1)[0])),
    "from_lines": lambda path: iter(tfrecs.Dataset.from_lines(path)),
    "from_fixed_length": lambda path: iter(tfrecs.Dataset.from_fixed_length(path, 3)),
    "in memory": lambda path: iter(tfrecs.Dataset(list(tfrecs.open(path))).map(double)),
    "tf.data": lambda path: iter(tf.data.TFRecordDataset(str(path))),
    "tf.data, as NumPy": lambda path: tf.data.TFRecordDataset(str(path)).as_numpy_iterator(),
    "tf.data, of a generator": lambda path: iter(
        tf.data.Dataset.from_generator(lambda: iter(range(2000)), output_types=tf.int64)
    ),
    "tf_record_iterator": lambda path: tf.python_io.tf_record_iterator(str(path)),
}


@pytest.mark.parametrize("num_threads", [2, 8])
@pytest.mark.parametrize("name", OTHERS)
def test_other_iterators(numbered: Path, name: str, num_threads: int) -> None:
    make = OTHERS[name]
    assert known(taken_by(num_threads, make(numbered))) == known(list(make(numbered)))


def iterated(path: Path) -> Any:
    """Return what stands for the next record of one iterator."""
    return tf.compat.v1.data.make_one_shot_iterator(tf.data.TFRecordDataset(str(path))).get_next()


def queued(path: Path) -> Any:
    """Return what stands for the next record that one reader reads of the files in a queue."""
    queue = tf.train.string_input_producer([str(path)], num_epochs=1)
    return tf.TFRecordReader().read(queue)[1]


@pytest.mark.parametrize("make", [iterated, queued])
def test_threads_of_a_session(numbered: Path, make: Callable[[Path], Any]) -> None:
    upcoming = make(numbered)
    with tf.compat.v1.Session() as session:

        def run() -> Iterator[bytes]:
            with suppress(tf.errors.OutOfRangeError):
                while True:
                    yield session.run(upcoming)

        found = taken_by(4, run)
    assert Counter(found) == Counter(tfrecs.RecordReader(numbered))


def test_states_between_what_threads_take(numbered: Path) -> None:
    """A state that is taken while others take is the place between two elements."""
    ds = tfrecs.Dataset(numbered).map(double).shuffle(1, buffer_size=50).batch(3)
    it, states = iter(ds), []
    ds.set_epoch(0)
    whole = [list(batch) for batch in ds]
    taking = threading.Thread(target=lambda: list(it))
    taking.start()
    while taking.is_alive():
        states.append(it.state_dict())
    for state in states[:: max(len(states) // 20, 1)]:
        again = iter(ds)
        again.load_state_dict(state)
        rest = [list(batch) for batch in again]
        assert rest == whole[len(whole) - len(rest) :]
        assert again.state_dict()


def test_an_error_ends_all(numbered: Path) -> None:
    def broken(record: bytes) -> int:
        if record == b"1000":
            raise KeyError(record)
        return int(record)

    it, errors = iter(tfrecs.Dataset(numbered).map(broken)), []

    def take() -> Iterator[int]:
        try:
            yield from it
        except KeyError as error:
            errors.append(error)

    assert sorted(taken_by(4, take)) == list(range(1000))
    assert len(errors) == 1


def test_an_iterator_inside_its_own_function(numbered: Path) -> None:
    it: Iterator[Any] = iter(tfrecs.Dataset(numbered).map(lambda _: next(it)))
    with pytest.raises(tfrecs.StateError, match="this thread is using it"):
        next(it)


def test_a_signal_handler_gets_an_error(numbered: Path) -> None:
    it: Iterator[Any] = iter(
        tfrecs.Dataset(numbered).map(lambda _: signal.raise_signal(signal.SIGUSR1))
    )
    before = signal.signal(signal.SIGUSR1, lambda *_: next(it))
    try:
        with pytest.raises(tfrecs.StateError, match="this thread is using it"):
            next(it)
    finally:
        signal.signal(signal.SIGUSR1, before)


def held(go_on: threading.Event, numbered: Path) -> tuple[Iterator[Any], threading.Thread]:
    """Return an iterator, and the thread that makes its first element until it may continue."""
    begun = threading.Event()

    def make(record: bytes) -> bytes:
        if record == b"0":
            begun.set()
            assert go_on.wait(HANG)
        return record

    it = iter(tfrecs.Dataset(numbered).map(make))
    holder = threading.Thread(target=lambda: next(it), daemon=True)
    holder.start()
    assert begun.wait(HANG)
    return it, holder


def test_control_c_ends_the_wait_for_another_thread(numbered: Path) -> None:
    go_on = threading.Event()
    it, holder = held(go_on, numbered)
    pressed = threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        pressed.start()
        with pytest.raises(KeyboardInterrupt):
            next(it)
    finally:
        signal.signal(signal.SIGINT, before)
        go_on.set()
    holder.join(HANG)
    assert next(it) == b"1", "nothing is lost"


WAITING: dict[str, Callable[[tfrecs.Dataset], tfrecs.Dataset]] = {
    "native": lambda ds: ds,
    "in Python": lambda ds: ds.map(len),
    "ahead": lambda ds: ds.map(len).prefetch(2),
    "repeat": lambda ds: ds.map(len).repeat(2),
    "filter": lambda ds: ds.map(len).filter(bool),
    "take and skip": lambda ds: ds.map(len).skip(1).take(1000),
    "shuffle": lambda ds: ds.map(len).shuffle(1, buffer_size=2),
    "batch": lambda ds: ds.map(len).batch(2),
    "unbatch": lambda ds: ds.map(len).batch(2).unbatch(),
    "padded batch": lambda ds: ds.map(len).padded_batch(2),
    "buckets": lambda ds: ds.map(str).bucket_by_length(len, [5], [2, 2]),
    "enumerate": lambda ds: ds.map(len).enumerate(),
    "shard": lambda ds: ds.map(len).shard(2, 0),
    "zip": lambda ds: ds.map(len).zip(tfrecs.Dataset([b""] * 1000)),
    "concatenate": lambda ds: ds.map(len).concatenate(tfrecs.Dataset([b""])),
    "mix": lambda ds: ds.map(len).mix(tfrecs.Dataset([b""]).map(len), stop="all"),
    "interleave": lambda ds: ds.map(len).interleave(lambda n: tfrecs.Dataset([b""] * n).map(len)),
    "interleaved": lambda ds: tfrecs.Dataset([b""]).interleave(lambda _: ds.map(len)),
    "cache": lambda ds: ds.map(len).cache(),
}


@pytest.mark.parametrize("make", WAITING)
def test_closing_ends_the_wait_of_all(tmp_path: Path, make: str) -> None:
    """One thread waits for a pipe into which nobody writes any more, the others for that one."""
    os.mkfifo(tmp_path / "pipe")
    it = iter(WAITING[make](tfrecs.Dataset(tmp_path / "pipe", compression_type="").batch(1)))
    found: list[Any] = []

    def take() -> None:
        with suppress(tfrecs.StateError):  # the one that waits for the pipe
            for element in it:
                found.append(element)  # noqa: PERF402 - those before an error count

    threads = [threading.Thread(target=take, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    with (tmp_path / "pipe").open("wb", buffering=0) as feeder:
        feeder.write(frames.plain([b"one"] * 30))
        wait_for_the_last(found)
        assert all(thread.is_alive() for thread in threads)
        it.close()
        for thread in threads:
            thread.join(HANG)
            assert not thread.is_alive()


def wait_for_the_last(found: list[Any]) -> None:
    """Until there are elements, and no more come: all threads wait."""
    deadline, count = time.monotonic() + HANG, 0
    while not count or count != len(found):
        assert time.monotonic() < deadline
        count = len(found)
        time.sleep(0.1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without forks")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_fork_beside_a_thread_that_takes(numbered: Path) -> None:
    go_on = threading.Event()
    it, holder = held(go_on, numbered)
    child = os.fork()
    if not child:
        status = 1
        with suppress(tfrecs.StateError):
            next(it)
            status = 2
        os._exit(0 if status == 1 else status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    go_on.set()
    holder.join(HANG)
    assert len(list(it)) == 2999


def test_a_turn_is_given_back_after_an_error() -> None:
    turn = _core.Turn()
    with pytest.raises(KeyError), turn:
        raise KeyError
    with turn, pytest.raises(tfrecs.StateError), turn:
        pass
    with turn:
        pass
