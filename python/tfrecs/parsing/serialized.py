"""Serialized records in every form that they are handed in, and errors that name one of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tfrecs import _core
from tfrecs._internal.wording import counted
from tfrecs.errors import ParseError, SpecError
from tfrecs.tensors import BytesArray

Serialized: TypeAlias = (
    bytes | Sequence[bytes] | _core.Records | BytesArray | npt.NDArray[np.object_ | np.bytes_]
)


@dataclass(frozen=True)
class SerializedRecords:
    """The records to parse, as the native decoder takes them."""

    records: _core.Records | list[bytes]
    names: list[str] | None
    is_single: bool

    @property
    def nbytes(self) -> int:
        """The bytes of all records together."""
        if isinstance(self.records, _core.Records):
            return self.records.nbytes
        return sum(map(len, self.records))

    def error(self, row: int, feature: str, reason: str) -> ParseError:
        """Return an error in record `row`, which says where that record stands."""
        name = None if self.names is None else self.names[row]
        return _core.Records(self.records).parse_error(row, reason, feature, name)


def source_of(serialized: Serialized, names: Sequence[str] | str | None) -> SerializedRecords:
    """Return the records, and their names.

    Raises:
        SpecError: They have more than one dimension, or are no records; or there are not as many
            names as records.
    """
    records = _records(serialized)
    if isinstance(records, bytes):
        return SerializedRecords([records], _checked_names(names, None), is_single=True)
    return SerializedRecords(records, _checked_names(names, len(records)), is_single=False)


def single_source(serialized: Serialized, name: Sequence[str] | str | None) -> SerializedRecords:
    """Return the one record, and its name.

    Raises:
        SpecError: It is not one.
    """
    source = source_of(serialized, name)
    if not source.is_single:
        raise SpecError(
            f"Input serialized must be a scalar, got {counted(len(source.records), 'record')}"
        )
    return source


def _checked_names(names: Any, records: int | None) -> list[str] | None:
    """Names are as many as records (one str, if that is a scalar); an empty list is none."""
    names = names.tolist() if isinstance(names, BytesArray | np.ndarray) else names
    is_one = isinstance(names, str | bytes)
    if not is_one and not isinstance(names, Sequence | None):
        text = "names of records are str, or a sequence of str"
        raise SpecError(f"{text}, not {type(names).__name__}")
    if names is None or (len(names) == 0 and not is_one):
        return None
    if is_one != (records is None) or (records is not None and len(names) != records):
        shape = "" if is_one else str(len(names))
        raise SpecError(
            "Expected names have the same shape as serialized: "
            f"name.shape=[{shape}], serialized.shape=[{'' if records is None else records}]"
        )
    return [_text(name) for name in ([names] if is_one else names)]


def _text(name: Any) -> str:
    return name.decode(errors="replace") if isinstance(name, bytes) else str(name)


def _records(serialized: Serialized) -> bytes | _core.Records | list[bytes]:
    """The records as the native decoder takes them; bytes for a scalar."""
    if isinstance(serialized, bytes | _core.Records):
        return serialized
    wrong = isinstance(serialized, str | bytearray | memoryview | Mapping)
    if wrong or not isinstance(serialized, Iterable):
        raise SpecError(
            f"serialized is bytes or a sequence of bytes, not {type(serialized).__name__}"
        )
    if isinstance(serialized, BytesArray | np.ndarray):
        if serialized.ndim > 1:
            shape = ",".join(map(str, serialized.shape))
            raise SpecError(f"Expected serialized to be a scalar or vector, got shape: [{shape}]")
        if isinstance(serialized, BytesArray) and serialized.ndim == 1:
            return serialized.to_records()
        if serialized.ndim == 0:
            return _scalar(serialized.item())
        return serialized.tolist()  # type: ignore[no-any-return]
    return list(serialized)


def _scalar(record: Any) -> bytes:
    if not isinstance(record, bytes):
        raise SpecError(f"serialized is bytes, not {type(record).__name__}")
    return record
