"""Damage that must be told of: all of it by us; how much TensorFlow tells of is put on record."""

import os
from collections.abc import Callable

import pytest

from oracle import reliability

STEP = 1 if int(os.environ.get("CASES", "100000")) >= 100_000 else 7


@pytest.mark.parametrize("name", reliability.CASES)
def test_damage_is_told(name: str, record_property: Callable[[str, object], None]) -> None:
    count = reliability.damage(name, "tfrecs", STEP)
    assert count is not None
    assert (count.told, count.silent, count.wrong, count.lost) == (count.cases, 0, 0, 0)
    record_property("tensorflow", reliability.damage(name, "tensorflow", STEP * 5))


@pytest.mark.parametrize("codec", ["", "GZIP", "ZLIB"])
def test_a_killed_writer(codec: str, record_property: Callable[[str, object], None]) -> None:
    left = reliability.killed("tfrecs", codec)
    assert not left.has_name
    assert left.records >= 500
    assert left.told or left.records == 500
    record_property("tensorflow", reliability.killed("tensorflow", codec))
