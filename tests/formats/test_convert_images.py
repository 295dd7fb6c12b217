"""From folders of images to TFRecords: features, classes, splits, what is no image."""

import io
import os
import struct
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import needs
import numpy as np
import pytest

import tfrecs

needs.optional("PIL")

from PIL import Image  # noqa: E402 - after it is known to be there

from tfrecs.formats import convert_images  # noqa: E402


def save(path: Path, mode: str = "RGB", size: tuple[int, int] = (5, 3), **options: Any) -> bytes:
    """Make an image file; return its bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(0).integers(0, 255, (size[1], size[0], 3), np.uint8)
    Image.fromarray(pixels).convert(mode).save(path, **options)
    return path.read_bytes()


def examples(paths: Iterable[str]) -> list[dict[str, Any]]:
    return [dict(tfrecs.decode_example(record)) for p in paths for record in tfrecs.RecordReader(p)]


def folder_of(folder: Path, classes: int, images: int) -> Path:
    for label in range(classes):
        for number in range(images):
            save(folder / f"class-{label}" / f"{number}.png", size=(label + 1, number + 1))
    return folder


def test_features(tmp_path: Path) -> None:
    data = save(tmp_path / "in" / "cat" / "a.png")
    save(tmp_path / "in" / "dog" / "sub" / "b.jpg", size=(7, 8))
    report = convert_images(tmp_path / "in", tmp_path / "out")
    by_name = {example["image/filename"][0]: example for example in examples(report.paths)}
    assert by_name[b"cat/a.png"] == {
        "image/encoded": [data],
        "image/format": [b"png"],
        "image/height": [3],
        "image/width": [5],
        "image/channels": [3],
        "image/class/label": [0],
        "image/class/text": [b"cat"],
        "image/filename": [b"cat/a.png"],
    }
    other = by_name[b"dog/sub/b.jpg"]
    assert (other["image/class/label"], other["image/class/text"]) == ([1], [b"dog"])
    assert (other["image/height"], other["image/width"]) == ([8], [7])


@pytest.mark.parametrize(
    ("name", "mode", "stored", "channels"),
    [
        ("a.png", "L", "png", 1),
        ("a.png", "1", "png", 1),
        ("a.png", "LA", "png", 2),
        ("a.png", "P", "png", 3),
        ("a.png", "RGBA", "png", 4),
        ("a.jpeg", "L", "jpeg", 1),
        ("a.JPG", "RGB", "jpeg", 3),
        ("a.gif", "P", "gif", 3),
        ("a.bmp", "RGB", "bmp", 3),
        ("a.webp", "RGB", "webp", 3),
    ],
)
def test_formats(name: str, mode: str, stored: str, channels: int, tmp_path: Path) -> None:
    data = save(tmp_path / "in" / "x" / name, mode)
    (example,) = examples(convert_images(tmp_path / "in", tmp_path / "out").paths)
    assert example["image/encoded"] == [data]
    assert example["image/format"] == [stored.encode()]
    assert example["image/channels"] == [channels]


def test_the_format_is_that_of_the_bytes(tmp_path: Path) -> None:
    save(tmp_path / "in" / "x" / "a.png", format="JPEG")
    (example,) = examples(convert_images(tmp_path / "in", tmp_path / "out").paths)
    assert example["image/format"] == [b"jpeg"]


def test_several_pictures_in_a_jpeg_are_a_jpeg(tmp_path: Path) -> None:
    more = Image.new("RGB", (2, 2))
    save(tmp_path / "in" / "x" / "a.jpg", format="MPO", save_all=True, append_images=[more])
    (example,) = examples(convert_images(tmp_path / "in", tmp_path / "out").paths)
    assert example["image/format"] == [b"jpeg"]


def bomb() -> bytes:
    """A PNG that says it has 100,000 by 100,000 pixels."""
    made = io.BytesIO()
    Image.new("L", (1, 1)).save(made, "PNG")
    data = bytearray(made.getvalue())
    data[16:24] = struct.pack(">II", 100_000, 100_000)
    return bytes(data)


def cut(format_name: str) -> bytes:
    made = io.BytesIO()
    noise = np.random.default_rng(0).integers(0, 255, (50, 50, 3), np.uint8)
    Image.fromarray(noise).save(made, format_name)
    return made.getvalue()[: len(made.getvalue()) // 2]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "is empty"),
        (b"<html>", "unknown image format: it is no JPEG, PNG, GIF, BMP or WebP image"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n", "it is no JPEG"),
        (cut("PNG"), "cannot be decoded"),
        (cut("JPEG"), "cannot be decoded"),
        (cut("BMP"), "cannot be decoded"),
        (cut("WEBP"), "cannot be decoded"),
        (bomb(), "100000 high, and so 10,000,000,000 pixels: more than max_pixels"),
    ],
)
def test_unreadable_images(data: bytes, reason: str, tmp_path: Path) -> None:
    save(tmp_path / "in" / "x" / "good.png")
    (tmp_path / "in" / "x" / "bad.png").write_bytes(data)
    with pytest.raises(tfrecs.ParseError, match=reason) as caught:
        convert_images(tmp_path / "in", tmp_path / "out")
    assert caught.value.path == str(tmp_path / "in" / "x" / "bad.png")
    assert not (tmp_path / "out").exists()
    report = convert_images(tmp_path / "in", tmp_path / "out", on_error="skip")
    assert report.written == 1
    assert [skipped.path for skipped in report.skipped] == [caught.value.path]
    assert reason in report.skipped[0].reason


def test_an_image_that_is_gone_when_its_turn_comes(tmp_path: Path) -> None:
    save(tmp_path / "in" / "x" / "a.png")
    save(tmp_path / "in" / "x" / "b.png")

    def remove(_done: int, _total: int) -> None:  # is called between the two
        for path in (tmp_path / "in" / "x").iterdir():
            path.unlink()

    report = convert_images(tmp_path / "in", tmp_path / "out", on_error="skip", progress=remove)
    assert [skipped.reason for skipped in report.skipped] == ["No such file or directory"]


def test_what_is_no_image_is_reported(tmp_path: Path) -> None:
    save(tmp_path / "in" / "x" / "a.png")
    for name in ("x/notes.txt", "top.png", "x/.hidden.png", "x/Thumbs.db", ".DS_Store"):
        (tmp_path / "in" / name).write_text("nothing")
    report = convert_images(tmp_path / "in", tmp_path / "out")
    assert {Path(skipped.path).name: skipped.reason for skipped in report.skipped} == {
        "top.png": "is not in the folder of a class",
        "notes.txt": "is no image by its name",
    }


def test_splits_keep_every_class_and_shards_are_mixed(tmp_path: Path) -> None:
    source = folder_of(tmp_path / "in", classes=4, images=20)
    report = convert_images(
        source, tmp_path / "out", split={"train": 0.75, "test": 0.25}, num_shards=2
    )
    labels = {
        path: Counter(example["image/class/label"][0] for example in examples([path]))
        for path in report.paths
    }
    train = Counter[int]()
    for path in report.splits["train"].paths:
        train += labels[path]
    assert train == dict.fromkeys(range(4), 15)
    assert all(len(found) == 4 for found in labels.values())
    names = [example["image/filename"][0] for example in examples(report.paths)]
    assert len(set(names)) == 80


def test_the_same_seed_gives_the_same_files(tmp_path: Path) -> None:
    source = folder_of(tmp_path / "in", classes=2, images=10)

    def files(seed: int) -> list[bytes]:
        report = convert_images(source, tmp_path / "out", seed=seed, num_shards=2, overwrite=True)
        return [Path(path).read_bytes() for path in report.paths]

    assert files(0) == files(0)
    assert files(0) != files(1)


def test_folders_that_are_laid_out_otherwise(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="No such file"):
        convert_images(tmp_path / "nope", tmp_path / "out")
    (tmp_path / "in").mkdir()
    save(tmp_path / "in" / "a.png")
    with pytest.raises(tfrecs.FileError, match="has no sub-folders"):
        convert_images(tmp_path / "in", tmp_path / "out")
    (tmp_path / "in" / "x").mkdir()
    with pytest.raises(tfrecs.FileError, match="has no images"):
        convert_images(tmp_path / "in", tmp_path / "out")
    save(tmp_path / "split" / "train" / "cat" / "a.png")
    save(tmp_path / "split" / "Val" / "cat" / "a.png")
    with pytest.raises(tfrecs.SpecError, match=r"look like splits \(Val, train\)"):
        convert_images(tmp_path / "split", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_names_that_are_no_text(tmp_path: Path) -> None:
    folder = tmp_path / "in" / "é"
    save(folder / "a.png")
    try:
        (folder / "a.png").rename(folder / os.fsdecode(b"\xff.png"))
    except OSError:
        needs.missing("a file system that takes names that are no text")
    (example,) = examples(convert_images(tmp_path / "in", tmp_path / "out").paths)
    assert example["image/filename"] == ["é/".encode() + b"\xff.png"]
