"""Make the golden files of this folder with TensorFlow, for parsing/test_golden.py.

    PYTHONPATH=tests/support:python python tests/golden/make_golden.py

records*: the same records as TensorFlow writes them, by codec and option; records.json has them.
parse.json: random cases for the parse functions with what TensorFlow made of them, default values,
and (under "wire") odd messages with protobuf's reading; in the form of golden_cases.py.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import strategies
import tensorflow as tf
from golden_cases import columns_json, spec_json

from oracle import judge
from oracle.examine import Sides
from oracle.families import FAMILIES, Case, Family, draw_cases
from oracle.wire_rows import (
    DIFFERENT,
    ROWS,
    SEQUENCE_DIFFERENT,
    SEQUENCE_ROWS,
    Row,
    SequenceRow,
)

HERE = Path(__file__).resolve().parent
SEED = 20260301
COUNTS = {"plain": 220, "odd": 110, "mutated": 80}
LARGEST = 3000  # characters of a case

RECORD_FILES: dict[str, dict[str, Any]] = {
    "records.tfrecord": {},
    "records.tfrecord.gz": {"compression_type": "GZIP"},
    "records.tfrecord.zlib": {"compression_type": "ZLIB"},
    "records-level-9.tfrecord.gz": {"compression_type": "GZIP", "compression_level": 9},
    "records-level-0.tfrecord.zlib": {"compression_type": "ZLIB", "compression_level": 0},
    "records-window-9.tfrecord.zlib": {"compression_type": "ZLIB", "window_bits": 9},
    "records-huffman.tfrecord.gz": {"compression_type": "GZIP", "compression_strategy": 2},
}
EMPTY_FILES = {"": "empty.tfrecord", "GZIP": "empty.tfrecord.gz", "ZLIB": "empty.tfrecord.zlib"}

# Shape, dtype and values for default_value, of a feature that the Example does not have.
_DEFAULTS: list[tuple[Any, str, list[Any]]] = [
    ([], "int64", [1, True, 2**63 - 1, 2**63, [1], "1", None, 1.0, 1.5]),
    ([2], "int64", [1, [1], [1, 2], [1, 2, 3], [[1, 2]], [[1], [2]]]),
    ([2], "int64", [[1, None], [True, False], [1, 2.0], [1, "2"]]),
    ([2, 2], "int64", [[1, 2, 3, 4], [[1, 2], [3, 4]], [[1, 2], [3]]]),
    ([], "float32", [1, 1.5, True, 0.1, 1e300, 2**24 + 1, "1", None]),
    ([], "string", ["x", "é", "", ["x"], 1, 1.5, True, None]),
    ([2], "string", [["a", "b"], ["a", 1], "ab"]),
    ([1], "int64", [1]),
    ([1], "string", ["abc"]),
    *[([0], dtype, [[]]) for dtype in strategies.DTYPES],
    *[(shape, "int64", [1]) for shape in (1, None, -1, [-1], [None], [1, None])],
    *[(shape, "int64", [1]) for shape in ([1.0], "1", [True])],
    ([], "text", [None]),
]
DEFAULTS = [(shape, dtype, value) for shape, dtype, values in _DEFAULTS for value in values]


def records() -> list[bytes]:
    rng = random.Random(SEED)
    return [b"", b"\0", *(rng.randbytes(i * 3) + b"abc" * i for i in range(30)), b"z" * 3000]


def write_records() -> None:
    (HERE / "records.json").write_text(json.dumps([r.hex() for r in records()], indent=0) + "\n")
    for name, options in RECORD_FILES.items():
        with tf.io.TFRecordWriter(str(HERE / name), tf.io.TFRecordOptions(**options)) as out:
            for record in records():
                out.write(record)
    for codec, name in EMPTY_FILES.items():
        tf.io.TFRecordWriter(str(HERE / name), codec).close()
    write_flushed()


def write_flushed() -> None:
    """Files of a writer that flushed and is still at work: the stream has no end yet."""
    for codec, suffix in (("GZIP", "gz"), ("ZLIB", "zlib")):
        path = HERE / f"flushed.tfrecord.{suffix}"
        out = tf.io.TFRecordWriter(str(path), codec)
        for record in records():
            out.write(record)
        out.flush()
        data = path.read_bytes()
        out.close()
        path.write_bytes(data)


# ---------------------------------------------------------------- parse cases


def cases(family: Family, kind: str, count: int) -> list[dict[str, Any]]:
    """Random cases of one to three records, none of them large."""
    out: list[dict[str, Any]] = []
    number = 0
    while len(out) < count:
        number += 1
        rng = random.Random(f"{SEED}/{family.name}/{kind}/{number}")
        spec = family.draw_spec(rng)
        drawn = draw_cases(rng, family, kind, spec, rng.choice((1, 2, 3)))
        case = parse_case(family, spec, drawn)
        if len(json.dumps(case)) < LARGEST:
            out.append(case)
    return out


def parse_case(family: Family, spec: Any, drawn: list[Case]) -> dict[str, Any]:
    """The outcome for all records of the case, and for each alone, where TensorFlow has one."""
    sides = Sides(family, spec)
    out: dict[str, Any] = {"spec": spec_json(spec)}
    out["records"] = [case.record.hex() for case in drawn]
    out["batch"] = outcome(sides, drawn, [case.asked for case in drawn])
    out["singles"] = [
        None if case.has_no_splits else outcome(sides, [case], case.asked) for case in drawn
    ]
    return out


def outcome(sides: Sides, drawn: list[Case], asked: Any) -> dict[str, Any]:
    """TensorFlow's columns; or the faults, by the rules, for which there must be none."""
    faults = [f._replace(record=i) for i, case in enumerate(drawn) for f in case.faults]
    if faults:
        return {"refused": faults}
    columns = sides.their_columns(asked)
    return {"columns": columns_json(columns)}


def default_case(shape: Any, dtype: str, default: Any) -> dict[str, Any]:
    case = {"shape": shape, "dtype": dtype, "default": default}
    try:
        features = {"a": tf.io.FixedLenFeature(shape, dtype, default)}
        result = judge.columns(tf.io.parse_example([b"", b""], features))
    except judge.REFUSALS as error:
        # A feature without default, and one whose default has no elements, must be in the data.
        data = "is required but could not be found" in str(error)
        return case | {"refused": "data" if data else "spec"}
    return case | {"columns": columns_json(result)}


def wire_case(row: Row | SequenceRow, differs: bool, name: str) -> dict[str, Any]:
    return {
        "name": name,
        "data": row.data.hex(),
        "expected": row.protobuf,
        "tensorflow_differs": differs,
    }


def write_parse_cases() -> None:
    content = {
        **{
            name: [case for kind, count in COUNTS.items() for case in cases(family, kind, count)]
            for name, family in FAMILIES.items()
        },
        "defaults": [default_case(*case) for case in DEFAULTS],
        "wire": [wire_case(row, name in DIFFERENT, name) for name, row in ROWS.items()],
        "sequence_wire": [
            wire_case(row, name in SEQUENCE_DIFFERENT, name) for name, row in SEQUENCE_ROWS.items()
        ],
    }
    # One case a line: small, and yet a change can be seen in a diff.
    parts = [
        f'"{name}": [\n' + ",\n".join(json.dumps(case) for case in rows) + "\n]"
        for name, rows in content.items()
    ]
    (HERE / "parse.json").write_text("{\n" + ",\n".join(parts) + "\n}\n")


if __name__ == "__main__":
    write_records()
    write_parse_cases()
