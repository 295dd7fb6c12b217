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
import linecache
import os
import pathlib
import resource
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from itertools import islice
from operator import attrgetter
from typing import Any

import numpy as np

import tfrecs
import tfrecs.formats
from tfrecs import tf

MEMORY = 5 << 29  # bytes of address space
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


def write_sound_file() -> None:
    """Write the file that sound arguments name, into the working directory."""
    with tfrecs.RecordWriter("sound.tfrecord") as out:
        out.write_batch([record()] * 10)


def record() -> bytes:
    return tfrecs.encode_example({"a": [1], "b": [b"x"]})


def image() -> bytes:
    return tfrecs.encode_image(np.zeros((2, 3, 3), np.uint8))


def columns() -> Any:
    return {"a": tfrecs.FixedLenFeature([], "int64")}


def bytes_column() -> Any:
    return {"b": tfrecs.FixedLenFeature([], "string")}


# Parameters that a sound call gives although they have a default: without them it would not end,
# or have nothing to do.
GIVEN = {"num_epochs", "num_shards", "timeout"}
# Parameters that exclude another.
INSTEAD = {"max_bytes": "num_shards", "max_records": "num_shards"}

# Sound values of the parameters that have no default, and of those that would wait.
SOUND: dict[str, Callable[[], Any]] = {
    "array": lambda: np.zeros((2, 3, 3), np.uint8),
    "batch_size": lambda: 2,
    "batch_sizes": lambda: [2, 2],
    "boundaries": lambda: [2],
    "columns": lambda: {"a": np.arange(3)},
    "contents": image,
    "context": dict,
    "count": lambda: 2,
    "data": lambda: b"\x01\x02\x03\x04",
    "dense_shape": lambda: np.array([4]),
    "dst": lambda: "made.tfrecord",
    "dtype": lambda: "int64",
    "epoch": lambda: 1,
    "example": lambda: {"a": [1]},
    "examples": lambda: [record()],
    "feature_lists": dict,
    "features": columns,
    "file_pattern": lambda: "sound.tfrecord",
    "flat_values": lambda: np.arange(3),
    "function": lambda: lambda element: element,
    "index": lambda: 0,
    "index_key": lambda: "i",
    "indices": lambda: np.array([[1]]),
    "input_bytes": lambda: [b"\x01\x02"],
    "key": lambda: "a",
    "length_of": lambda: len,
    "lengths": lambda: [1, 2],
    "message": lambda: tfrecs.Example,
    "n": lambda: 2,
    "name": lambda: "a",
    "nested_row_splits": lambda: [np.array([0, 1, 3])],
    "num": lambda: 2,
    "num_epochs": lambda: 1,
    "num_shards": lambda: 2,
    "offsets": lambda: np.array([0, 1, 4]),
    "out_type": lambda: "uint8",
    "path": lambda: "sound.tfrecord",
    "path_template": lambda: "made-{shard}-of-{num_shards}",
    "paths": lambda: "sound.tfrecord",
    "predicate": lambda: bool,
    "range": lambda: tfrecs.plan_ranges("sound.tfrecord", 2)[0],
    "record": record,
    "record_bytes": lambda: 4,
    "records": lambda: [record()] * 3,
    "row_splits": lambda: np.array([0, 1, 3]),
    "rows": lambda: [[1], [2, 3]],
    "serialized": lambda: [record()] * 3,
    "shape": list,
    "size": lambda: 4,
    "src": lambda: "sound.tfrecord",
    "state": lambda: iter(tfrecs.Dataset("sound.tfrecord")).state_dict(),
    "tensor": lambda: np.arange(3),
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
    "tf.data.Dataset": lambda: tf.data.TFRecordDataset("sound.tfrecord"),
    "SparseTensor": lambda: tfrecs.SparseTensor(np.array([[1]]), np.array([5]), np.array([4])),
    "BytesArray": lambda: tfrecs.parse_example([record()] * 3, bytes_column())["b"],
    "Batch": lambda: tfrecs.decode_batch([record()] * 3),
}

# Modules beside tfrecs itself whose names are for users.
MODULES = [
    "formats",
    "tf",
    "tf.compat",
    "tf.data",
    "tf.data.experimental",
    "tf.image",
    "tf.io",
    "tf.io.gfile",
    "tf.sparse",
    "tf.train",
]

# Classes of results: tfrecs makes them, and only their methods are for users.
RESULTS = {
    "Audio",
    "Batch",
    "DatasetIterator",
    "DatasetTimings",
    "DecodedBatch",
    "IndexedRecords",
    "Salvage",
    "Dataset.of",
    "Records.parse_error",
    "tf.Tensor",
    "tf.data.Dataset",
    "tf.data.Dataset.of",
}

# Documented beside tfrecs.Error and TypeError.
ALLOWED: tuple[type[BaseException], ...] = (
    tfrecs.Error,
    TypeError,
    IndexError,
    KeyError,
    StopIteration,
)

# As list.index() has it, and whatever decodes bytes as text.
VALUE_ERRORS = {
    "IndexedRecords.index",
    "Records.index",
    "tf.compat.as_str",
    "tf.compat.as_str_any",
    "tf.io.gfile.GFile",
}


def targets() -> list[str]:
    """Return the names of all public functions, classes, and methods of OBJECTS."""
    modules = [("", tfrecs), *((f"{name}.", attrgetter(name)(tfrecs)) for name in MODULES)]
    names = [f"{prefix}{name}" for prefix, module in modules for name in module.__all__]
    called = {id(declared(name)): name for name in reversed(names) if is_called(name)}
    methods = [f"{owner}.{name}" for owner in OBJECTS for name in methods_of(owner)]
    return [name for name in [*reversed(called.values()), *methods] if name not in RESULTS]


def is_called(name: str) -> bool:
    target = declared(name)
    is_error = inspect.isclass(target) and issubclass(target, BaseException)
    return callable(target) and not is_error


def methods_of(owner: str) -> list[str]:
    kind = declared(owner)
    return [
        name for name in dir(kind) if not name.startswith("_") and callable(getattr(kind, name))
    ]


def declared(name: str) -> Any:
    """Return the function or class of this name, without an object of its class."""
    return attrgetter(name)(tfrecs)


def resolved(name: str) -> Any:
    owner, _, method = name.rpartition(".")
    return getattr(OBJECTS[owner](), method) if owner in OBJECTS else declared(name)


def calls(name: str) -> Iterator[dict[str, Any]]:
    """Yield the arguments of calls: sound ones, but for one that is hostile."""
    for parameter in parameters_of(name):
        for value in HOSTILE:
            given = sound(name)
            given.pop(INSTEAD.get(parameter.name, ""), None)
            yield given | {parameter.name: value}


def sound(name: str) -> dict[str, Any]:
    """Return sound arguments of a callable: none that it can do without."""
    return {
        one.name: SOUND.get(one.name, object)()
        for one in parameters_of(name)
        if one.default is one.empty or one.name in GIVEN
    }


def parameters_of(name: str) -> list[inspect.Parameter]:
    """Return its parameters that have names; protobuf's classes do not say theirs."""
    try:
        parameters = inspect.signature(declared(name)).parameters.values()
    except (TypeError, ValueError):
        return []
    others = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return [one for one in parameters if one.kind not in others and one.name != "self"]


def use(made: Any) -> None:
    """Take the first elements of whatever iterates: much is checked only then."""
    if isinstance(made, str | bytes | np.ndarray) or not hasattr(made, "__iter__"):
        return
    list(islice(made, 3))
    if hasattr(made, "close"):
        made.close()


def call(name: str, given: dict[str, Any]) -> None:
    parameters = parameters_of(name)
    first = [one.name for one in parameters if one.kind is one.POSITIONAL_ONLY]
    positional = [given[one] for one in first if one in given]
    use(resolved(name)(*positional, **{key: given[key] for key in given if key not in first}))


def is_possible(name: str) -> bool:
    """Make a sound call, which imports whatever it needs; False: a library is not installed."""
    try:
        if parameters_of(name):
            call(name, sound(name))
    except tfrecs.MissingLibraryError:
        return False
    except Exception:  # noqa: BLE001 - the same call is judged later
        return True
    return True


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
    except tfrecs.MissingLibraryError as error:  # which would hide all else
        return f"{said}: {type(error).__name__}: {ascii(str(error))[:150]}"
    except ALLOWED:
        return None
    except (ValueError, NotImplementedError, AttributeError, tf.errors.OpError) as error:
        if name in VALUE_ERRORS or is_tensorflows(name, error):
            return None
        return f"{said}: {type(error).__name__}: {ascii(str(error))[:150]}"
    except BaseException as error:  # noqa: BLE001 - a panic is a BaseException
        return f"{said}: {type(error).__name__}: {ascii(str(error))[:150]}"
    finally:
        signal.alarm(0)
    return None


def is_tensorflows(name: str, error: Exception) -> bool:
    """Return whether it is an error that TensorFlow's names raise, by a statement of tfrecs."""
    *_, (frame, line) = traceback.walk_tb(error.__traceback__)
    is_ours = frame.f_globals.get("__name__", "").startswith("tfrecs.")
    statement = linecache.getline(frame.f_code.co_filename, line).strip()
    is_raised = is_ours and statement.startswith("raise")
    return name.startswith("tf.") and (is_raised or isinstance(error, tf.errors.OpError))


def confine() -> None:
    """Take memory and rights away, after everything that a call may import is there."""
    signal.signal(signal.SIGALRM, hung)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 26, 1 << 26))
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
    if os.geteuid() == 0:
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def tell(line: object) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def main(names: list[str]) -> None:
    write_sound_file()
    for library in ("pandas", "polars", "pyarrow", "scipy.sparse", "PIL.Image", "soundfile"):
        with contextlib.suppress(ImportError):
            importlib.import_module(library)
    names = [name for name in names if is_possible(name)]
    confine()
    for name in names:
        for given in calls(name):
            if (found := complaint(name, given)) is not None:
                tell(found)
    tell("done")


if __name__ == "__main__":
    main(sys.argv[1:])
