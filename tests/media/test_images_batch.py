"""Whole batches of images: kinds, threads, positions of errors, what is skipped; bad bytes."""

import os
import signal
import struct
import threading
import warnings
from io import BytesIO
from pathlib import Path
from typing import Any

import needs
import numpy as np
import pictures
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pictures import GifFrame

import tfrecs

needs.optional("PIL")

from PIL import Image  # noqa: E402 - after it is known to be there

from tfrecs.media import pictures as decoding  # noqa: E402

RNG = np.random.default_rng(0)
ARRAYS = [RNG.integers(0, 256, (3 + i, 5, 3), np.uint8) for i in range(12)]
FILES = [tfrecs.encode_image(array) for array in ARRAYS]
BAD = FILES[0][:-20]


def objects(values: list[bytes]) -> Any:
    array = np.empty(len(values), object)
    array[:] = values
    return array


KINDS: dict[str, Any] = {
    "list": list,
    "tuple": tuple,
    "BytesArray": tfrecs.BytesArray.from_values,
    "Records": tfrecs.Records,
    "objects": objects,
    "buffers": lambda values: [bytearray(values[0]), *(memoryview(value) for value in values[1:])],
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("num_threads", [None, 1, 2, 16])
def test_batch(kind: str, num_threads: int | None) -> None:
    found = tfrecs.decode_image(KINDS[kind](FILES), num_threads=num_threads)
    assert isinstance(found, list)
    for image, array in zip(found, ARRAYS, strict=True):
        np.testing.assert_array_equal(image, array)


@pytest.mark.parametrize("kind", KINDS)
def test_one_array(kind: str) -> None:
    found = tfrecs.decode_image(KINDS[kind](FILES), channels=4, size=(8, 9), dtype="float32")
    assert (found.shape, found.dtype) == ((12, 8, 9, 4), np.float32)
    for image, file in zip(found, FILES, strict=True):
        np.testing.assert_array_equal(image, tfrecs.decode_image(file, 4, "float32", size=(8, 9)))


def test_empty_batches() -> None:
    assert tfrecs.decode_image([]) == []
    assert tfrecs.decode_image([], 3, size=(4, 5)).shape == (0, 4, 5, 3)
    found = tfrecs.decode_image([], on_error="skip")
    assert (found.values, found.indices.tolist(), found.skipped) == ([], [], ())


@pytest.mark.parametrize(
    "single",
    [
        FILES[0],
        bytearray(FILES[0]),
        memoryview(FILES[0]),
        np.bytes_(FILES[0]),
        np.array(FILES[0], object),
        tfrecs.BytesArray.from_values([FILES[0]]).reshape(()),
    ],
    ids=lambda value: type(value).__name__,
)
def test_single(single: Any) -> None:
    np.testing.assert_array_equal(tfrecs.decode_image(single), ARRAYS[0])


@pytest.mark.parametrize(
    ("contents", "kind", "reason"),
    [
        ("cat.png", TypeError, "not str: for a file, give what is in it"),
        (None, TypeError, "must be bytes or a batch of bytes .*, not NoneType"),
        (7, TypeError, "not int"),
        ([FILES[0], None], TypeError, "contents must hold bytes, not NoneType"),
        ([FILES[0], "x"], TypeError, "contents must hold bytes, not str"),
        ([FILES], TypeError, "contents must hold bytes, not list"),
        (np.array([FILES[:2]], object), tfrecs.SpecError, r"has shape \(1, 2\).* by .ravel\(\)"),
        (np.array(FILES), tfrecs.SpecError, "dtype S, which has lost the zero bytes"),
        (tfrecs.BytesArray.from_values(FILES).reshape(3, 4), tfrecs.SpecError, r"\.ravel\(\)"),
    ],
)
@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_what_is_no_batch(contents: Any, kind: Any, reason: str, on_error: Any) -> None:
    with pytest.raises(kind, match=reason):
        tfrecs.decode_image(contents, on_error=on_error)


def test_a_stack_needs_channels() -> None:
    with pytest.raises(tfrecs.SpecError, match="say channels=1, 3 or 4"):
        tfrecs.decode_image(FILES, size=(4, 4))


# --- Positions ---


@pytest.mark.parametrize("num_threads", [1, 2, 5])
def test_the_first_error_is_raised(num_threads: int) -> None:
    values = [*FILES[:3], BAD, *FILES[3:], b"", b"nothing"]
    for _ in range(20):
        with pytest.raises(tfrecs.ParseError, match=r"^record 3: feature \"photo\": the PNG") as e:
            tfrecs.decode_image(values, feature="photo", num_threads=num_threads)
        assert (e.value.record, e.value.feature, e.value.path) == (3, "photo", None)
        assert e.value.reason.startswith("the PNG image cannot be decoded: ")


def test_names() -> None:
    with pytest.raises(
        tfrecs.ParseError, match=r'^record 1: Name: two, feature "x": the value is empty'
    ):
        tfrecs.decode_image([FILES[0], b""], feature="x", example_names=["one", "two"])
    with pytest.raises(tfrecs.ParseError, match=r"^record 0: Name: one, "):
        tfrecs.decode_image([b"", FILES[0]], example_names=["one", "two"])
    with pytest.raises(tfrecs.ParseError, match=r"^Name: only, the value is empty, and no image$"):
        tfrecs.decode_image(b"", example_names=["only"])
    with pytest.raises(tfrecs.SpecError, match="example_names has 1 entry for 2 values"):
        tfrecs.decode_image([FILES[0], b""], example_names=["one"])


def test_file_and_record(tmp_path: Path) -> None:
    path = tmp_path / "images.tfrecord"
    examples = [tfrecs.encode_example({"image": file}) for file in [FILES[0], FILES[1], BAD]]
    with tfrecs.RecordWriter(path) as out:
        out.write_batch(examples)
    reader = tfrecs.RecordReader(path)
    reader.read_batch(1)
    records = reader.read_batch(2)
    batch: Any = tfrecs.parse_example(records, {"image": tfrecs.FixedLenFeature([], "string")})
    offset = sum(16 + len(example) for example in examples[:2])
    where = f'{path}: record 2 at byte {offset}: feature "image": the PNG'
    with pytest.raises(tfrecs.ParseError) as raised:
        tfrecs.decode_image(batch["image"], feature="image", records=records)
    assert str(raised.value).startswith(where)
    assert (raised.value.path, raised.value.record) == (str(path), 2)
    found = tfrecs.decode_image(batch["image"], on_error="skip", feature="image", records=records)
    assert [str(error).startswith(where) for error in found.skipped] == [True]
    with pytest.raises(tfrecs.SpecError, match="records has 2 entries for 1 value"):
        tfrecs.decode_image(batch["image"][:1], records=records)


def test_records_of_images_know_their_place(tmp_path: Path) -> None:
    path = tmp_path / "raw.tfrecord"
    with tfrecs.RecordWriter(path) as out:
        out.write_batch([FILES[0], b"no image"])
    with pytest.raises(
        tfrecs.ParseError, match=r"raw.tfrecord: record 1 at byte \d+: unknown image"
    ):
        tfrecs.decode_image(tfrecs.RecordReader(path).read_batch(2))


def test_skip() -> None:
    values = [b"", FILES[3], BAD, FILES[5], b"GIF89a"]
    found = tfrecs.decode_image(values, on_error="skip", feature="f", num_threads=2)
    assert found.indices.tolist() == [1, 3]
    assert [error.record for error in found.skipped] == [0, 2, 4]
    np.testing.assert_array_equal(found.values[1], ARRAYS[5])
    stacked = tfrecs.decode_image(values, 1, size=(2, 2), on_error="skip")
    assert stacked.values.shape == (2, 2, 2, 1)
    none = tfrecs.decode_image([b"", BAD], 3, size=(4, 5), on_error="skip")
    assert (none.values.shape, len(none.skipped)) == ((0, 4, 5, 3), 2)


# --- Bad bytes ---

SMALL = RNG.integers(0, 256, (5, 4, 4), np.uint8)
TABLE = RNG.integers(0, 256, (16, 3), np.uint8)


def samples() -> dict[str, bytes]:
    rgb = SMALL[..., :3]
    exif = Image.Exif()
    exif[0x0112] = 6
    made = BytesIO()
    Image.fromarray(rgb).save(made, "JPEG", exif=exif)
    frames = [GifFrame(SMALL[..., 0] % 16, transparent=2), GifFrame(SMALL[..., 1] % 16)]
    animation = np.stack([rgb, 255 - rgb])
    return {
        "png": pictures.png(SMALL),
        "png deep": pictures.png(SMALL[..., :3].astype(np.uint16) * 99, interlaced=True),
        "png palette": pictures.png(SMALL[..., :1] >> 4, 4, TABLE),
        "jpeg": made.getvalue(),
        "gif": pictures.gif(4, 5, TABLE, frames),
        "bmp": pictures.bmp(rgb),
        "bmp alpha": pictures.bmp(SMALL, top_down=True),
        "bmp palette": pictures.bmp(SMALL[..., :1] >> 4, palette=TABLE),
        "webp": tfrecs.encode_image(rgb, "webp"),
        "webp frames": tfrecs.encode_image(animation, "webp", lossless=True),
    }


SAMPLES = samples()
CHECKED = [{}, {"channels": 4, "dtype": "uint16"}, {"size": (2, 2), "apply_orientation": True}]


def decoded(data: bytes, options: dict[str, Any]) -> Any:
    """The array, or None if it is refused; never a warning, nor any other exception."""
    try:
        return tfrecs.decode_image(data, max_pixels=10_000, **options)
    except tfrecs.ParseError as error:
        assert error.reason
        return None


@pytest.mark.parametrize("name", SAMPLES)
def test_every_cut(name: str) -> None:
    whole = tfrecs.decode_image(SAMPLES[name])
    for end in range(len(SAMPLES[name])):
        found = decoded(SAMPLES[name][:end], {})
        # What is cut off may be what nobody needs: the end marker, a checksum, padding.
        if found is not None:
            np.testing.assert_array_equal(found, whole)
            assert len(SAMPLES[name]) - end <= 16, end


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("turbo", [True, False])
def test_every_byte_changed(name: str, turbo: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not turbo:
        monkeypatch.setattr(decoding, "simplejpeg", None)
    data = bytearray(SAMPLES[name])
    for place in range(min(len(data), 900)):
        for change in (0x01, 0x80, 0xFF):
            data[place] ^= change
            found = decoded(bytes(data), CHECKED[place % 3])
            assert found is None or found.shape[-1] in (1, 2, 3, 4)
            data[place] ^= change


@given(
    name=st.sampled_from(sorted(SAMPLES)),
    changes=st.lists(st.tuples(st.integers(0, 2000), st.binary(max_size=9)), max_size=5),
    options=st.sampled_from(CHECKED),
)
def test_random_changes(
    name: str, changes: list[tuple[int, bytes]], options: dict[str, Any]
) -> None:
    data = SAMPLES[name]
    for number, new in changes:
        place = number % len(data)
        data = data[:place] + new + data[place + len(new) // 2 :]
    found = decoded(data, options)
    assert found is None or found.ndim in (3, 4)


def bombs() -> dict[str, bytes]:
    png = bytearray(pictures.png(SMALL))
    png[16:24] = struct.pack(">II", 100_000, 100_000)
    jpeg = bytearray(SAMPLES["jpeg"])
    start = jpeg.index(b"\xff\xc0")
    jpeg[start + 5 : start + 9] = struct.pack(">HH", 65_000, 65_000)
    bmp = bytearray(pictures.bmp(SMALL))
    bmp[18:26] = struct.pack("<ii", 100_000, -100_000)
    frame = GifFrame(np.zeros((1, 1), np.uint8))
    gif = pictures.gif(1, 1, TABLE, [frame])
    place = b"\x2c\0\0\0\0\1\0\1\0"
    many = pictures.gif(1, 1, TABLE, [frame] * 100)
    webp = bytearray(SAMPLES["webp frames"])
    webp[24:30] = b"\xff\xff\0" * 2
    return {
        "png": bytes(png),
        "jpeg": bytes(jpeg),
        "bmp": bytes(bmp),
        "gif frame": gif.replace(place, place[:5] + b"\xff" * 4),
        "gif frames": many.replace(place, place[:5] + struct.pack("<HH", 1000, 1000)),
        "webp": bytes(webp),
    }


@pytest.mark.parametrize("name", bombs())
def test_bombs(name: str) -> None:
    data = bombs()[name]
    with pytest.raises(tfrecs.ParseError, match=r"pixels: more than max_pixels=89,478,485"):
        tfrecs.decode_image(data)


def test_a_higher_limit() -> None:
    data = pictures.png(np.zeros((300, 300, 1), np.uint8))
    with pytest.raises(tfrecs.ParseError, match="300 wide and 300 high, and so 90,000 pixels"):
        tfrecs.decode_image(data, max_pixels=89_999)
    assert tfrecs.decode_image(data, max_pixels=90_000).shape == (300, 300, 1)


def test_pillows_own_limit_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10)
    for data in SAMPLES.values():
        assert tfrecs.decode_image(data).size


# --- Threads ---


def test_from_several_threads_at_once() -> None:
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(5):
                assert len(tfrecs.decode_image(FILES, num_threads=2)) == len(FILES)
        except BaseException as error:  # noqa: BLE001 - reported by the main thread
            failures.append(error)

    filters = list(warnings.filters)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert warnings.filters == filters


def test_no_thread_is_left_after() -> None:
    before = threading.active_count()
    tfrecs.decode_image(FILES, num_threads=4)
    with pytest.raises(tfrecs.ParseError):
        tfrecs.decode_image([*FILES, BAD], num_threads=4)
    assert threading.active_count() == before


def test_after_a_fork() -> None:
    tfrecs.decode_image(FILES, num_threads=4)
    child = os.fork()
    if child == 0:
        found = tfrecs.decode_image(FILES, num_threads=4)
        os._exit(0 if len(found) == len(FILES) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


# --- Real files ---


@pytest.mark.parametrize(
    ("name", "feature", "channels"),
    [
        ("datitran__raccoon_dataset/test.record", "image/encoded", 3),
        ("NVIDIA__aistore/single-png-cls-transformed.tfrecord", "png", 0),
        ("tensorflow__benchmarks/train-00000-of-00008", "image/encoded", 3),
    ],
)
def test_real_images(name: str, feature: str, channels: int) -> None:
    records = tfrecs.RecordReader(needs.shared_data() / name).read_batch(1000)
    spec = {feature: tfrecs.FixedLenFeature([], "string")}
    batch: Any = tfrecs.parse_example(records, spec)
    values = batch[feature]
    for value, image in zip(values, tfrecs.decode_image(values, channels), strict=True):
        with Image.open(BytesIO(value)) as opened:
            expected = opened.convert("RGB") if channels else opened
            np.testing.assert_array_equal(image, np.asarray(expected).reshape(image.shape))
    stacked = tfrecs.decode_image(values, 3, size=(32, 32), feature=feature, records=records)
    assert stacked.shape == (len(records), 32, 32, 3)


@pytest.mark.parametrize("num_threads", [1, 3])
def test_an_interrupt_ends_the_batch(num_threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[bytes] = []
    decode = decoding.decode

    def interrupted(data: bytes, wanted: Any) -> Any:
        begun.append(data)
        if len(begun) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return decode(data, wanted)

    monkeypatch.setattr(decoding, "decode", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tfrecs.decode_image(FILES * 2000, num_threads=num_threads)
    assert len(begun) < len(FILES) * 2000
