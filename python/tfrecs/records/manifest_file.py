"""Write and read manifest files (docs/manifest.md)."""

import hashlib
import json
import os
import pathlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from tfrecs._internal.checks import checked_compression, checked_name
from tfrecs.errors import CorruptRecordError, SpecError, file_error
from tfrecs.features import Feature, Features
from tfrecs.features.feature_json import features_from_data, features_to_data
from tfrecs.storage.journal import own_checksum
from tfrecs.storage.paths import Path

FORMAT = "tfrecs manifest"
VERSION = 1


@dataclass(frozen=True)
class ShardEntry:
    """Entry of a manifest for one file.

    Attributes:
        name: Its path, from the manifest's folder, with `/`.
        records: How many records it has.
        record_bytes: How many bytes these have together, without framing and compression.
        size: How many bytes the file has.
        compression_type: "", "GZIP" or "ZLIB".
        checksum: Of the records in their order, 8 hexadecimal digits; it does not depend on the
            compression.
        sha256: Of the file's bytes, or None.
    """

    name: str
    records: int
    record_bytes: int
    size: int
    compression_type: str
    checksum: str
    sha256: str | None = None


def sha256_of(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal digits."""
    with pathlib.Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def manifest_text(shards: Iterable[ShardEntry], schema: Features | None) -> str:
    """Return the content of a manifest."""
    entries = [_without_none(asdict(shard)) for shard in shards]
    totals = {
        name: sum(entry[name] for entry in entries) for name in ("records", "record_bytes", "size")
    }
    data = {"format": FORMAT, "version": VERSION, **totals, "shards": entries}
    if schema is not None:
        data["schema"] = features_to_data(schema)
    data["crc32"] = own_checksum(data)
    return json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _without_none(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if value is not None}


def read_entries(path: Path) -> tuple[tuple[ShardEntry, ...], dict[str, Feature] | None]:
    """Return what a manifest says of each file, and what features the records have.

    Raises:
        FileError: It cannot be read.
        CorruptRecordError: It is no manifest, or was changed.
        SpecError: It is of a version that this version of tfrecs does not know.
    """
    name = os.fsdecode(path)
    try:
        text = pathlib.Path(name).read_text("utf-8")
    except UnicodeDecodeError:
        raise _no_manifest(name, "it is no text") from None
    except OSError as error:
        raise file_error(error, name) from error
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _no_manifest(name, f"it is no JSON: {error}") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise _no_manifest(name, f'its "format" is not {FORMAT!r}')
    if data.get("version") != VERSION:
        raise SpecError(f"{name}: a manifest of version {data.get('version')!r}", path=name)
    if data.get("crc32") != own_checksum(data):
        raise _no_manifest(name, "it was changed: its own checksum does not match")
    try:
        shards = tuple(map(_entry, data["shards"]))
        schema = features_from_data(data["schema"]) if "schema" in data else None
    except (LookupError, TypeError, SpecError) as error:
        raise _no_manifest(name, str(error)) from error
    return shards, schema


def _entry(data: dict[str, Any]) -> ShardEntry:
    entry = ShardEntry(**data)
    for name in ("records", "record_bytes", "size"):
        number = getattr(entry, name)
        if type(number) is not int or number < 0:
            raise SpecError(f"{name} is no number: {number!r}")
    texts = (entry.name, entry.compression_type, entry.checksum, entry.sha256 or "")
    if not all(isinstance(text, str) for text in texts):
        raise SpecError(f"these are no texts: {texts!r}")
    checked_name(entry.name)
    checked_compression(entry.compression_type)
    if not entry.name or pathlib.PurePosixPath(entry.name).is_absolute():
        raise SpecError(f"this is no name of a file in its folder: {entry.name!r}")
    return entry


def _no_manifest(path: str, why: str) -> CorruptRecordError:
    reason = f"this is not a sound manifest: {why}"
    return CorruptRecordError(f"{path}: {reason}", path=path, reason=reason)
