"""Several files at once: how records are spread, and that all files appear or none."""

from pathlib import Path
from typing import Any

import frames
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfrecs

NAME = "{shard:03d}-of-{num_shards:03d}"


def contents(paths: list[str]) -> list[list[bytes]]:
    return [list(tfrecs.RecordReader(path)) for path in paths]


def clean(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        path.unlink()
    return folder


@given(records=st.lists(st.binary(max_size=20), max_size=30), shards=st.integers(1, 8))
def test_num_shards(
    tmp_path_factory: pytest.TempPathFactory, records: list[bytes], shards: int
) -> None:
    folder = clean(tmp_path_factory.getbasetemp() / "num-shards")
    with tfrecs.ShardedWriter(folder / NAME, num_shards=shards) as out:
        out.write_batch(records)
    assert out.paths == [str(folder / f"{n:03d}-of-{shards:03d}") for n in range(shards)]
    assert sorted(map(str, folder.iterdir())) == out.paths
    assert contents(out.paths) == [records[shard::shards] for shard in range(shards)]


@given(records=st.lists(st.binary(max_size=20), max_size=30), limit=st.integers(1, 8))
def test_max_records(
    tmp_path_factory: pytest.TempPathFactory, records: list[bytes], limit: int
) -> None:
    folder = clean(tmp_path_factory.getbasetemp() / "max-records")
    with tfrecs.ShardedWriter(folder / NAME, max_records=limit) as out:
        out.write_batch(tfrecs.Records(records))
    expected = [records[n : n + limit] for n in range(0, len(records), limit)] or [[]]
    assert contents(out.paths) == expected
    assert sorted(map(str, folder.iterdir())) == out.paths
    assert out.num_records == len(records)


@given(sizes=st.lists(st.integers(0, 20), max_size=30), limit=st.integers(1, 40))
def test_max_bytes(tmp_path_factory: pytest.TempPathFactory, sizes: list[int], limit: int) -> None:
    folder = clean(tmp_path_factory.getbasetemp() / "max-bytes")
    records = [bytes([n]) * size for n, size in enumerate(sizes)]
    with tfrecs.ShardedWriter(folder / NAME, max_bytes=limit) as out:
        for record in records:
            out.write(record)
    found = contents(out.paths)
    assert [record for shard in found for record in shard] == records
    for shard, following in zip(found, [*found[1:], None], strict=True):
        assert sum(map(len, shard)) <= limit or len(shard) == 1
        assert following is None or sum(map(len, shard)) + len(following[0]) > limit


@pytest.mark.parametrize("name", ["{shard}.gz", "{shard}.zz", "{shard}"])
def test_compression(tmp_path: Path, name: str) -> None:
    codec = {"gz": "GZIP", "zz": "ZLIB"}.get(name[-2:], "")
    with tfrecs.ShardedWriter(tmp_path / name, num_shards=2, level=9) as out:
        out.write_batch([b"a", b"b"])
    assert [tfrecs.RecordReader(path).compression_type for path in out.paths] == [codec] * 2
    with tfrecs.ShardedWriter(tmp_path / name, num_shards=2, compression_type="GZIP") as out:
        out.write_batch([b"a", b"b"])
    assert [tfrecs.RecordReader(path).compression_type for path in out.paths] == ["GZIP"] * 2


@pytest.mark.parametrize(
    "limits",
    [
        {},
        {"num_shards": 2, "max_records": 3},
        {"max_bytes": 2, "max_records": 3},
        *({limit: n} for limit in ("num_shards", "max_bytes", "max_records") for n in (0, -1)),
    ],
    ids=str,
)
def test_limits_that_make_no_sense(tmp_path: Path, limits: dict[str, Any]) -> None:
    with pytest.raises(tfrecs.SpecError, match="exactly one"):
        tfrecs.ShardedWriter(tmp_path / NAME, **limits)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "template",
    ["name", "{num_shards}", "{shards}", "{shard", "{0}", "{}", "{shard:q}", "{shard.x}"],
)
@pytest.mark.parametrize("limits", [{"num_shards": 2}, {"max_records": 2}, {"max_bytes": 2}])
def test_templates_that_make_no_sense(
    tmp_path: Path, template: str, limits: dict[str, Any]
) -> None:
    with pytest.raises(tfrecs.SpecError, match="template"):
        tfrecs.ShardedWriter(tmp_path / template, **limits)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("limits", [{"num_shards": 12}, {"max_records": 1}])
def test_shards_never_overwrite_each_other(tmp_path: Path, limits: dict[str, Any]) -> None:
    """The first ten names of this template differ."""
    records = [b"%d" % n for n in range(12)]
    try:
        with tfrecs.ShardedWriter(tmp_path / "{shard!s:.1}", **limits) as out:
            out.write_batch(records)
    except tfrecs.SpecError:
        assert not list(tmp_path.iterdir())
    else:
        assert sorted(record for shard in contents(out.paths) for record in shard) == sorted(
            records
        )


@pytest.mark.parametrize("limits", [{"num_shards": 3}, {"max_records": 2}, {"max_bytes": 2}])
def test_all_appear_at_the_end(tmp_path: Path, limits: dict[str, Any]) -> None:
    old = frames.save(tmp_path / "000", frames.plain([b"old"]))
    out = tfrecs.ShardedWriter(tmp_path / "{shard:03d}", **limits)
    for _ in range(10):
        out.write(b"a")
    assert out.paths == []
    assert [path.name for path in tmp_path.glob("[!.]*")] == ["000"]
    assert list(tfrecs.RecordReader(old)) == [b"old"]
    out.close()
    assert tfrecs.count(out.paths) == 10
    out.close()
    assert tfrecs.count(out.paths) == 10
    assert sorted(map(str, tmp_path.iterdir())) == out.paths
    with pytest.raises(tfrecs.StateError, match="closed"):
        out.write(b"late")


def write_and_stop(path: Path, limits: dict[str, Any]) -> None:
    with tfrecs.ShardedWriter(path, **limits) as out:
        out.write_batch([b"a"] * 7)
        raise KeyError("stop")


@pytest.mark.parametrize("limits", [{"num_shards": 3}, {"max_records": 2}, {"max_bytes": 2}])
def test_none_appears_after_an_exception(tmp_path: Path, limits: dict[str, Any]) -> None:
    with pytest.raises(KeyError):
        write_and_stop(tmp_path / NAME, limits)
    assert not list(tmp_path.iterdir())


def test_a_dropped_writer_publishes_nothing(tmp_path: Path) -> None:
    def drop() -> None:
        out = tfrecs.ShardedWriter(tmp_path / NAME, num_shards=2)
        out.write(b"a")

    with pytest.warns(ResourceWarning, match="never closed"):
        drop()
    assert not list(tmp_path.iterdir())


def test_a_wrong_record_changes_nothing(tmp_path: Path) -> None:
    with tfrecs.ShardedWriter(tmp_path / NAME, num_shards=2) as out:
        out.write(b"a")
        for wrong in ("text", None, 5):
            with pytest.raises(TypeError, match=r"bytes|len"):
                out.write(wrong)  # type: ignore[arg-type]
        out.write(b"b")
    assert contents(out.paths) == [[b"a"], [b"b"]]


def test_a_missing_folder(tmp_path: Path) -> None:
    with (
        pytest.raises(FileNotFoundError),
        tfrecs.ShardedWriter(tmp_path / "missing" / NAME, num_shards=2),
    ):
        pass
    with (
        pytest.raises(FileNotFoundError),
        tfrecs.ShardedWriter(tmp_path / "missing" / NAME, max_records=2),
    ):
        pass


@pytest.mark.parametrize("limits", [{"num_shards": 3}, {"max_records": 1}])
@pytest.mark.parametrize("blocked", range(3))
def test_a_shard_whose_name_is_taken_by_a_folder(
    tmp_path: Path, limits: dict[str, Any], blocked: int
) -> None:
    """All shards or none: what was published before the error is taken back."""
    (tmp_path / f"{blocked:03d}-of-003").mkdir()
    published: list[str] = []

    def write() -> None:
        out = tfrecs.ShardedWriter(tmp_path / NAME, **limits)
        out.write_batch([b"a", b"b", b"c"])
        try:
            out.close()
        finally:
            published.extend(out.paths)

    with pytest.raises(tfrecs.FileError):
        write()
    assert not list(tmp_path.glob(".*"))
    assert published == []
    assert [path for path in tmp_path.iterdir() if path.is_file()] == []


def test_more_shards_than_files_may_be_open(tmp_path: Path) -> None:
    """Full shards are closed; there can be any number of them."""
    with tfrecs.ShardedWriter(tmp_path / NAME, max_records=1) as out:
        out.write_batch([b"a"] * 600)
        held = [path for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
    assert len(held) < 200
    assert len(out.paths) == 600
