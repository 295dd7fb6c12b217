"""Queues of TensorFlow 1: started, made to fail at a random place, and stopped or forgotten.

`run(cases, seed)` returns how many there were, and what went wrong: a thread that was left, a start
that hung, an exception that its caller did not see, a record too many or too few.
"""

import gc
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tfrecs
from tfrecs import tf
from torture.drained import folder

FILES, EACH = 2, 6
# So long a start and a stop may take. Threads look every 50 ms whether they are wanted.
LONGEST = 10.0


class BadError(Exception):
    """What the programs raise."""


class Fault:
    """Raises at call number `at`, on whichever thread that is; 0 is never."""

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self, value: Any) -> Any:
        self.left -= 1
        if self.left == 0:
            raise BadError("at a random place")
        return value


def written(place: Path) -> list[str]:
    """The names of some files, which are written."""
    names = [str(place / f"{shard}.tfrecord") for shard in range(FILES)]
    for shard, name in enumerate(names):
        with tfrecs.RecordWriter(name) as out:
            for number in range(EACH):
                out.write(tfrecs.encode_example({"id": shard * EACH + number}))
    return names


@dataclass
class Draw:
    """What a case is made of."""

    rng: random.Random
    names: list[str]
    fault: Fault


def number(draw: Draw) -> Any:
    """What will be the number of the next record."""
    shuffle = draw.rng.random() < 0.5
    files = tf.train.string_input_producer(draw.names, num_epochs=1, shuffle=shuffle)
    _, record = tf.TFRecordReader().read(files)
    parsed = tf.parse_single_example(record, {"id": tf.FixedLenFeature([], tf.int64)})
    return tf.py_func(draw.fault, [parsed["id"]], tf.int64)


def in_batches(draw: Draw) -> Any:
    """Batches, which one to four threads make."""
    made, rng = number(draw), draw.rng
    threads = rng.randint(1, 4)
    if rng.random() < 0.5:
        return tf.train.batch([made], 3, threads, rng.randint(1, 9), allow_smaller_final_batch=True)
    return tf.train.shuffle_batch([made], 3, 9, 4, threads, allow_smaller_final_batch=True)


def in_a_queue(draw: Draw) -> Any:
    """Numbers out of a queue that one to four threads fill."""
    queue = tf.FIFOQueue(draw.rng.randint(1, 5), tf.int64)
    ops = [queue.enqueue(number(draw))] * draw.rng.randint(1, 4)
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, ops))
    return queue.dequeue()


def one_by_one(draw: Draw) -> Any:
    """Numbers that are computed where they are asked for."""
    return number(draw)


PROGRAMS = [in_batches, in_a_queue, one_by_one]


def drained(session: Any, fetched: Any, most: int) -> list[int]:
    """What comes, up to the end, or that many runs."""
    seen: list[int] = []
    try:
        for _ in range(most):
            values = session.run(fetched)
            seen += values.reshape(-1).tolist()
    except tf.errors.OutOfRangeError:
        pass
    return seen


def coordinated(fetched: Any, most: int) -> list[int]:
    """With a coordinator, as it should be."""
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        try:
            return drained(session, fetched, most)
        finally:
            coord.request_stop()
            coord.join(threads)


def uncoordinated(fetched: Any, most: int) -> list[int]:
    """Without one."""
    with tf.Session() as session:
        tf.train.start_queue_runners(session)
        return drained(session, fetched, most)


def forgotten(fetched: Any, most: int) -> list[int]:
    """With a session that nobody closes."""
    session = tf.Session()
    tf.train.start_queue_runners(session)
    return drained(session, fetched, most)


def unstarted(fetched: Any, most: int) -> list[int]:
    """Without threads."""
    with tf.Session() as session:
        return drained(session, fetched, most)


ENDS: list[Callable[[Any, int], list[int]]] = [coordinated, uncoordinated, forgotten, unstarted]


ALL = 1000  # more runs than there are records


def case(draw: Draw) -> str | None:
    """Run a program, and say what went wrong."""
    tf.reset_default_graph()
    program, end = draw.rng.choice(PROGRAMS), draw.rng.choice(ENDS)
    most, at = draw.rng.choice([1, 2, ALL]), draw.fault.left
    done: list[Any] = []
    runs = threading.Thread(target=attempt, args=(lambda: end(program(draw), most), done))
    runs.start()
    runs.join(LONGEST)
    wrong = "hung" if runs.is_alive() else judged(done, at, most) or left_behind()
    return wrong and f"{program.__name__}, {end.__name__}, fault at {at}, {most} runs: {wrong}"


def attempt(work: Callable[[], list[int]], to: list[Any]) -> None:
    """Leave what came, and what was raised."""
    try:
        to += [work(), None]
    except BaseException as error:  # noqa: BLE001 - it is looked at
        # Its frames hold the session, as they would where somebody handles it.
        to += [None, error.with_traceback(None)]
        error.__context__ = None


def judged(done: list[Any], at: int, most: int) -> str | None:
    """What is wrong with what came."""
    seen, error = done
    if seen is None:
        return None if at and isinstance(error, BadError) else repr(error)
    if at and most == ALL:
        return "nobody saw the exception"
    records = set(range(FILES * EACH))
    if len(seen) != len(set(seen)) or not set(seen) <= records:
        return f"{seen}"
    return f"not all records: {seen}" if most == ALL and set(seen) != records else None


def left_behind() -> str | None:
    """Which threads are left when nothing refers to them any more."""
    gc.collect()
    until = time.monotonic() + LONGEST
    while threads := [one.name for one in threading.enumerate() if "QueueRunner" in one.name]:
        if time.monotonic() > until:
            return f"left {threads}"
        time.sleep(0.01)
    return None


def run(cases: int, seed: int) -> tuple[int, list[str]]:
    """Run that many."""
    rng, failures = random.Random(seed), []
    with folder() as place:
        names = written(place)
        for _ in range(cases):
            fault = Fault(rng.choice([0, rng.randint(1, FILES * EACH)]))
            failure = case(Draw(rng, names, fault))
            if failure is not None:
                failures.append(failure)
    return cases, failures
