"""decode_images(): pixels in place of bytes, in batches and one by one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from needs import missing

import tfrecs
from tfrecs.testing import assert_resumes

try:
    import PIL  # noqa: F401
except ModuleNotFoundError:
    missing("Pillow")

FEATURES: dict[str, Any] = {
    "image": tfrecs.FixedLenFeature([], "string"),
    "label": tfrecs.FixedLenFeature([], "int64"),
}


def pixels(n: int) -> Any:
    return np.full((3, 4 + n % 2, 3), n, np.uint8)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with tfrecs.RecordWriter(tmp_path / "images.tfrecord") as out:
        for n in range(7):
            row = {"image": tfrecs.encode_image(pixels(n)), "label": n}
            out.write(tfrecs.encode_example(row))
    return tmp_path / "images.tfrecord"


def test_batches_and_elements(path: Path) -> None:
    ds = tfrecs.Dataset(path, FEATURES).shuffle(1)
    for element in ds.decode_images("image"):
        np.testing.assert_array_equal(element["image"], pixels(int(element["label"])))
    for batch in ds.batch(3).decode_images("image"):
        for image, label in zip(batch["image"], batch["label"], strict=True):
            np.testing.assert_array_equal(image, pixels(int(label)))
    for batch in ds.batch(3).decode_images("image", (5, 6), 1, dtype="float32"):
        assert batch["image"].shape == (len(batch["label"]), 5, 6, 1)
        assert batch["image"].dtype == np.float32


def test_what_is_beside_a_batch_stays_there(path: Path) -> None:
    keys, batch = next(
        iter(tfrecs.Dataset(path, FEATURES).with_keys().batch(2).decode_images("image"))
    )
    assert keys.tolist() == [f"{path}:{n}".encode() for n in range(2)]
    np.testing.assert_array_equal(batch["image"][1], pixels(1))
    ds = tfrecs.make_batched_features_dataset(path, 2, FEATURES, label_key="label", shuffle=False)
    features, label = next(iter(ds.decode_images("image", size=(2, 2), channels=3)))
    assert features["image"].shape == (2, 2, 2, 3)
    assert label.tolist() == [0, 1]


def test_it_resumes(path: Path) -> None:
    ds = tfrecs.Dataset(path, FEATURES).shuffle(1)
    assert_resumes(ds.repeat(2).batch(3).decode_images("image", size=(2, 2), channels=3))
    assert_resumes(ds.decode_images("image"))


def test_wrong_requests_say_what_is_wrong(path: Path) -> None:
    ds = tfrecs.Dataset(path, FEATURES).batch(2)
    with pytest.raises(tfrecs.SpecError, match="finds no feature 'picture' in ParsedBatch"):
        next(iter(ds.decode_images("picture")))
    with pytest.raises(tfrecs.SpecError, match="has no options on_error"):
        ds.decode_images("image", on_error="skip")
    assert repr(ds.decode_images("image", (2, 2), 3)).endswith(
        ".decode_images('image', size=(2, 2), channels=3)"
    )


def test_a_broken_image_is_named(tmp_path: Path) -> None:
    images = [tfrecs.encode_image(pixels(0)), b"broken"]
    with tfrecs.RecordWriter(tmp_path / "broken") as out:
        for image in images:
            out.write(tfrecs.encode_example({"image": image, "label": 0}))
    ds = tfrecs.Dataset(tmp_path / "broken", FEATURES).batch(2)
    with pytest.raises(tfrecs.ParseError, match="unknown image format") as caught:
        list(ds.decode_images("image"))
    assert (caught.value.record, caught.value.feature) == (1, "image")
    assert caught.value.path == str(tmp_path / "broken")
