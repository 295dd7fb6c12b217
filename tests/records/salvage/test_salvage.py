"""salvage() and repair(): all that damage did not touch, and an account of the rest."""

import os
import random
import subprocess
import sys
import zlib
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import frames
import pytest

import tfrecs
from tfrecs.errors import ExistingFileError

RECORDS = [
    b"first",
    b"",
    b"hello hello",
    frames.plain([b"inner", b"", b"more"]),
    bytes(40),
    b"last",
]
STARTS = frames.starts(RECORDS)
PLAIN = frames.plain(RECORDS)


def found_in(
    path: Path, compression_type: str = "auto", **options: Any
) -> tuple[list[bytes], list[tuple[int, int]]]:
    """The records and the regions of a file, which together are all of it."""
    records, regions = [], []
    at = 0
    for piece in tfrecs.salvage(path, compression_type, **options):
        if isinstance(piece, tfrecs.SkippedRegion):
            assert piece.begin == at
            assert isinstance(piece.reason, tfrecs.Error)
            assert piece.reason.path == str(path)
            assert piece.reason.offset == piece.begin
            at = piece.end
            regions.append((piece.begin, piece.end))
        else:
            at += len(piece) + 16
            records.append(piece)
    return records, regions


def damaged(data: bytes, at: int, change: int = 0xFF) -> bytes:
    return data[:at] + bytes([data[at] ^ change]) + data[at + 1 :]


def test_each_byte_changed(tmp_path: Path) -> None:
    for at in range(len(PLAIN)):
        path = frames.save(tmp_path / "a", damaged(PLAIN, at))
        number = sum(end <= at for end in STARTS[1:])
        in_header = at - STARTS[number] < 12
        wanted = RECORDS if in_header else RECORDS[:number] + RECORDS[number + 1 :]
        regions = [] if in_header else [(STARTS[number], STARTS[number + 1])]
        assert found_in(path) == (wanted, regions), at


def test_each_cut(tmp_path: Path) -> None:
    for at in range(len(PLAIN)):
        path = frames.save(tmp_path / "a", PLAIN[:at])
        number = sum(end <= at for end in STARTS[1:])
        regions = [] if at == STARTS[number] else [(STARTS[number], at)]
        assert found_in(path) == (RECORDS[:number], regions), at
        assert found_in(path, mode="tolerate_tail") == (RECORDS[:number], regions), at


def test_modes(tmp_path: Path) -> None:
    path = frames.save(tmp_path / "a", damaged(PLAIN, STARTS[2] + 12))
    for mode in ("strict", "tolerate_tail"):
        found = tfrecs.salvage(path, mode=mode)
        assert [next(found), next(found)] == RECORDS[:2]
        for _ in range(2):
            with pytest.raises(tfrecs.CorruptRecordError, match="record 2 at byte 37"):
                next(found)
    torn = frames.save(tmp_path / "b", PLAIN[:-1])
    with pytest.raises(tfrecs.TruncatedFileError):
        list(tfrecs.salvage(torn, mode="strict"))
    with pytest.raises(tfrecs.SpecError, match='no mode "lax"'):
        tfrecs.salvage(path, mode="lax")


def test_limits(tmp_path: Path) -> None:
    data = damaged(damaged(PLAIN, STARTS[0] + 12), STARTS[2] + 12)
    path = frames.save(tmp_path / "a", data)
    lost = STARTS[1] + STARTS[3] - STARTS[2]
    for limit, value in (("max_lost_bytes", lost), ("max_lost_records", 2)):
        assert len(found_in(path, "auto", **{limit: value})[0]) == 4
    for bytes_, records in ((lost - 1, None), (None, 1)):
        found = tfrecs.salvage(path, max_lost_bytes=bytes_, max_lost_records=records)
        assert isinstance(next(found), tfrecs.SkippedRegion)
        assert next(found) == RECORDS[1]
        with pytest.raises(tfrecs.CorruptRecordError, match="more is lost than is allowed"):
            next(found)
    for bad in (-1, 1.5, True):
        with pytest.raises(tfrecs.SpecError, match="max_lost_bytes"):
            tfrecs.salvage(path, max_lost_bytes=bad)  # type: ignore[arg-type]


def test_account(tmp_path: Path) -> None:
    data = damaged(damaged(PLAIN, STARTS[1] + 3), STARTS[2] + 12)
    found = tfrecs.salvage(frames.save(tmp_path / "a", data))
    assert found.compression_type == ""
    batches = list(found.batches(2))
    kinds = [len(it) if isinstance(it, tfrecs.Records) else it.nbytes for it in batches]
    assert kinds == [1, 1, 27, 2, 1]
    assert (found.lost_bytes, found.lost_regions, found.mended) == (27, 1, 1)
    with pytest.raises(ValueError, match="at least one record"):
        next(found.batches(0))
    found.close()
    found.close()
    with pytest.raises(tfrecs.StateError):
        next(found)


def test_regions_are_frozen() -> None:
    region = tfrecs.SkippedRegion(1, 3, tfrecs.CorruptRecordError("x"))
    with pytest.raises(FrozenInstanceError):
        region.begin = 2  # type: ignore[misc]


def test_other_files(tmp_path: Path) -> None:
    with pytest.raises(tfrecs.FileError):
        tfrecs.salvage(tmp_path / "missing")
    with pytest.raises(tfrecs.FileError):
        tfrecs.salvage(tmp_path)
    page = frames.save(tmp_path / "page", b"<!DOCTYPE html><html>" * 50)
    with pytest.raises(tfrecs.NotTFRecordError, match="HTML"):
        list(tfrecs.salvage(page))
    assert found_in(frames.save(tmp_path / "empty", b"")) == ([], [])


def test_records_after_another_beginning(tmp_path: Path) -> None:
    page = b"<!DOCTYPE html><html>" * 50
    path = frames.save(tmp_path / "a", page + PLAIN)
    assert found_in(path) == (RECORDS, [(0, len(page))])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipes_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    keep_open = os.open(tmp_path / "pipe", os.O_RDWR)
    try:
        with pytest.raises(tfrecs.SpecError, match="only a regular file"):
            tfrecs.salvage(tmp_path / "pipe")
    finally:
        os.close(keep_open)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("use", ["tfrecs.salvage(path)", "tfrecs.repair(path, path + '.clean')"])
def test_pipes_are_refused_without_waiting_for_a_writer(tmp_path: Path, use: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    script = f"import sys, tfrecs\npath = sys.argv[1]\n{use}"
    run = [sys.executable, "-c", script, str(tmp_path / "pipe")]
    done = subprocess.run(run, capture_output=True, text=True, check=False, timeout=60)
    assert "SpecError" in done.stderr
    assert "only a regular file" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_devices_and_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(tfrecs.SpecError, match="only a regular file"):
        tfrecs.salvage(os.devnull)
    with pytest.raises(tfrecs.FileError, match="directory"):
        tfrecs.salvage(tmp_path)


@pytest.mark.parametrize("url", ["gs://bucket/a.tfrecord", "https://host/a"])
def test_urls_are_refused(tmp_path: Path, url: str) -> None:
    path = frames.save(tmp_path / "a", PLAIN)
    for use in (
        lambda: tfrecs.salvage(url),
        lambda: tfrecs.repair(url, tmp_path / "b"),
        lambda: tfrecs.repair(path, url),
        lambda: tfrecs.RecordReader(url),
    ):
        with pytest.raises(tfrecs.SpecError, match="a URL") as caught:
            use()
        assert caught.value.path == url
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("of", ["salvage", "dataset"])
def test_an_interruption_while_a_region_is_told(
    tmp_path: Path, of: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal handler may raise while its reason is made: the region comes the next time."""
    path = frames.save(tmp_path / "a", damaged(PLAIN, STARTS[1] - 1))
    expected = [(0, STARTS[1])]
    make = tfrecs.Error.__init__
    interrupted: list[int] = []

    def once(*arguments: Any, **named: Any) -> None:
        if not interrupted:
            interrupted.append(1)
            raise KeyboardInterrupt
        make(*arguments, **named)

    told: list[tuple[int, int]] = []
    if of == "salvage":
        pieces: Any = tfrecs.salvage(path)
    else:
        pieces = iter(
            tfrecs.Dataset(
                path, on_corrupt="skip", on_skip=lambda _, it: told.append((it.begin, it.end))
            ).batch(100)
        )
    monkeypatch.setattr(tfrecs.Error, "__init__", once)
    with pytest.raises(KeyboardInterrupt):
        next(pieces)
    rest = list(pieces)
    if of == "salvage":
        assert rest[1:] == RECORDS[1:]
        told.append((rest[0].begin, rest[0].end))
    assert told == expected


def test_large_damaged_record(tmp_path: Path) -> None:
    rng = random.Random(1)
    records = [b"before", rng.randbytes(3_000_000), b"after", rng.randbytes(700_000), b"end"]
    starts = frames.starts(records)
    path = tmp_path / "a"
    with tfrecs.RecordWriter(path) as out:
        out.write_batch(records)
    data = path.read_bytes()
    path.write_bytes(damaged(damaged(data, starts[1] + 5), starts[3] + 99_999))
    assert found_in(path) == (records[:3] + records[4:], [(starts[3], starts[4])])
    path.write_bytes(data[: starts[1] + 12] + data[starts[1] + 1000 :])  # 988 bytes gone
    assert found_in(path) == ([records[0], *records[2:]], [(starts[1], starts[2] - 988)])


# ---------------------------------------------------------------- compressed


def members(records: list[bytes]) -> tuple[bytes, list[int]]:
    """A gzip member a record, and where each begins."""
    parts = [frames.compressed("GZIP", frames.frame(record)) for record in records]
    starts = [sum(map(len, parts[:number])) for number in range(len(parts))]
    return b"".join(parts), starts


@pytest.mark.parametrize("codec", ["GZIP", "ZLIB"])
def test_each_cut_of_a_stream(tmp_path: Path, codec: str) -> None:
    data = frames.compressed(codec, PLAIN)
    for at in range(3, len(data)):
        path = frames.save(tmp_path / "a", data[:at])
        records, regions = found_in(path, codec)
        assert records == RECORDS[: len(records)]
        assert regions, "a stream without its end is never silent"
        strict: list[bytes] = []
        with pytest.raises(tfrecs.TruncatedFileError):
            strict.extend(iter(tfrecs.RecordReader(path, codec)))
        assert found_in(path, codec, mode="tolerate_tail") == (records, regions)


@pytest.mark.parametrize("codec", ["GZIP", "ZLIB"])
def test_each_byte_of_a_stream_changed(tmp_path: Path, codec: str) -> None:
    data = frames.compressed(codec, PLAIN)
    for at in range(len(data)):
        path = frames.save(tmp_path / "a", damaged(data, at))
        records, _ = found_in(path, codec)
        assert set(records) <= set(RECORDS)


def test_each_byte_of_members_changed(tmp_path: Path) -> None:
    records = [random.Random(n).randbytes(60) for n in range(6)]
    data, starts = members(records)
    for at in range(len(data)):
        path = frames.save(tmp_path / "a", damaged(data, at, 0x55))
        found, _ = found_in(path, "GZIP")
        number = sum(start <= at for start in starts) - 1
        assert set(found) >= set(records[:number] + records[number + 1 :]), at
        assert found == [record for record in records if record in found]


def test_a_member_missing_and_garbage_between(tmp_path: Path) -> None:
    data, starts = members(RECORDS)
    cut = data[: starts[2]] + data[starts[3] :]
    assert found_in(frames.save(tmp_path / "a", cut))[0] == RECORDS[:2] + RECORDS[3:]
    between = data[: starts[2]] + b"garbage" * 9 + data[starts[2] :]
    path = frames.save(tmp_path / "b", between)
    assert found_in(path) == (RECORDS, [(STARTS[2], STARTS[2])])


def test_our_own_gzip_files(tmp_path: Path) -> None:
    rng = random.Random(3)
    records = [rng.randbytes(rng.randint(0, 5000)) for _ in range(600)]
    path = tmp_path / "a.gz"
    with tfrecs.RecordWriter(path) as out:
        out.write_batch(records)
    data = path.read_bytes()
    path.write_bytes(damaged(data, len(data) // 2))
    found, regions = found_in(path)
    assert len(found) > 400
    assert regions
    assert found == [record for record in records if record in set(found)]
    path.write_bytes(bytes(500) + data[500:])  # its beginning is gone too
    assert found_in(path, "GZIP")[0][-1] == records[-1]


@pytest.mark.parametrize("codec", ["GZIP", "ZLIB"])
def test_after_a_full_flush(tmp_path: Path, codec: str) -> None:
    rng = random.Random(4)
    records = [rng.randbytes(400) for _ in range(60)]
    packer = zlib.compressobj(wbits=31 if codec == "GZIP" else 15)
    data, flushes = b"", []
    for number, record in enumerate(records):
        data += packer.compress(frames.frame(record))
        if number % 10 == 9:
            data += packer.flush(zlib.Z_FULL_FLUSH)
            flushes.append(len(data))
    data += packer.flush()
    hole = data[: flushes[1] + 900] + bytes(50) + data[flushes[1] + 950 :]
    found, _ = found_in(frames.save(tmp_path / "a", hole), codec)
    assert found[:20] == records[:20]
    assert found[-30:] == records[-30:]
    assert len(found) == len(set(found))


# ---------------------------------------------------------------- repair


@pytest.mark.parametrize("codec", ["", "GZIP", "ZLIB"])
def test_repair(tmp_path: Path, codec: str) -> None:
    data = damaged(PLAIN, STARTS[2] + 12)
    data = frames.compressed(codec, data) if codec else data
    path = frames.save(tmp_path / "a", data)
    report = tfrecs.repair(path, tmp_path / "b")
    assert (report.path, report.output) == (str(path), str(tmp_path / "b"))
    assert (report.records, report.lost_bytes, report.mended) == (5, 27, 0)
    assert report.compression_type == codec
    assert report.was_damaged
    with tfrecs.RecordReader(tmp_path / "b") as reader:
        assert reader.compression_type == codec
        assert list(reader) == RECORDS[:2] + RECORDS[3:]
    assert path.read_bytes() == data
    assert tfrecs.repair(path, path).records == 5
    assert not tfrecs.repair(path, path, output_compression_type="GZIP").was_damaged
    assert tfrecs.verify(path).files[0].compression_type == "GZIP"


def test_repair_that_loses_too_much(tmp_path: Path) -> None:
    path = frames.save(tmp_path / "a", damaged(PLAIN, 12))
    kept = frames.save(tmp_path / "b", b"as it was")
    with pytest.raises(tfrecs.CorruptRecordError):
        tfrecs.repair(path, kept, max_lost_bytes=1)
    assert kept.read_bytes() == b"as it was"
    assert len(list(tmp_path.iterdir())) == 2


# ---------------------------------------------------------------- datasets


def test_repair_replaces_unless_told_not_to(tmp_path: Path) -> None:
    path = frames.save(tmp_path / "a", damaged(PLAIN, STARTS[1] - 1))
    clean = frames.save(tmp_path / "b", b"what was there")
    with pytest.raises(ExistingFileError) as caught:
        tfrecs.repair(path, clean, overwrite=False)
    assert caught.value.path == str(clean)
    assert clean.read_bytes() == b"what was there"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]
    assert tfrecs.repair(path, clean).records == len(RECORDS) - 1
    assert tfrecs.repair(path, tmp_path / "c", overwrite=False).records == len(RECORDS) - 1


def test_dataset_skips(tmp_path: Path) -> None:
    frames.save(tmp_path / "1.tfrecord", PLAIN)
    two = frames.save(tmp_path / "2.tfrecord", damaged(PLAIN, STARTS[2] + 12))
    frames.save(tmp_path / "3.tfrecord.gz", frames.compressed("GZIP", PLAIN)[:-9])
    told = []
    dataset = tfrecs.Dataset(
        tmp_path / "*.tfrecord*", on_corrupt="skip", on_skip=lambda *it: told.append(it)
    )
    for batched in (dataset, dataset.batch(4)):
        told.clear()
        found = [x for batch in batched for x in ([batch] if batched is dataset else batch)]
        assert found[:11] == RECORDS + RECORDS[:2] + RECORDS[3:]
        assert told[0][0] == str(two)
        assert (told[0][1].begin, told[0][1].end) == (STARTS[2], STARTS[3])
        assert dataset.losses.regions == batched.losses.regions == len(told) == 2
        assert dataset.losses.files[str(two)] == 1
        assert dataset.losses.nbytes == sum(region.nbytes for _, region in told)
        assert "2 regions" in repr(dataset.losses)
    with pytest.raises(tfrecs.CorruptRecordError):
        list(tfrecs.Dataset(two))


def test_dataset_skips_what_it_parses(tmp_path: Path) -> None:
    rows = [tfrecs.encode_example({"n": n}) for n in range(1000)]
    data = frames.plain(rows)
    starts = frames.starts(rows)
    bad = range(5, 1000, 100)
    for number in bad:
        data = damaged(data, starts[number] + 13)
    path = frames.save(tmp_path / "a", data)
    features = {"n": tfrecs.FixedLenFeature([], "int64")}
    dataset = tfrecs.Dataset(path, features, on_corrupt="skip").batch(64)
    found = [n for batch in dataset for n in batch["n"].tolist()]
    assert found == [n for n in range(1000) if n not in bad]
    assert dataset.losses.regions == len(bad)


def test_dataset_options(tmp_path: Path) -> None:
    path = frames.save(tmp_path / "a", PLAIN)
    with pytest.raises(tfrecs.SpecError, match='"raise" or "skip"'):
        tfrecs.Dataset(path, on_corrupt="ignore")
    with pytest.raises(tfrecs.SpecError, match="on_skip"):
        tfrecs.Dataset(path, on_skip=print)
