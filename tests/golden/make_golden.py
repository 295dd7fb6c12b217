"""Make the golden files of this folder with TensorFlow; tests/test_golden.py reads them without it.

    PYTHONPATH=tests python tests/golden/make_golden.py

records*: the same records as TensorFlow writes them, by codec and option; records.json has them.
parse.json: cases for parse_example with what TensorFlow made of them, and (under "wire") odd
Examples with protobuf's reading. Bytes are in hex; a float is the integer of its 32 bits.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import hypothesis
import tensorflow as tf

import strategies
from oracle import judge
from oracle.wire_rows import DIFFERENT, ROWS
from reference import Columns, Dense, Fixed, Spec, Var
from reference_rules import RejectedError
from reference_wire import Value

HERE = Path(__file__).resolve().parent
SEED = 20260301
CASES = 150

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
    *[([], dtype, [None]) for dtype in ("int32", "float64", "bool", "text")],
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


def cases() -> list[strategies.Case]:
    """Random plain cases, none that can be refused for more than one reason, and none large."""
    out: list[strategies.Case] = []

    @hypothesis.seed(SEED)
    @hypothesis.settings(max_examples=3 * CASES, database=None, deadline=None)
    @hypothesis.given(strategies.cases(odd=False))
    def collect(case: strategies.Case) -> None:
        if not case.odd and sum(map(len, case.records)) < 1500 and len(case.spec) > 1:
            out.append(case)

    collect()
    return [case for case in out if _reasons(case) <= 1][:CASES]


def _reasons(case: strategies.Case) -> int:
    try:
        judge.batch(case.records, case.spec)
    except RejectedError as rejected:
        return len({fault[1:] for fault in rejected.faults})
    return 0


def parse_case(case: strategies.Case) -> dict[str, Any]:
    out = {"spec": spec_json(case.spec), "records": [record.hex() for record in case.records]}
    out["batch"] = outcome(lambda: judge.batch(case.records, case.spec))
    if case.records:
        out["single"] = outcome(lambda: judge.single(case.records[0], case.spec))
    return out


def outcome(call: Any) -> dict[str, Any]:
    try:
        return {"columns": columns_json(call())}
    except RejectedError as rejected:
        fault = rejected.faults[0]
        return {"refused": {"feature": fault.feature, "reason": fault.reason}}


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


def wire_case(name: str) -> dict[str, Any]:
    row = ROWS[name]
    return {
        "name": name,
        "data": row.data.hex(),
        "expected": row.protobuf,
        "tensorflow_differs": name in DIFFERENT,
    }


# ---------------------------------------------------------------- as JSON


def spec_json(spec: Spec) -> dict[str, Any]:
    return {name: _feature_json(feature) for name, feature in spec.items()}


def _feature_json(feature: Fixed | Var) -> dict[str, Any]:
    if isinstance(feature, Var):
        return {"var": feature.dtype}
    default = None if feature.default is None else list(map(_value_json, feature.default))
    return {"fixed": feature.dtype, "shape": feature.shape, "default": default}


def columns_json(columns: Columns) -> dict[str, Any]:
    return {name: _column_json(column) for name, column in columns.items()}


def _column_json(column: Any) -> dict[str, Any]:
    out: dict[str, Any] = column._asdict() | {"values": list(map(_value_json, column.values))}
    assert isinstance(column, Dense) or "indices" in out
    return out


def _value_json(value: Value) -> int | str:
    return value.hex() if isinstance(value, bytes) else value


def write_parse_cases() -> None:
    content = {
        "cases": [parse_case(case) for case in cases()],
        "defaults": [default_case(*case) for case in DEFAULTS],
        "wire": [wire_case(name) for name in ROWS],
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
