"""What a record seems to be, and what of it to show a person."""

import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal, TypeAlias

import numpy as np

from tfrecs import _core
from tfrecs.cli.terminal import is_printable, printable
from tfrecs.columns.batch import Batch
from tfrecs.errors import Error
from tfrecs.examples.rows import FeatureList, decode_example, decode_sequence_example
from tfrecs.tensors import BytesArray
from tfrecs.tensors.tensor_proto import parse_tensor

Type: TypeAlias = Literal["Example", "SequenceExample", "Event", "TensorProto", "bytes"]
Value: TypeAlias = int | float | bytes

# The most bytes of a tensor that is shown: one that says it is larger is not made.
_MAX_TENSOR = 1 << 28

# More than any line of a terminal can show.
_MAX_VALUES = 100
_MAX_CHARS = 300
_SHORT = 16  # bytes that are shown in full

_MEDIA_TYPES = [
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (8, b"WAVE", "audio/wav"),
    (0, b"II*\x00", "image/tiff"),
    (0, b"MM\x00*", "image/tiff"),
    (0, b"OggS", "audio/ogg"),
    (0, b"fLaC", "audio/flac"),
    (0, b"ID3", "audio/mpeg"),
    (4, b"ftyp", "video/mp4"),
    (0, b"\x1aE\xdf\xa3", "video/webm"),
    (0, b"\x93NUMPY", "NumPy array"),
    (0, b"%PDF", "application/pdf"),
    (0, b"\x1f\x8b", "gzip"),
    (0, b"PK\x03\x04", "zip"),
    (0, b"PAR1", "Parquet"),
]


@dataclass(frozen=True)
class Shown:
    """A record as far as it is understood.

    Attributes:
        type: What it seems to be; "bytes" if it is none of the others.
        features: The features of an Example, the context of a SequenceExample.
        feature_lists: The feature lists of a SequenceExample.
        step: The step of an Event.
        summaries: The summaries of an Event by their tags: numbers, or what else they are.
        tensor: The dtype and shape of a TensorProto, in words, and its values.
    """

    type: Type
    features: Mapping[str, FeatureList] = field(default_factory=dict)
    feature_lists: Mapping[str, Sequence[FeatureList]] = field(default_factory=dict)
    step: int | None = None
    summaries: Mapping[str, float | str] = field(default_factory=dict)
    tensor: tuple[str, FeatureList] | None = None


def interpret(record: bytes) -> Shown:
    """Guess what a record is: nothing in it says so."""
    try:
        return _READERS[_core.message_kind(record)](record)
    except Error:
        return Shown("bytes")


def _event(record: bytes) -> Shown:
    """Return the summaries of an Event."""
    decoder = _core.EventDecoder(None, None)
    decoder.push(_core.Records([record]))
    rows = Batch(decoder.take())
    steps = rows["step"].tolist()
    found: dict[str, float | str] = {}
    for tag, plugin, value in zip(rows["tag"], rows["plugin"], rows["value"], strict=True):
        what = plugin.decode(errors="replace") or "not a scalar"
        found[tag.decode(errors="replace")] = what if np.isnan(value) else float(value)
    return Shown("Event", step=steps[0] if steps else None, summaries=found)


def _tensor(record: bytes) -> Shown:
    array = parse_tensor(record, max_bytes=_MAX_TENSOR)
    dtype = "bytes" if isinstance(array, BytesArray) else str(array.dtype)
    values = list(islice(array.ravel().tolist(), _MAX_VALUES))
    return Shown("TensorProto", tensor=(f"{dtype}, shape {array.shape}", values))


_READERS: dict[str, Callable[[bytes], Shown]] = {
    "Example": lambda record: Shown("Example", decode_example(record)),
    "SequenceExample": lambda record: Shown("SequenceExample", *decode_sequence_example(record)),
    "Event": _event,
    "TensorProto": _tensor,
    "bytes": lambda _: Shown("bytes"),
}


def kind(values: FeatureList) -> str:
    """Return the kind of a feature by its values, as a spec names it."""
    names = {int: "int64", float: "float32", bytes: "bytes"}
    return names[type(values[0])] if values else "-"


def values_text(values: Iterable[Value]) -> str:
    """Return the first values in one printable line."""
    shown = [value_text(value) for value in islice(values, _MAX_VALUES)]
    return _cut(", ".join(shown))


def steps_text(steps: Iterable[FeatureList]) -> str:
    """Return the first steps of a feature list in one printable line."""
    shown = [f"[{values_text(values)}]" for values in islice(steps, _MAX_VALUES)]
    return _cut(", ".join(shown))


def value_text(value: Value) -> str:
    """Return a value in one printable line."""
    if isinstance(value, bytes):
        return bytes_text(value)
    return str(np.float32(value)) if isinstance(value, float) else str(value)


def bytes_text(value: bytes) -> str:
    """Return text as text, and other bytes by what they seem to be."""
    if (text := _text(value)) is not None:
        return _cut(json.dumps(text, ensure_ascii=False))
    if media := media_type(value):
        return f"{len(value):,} bytes: {media}"
    if len(value) <= _SHORT:
        return repr(value)
    return f"{len(value):,} bytes: {value[:_SHORT]!r}…"


def raw_text(record: bytes) -> str:
    """Return what a record that is no message of ours looks like."""
    if _text(record) is None and media_type(record) is None:
        return repr(record[:_MAX_VALUES])
    return bytes_text(record)


def _text(value: bytes) -> str | None:
    """Return bytes that a person can read as text; None for others."""
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return None
    return text if is_printable(text.translate(_LAYOUT)) else None


_LAYOUT = str.maketrans("\t\n\r", "   ")


def media_type(value: bytes) -> str | None:
    """Return what bytes are, if their beginning shows it."""
    for start, magic, name in _MEDIA_TYPES:
        if value.startswith(magic, start):
            return name
    is_bmp = value[:2] == b"BM" and value[2:6] == len(value).to_bytes(8, "little")[:4]
    return "image/bmp" if is_bmp else None


def _cut(text: str) -> str:
    text = printable(text)
    return text if len(text) <= _MAX_CHARS else text[:_MAX_CHARS] + "…"


def as_json(record: bytes) -> dict[str, Any]:
    """Return what a record is and holds, for JSON: bytes that are not UTF-8 as base64."""
    shown = interpret(record)
    if shown.type == "bytes":
        return {"type": shown.type, "data": _json_value(record)}
    features = {name: _json_values(values) for name, values in shown.features.items()}
    if shown.type == "Event":
        return {"type": shown.type, "step": shown.step, "summaries": _json_numbers(shown)}
    if shown.tensor is not None:
        described, values = shown.tensor
        return {"type": shown.type, "tensor": described, "values": _json_values(values)}
    if shown.type == "Example":
        return {"type": shown.type, "features": features}
    lists = {
        name: [_json_values(values) for values in steps]
        for name, steps in shown.feature_lists.items()
    }
    return {"type": shown.type, "context": features, "feature_lists": lists}


def _json_numbers(shown: Shown) -> dict[str, Any]:
    return {
        tag: value if isinstance(value, str) else _json_value(value)
        for tag, value in shown.summaries.items()
    }


def _json_values(values: Iterable[Value]) -> list[Any]:
    return [_json_value(value) for value in values]


def _json_value(value: Value) -> Any:
    """Floats have the fewest digits that tell them apart; what JSON lacks is as in protobuf."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return {"base64": b64encode(value).decode("ascii")}
    if not isinstance(value, float):
        return value
    if not np.isfinite(value):
        return "NaN" if np.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return float(str(np.float32(value)))
