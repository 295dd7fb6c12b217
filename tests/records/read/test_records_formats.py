"""Files that are no TFRecords: the error says what they are. And records that are no Examples."""

import bz2
import io
import json
import lzma
import pickle
import sqlite3
import tarfile
import wave
import zipfile
from collections.abc import Callable
from pathlib import Path

import frames
import needs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfrecs

# ---------------------------------------------------------------- real files of other formats


def parquet(path: Path) -> None:
    pq = needs.optional("pyarrow.parquet")
    pa = needs.optional("pyarrow")
    pq.write_table(pa.table({"a": [1]}), path)


def feather(path: Path) -> None:
    feather = needs.optional("pyarrow.feather")
    pa = needs.optional("pyarrow")
    feather.write_feather(pa.table({"a": [1]}), str(path), compression="uncompressed")


def zstd(path: Path) -> None:
    pa = needs.optional("pyarrow")
    path.write_bytes(pa.compress(b"text" * 9, codec="zstd", asbytes=True))


def orc(path: Path) -> None:
    orc = needs.optional("pyarrow.orc")
    pa = needs.optional("pyarrow")
    orc.write_table(pa.table({"a": [1]}), str(path))


def npz(path: Path) -> None:
    with path.open("wb") as file:
        np.savez(file, a=np.arange(3))


def npy(path: Path) -> None:
    with path.open("wb") as file:
        np.save(file, np.arange(3))


def tar(path: Path) -> None:
    with tarfile.open(path, "w") as archive:
        archive.addfile(tarfile.TarInfo("000.jpg"), io.BytesIO())


def empty_zip(path: Path) -> None:
    zipfile.ZipFile(path, "w").close()


def sqlite(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("create table a (b)")
    connection.close()


def wav(path: Path) -> None:
    with wave.open(str(path), "wb") as sound:
        sound.setparams((1, 1, 8000, 1, "NONE", ""))
        sound.writeframes(b"abc")


def image(path: Path) -> None:
    needs.optional("PIL.Image").new("L", (4, 4)).save(path, path.name.rpartition("-")[2])


REAL: dict[str, tuple[str, Callable[[Path], object]]] = {
    "parquet": ("Parquet", parquet),
    "feather": ("Arrow IPC", feather),
    "orc": ("ORC", orc),
    "zstd": ("zstd", zstd),
    "npz": ("zip", npz),
    "empty-zip": ("empty zip", empty_zip),
    "npy": ("NumPy", npy),
    "tar": ("tar", tar),
    "sqlite": ("SQLite", sqlite),
    "wav": ("RIFF", wav),
    "image-png": ("PNG", image),
    "image-jpeg": ("JPEG", image),
    "image-gif": ("GIF", image),
    "bz2": ("bzip2", lambda path: path.write_bytes(bz2.compress(b"text" * 9))),
    "xz": ("xz", lambda path: path.write_bytes(lzma.compress(b"text" * 9))),
    "pickle4": ("pickle", lambda path: path.write_bytes(pickle.dumps({"a": 1}, protocol=4))),
    "pickle5": ("pickle", lambda path: path.write_bytes(pickle.dumps({"a": 1}, protocol=5))),
    "json": ("JSON", lambda path: path.write_text(json.dumps({"a": list(range(9))}))),
    "json-lines": ("JSON", lambda path: path.write_text('[1, "a"]\n[2, "b"]\n')),
    "csv": ("text", lambda path: path.write_text("name,age\nada,36\n")),
    "csv-bom": ("text", lambda path: path.write_text("\ufeffname,age\nada,36\n")),
    "html": ("HTML", lambda path: path.write_text("<!DOCTYPE html>\n<html><body>404")),
    "html-bare": ("HTML", lambda path: path.write_text("\n\n  <HTML lang='en'><head>")),
    "xml": ("XML", lambda path: path.write_text("<?xml version='1.0'?><Error>NoSuchKey")),
    "xml-error": ("XML", lambda path: path.write_text("<Error><Code>NoSuchKey</Code></Error>")),
    "git-lfs": (
        "git-lfs",
        lambda path: path.write_text(
            "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n"
        ),
    ),
}
# Beginnings of files that nothing here can write.
MAGIC = {
    "Avro": b"Obj\x01\x04\x14avro.codec\x08null",
    "Riegeli": b"\x83\xaf\x70\xd1\x0d\x88\x4a\x3f" + b"\0" * 56,
    "HDF5": b"\x89HDF\r\n\x1a\n" + b"\0" * 32,
    "PDF": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n",
    "lz4": b"\x04\x22\x4d\x18\x64\x40\xa7" + b"\0" * 16,
    "snappy": b"\xff\x06\x00\x00sNaPpY" + b"\0" * 16,
    "ELF": b"\x7fELF\x02\x01\x01" + b"\0" * 32,
    "VisualDL": (20).to_bytes(8, "little") + b"\x0a\x12\x1a\x0dmeta_data_tag\x42\x01",
    "Example": b"\x0a\x0f\x0a\x0d\x0a\x01a\x12\x08\x0a\x06\x0a\x04text",
}


def check_not_records(path: Path, word: str) -> None:
    for use in (tfrecs.RecordReader, tfrecs.count):
        for compression_type in ("auto", ""):
            with pytest.raises(tfrecs.NotTFRecordError) as caught:
                use(path, compression_type)
            assert caught.value.path == str(path)
            assert caught.value.reason
            assert word in caught.value.reason
            assert str(caught.value) == f"{path}: {caught.value.reason}"
    report = tfrecs.verify(path)
    assert report.records == 0
    assert isinstance(report.errors[0], tfrecs.NotTFRecordError)


@pytest.mark.parametrize("name", REAL)
def test_real_files(tmp_path: Path, name: str) -> None:
    word, write = REAL[name]
    write(tmp_path / name)
    check_not_records(tmp_path / name, word)


@pytest.mark.parametrize("word", MAGIC)
def test_beginnings(tmp_path: Path, word: str) -> None:
    check_not_records(frames.save(tmp_path / "a", MAGIC[word]), word)


@pytest.mark.parametrize("name", ["csv", "npy", "parquet"])
@pytest.mark.parametrize("codec", ["GZIP", "ZLIB"])
def test_told_that_it_is_compressed(tmp_path: Path, name: str, codec: str) -> None:
    word, write = REAL[name]
    write(tmp_path / name)
    with pytest.raises(tfrecs.NotTFRecordError) as caught:
        list(tfrecs.RecordReader(tmp_path / name, codec))
    assert word in str(caught.value)


@pytest.mark.parametrize("codec", ["GZIP", "ZLIB"])
def test_other_things_compressed(tmp_path: Path, codec: str) -> None:
    data = frames.compressed(codec, b"name,age\nada,36\ngrace,85\n")
    with pytest.raises(tfrecs.NotTFRecordError, match="text") as caught:
        list(tfrecs.RecordReader(frames.save(tmp_path / "a.csv.gz", data)))
    assert caught.value.path == str(tmp_path / "a.csv.gz")


@given(noise=st.binary(min_size=12, max_size=600))
def test_noise(tmp_path_factory: pytest.TempPathFactory, noise: bytes) -> None:
    path = frames.save(tmp_path_factory.getbasetemp() / "noise", noise)
    kinds: tuple[type[tfrecs.Error], ...] = (
        tfrecs.CorruptRecordError,
        tfrecs.NotTFRecordError,
        tfrecs.TruncatedFileError,
    )
    with pytest.raises(kinds) as caught:
        list(tfrecs.RecordReader(path))
    assert caught.value.path == str(path)


@given(start=st.sampled_from([b"", *MAGIC.values()]), size=st.integers(0, 40))
def test_records_of_any_content_are_records(
    tmp_path_factory: pytest.TempPathFactory, start: bytes, size: int
) -> None:
    records = [start + b"," * size]
    path = frames.save(tmp_path_factory.getbasetemp() / "content", frames.plain(records))
    assert list(tfrecs.RecordReader(path)) == records


# ---------------------------------------------------------------- sound records, broken messages

GOOD = tfrecs.encode_example({"name": "ada", "born": 1815})
BROKEN = {
    "in the feature": GOOD[:-1] + b"\xff",
    "cut": GOOD[:-1],
    "no message": b"\xff\xff\xff",
}


@pytest.mark.parametrize("codec", frames.CODECS)
@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("spec", [None, {"born": tfrecs.FixedLenFeature([], "int64")}])
def test_broken_messages_are_located_in_their_file(
    tmp_path: Path, codec: str, name: str, spec: dict[str, tfrecs.FixedLenFeature] | None
) -> None:
    records = [GOOD] * 7 + [BROKEN[name]] + [GOOD] * 3
    data = frames.compressed(codec, frames.plain(records))
    path = frames.save(tmp_path / "broken.tfrecord", data)
    reader = tfrecs.RecordReader(path)
    assert tfrecs.decode_batch(reader.read_batch(4), spec).num_rows == 4
    batch = reader.read_batch(100)
    for part, numbers in ((batch, (7,)), (batch[2:], (7,)), (batch[3:4], (7,))):
        with pytest.raises(tfrecs.ParseError) as caught:
            tfrecs.decode_batch(part, spec)
        error = caught.value
        assert error.path == str(path)
        assert error.record in numbers
        assert error.offset == frames.starts(records)[7]
        assert error.reason
    assert tfrecs.decode_batch(batch[:3], spec).num_rows == 3


def test_the_feature_is_named() -> None:
    record = GOOD[:-1] + b"\xff"  # the varint of born never ends
    spec = {"born": tfrecs.FixedLenFeature([], "int64")}
    with pytest.raises(tfrecs.ParseError) as caught:
        tfrecs.decode_example(record)
    assert caught.value.feature == "born"
    for features in (None, spec):
        with pytest.raises(tfrecs.ParseError) as caught:
            tfrecs.decode_batch([GOOD, record], features)
        assert (caught.value.feature, caught.value.record) == ("born", 1)
    with pytest.raises(tfrecs.ParseError) as caught:
        tfrecs.parse_example([GOOD, GOOD, record], spec)
    assert (caught.value.feature, caught.value.record) == ("born", 2)
    name_only = {"name": tfrecs.FixedLenFeature([], "string")}
    name = tfrecs.parse_single_example(record, name_only)["name"]
    assert isinstance(name, tfrecs.BytesArray)
    assert name.tolist() == b"ada"


def test_records_by_index_are_still_named_by_their_file(tmp_path: Path) -> None:
    path = frames.save(tmp_path / "a", frames.plain([GOOD, b"\xff", GOOD]))
    batch = tfrecs.RecordReader(path).read_batch(3)
    for selection in (batch[[2, 0, 0, 1]], batch[::-1], batch[1:]):
        with pytest.raises(tfrecs.ParseError) as caught:
            tfrecs.decode_batch(selection)
        place = (caught.value.path, caught.value.record, caught.value.offset)
        assert place == (str(path), 1, 16 + len(GOOD))
