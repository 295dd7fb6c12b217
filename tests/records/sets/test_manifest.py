"""A manifest notices whatever happened to the files of a set, or to itself."""

import base64
import hashlib
import itertools
import json
import random
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import frames
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfrecs
from tfrecs.features.feature_json import features_from_data, features_to_data
from torture import mutations

NAME = "part-{shard:02d}-of-{num_shards:02d}.tfrecord"
RECORDS = [b"%d" % n * (n % 7) for n in range(40)]


def write(folder: Path, name: str = NAME, records: list[bytes] = RECORDS, **options: Any) -> str:
    options = {"num_shards": 3, "manifest": True, **options}
    with tfrecs.ShardedWriter(folder / name, **options) as out:
        out.write_batch(records)
    assert out.manifest_path is not None
    return out.manifest_path


def digest(records: list[bytes]) -> str:
    """The checksum as docs/manifest.md defines it, without tfrecs."""
    parts = [struct.pack("<QI", len(it), frames.masked_crc(it)) for it in records]
    masked = frames.masked_crc(b"".join(parts))
    rotated = (masked - 0xA282EAD8) & 0xFFFFFFFF
    return f"{(rotated << 15 | rotated >> 17) & 0xFFFFFFFF:08x}"


# ---------------------------------------------------------------- what it says


@pytest.mark.parametrize("codec", frames.CODECS)
@pytest.mark.parametrize("limits", [{"num_shards": 3}, {"num_shards": None, "max_records": 15}])
def test_what_it_says(tmp_path: Path, codec: str, limits: dict[str, Any]) -> None:
    where = write(tmp_path, compression_type=codec, sha256=True, **limits)
    assert where == str(tmp_path / "part.manifest.json")
    data = json.loads(Path(where).read_text())
    assert (data["format"], data["version"]) == ("tfrecs manifest", 1)
    manifest = tfrecs.read_manifest(where)
    assert manifest.paths == [str(tmp_path / NAME.format(shard=n, num_shards=3)) for n in range(3)]
    for path, shard, said in zip(manifest.paths, manifest.shards, data["shards"], strict=True):
        records = list(tfrecs.RecordReader(path))
        assert said == {
            "name": Path(path).name,
            "records": len(records),
            "record_bytes": sum(map(len, records)),
            "size": Path(path).stat().st_size,
            "compression_type": codec,
            "checksum": digest(records),
            "sha256": hashlib.sha256(Path(path).read_bytes()).hexdigest(),
        }
        assert shard.sha256 == said["sha256"]
    for total in ("records", "record_bytes", "size"):
        assert data[total] == sum(said[total] for said in data["shards"])
    assert (manifest.records, manifest.size) == (40, data["size"])
    rest = {name: value for name, value in data.items() if name != "crc32"}
    canonical = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    assert data["crc32"] == f"{zlib.crc32(canonical.encode()):08x}"
    assert manifest.verify().ok
    assert manifest.verify(tmp_path / "part-*").ok
    assert manifest.verify(recompressed=True).records == 40


def test_batches_have_the_same_digest(tmp_path: Path) -> None:
    """As rows, as frames that lie as in a file, and as what was read."""
    rows = [{"a": n} for n in range(1000)]
    records = [tfrecs.encode_example(row) for row in rows]
    batch = tfrecs.encode_batch({"a": np.arange(1000)})
    for name, some in (("rows", records), ("batch", batch), ("list", list(batch))):
        (tmp_path / name).mkdir()
        where = write(tmp_path / name, records=some, num_shards=1)  # type: ignore[arg-type]
        (shard,) = tfrecs.read_manifest(where).shards
        assert shard.checksum == digest(records)


def test_batches_written_whole_have_the_same_digest(tmp_path: Path) -> None:
    from tfrecs.records.sharded import _Shard

    batch = tfrecs.encode_batch({"a": np.arange(100_000)})
    with tfrecs.RecordWriter(tmp_path / "b") as out:
        out.write_batch(batch)
    read = tfrecs.RecordReader(tmp_path / "b").read_batch(1000)
    for some in (batch, batch[5:500], batch[::7], read):
        with _Shard(tmp_path / "a", digest=True) as shard:
            shard.write_batch(some)
            shard.finish()
            entry = shard.entry("a", with_sha256=False)
        assert entry.checksum == f"{tfrecs._core.digest_file(tmp_path / 'a', 'auto')[2]:08x}"
    assert digest(list(batch[5:500])) == mutations.checksum_of(list(batch[5:500]))


def test_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "lists").mkdir()
    for template, manifest, where, first in (
        ("train-{shard}-of-{num_shards}", True, "train.manifest.json", "train-0-of-3"),
        ("data/{shard}", True, "data/manifest.json", "0"),
        ("data/a_{shard}", "lists/a.json", "lists/a.json", "../data/a_0"),
        ("data/b_{shard}", Path("lists/b.json"), "lists/b.json", "../data/b_0"),
    ):
        with tfrecs.ShardedWriter(template, num_shards=3, manifest=manifest) as out:
            out.write_batch(RECORDS)
        assert out.manifest_path == where
        found = tfrecs.read_manifest(where)
        assert found.shards[0].name == first
        assert found.paths == out.paths
        assert found.verify().ok
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "data").rename(tmp_path / "elsewhere" / "data")
    assert tfrecs.read_manifest("elsewhere/data/manifest.json").verify().ok


def test_it_is_not_there_without_its_files(tmp_path: Path) -> None:
    def stop() -> None:
        with tfrecs.ShardedWriter(tmp_path / NAME, num_shards=2, manifest=True) as out:
            out.write(b"x")
            raise KeyError("stop")

    with pytest.raises(KeyError):
        stop()
    assert not list(tmp_path.iterdir())
    for taken in ("part.manifest.json", NAME.format(shard=2, num_shards=3)):
        (tmp_path / taken).mkdir()
        with pytest.raises(tfrecs.FileError):
            write(tmp_path)
        assert [path.name for path in tmp_path.iterdir()] == [taken]
        (tmp_path / taken).rmdir()


@pytest.mark.parametrize("options", [{"sha256": True}, {"schema": {}}])
def test_options_that_are_for_a_manifest(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(tfrecs.SpecError, match="manifest=True"):
        tfrecs.ShardedWriter(tmp_path / NAME, num_shards=2, **options)
    with pytest.raises(tfrecs.SpecError, match="none of the feature classes"):
        write(tmp_path, schema={"a": "int64"})
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------- what it notices


@pytest.mark.parametrize("codec", frames.CODECS)
def test_every_mutation_is_noticed(codec: str) -> None:
    cases, failures = mutations.run(150, seed=3, codec=codec)
    assert cases == 150
    assert not failures


def test_the_same_records_written_anew(tmp_path: Path) -> None:
    manifest = tfrecs.read_manifest(write(tmp_path, sha256=True))
    for path in manifest.paths:
        records = list(tfrecs.RecordReader(path))
        with tfrecs.RecordWriter(path, "GZIP") as out:
            out.write_batch(records)
    assert not any(file.error is None for file in manifest.verify().files)
    assert manifest.verify(recompressed=True).ok
    with tfrecs.RecordWriter(manifest.paths[0], "GZIP") as out:
        out.write_batch(RECORDS[1:])
    assert not manifest.verify(recompressed=True).ok


def test_only_the_sha256_tells_what_is_not_in_the_records(tmp_path: Path) -> None:
    manifests = [write(tmp_path, "GZIP"[:n] + NAME, sha256=n > 0, level=0) for n in range(2)]
    for where, is_noticed in zip(manifests, (False, True), strict=True):
        manifest = tfrecs.read_manifest(where)
        path = Path(manifest.paths[0])
        data = frames.compressed("GZIP", path.read_bytes(), level=0)
        path.write_bytes(data)
        size, checksum = len(data), hashlib.sha256(data).hexdigest()
        assert not manifest.verify().ok
        text = Path(where).read_text()
        assert (checksum in text) is False
        assert size != manifest.shards[0].size
        assert is_noticed == (manifest.shards[0].sha256 is not None)


def test_which_files_are_used(tmp_path: Path) -> None:
    manifest = tfrecs.read_manifest(write(tmp_path))
    first, second, third = manifest.paths
    (tmp_path / "part-more").write_bytes(frames.plain(RECORDS))
    for used, reason in (
        ([first, second], f"{third}: the manifest has this file, and it is not used"),
        ([first, third, second], f"{third}: the manifest has {second} in its place"),
        ([first, second, third, third], f"{third}: the manifest has this file once"),
        ([first, first, second, third], f"{first}: the manifest has {second} in its place"),
        (tmp_path / "part-*", f"{tmp_path / 'part-more'}: the manifest does not have this file"),
    ):
        assert [str(error) for error in manifest.verify(used).errors] == [reason]
    Path(second).unlink()
    (error,) = manifest.verify().errors
    assert isinstance(error, FileNotFoundError)
    assert error.path == second


# ---------------------------------------------------------------- what it can be


def test_every_changed_byte_of_it_is_noticed(tmp_path: Path) -> None:
    where = Path(write(tmp_path, sha256=True, schema={"a": tfrecs.VarLenFeature(int)}))
    before, data = tfrecs.read_manifest(where), where.read_bytes()
    for place, bit in itertools.product(range(len(data)), (0, 5)):
        where.write_bytes(data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :])
        try:
            assert tfrecs.read_manifest(where) == before  # space for space
        except (tfrecs.CorruptRecordError, tfrecs.SpecError) as error:
            assert error.path == str(where)
    for cut in range(len(data) - 1):
        where.write_bytes(data[:cut])
        with pytest.raises(tfrecs.CorruptRecordError):
            tfrecs.read_manifest(where)


def sealed(change: Callable[[dict[str, Any]], object], data: dict[str, Any]) -> str:
    """With its own checksum made to fit."""
    change(data)
    data.pop("crc32", None)
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return json.dumps({**data, "crc32": f"{zlib.crc32(text.encode()):08x}"})


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.pop("shards"),
        lambda data: data.update(shards=7),
        lambda data: data.update(shards=["a"]),
        lambda data: data["shards"][0].pop("records"),
        lambda data: data["shards"][0].update(more=1),
        lambda data: data["shards"][0].update(records=-1),
        lambda data: data["shards"][0].update(records=1.5),
        lambda data: data["shards"][0].update(records=True),
        lambda data: data["shards"][0].update(size="12"),
        lambda data: data["shards"][0].update(checksum=None),
        lambda data: data["shards"][0].update(name=""),
        lambda data: data["shards"][0].update(name="/etc/passwd"),
        lambda data: data["shards"][0].update(name="a\0b"),
        lambda data: data.update(schema=[]),
        lambda data: data.update(schema={"a": {}}),
        lambda data: data.update(schema={"a": {"kind": "int"}}),
        lambda data: data.update(schema={"a": {"kind": "VarLenFeature", "more": 1}}),
        lambda data: data.update(format="another"),
    ],
)
def test_what_is_no_manifest(tmp_path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    where = Path(write(tmp_path))
    where.write_text(sealed(change, json.loads(where.read_text())))
    with pytest.raises(tfrecs.CorruptRecordError, match="not a sound manifest") as caught:
        tfrecs.read_manifest(where)
    assert caught.value.path == str(where)


@pytest.mark.parametrize("text", [b"", b"[]", b"{}", b"\xff", b"[" * 100_000, b"1" * 10_000])
def test_what_is_no_json_object(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "a").write_bytes(text)
    with pytest.raises(tfrecs.CorruptRecordError):
        tfrecs.read_manifest(tmp_path / "a")


def test_other_versions_and_missing_files(tmp_path: Path) -> None:
    where = Path(write(tmp_path))
    where.write_text(sealed(lambda data: data.update(version=2), json.loads(where.read_text())))
    with pytest.raises(tfrecs.SpecError, match="version 2"):
        tfrecs.read_manifest(where)
    with pytest.raises(FileNotFoundError) as caught:
        tfrecs.read_manifest(tmp_path / "missing")
    assert isinstance(caught.value, tfrecs.FileError)
    with pytest.raises(IsADirectoryError):
        tfrecs.read_manifest(tmp_path)


# ---------------------------------------------------------------- schemas

RAGGED = tfrecs.RaggedFeature
FEATURES: dict[str, Any] = {
    "fixed": tfrecs.FixedLenFeature([2, 3], "float32"),
    "scalar": tfrecs.FixedLenFeature((), np.int64, default_value=np.int64(7)),
    "text": tfrecs.FixedLenFeature([], str, default_value=b"\x00\xff"),
    "numbers": tfrecs.FixedLenFeature(
        [3], float, default_value=np.array([0.1, np.nan, np.inf], np.float32)
    ),
    "words": tfrecs.FixedLenFeature([2], bytes, default_value=["a", b"b"]),
    "var": tfrecs.VarLenFeature(int),
    "sparse": tfrecs.SparseFeature(["x", "y"], "v", "float32", [3, 4], already_sorted=True),
    "sequence": tfrecs.FixedLenSequenceFeature([], "int64", allow_missing=True, default_value=-1),
    "ragged": RAGGED("string", "w", [RAGGED.RowLengths("l"), RAGGED.UniformRowLength(2)]),
    "ragged64": RAGGED("int64", row_splits_dtype="int64"),
}


def test_schemas(tmp_path: Path) -> None:
    where = write(tmp_path, schema=FEATURES)
    found: Any = tfrecs.read_manifest(where).schema
    assert list(found) == list(FEATURES)
    for name, feature in FEATURES.items():
        assert type(found[name]) is type(feature)
    assert features_to_data(found) == features_to_data(FEATURES)
    assert found["text"].default_value == b"\x00\xff"
    assert found["ragged"] == FEATURES["ragged"]
    one = {"a": tfrecs.FixedLenFeature([2], "int64", default_value=[1, 2])}
    record = tfrecs.encode_example({})
    parsed = tfrecs.parse_example([record], features_from_data(features_to_data(one)))
    assert parsed["a"].tolist() == [[1, 2]]


@given(value=st.one_of(st.binary(), st.text(), st.floats(), st.integers(-(2**63), 2**63 - 1)))
def test_default_values(value: Any) -> None:
    feature = tfrecs.FixedLenFeature([], "string", default_value=value)
    data = json.loads(json.dumps(features_to_data({"a": feature}), allow_nan=False))
    found: Any = features_from_data(data)["a"]
    assert repr(found.default_value) == repr(value)


def test_arguments_that_are_no_data() -> None:
    for wrong in (object(), {"a": 1}, [object()]):
        with pytest.raises(tfrecs.SpecError, match="cannot be written down"):
            features_to_data({"a": tfrecs.FixedLenFeature([], "int64", default_value=wrong)})
    encoded = base64.b64encode(b"x").decode()
    assert features_to_data({"a": tfrecs.FixedLenFeature([], str, b"x")})["a"]["default_value"] == {
        "base64": encoded
    }


def test_a_set_that_was_replaced_in_part(tmp_path: Path) -> None:
    """As a process leaves it that is killed while it publishes: the old manifest tells."""
    manifest = tfrecs.read_manifest(write(tmp_path))
    rng = random.Random(1)
    for count in range(1, 4):
        for path in manifest.paths[:count]:
            Path(path).write_bytes(frames.plain([rng.randbytes(5)] * 13))
        assert len(manifest.verify().errors) == count
