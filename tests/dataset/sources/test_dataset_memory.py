"""How much memory a pass takes ahead of whoever is slow."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from needs import measuring

import tfrecs

THREADS = 24
BATCH = 8 << 20

SCRIPT = """
import sys, time, tfrecs
from measure import peak_rss
path, most, shuffled = sys.argv[1], int(sys.argv[2]) or None, sys.argv[3] == "shuffled"
ds = tfrecs.Dataset([path] * 60, num_threads=24, max_buffer_bytes=most)
ds = ds.shuffle(1) if shuffled else ds
before = peak_rss()
def settle():  # nothing more is read ahead: a batch would take some hundredths of a second
    peak, since = peak_rss(), time.monotonic()
    while time.monotonic() - since < 0.4:
        time.sleep(0.02)
        if peak_rss() > peak:
            peak, since = peak_rss(), time.monotonic()
it = iter(ds.batch(8))
for _ in range(3):
    batch = next(it)
    settle()
it.close()
print(peak_rss() - before)
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("memory") / "large.tfrecord"
    with tfrecs.RecordWriter(path) as out:
        out.write_batch([bytes([n]) * (BATCH // 8) for n in range(8)])
    return path


def taken(path: Path, most: int, how: str) -> int:
    command = [sys.executable, "-c", SCRIPT, str(path), str(most), how]
    run = subprocess.run(command, env=measuring(), capture_output=True, text=True, check=True)
    return int(run.stdout)


@pytest.mark.parametrize("how", ["in order", "shuffled"])
def test_what_is_read_ahead_is_bounded(path: Path, how: str) -> None:
    # Beside it: the batch that is held, and the next; 64 MiB of freed memory are kept.
    beside = 2 * BATCH + (64 << 20) + (48 << 20)
    assert taken(path, 4 * BATCH, how) < 4 * BATCH + beside
    assert taken(path, 0, how) > 4 * BATCH + beside, "without a bound it takes more"


@pytest.mark.parametrize("most", [1, 1000, BATCH, None])
def test_a_bound_changes_nothing_but_memory(path: Path, most: int | None) -> None:
    for threads in (1, 3):
        ds = tfrecs.Dataset([path] * 3, num_threads=threads, max_buffer_bytes=most)
        free = tfrecs.Dataset([path] * 3)
        assert [one[:1] for one in ds] == [one[:1] for one in free]
        for plan, other in (
            (ds.batch(5), free.batch(5)),
            (ds.shuffle(3).batch(7), free.shuffle(3).batch(7)),
            (ds.shuffle(3, 10).batch(4), free.shuffle(3, 10).batch(4)),
        ):
            assert [[row[:1] for row in one] for one in plan] == [
                [row[:1] for row in one] for one in other
            ]


def test_a_bound_is_a_positive_number(path: Path) -> None:
    with pytest.raises(tfrecs.SpecError, match="max_buffer_bytes must be a positive integer"):
        tfrecs.Dataset(path, max_buffer_bytes=0)
