"""The compression of a file is the one that its name or its caller says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tfrecs
from tfrecs import formats as convert

GZIP, ZLIB, PLAIN = b"\x1f\x8b", b"\x78", b"\x01\x00"
FIRST = {"": PLAIN, "GZIP": GZIP, "ZLIB": ZLIB}
KNOWN = {
    ".gz": GZIP,
    ".GZ": GZIP,
    ".gzip": GZIP,
    ".zz": ZLIB,
    ".zlib": ZLIB,
    ".tfrecord": PLAIN,
    "": PLAIN,
    "-00000-of-00002": PLAIN,
    ".bak": PLAIN,
}
UNKNOWN = [
    *(".7z", ".br", ".bz2", ".BZ2", ".lz", ".lz4", ".lzma", ".lzo", ".snappy", ".sz", ".tgz"),
    *(".xz", ".Z", ".zip", ".zst", ".zstd", ".deflate", ".bgz", ".bgzf", ".rar"),
]


def write(path: Path, **options: Any) -> None:
    with tfrecs.RecordWriter(path, **options) as out:
        out.write(b"a")


def write_sharded(path: Path) -> None:
    folder, _, rest = path.name.partition(".")
    name = f"{folder}-{{shard}}" + (f".{rest}" if rest else "")
    with tfrecs.ShardedWriter(path.with_name(name), num_shards=1) as out:
        out.write(b"a")
    path.with_name(name.format(shard=0)).rename(path)


def repair(path: Path) -> None:
    source = path.with_name("source.tfrecord")
    write(source)
    tfrecs.repair(source, path)


def append(path: Path) -> None:
    write(path, mode="a")


def write_in_place(path: Path) -> None:
    write(path, atomic=False)


WRITERS: dict[str, Callable[[Path], None]] = {
    one.__name__: one for one in (write, write_sharded, repair, append, write_in_place)
}


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("suffix", [one for one in KNOWN if one.startswith(".")])
def test_what_the_name_says_is_written(tmp_path: Path, writer: str, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    WRITERS[writer](path)
    assert path.read_bytes().startswith(KNOWN[suffix])
    assert list(tfrecs.RecordReader(path)) == [b"a"]


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("suffix", UNKNOWN)
def test_a_name_that_says_another_compression_is_refused(
    tmp_path: Path, writer: str, suffix: str
) -> None:
    path = tmp_path / f"a.tfrecord{suffix}"
    with pytest.raises(tfrecs.SpecError, match="end the name in") as caught:
        WRITERS[writer](path)
    assert f"the ending {suffix} says" in str(caught.value)
    assert caught.value.path is not None
    assert {one.name for one in tmp_path.iterdir()} <= {"source.tfrecord"}


@pytest.mark.parametrize("options", [{"max_bytes": 9}, {"max_records": 1}, {"num_shards": 2}])
def test_sharded_writers_refuse_before_the_first_record(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    with pytest.raises(tfrecs.SpecError, match="cannot write zstd"):
        tfrecs.ShardedWriter(tmp_path / "a-{shard}.zst", **options)


NUMBERS = ["-00000-of-00002", "-3-of-10", "-00001-of-00001"]


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("suffix", [".gz", ".zlib", ".tfrecord"])
def test_a_shard_number_after_the_ending_hides_nothing(
    tmp_path: Path, number: str, suffix: str
) -> None:
    path = tmp_path / f"a.tfrecord{suffix}{number}"
    write(path)
    assert path.read_bytes().startswith(KNOWN[suffix])
    assert list(tfrecs.Dataset(tmp_path)) == [b"a"]


@pytest.mark.parametrize("number", NUMBERS)
def test_an_unknown_ending_before_a_shard_number_is_refused(tmp_path: Path, number: str) -> None:
    with pytest.raises(tfrecs.SpecError, match=r"the ending \.zst says"):
        write(tmp_path / f"a.tfrecord.zst{number}")


def test_sharded_writers_follow_an_ending_before_the_number(tmp_path: Path) -> None:
    name = "a.gz-{shard:05d}-of-{num_shards:05d}"
    with tfrecs.ShardedWriter(tmp_path / name, num_shards=2) as out:
        out.write(b"a")
    assert all(Path(path).read_bytes().startswith(GZIP) for path in out.paths)
    with pytest.raises(tfrecs.SpecError, match="cannot write zstd"):
        tfrecs.ShardedWriter(tmp_path / name.replace("gz", "zst"), num_shards=2)


@pytest.mark.parametrize("name", ["a.gz-of-2", "a.gz-x-of-2", "a.gz-1-of-2.tfrecord"])
def test_what_is_no_shard_number_says_nothing(tmp_path: Path, name: str) -> None:
    write(tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(PLAIN)


def test_a_cache_refuses_before_the_first_pass(tmp_path: Path) -> None:
    with pytest.raises(tfrecs.SpecError, match="cannot write bzip2"):
        tfrecs.Dataset([b"a"]).cache(tmp_path / "cache.bz2")


@pytest.mark.parametrize("suffix", UNKNOWN)
@pytest.mark.parametrize("codec", ["", "GZIP", "ZLIB"])
def test_a_caller_may_insist_under_any_name(tmp_path: Path, suffix: str, codec: str) -> None:
    path = tmp_path / f"a{suffix}"
    write(path, compression_type=codec)
    assert path.read_bytes()[:1] == FIRST[codec][:1]


@pytest.mark.parametrize("source", ["s.tfrecord", "s.gz", "s.zz"])
@pytest.mark.parametrize("target", ["t.tfrecord", "t.gz", "t.zz"])
@pytest.mark.parametrize("asked", ["auto", "same", "", "gzip", "ZLIB"])
def test_a_clean_copy_is_compressed_as_its_name_says(
    tmp_path: Path, source: str, target: str, asked: str
) -> None:
    write(tmp_path / source)
    by_name = {"s.tfrecord": "", "s.gz": "GZIP", "s.zz": "ZLIB", "t.gz": "GZIP", "t.zz": "ZLIB"}
    wanted = {
        "auto": by_name.get(target, by_name[source]),
        "same": by_name[source],
        "gzip": "GZIP",
    }.get(asked, asked)
    report = tfrecs.repair(tmp_path / source, tmp_path / target, output_compression_type=asked)
    assert report.compression_type == wanted
    assert (tmp_path / target).read_bytes()[:1] == {"": PLAIN, "GZIP": GZIP, "ZLIB": ZLIB}[wanted][
        :1
    ]


def test_repair_in_place_keeps_the_compression(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    write(path, compression_type="")
    assert tfrecs.repair(path, path).compression_type == ""
    assert path.read_bytes().startswith(PLAIN)


SPELLINGS: dict[str, list[str | None]] = {
    "": ["", "none", "None", "NONE", None],
    "GZIP": ["GZIP", "gzip", "Gzip", "gz", "GZ"],
    "ZLIB": ["ZLIB", "zlib", "zz"],
}


@pytest.mark.parametrize(
    ("codec", "spelling"), [(codec, one) for codec, some in SPELLINGS.items() for one in some]
)
def test_spellings_mean_the_same_everywhere(
    tmp_path: Path, codec: str, spelling: str | None
) -> None:
    path = tmp_path / "a.tfrecord"
    write(path, compression_type=spelling)
    reader = tfrecs.RecordReader(path, spelling)
    assert (list(reader), reader.compression_type) == ([b"a"], codec)
    assert list(tfrecs.Dataset(path, compression_type=spelling)) == [b"a"]
    assert list(tfrecs.open(path, compression_type=spelling)) == [b"a"]
    assert list(tfrecs.salvage(path, spelling)) == [b"a"]
    if spelling is not None:
        assert tfrecs.count(path, spelling) == 1
        assert tfrecs.verify(path, spelling).ok
    state = iter(tfrecs.Dataset(path, compression_type=codec)).state_dict()
    resumed = iter(tfrecs.Dataset(path, compression_type=spelling))
    resumed.load_state_dict(state)
    assert next(resumed) == b"a"


def test_auto_has_one_meaning_in_any_case(tmp_path: Path) -> None:
    write(tmp_path / "a.gz", compression_type="Auto")
    assert tfrecs.RecordReader(tmp_path / "a.gz", "AUTO").compression_type == "GZIP"


@pytest.mark.parametrize("spelling", ["gzip", "gz", "GZIP"])
def test_converters_take_every_spelling(tmp_path: Path, spelling: str) -> None:
    table = tmp_path / "t.csv"
    table.write_text("a\n1\n")
    convert.convert_csv(table, tmp_path / "out", compression_type=spelling)
    (path,) = (tmp_path / "out").glob("*.tfrecord.gz")
    assert path.read_bytes().startswith(GZIP)
    with pytest.raises(tfrecs.SpecError, match='not "auto"'):
        convert.convert_csv(table, tmp_path / "other", compression_type="auto")
