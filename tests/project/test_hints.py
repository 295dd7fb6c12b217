"""Errors say what was probably meant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tfrecs

RECORD = tfrecs.encode_example({"label": 1, "image/class/text": "a"})
SEQUENCE = tfrecs.encode_sequence_example({"label": 1}, {"tokens": [[1]]})


def fixed(name: str, dtype: str = "int64") -> dict[str, Any]:
    return {name: tfrecs.FixedLenFeature([], dtype)}


@pytest.mark.parametrize(
    ("wanted", "meant"),
    [("lable", "label"), ("labels", "label"), ("LABEL", "label"), ("text", "image/class/text")],
)
def test_a_misspelt_feature_names_the_one_that_is_there(wanted: str, meant: str) -> None:
    calls: list[Callable[[], Any]] = [
        lambda: tfrecs.parse_example([RECORD], fixed(wanted)),
        lambda: tfrecs.parse_single_example(RECORD, fixed(wanted)),
        lambda: tfrecs.decode_batch([RECORD], fixed(wanted)),
        lambda: list(tfrecs.Dataset([RECORD], fixed(wanted))),
        lambda: list(tfrecs.Dataset([RECORD], fixed(wanted)).batch(1)),
    ]
    for call in calls:
        with pytest.raises(tfrecs.ParseError) as caught:
            call()
        assert f'could not be found; did you mean "{meant}"?' in str(caught.value)
        assert caught.value.feature == wanted


def test_sequences_do_too() -> None:
    with pytest.raises(tfrecs.ParseError, match='did you mean "label"'):
        tfrecs.parse_single_sequence_example(SEQUENCE, fixed("lable"))
    lists: Any = {"token": tfrecs.FixedLenSequenceFeature([], "int64")}
    with pytest.raises(tfrecs.ParseError, match='did you mean "tokens"'):
        tfrecs.parse_single_sequence_example(SEQUENCE, None, lists)


def test_nothing_is_guessed_where_nothing_is_alike() -> None:
    with pytest.raises(tfrecs.ParseError) as caught:
        tfrecs.parse_example([RECORD], fixed("height"))
    assert "did you mean" not in str(caught.value)
    with pytest.raises(tfrecs.ParseError) as caught:
        tfrecs.parse_example([RECORD], fixed("label", "string"))
    assert "did you mean" not in str(caught.value)


def test_a_condition_in_text_names_expressions() -> None:
    with pytest.raises(tfrecs.SpecError, match="expression, not text"):
        tfrecs.Dataset([RECORD]).filter("age > 3")  # type: ignore[arg-type]
    with pytest.raises(tfrecs.SpecError) as caught:
        tfrecs.Dataset([RECORD]).map("age")  # type: ignore[arg-type]
    assert "col" not in str(caught.value)


def test_a_dataset_is_no_sequence() -> None:
    ds = tfrecs.Dataset([b"a", b"b"])
    for use in (len, lambda ds: ds[0]):
        with pytest.raises(TypeError, match=r"DataLoader takes ds.to_torch\(\)"):
            use(ds)
    assert bool(ds)
    assert list(ds) == [b"a", b"b"]
