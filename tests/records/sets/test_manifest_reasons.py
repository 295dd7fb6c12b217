"""Errors of a manifest for a file whose records have changed."""

from __future__ import annotations

from pathlib import Path

import pytest

import tfrecs


@pytest.mark.parametrize(
    ("records", "reason"),
    [
        ([b"abc"], "the manifest says 2 records, the file has 1"),
        ([b"abc", b"d", b"ef"], "the manifest says 2 records, the file has 3"),
        ([b"abc", b"defg"], "the manifest says records of 6 bytes, the file has 7"),
        ([b"abc", b"dex"], "the manifest says records with the checksum"),
        ([b"def", b"abc"], "the manifest says records with the checksum"),
    ],
)
def test_the_first_difference_is_named(records: list[bytes], reason: str, tmp_path: Path) -> None:
    with tfrecs.ShardedWriter(
        tmp_path / "a-{shard}-of-{num_shards}", num_shards=1, manifest=True
    ) as out:
        out.write_batch([b"abc", b"def"])
    (shard,) = out.paths
    with tfrecs.RecordWriter(shard) as other:
        other.write_batch(records)
    manifest = tfrecs.read_manifest(tmp_path / "a.manifest.json")
    (error,) = manifest.verify(recompressed=True).errors
    assert isinstance(error, tfrecs.Error)
    assert error.reason.startswith(reason)
