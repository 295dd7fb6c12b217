"""Compressed files are shuffled in blocks of records, whose size is part of the promised order."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

import tfrecs
from tfrecs import _core
from tfrecs.dataset.plan.source import roots_of
from tfrecs.dataset.sources.files import Files

MIB = 1 << 20


def saved(path: Path, count: int, size: int) -> Path:
    with tfrecs.RecordWriter(path, level=1) as out:
        out.write_batch([b"%06d" % n + bytes(size - 6) for n in range(count)])
    return path


def files_of(path: Path) -> Files:
    (source,) = roots_of(tfrecs.Dataset(path).node)
    assert isinstance(source, Files)
    return source


@pytest.mark.parametrize(
    ("count", "size", "block"),
    [
        (4096, 2032, 1024),  # frames of 2,048 bytes
        (100, 7, 2 * MIB // 23),  # more than there are
        (2, 6 * MIB, 1),  # a record is longer than a block
        (0, 0, 1),
    ],
)
def test_a_block_has_as_many_records_as_2_mib_hold(
    tmp_path: Path, count: int, size: int, block: int
) -> None:
    inflated = files_of(saved(tmp_path / "a.gz", count, size)).inflated
    order = _core.Order(count)
    blocks = order.blocks(7, block).window(7, 16 * block)
    assert order.shuffle(7, inflated).records(0, count, 3) == blocks.records(0, count, 3)


def test_plain_files_have_no_blocks(tmp_path: Path) -> None:
    assert files_of(saved(tmp_path / "a", 9, 9)).inflated is None


def test_the_order_of_a_compressed_shuffle_never_changes(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.gz", 40_000, 2032)
    order = [int(record[:6]) for record in islice(tfrecs.Dataset(path).shuffle(7), 8)]
    assert order == [5047, 11192, 20520, 4733, 9651, 6372, 5016, 36084]
