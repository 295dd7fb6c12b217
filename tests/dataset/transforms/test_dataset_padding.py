"""padded_batch() and unbatch(), natively and of what Python made, and what they refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfrecs
from tfrecs.testing import same

SPEC: dict[str, Any] = {
    "n": tfrecs.FixedLenFeature([], "int64"),
    "list": tfrecs.FixedLenSequenceFeature([], "int64", allow_missing=True, default_value=7),
    "words": tfrecs.FixedLenSequenceFeature([], "string", allow_missing=True),
    "sparse": tfrecs.VarLenFeature("string"),
    "ragged": tfrecs.RaggedFeature("float32"),
}


@pytest.fixture
def ds(tmp_path: Path) -> tfrecs.Dataset:
    with tfrecs.RecordWriter(tmp_path / "a.tfrecord") as out:
        for n in range(7):
            row = {"n": n, "list": [n] * (n % 3), "words": ["w"] * (n % 2)}
            row |= {"sparse": ["s"] * (n % 4), "ragged": [0.5] * ((n + 1) % 3)}
            out.write(tfrecs.encode_example(row))
    return tfrecs.Dataset(tmp_path / "a.tfrecord", SPEC)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"padding_values": {"list": -1, "words": "pad", "sparse": b"\xff", "ragged": np.nan}},
        {"padded_shapes": {"list": [4], "words": [None], "sparse": [-1], "ragged": [5]}},
        {
            "padded_shapes": {"list": [4], "sparse": [4]},
            "padding_values": {"list": 9, "sparse": "x"},
        },
    ],
)
def test_padding_is_the_same_natively_and_by_python(
    ds: tfrecs.Dataset, options: dict[str, Any]
) -> None:
    native = [*ds.padded_batch(3, **options)]
    assert same(native, [*ds.map(dict).padded_batch(3, **options)])
    fill = options.get("padding_values", {}).get("list", 0)
    assert native[0]["list"][0, 0] == fill, "and not the default of the feature, which is 7"
    for name in ("words", "sparse"):
        assert isinstance(native[0][name], tfrecs.BytesArray)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"padding_values": {"list": 1.5}}, "list: padding 1.5 does not fit int64"),
        ({"padding_values": {"list": 2**64}}, "does not fit int64"),
        ({"padding_values": {"list": "x"}}, "list: padding 'x' does not fit int64"),
        ({"padding_values": {"ragged": [1.0]}}, r"ragged: padding \[1.0\] is not a single value"),
        ({"padding_values": {"sparse": 0}}, "sparse: padding 0 does not fit bytes"),
        ({"padding_values": {"lisst": 0}}, r"padding for \['lisst'\], and the elements have"),
        ({"padded_shapes": {"lisst": [None]}}, r"padding for \['lisst'\]"),
        (
            {"padded_shapes": {"list": [1]}},
            r"list: padded_shapes says \[1\], and a value has \[2\]",
        ),
    ],
)
@pytest.mark.parametrize("native", [True, False])
def test_wrong_padding_is_refused(
    ds: tfrecs.Dataset, native: bool, options: dict[str, Any], text: str
) -> None:
    ds = ds if native else ds.map(dict)
    with pytest.raises(tfrecs.SpecError, match=text):
        list(ds.padded_batch(3, **options))


def test_lists_without_values_say_nothing_about_the_type(ds: tfrecs.Dataset) -> None:
    (batch,) = ds.map(lambda row: [int(row["n"])] * (int(row["n"]) % 2)).padded_batch(9)
    assert same(batch, np.array([[0], [1], [0], [3], [0], [5], [0]]))
    (batch,) = ds.map(lambda row: {"w": [b"x"] * (int(row["n"]) % 2)}).padded_batch(9)
    assert batch["w"].tolist() == [[b""], [b"x"]] * 3 + [[b""]]


def test_unbatch_takes_apart_what_is_equally_long(ds: tfrecs.Dataset) -> None:
    numbers = ds.map(lambda row: int(row["n"]))
    assert [*numbers.batch(3).zip(numbers.batch(3)).unbatch()] == [(n, n) for n in range(7)]
    assert [*numbers.batch(3).map(lambda some: ({}, some)).unbatch()] == [({}, n) for n in range(7)]
    with pytest.raises(tfrecs.SpecError, match=r"parts of equally many rows, not \[2, 3\]"):
        list(numbers.batch(2).zip(numbers.batch(3)).unbatch())
