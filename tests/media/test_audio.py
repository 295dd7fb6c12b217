"""Sound to arrays: formats, dtypes, channels and lengths, batches, what is broken."""

import struct
from io import BytesIO
from pathlib import Path
from typing import Any

import needs
import numpy as np
import pictures
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import tfrecs

soundfile = needs.optional("soundfile")

RNG = np.random.default_rng(0)
SAMPLES = RNG.integers(-(2**15), 2**15, (40, 2), np.int16)
SAMPLES[0] = -(2**15), 2**15 - 1
WAV = pictures.wav(SAMPLES)


def flac(samples: Any, rate: int = 8000, **options: Any) -> bytes:
    made = BytesIO()
    soundfile.write(made, samples, rate, format="FLAC", **options)
    return made.getvalue()


def list_chunk(content: bytes) -> bytes:
    return b"LIST" + struct.pack("<I", len(content)) + content + bytes(len(content) % 2)


@given(
    samples=arrays.arrays(np.int16, st.tuples(st.integers(1, 50), st.integers(1, 3))),
    rate=st.integers(1, 65_535),
    lossless=st.sampled_from([pictures.wav, flac]),
)
def test_16_bits(samples: Any, rate: int, lossless: Any) -> None:
    audio = tfrecs.decode_audio(lossless(samples, rate))
    assert (audio.sample_rate, type(audio.sample_rate)) == (rate, int)
    assert audio.samples.dtype == np.float32
    np.testing.assert_array_equal(audio.samples, samples / 32768)
    np.testing.assert_array_equal(
        tfrecs.decode_audio(lossless(samples, rate), "int16").samples, samples
    )


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "int16", "int32", np.float32, np.dtype("i4")]
)
def test_dtypes(dtype: Any) -> None:
    scale = {"float32": 2**-15, "float64": 2**-15, "int16": 1, "int32": 2**16}
    found = tfrecs.decode_audio(WAV, dtype).samples
    name = np.dtype(dtype).name
    assert found.dtype == name
    np.testing.assert_array_equal(found, SAMPLES.astype(np.float64) * scale[name])


def test_other_depths() -> None:
    whole = RNG.integers(-(2**31), 2**31, (5, 2), np.int32)
    np.testing.assert_array_equal(tfrecs.decode_audio(pictures.wav(whole), "int32").samples, whole)
    floats = RNG.normal(size=(5, 2)).astype(np.float32)
    np.testing.assert_array_equal(tfrecs.decode_audio(pictures.wav(floats, kind=3)).samples, floats)
    small = np.array([[0], [128], [255]], np.uint8)
    found = tfrecs.decode_audio(pictures.wav(small)).samples
    np.testing.assert_array_equal(found, [[-1], [0], [127 / 128]])


@pytest.mark.parametrize("content", [b"", b"abcd", b"abcde"])
def test_chunks_before_the_samples(content: bytes) -> None:
    found = tfrecs.decode_audio(pictures.wav(SAMPLES, chunks=list_chunk(content)), "int16")
    np.testing.assert_array_equal(found.samples, SAMPLES)


def test_no_samples() -> None:
    assert tfrecs.decode_audio(pictures.wav(SAMPLES[:0])).samples.shape == (0, 2)
    assert tfrecs.decode_audio(pictures.wav(SAMPLES[:0]), desired_samples=3).samples.shape == (3, 2)


def test_length_unknown_to_the_header() -> None:
    data = bytearray(WAV)
    place = data.index(b"data") + 4
    data[place : place + 4] = b"\xff" * 4
    np.testing.assert_array_equal(tfrecs.decode_audio(bytes(data), "int16").samples, SAMPLES)


@pytest.mark.parametrize("channels", [-1, 1, 2, 3, 5])
@pytest.mark.parametrize("frames", [-1, 0, 1, 40, 41, 100])
def test_desired(channels: int, frames: int) -> None:
    found = tfrecs.decode_audio(WAV, "int16", channels, frames).samples
    columns = [0, 1, 1, 1, 1][: 2 if channels == -1 else channels]
    expected = SAMPLES[:, columns][: 40 if frames == -1 else frames]
    missing = max(frames - 40, 0)
    np.testing.assert_array_equal(found, np.pad(expected, ((0, missing), (0, 0))))


# --- Batches ---


def test_batches() -> None:
    files = [WAV, flac(SAMPLES[:7, :1], 16_000)] * 5
    found = tfrecs.decode_audio(tfrecs.BytesArray.from_values(files), num_threads=3)
    assert isinstance(found, list)
    assert [audio.samples.shape for audio in found] == [(40, 2), (7, 1)] * 5
    stacked = tfrecs.decode_audio(files, "int16", 2, 9)
    assert (stacked.samples.shape, stacked.samples.dtype) == ((10, 9, 2), np.int16)
    assert stacked.sample_rate.tolist() == [8000, 16_000] * 5
    np.testing.assert_array_equal(stacked.samples[1, :7], np.repeat(SAMPLES[:7, :1], 2, 1))
    assert tfrecs.decode_audio([], "int16", 2, 9).samples.shape == (0, 9, 2)
    assert tfrecs.decode_audio([]) == []


def test_skip() -> None:
    found = tfrecs.decode_audio([WAV, b"x", WAV[:50]], on_error="skip", feature="sound")
    assert (len(found.values), found.indices.tolist()) == (1, [0])
    assert [str(error) for error in found.skipped] == [
        'record 1: feature "sound": unknown audio format: it is neither WAV nor FLAC',
        'record 2: feature "sound": the WAV audio is cut off: 6 of 160 bytes of samples are there',
    ]


def test_file_and_record(tmp_path: Path) -> None:
    with tfrecs.RecordWriter(tmp_path / "sound.tfrecord") as out:
        out.write_batch([WAV, b"x"])
    records = tfrecs.RecordReader(tmp_path / "sound.tfrecord").read_batch(2)
    with pytest.raises(tfrecs.ParseError, match=r"sound.tfrecord: record 1 at byte \d+: unknown"):
        tfrecs.decode_audio(records)


# --- Bad bytes ---

FLAC = flac(SAMPLES)


def decoded(data: bytes) -> Any:
    try:
        return tfrecs.decode_audio(data, "int16", max_samples=100_000).samples
    except tfrecs.ParseError as error:
        assert error.reason
        return None


@pytest.mark.parametrize("data", [WAV, FLAC], ids=["wav", "flac"])
def test_every_cut(data: bytes) -> None:
    for end in range(len(data)):
        assert decoded(data[:end]) is None, end


@pytest.mark.parametrize("data", [WAV, FLAC], ids=["wav", "flac"])
def test_every_byte_changed(data: bytes) -> None:
    changed = bytearray(data)
    for place in range(len(data)):
        for change in (0x01, 0x80, 0xFF):
            changed[place] ^= change
            found = decoded(bytes(changed))
            assert found is None or found.ndim == 2
            changed[place] ^= change


def test_a_limit() -> None:
    with pytest.raises(tfrecs.ParseError, match="has 80 samples: more than max_samples=79, which"):
        tfrecs.decode_audio(WAV, max_samples=79)
    assert tfrecs.decode_audio(WAV, max_samples=80).samples.size == 80


def test_a_header_that_promises_more_than_there_is() -> None:
    data = bytearray(FLAC)
    start = data.index(b"fLaC") + 8
    total = int.from_bytes(data[start + 10 : start + 18]) | (1 << 36) - 1 << 0
    data[start + 10 : start + 18] = total.to_bytes(8)
    with pytest.raises(tfrecs.ParseError, match=r"more than max_samples|cut off|cannot be decoded"):
        tfrecs.decode_audio(bytes(data))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "the value is empty, and no audio"),
        (b"OggS" + bytes(100), "unknown audio format"),
        (b"RIFF\x04\0\0\0WAVE", "has no data chunk"),
        (b"RIFF\xff\0\0\0WAVEdata\x02\0\0\0ab", "cannot be decoded"),
        (b"fLaC", "cannot be decoded"),
    ],
)
def test_broken(data: bytes, reason: str) -> None:
    with pytest.raises(tfrecs.ParseError, match=reason):
        tfrecs.decode_audio(data)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"dtype": "uint8"}, "dtype must be one of float32, float64, int16, int32, not uint8"),
        ({"dtype": object()}, "dtype must be one of"),
        ({"desired_channels": 0}, "desired_channels must be an integer, -1 or at least 1, not 0"),
        ({"desired_channels": -2}, "desired_channels must be"),
        ({"desired_samples": 1.5}, "desired_samples must be an integer, -1 or at least 0, not 1.5"),
        ({"max_samples": 0}, "max_samples must be a positive integer"),
        ({"on_error": "skip"}, "is for a batch"),
        ({"num_threads": -1}, "num_threads must be a positive integer or None"),
    ],
)
def test_wrong_options(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(tfrecs.SpecError, match=reason):
        tfrecs.decode_audio(WAV, **options)
