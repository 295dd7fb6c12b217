"""Run what starts threads in a process that may start none, or few.

`python threadless_child.py N` allows N threads beside the main one, and prints a line of JSON for
each operation: its name, what it raised (a class and a text, or null), and whether its result is
that of a process with threads. Each operation runs with threads first, which also imports what it
needs.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import pathlib
import resource
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

import tfrecs
from tfrecs import tf

NOBODY = 65534
SECONDS = 10  # for each operation
FEATURES: Any = {"n": tfrecs.FixedLenFeature([], "int64")}
IMAGES: Any = {"image": tfrecs.FixedLenFeature([], "string")}
LARGE = os.urandom(1 << 20)


def operations() -> dict[str, Callable[[], Any]]:
    """Return what is run, by name: each returns something that can be compared."""
    return readers() | writers() | datasets() | media() | conversions()


def readers() -> dict[str, Callable[[], Any]]:
    return {
        "count": lambda: tfrecs.count(["large", "members.gz"]),
        "count one stream": lambda: tfrecs.count("stream.gz"),
        "open": lambda: [len(one) for one in tfrecs.open(["large", "members.gz"], num_threads=4)],
        "build_index": lambda: bool(tfrecs.build_index("members.gz", num_threads=4)),
        "plan_ranges": lambda: len(tfrecs.plan_ranges("large", 4, num_threads=4)),
        "verify": lambda: tfrecs.verify(["large", "members.gz"]).ok,
        "RecordReader": lambda: [len(one) for one in tfrecs.RecordReader("large")],
        "RecordReader of a stream": lambda: [len(one) for one in tfrecs.RecordReader("stream.gz")],
        "RecordReader of members": lambda: [len(one) for one in tfrecs.RecordReader("members.gz")],
        "salvage": lambda: [len(one) for one in tfrecs.salvage("members.gz").batches()],  # type: ignore[arg-type]
        "tf TFRecordDataset": lambda: len(list(tf.data.TFRecordDataset("large", "", None, 4))),
    }


def writers() -> dict[str, Callable[[], Any]]:
    return {
        "RecordWriter": lambda: written("out"),
        "RecordWriter of members": lambda: written("out.gz", num_threads=4),
        "RecordWriter of a stream": lambda: written("out.zz", compression_type="ZLIB"),
        "ShardedWriter": sharded,
        "repair": lambda: tfrecs.repair("members.gz", "repaired.gz").records,
    }


def written(path: str, **options: Any) -> int:
    with tfrecs.RecordWriter(path, **options) as out:
        for _ in range(24):
            out.write(LARGE)
    return tfrecs.count(path)


def sharded() -> int:
    with tfrecs.ShardedWriter("part-{shard}.gz", num_shards=2, num_threads=4) as out:
        for _ in range(24):
            out.write(LARGE)
    return sum(tfrecs.count(path) for path in out.paths)


def datasets() -> dict[str, Callable[[], Any]]:
    def numbers(**options: Any) -> Any:
        return tfrecs.Dataset("numbers", FEATURES, num_threads=4, **options)

    def threads() -> Any:
        return (
            tf.data.TFRecordDataset("numbers")
            .map(
                lambda record: tf.io.parse_single_example(
                    record, {"n": tf.io.FixedLenFeature([], "int64")}
                ),
                num_parallel_calls=4,
            )
            .prefetch(2)
        )

    return {
        "Dataset": lambda: total(numbers().batch(10)),
        "Dataset of gzip": lambda: len(list(tfrecs.Dataset("members.gz", num_threads=4))),
        "shuffle": lambda: total(numbers().shuffle(seed=1).batch(10)),
        "shard": lambda: total(numbers().shard(2, 0).batch(10)),
        "filter": lambda: total(numbers().filter(tfrecs.col("n") > 3).batch(10)),
        "map": lambda: sum(numbers().map(lambda one: int(one["n"]), num_threads=4)),
        "map unordered": lambda: sum(
            numbers().map(lambda one: int(one["n"]), num_threads=4, ordered=False)
        ),
        "prefetch": lambda: total(numbers().batch(10).prefetch(4)),
        "padded_batch": lambda: total(numbers().padded_batch(10)),
        "interleave": lambda: len(list(numbers().take(3).interleave(lambda _: numbers()))),
        "cache": lambda: total(numbers().batch(10).cache()),
        "cache in a file": lambda: cached(numbers().batch(10)),
        "make_batched_features_dataset": lambda: total(
            tfrecs.make_batched_features_dataset(
                "numbers", 10, FEATURES, num_epochs=1, reader_num_threads=4
            )
        ),
        "tf map": lambda: len(list(threads())),
        "tf interleave": lambda: len(
            list(
                tf.data.Dataset.from_tensor_slices(["numbers", "numbers"]).interleave(
                    tf.data.TFRecordDataset, cycle_length=2, num_parallel_calls=2
                )
            )
        ),
        "tf queue runners": queued,
    }


def total(batches: Any) -> int:
    return sum(int(np.sum(batch["n"])) for batch in batches)


def cached(batches: Any) -> int:
    pathlib.Path("cache").unlink(missing_ok=True)
    return total(batches.cache("cache"))


def queued() -> int:
    v1 = tf.compat.v1
    names = v1.train.string_input_producer(["numbers"], num_epochs=1)
    _, record = v1.TFRecordReader().read(names)
    with v1.Session() as session:
        session.run([v1.global_variables_initializer(), v1.local_variables_initializer()])
        coordinator = v1.train.Coordinator()
        threads = v1.train.start_queue_runners(session, coordinator)
        try:
            return len(session.run(record))
        finally:
            coordinator.request_stop()
            coordinator.join(threads)


def media() -> dict[str, Callable[[], Any]]:
    image = tfrecs.encode_image(np.zeros((300, 300, 3), np.uint8))
    sound = wave(100_000)
    return {
        "decode_image": lambda: tfrecs.decode_image(image).shape,
        "decode_image of a batch": lambda: len(tfrecs.decode_image([image] * 9, num_threads=4)),
        "decode_audio": lambda: tfrecs.decode_audio(sound).samples.shape,
        "decode_audio of a batch": lambda: len(tfrecs.decode_audio([sound] * 9, num_threads=4)),
        "decode_images": lambda: len(
            list(
                tfrecs.Dataset("images", IMAGES)
                .batch(4)
                .decode_images("image", size=(8, 8), channels=3, num_threads=4)
            )
        ),
    }


def wave(frames: int) -> bytes:
    """Return a WAV file of silence: one channel of 16 bits."""
    data = bytes(2 * frames)
    numbers = (16).to_bytes(4, "little") + bytes.fromhex("01000100401f0000803e000002001000")
    chunks = b"WAVEfmt " + numbers + b"data" + len(data).to_bytes(4, "little") + data
    return b"RIFF" + len(chunks).to_bytes(4, "little") + chunks


def conversions() -> dict[str, Callable[[], Any]]:
    from tfrecs.formats import convert_csv, convert_images

    def command(*arguments: str) -> int:
        from tfrecs.cli import main as run

        sys.argv = ["tfrecs", *arguments]
        complaint = io.TextIOWrapper(io.BytesIO(), write_through=True)
        try:
            with contextlib.redirect_stderr(complaint):
                run()
        except SystemExit as end:
            if end.code:
                complaint.seek(0)
                raise tfrecs.StateError(complaint.read()) from end
        return 0

    return {
        "convert_csv": lambda: len(convert_csv("table.csv", "csv", overwrite=True).paths),
        "convert_images": lambda: len(convert_images("folder", "converted", overwrite=True).paths),
        "tfrecs count": lambda: command("count", "--json", "large", "members.gz"),
        "tfrecs verify": lambda: command("verify", "--json", "large", "members.gz"),
    }


def write_inputs() -> None:
    """Write the files that the operations read."""
    for name, options in (("large", {}), ("members.gz", {}), ("stream.gz", {"mem_level": 8})):
        with tfrecs.RecordWriter(name, **options) as out:  # type: ignore[arg-type]
            for _ in range(24):
                out.write(LARGE)
    with tfrecs.RecordWriter("numbers") as out:
        out.write_batch([tfrecs.encode_example({"n": number}) for number in range(100)])
    image = tfrecs.encode_image(np.zeros((20, 20, 3), np.uint8))
    with tfrecs.RecordWriter("images") as out:
        out.write_batch([tfrecs.encode_example({"image": image})] * 8)
    pathlib.Path("table.csv").write_text("a,b\n1,2\n3,4\n")
    for number in range(6):
        path = pathlib.Path(f"folder/label/{number}.png")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(image)


def allow_threads(count: int) -> None:
    """Take the right to start more threads away, from a user who does not have it anyway."""
    if os.geteuid() == 0:
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    # Of all processes of this user.
    limit = 1 + count if count else 0
    resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit))


class Hung(BaseException):
    """An operation took longer than it may."""


def hung(*_: Any) -> None:
    raise Hung


def outcome(operation: Callable[[], Any], expected: Any) -> tuple[str | None, bool]:
    """Return what an operation raises, or None, and whether its result is the expected one."""
    signal.alarm(SECONDS)
    try:
        return None, operation() == expected
    except BaseException as error:  # noqa: BLE001 - a panic is a BaseException
        kind = "tfrecs.Error: " if isinstance(error, tfrecs.Error) else ""
        return f"{kind}{type(error).__name__}: {error}", False
    finally:
        signal.alarm(0)


def tell(*line: object) -> None:
    os.write(OUTPUT, json.dumps(line).encode() + b"\n")


OUTPUT = os.dup(1)


def main(count: int) -> None:
    os.dup2(2, 1)  # what commands print
    os.umask(0)
    write_inputs()
    each = operations()
    expected = {name: operation() for name, operation in each.items()}
    signal.signal(signal.SIGALRM, hung)
    allow_threads(count)
    if not is_limited(count):
        tell("threads can be started", None, True)
        return
    for name, operation in each.items():
        tell(name, *outcome(operation, expected[name]))
    tell("done", None, True)


def is_limited(count: int) -> bool:
    """Return whether the system refuses one more thread than `count`."""
    end = threading.Event()
    threads = [threading.Thread(target=end.wait) for _ in range(count + 1)]
    try:
        for thread in threads:
            thread.start()
    except RuntimeError:
        return True
    finally:
        end.set()
    return False


if __name__ == "__main__":
    main(int(sys.argv[1]))
