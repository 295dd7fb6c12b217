"""Call a public callable with hostile arguments, in a process that may hang or be killed.

`python hostile_child.py NAME ...` prints a line of JSON for each call that raised the wrong thing,
and "done" at the end. Each call is written to `call.txt` before it is made, so that the parent
can name the one that did not return.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import json
import os
import pathlib
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np

import tfrecs

MEMORY = 3 << 30  # bytes of address space
SECONDS = 10  # for each call
NOBODY = 65534

HOSTILE: list[Any] = [
    None,
    True,
    -1,
    0,
    10**6,
    2**31,
    2**64,
    -(2**70),
    float("nan"),
    "",
    "no such name",
    "x" * 300,
    "a\0b",
    "\ud800",
    b"\xff\x00",
    [],
    {},
    [[1], [2, 3]],
    ["\ud800"],
    {"\ud800": object()},
    {"a": [[1], [2, 3]]},
    object(),
    len,
]


def record() -> bytes:
    return tfrecs.encode_example({"a": [1], "b": [b"x"]})


def columns() -> Any:
    return {"a": tfrecs.FixedLenFeature([], "int64")}


def bytes_column() -> Any:
    return {"b": tfrecs.FixedLenFeature([], "string")}


# Sound values of the parameters that have no default, and of those that would wait.
SOUND: dict[str, Callable[[], Any]] = {
    "columns": lambda: {"a": np.arange(3)},
    "context": dict,
    "data": lambda: b"\x01\x02\x03\x04",
    "dense_shape": lambda: np.array([4]),
    "dtype": lambda: "int64",
    "example": lambda: {"a": [1]},
    "feature_lists": dict,
    "features": columns,
    "function": lambda: lambda element: element,
    "index": lambda: 0,
    "index_key": lambda: "i",
    "indices": lambda: np.array([[1]]),
    "key": lambda: "a",
    "n": lambda: 2,
    "num": lambda: 2,
    "num_shards": lambda: 2,
    "path": lambda: "sound.tfrecord",
    "path_template": lambda: "made-{shard}-of-{num_shards}",
    "paths": lambda: "sound.tfrecord",
    "predicate": lambda: bool,
    "record": record,
    "records": lambda: [record()] * 3,
    "row_splits": lambda: np.array([0, 1, 3]),
    "serialized": lambda: [record()] * 3,
    "shape": list,
    "size": lambda: 4,
    "src": lambda: "sound.tfrecord",
    "dst": lambda: "made.tfrecord",
    "timeout": lambda: 0,
    "value_key": lambda: "a",
    "values": lambda: np.arange(3),
}

# Objects whose methods are called, made anew for each call.
OBJECTS: dict[str, Callable[[], Any]] = {
    "Dataset": lambda: tfrecs.Dataset("sound.tfrecord", columns()),
    "DatasetIterator": lambda: iter(tfrecs.Dataset("sound.tfrecord")),
    "IndexedRecords": lambda: tfrecs.open("sound.tfrecord"),
    "RaggedTensor": lambda: tfrecs.RaggedTensor(np.arange(3), np.array([0, 1, 3])),
    "RecordReader": lambda: tfrecs.RecordReader("sound.tfrecord"),
    "RecordWriter": lambda: tfrecs.RecordWriter("made.tfrecord"),
    "Records": lambda: tfrecs.RecordReader("sound.tfrecord").read_batch(3),
    "Salvage": lambda: tfrecs.salvage("sound.tfrecord"),
    "ShardedWriter": lambda: tfrecs.ShardedWriter("made-{shard}", num_shards=2),
    "SparseTensor": lambda: tfrecs.SparseTensor(np.array([[1]]), np.array([5]), np.array([4])),
    "BytesArray": lambda: tfrecs.parse_example([record()] * 3, bytes_column())["b"],
    "Batch": lambda: tfrecs.decode_batch([record()] * 3),
}

# Classes of results: tfrecs makes them, and only their methods are for users.
RESULTS = {
    "Audio",
    "Batch",
    "DatasetIterator",
    "DatasetStats",
    "DecodedBatch",
    "IndexedRecords",
    "Salvage",
    "Dataset.of",
    "Records.parse_error",
}

# Documented beside tfrecs.Error and TypeError.
ALLOWED: tuple[type[BaseException], ...] = (
    tfrecs.Error,
    TypeError,
    IndexError,
    KeyError,
    StopIteration,
)

# As list.index() and the message classes of protobuf have it.
VALUE_ERRORS = {"IndexedRecords.index", "Records.index"}


def targets() -> list[str]:
    """Return the names of all public functions, classes, and methods of OBJECTS."""
    names = [name for name in tfrecs.__all__ if is_called(name)]
    names += [f"{owner}.{name}" for owner in OBJECTS for name in methods(owner)]
    return [name for name in names if name not in RESULTS]


def is_called(name: str) -> bool:
    target = getattr(tfrecs, name)
    is_error = inspect.isclass(target) and issubclass(target, BaseException)
    return callable(target) and not is_error


def methods(owner: str) -> list[str]:
    kind = getattr(tfrecs, owner)
    return [
        name for name in dir(kind) if not name.startswith("_") and callable(getattr(kind, name))
    ]


def resolved(name: str) -> Any:
    owner, _, method = name.partition(".")
    return getattr(OBJECTS[owner](), method) if method else getattr(tfrecs, owner)


def calls(name: str) -> Iterator[dict[str, Any]]:
    """Yield the arguments of calls: sound ones, but for one that is hostile."""
    try:
        parameters = inspect.signature(resolved(name)).parameters.values()
    except (TypeError, ValueError):
        return
    named = [one for one in parameters if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)]
    base = [one.name for one in named if one.default is one.empty or one.name == "timeout"]
    for parameter in named:
        for value in HOSTILE:
            given = {one: SOUND.get(one, object)() for one in base}
            yield given | {parameter.name: value}


def use(made: Any) -> None:
    """Take the first elements of whatever iterates: much is checked only then."""
    if isinstance(made, str | bytes | np.ndarray) or not hasattr(made, "__iter__"):
        return
    list(islice(made, 3))
    if hasattr(made, "close"):
        made.close()


def call(name: str, given: dict[str, Any]) -> None:
    function = resolved(name)
    parameters = inspect.signature(function).parameters.values()
    first = [one.name for one in parameters if one.kind is one.POSITIONAL_ONLY]
    positional = [given[one] for one in first if one in given]
    use(function(*positional, **{key: given[key] for key in given if key not in first}))


class Hung(BaseException):
    """A call took longer than it may."""


def hung(*_: Any) -> None:
    raise Hung


def complaint(name: str, given: dict[str, Any]) -> str | None:
    """Return what is wrong with a call: what it raised, or that it took too long."""
    said = f"{name}({', '.join(f'{key}={ascii(value)[:40]}' for key, value in given.items())})"
    pathlib.Path("call.txt").write_text(said)
    signal.alarm(SECONDS)
    try:
        call(name, given)
    except ALLOWED:
        return None
    except ValueError as error:
        if name in VALUE_ERRORS:
            return None
        return f"{said}: {type(error).__name__}: {ascii(str(error))[:150]}"
    except BaseException as error:  # noqa: BLE001 - a panic is a BaseException
        return f"{said}: {type(error).__name__}: {ascii(str(error))[:150]}"
    finally:
        signal.alarm(0)
    return None


def confine() -> None:
    """Take memory and rights away, after everything that a call may import is there."""
    signal.signal(signal.SIGALRM, hung)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 26, 1 << 26))
    if os.geteuid() == 0:
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def tell(line: object) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def main(names: list[str]) -> None:
    with tfrecs.RecordWriter("sound.tfrecord") as out:
        out.write_batch([record()] * 10)
    for library in ("pandas", "polars", "pyarrow", "scipy.sparse", "PIL.Image", "soundfile"):
        with contextlib.suppress(ImportError):
            importlib.import_module(library)
    for name in names:
        getattr(tfrecs, name.partition(".")[0])
        with contextlib.suppress(Exception):
            resolved(name)
    confine()
    for name in names:
        for given in calls(name):
            if (found := complaint(name, given)) is not None:
                tell(found)
    tell("done")


if __name__ == "__main__":
    main(sys.argv[1:])
