"""What is seen of a pass while it runs: bars, and what is logged."""

from __future__ import annotations

import io
import logging
import subprocess
import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import tfrecs
from tfrecs.dataset.run import progress
from tfrecs.dataset.run.iterator import DatasetIterator
from tfrecs.dataset.stages.stage import Run


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with tfrecs.RecordWriter(tmp_path / "a.tfrecord") as out:
        out.write_batch([b"%d" % n for n in range(1000)])
    return tmp_path / "a.tfrecord"


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch, optional: Callable[[str], ModuleType]) -> Terminal:
    optional("tqdm")
    terminal = Terminal()
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=terminal))
    return terminal


def test_a_bar_goes_to_the_end(path: Path, shown: Terminal) -> None:
    ds = tfrecs.Dataset(path, progress=True)
    assert len(list(ds.batch(10))) == 100
    said = shown.getvalue()
    assert "epoch 0" in said
    assert "100" in said.splitlines()[-1].split("\r")[-1]
    assert said.endswith("\n")
    assert len(list(ds.shuffle(1).map(len))) == 1000
    assert len(list(ds.filter(len).batch(10))) == 100, "it is unknown how many there are"
    assert shown.getvalue().count("\n") == 3, "a line for each pass"


def test_a_bar_ends_with_its_pass(path: Path, shown: Terminal) -> None:
    ds = tfrecs.Dataset(path, progress=True).batch(10)
    it = iter(ds)
    list(islice(it, 3))
    it.close()
    assert shown.getvalue().endswith("\n")
    it.close()
    forgotten = iter(ds)
    next(forgotten)
    del forgotten
    assert shown.getvalue().count("\n") == 2
    with pytest.raises(ZeroDivisionError):
        list(ds.map(lambda _: 1 // 0))
    assert shown.getvalue().count("\n") <= 3


def test_a_bar_changes_nothing(path: Path, shown: Terminal) -> None:
    plain, with_bar = tfrecs.Dataset(path), tfrecs.Dataset(path, progress=True)
    it = iter(with_bar.shuffle(1).batch(7))
    list(islice(it, 3))
    again = iter(plain.shuffle(1).batch(7))
    again.load_state_dict(it.state_dict())
    back = iter(with_bar.shuffle(1).batch(7))
    back.load_state_dict(again.state_dict())
    assert [one.tolist() for one in back] == [one.tolist() for one in again]
    assert repr(plain) == repr(with_bar)


def test_of_those_that_share_a_pass_the_first_shows_it(path: Path, shown: Terminal) -> None:
    node = tfrecs.Dataset(path, progress=True).batch(10).node
    assert len(list(DatasetIterator(node, Run(0, (3, 1))))) == 33
    assert not shown.getvalue()
    assert len(list(DatasetIterator(node, Run(0, (3, 0))))) == 34
    assert "34" in shown.getvalue()


def test_large_files_are_not_counted_for_a_bar(
    path: Path, shown: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tfrecs.dataset.sources.files.SMALL", 100)
    ds = tfrecs.Dataset(path, progress=True).batch(10)
    source: Any = ds.node.sources[0]
    list(ds)
    assert "records" not in vars(source)
    tfrecs.build_index(path)
    assert source.is_counted
    path.write_bytes(path.read_bytes()[:-3])
    assert not source.is_counted, "the index is another file's"


def test_the_total_is_shown_where_it_is_known(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []

    class Counted:
        def __init__(self, name: str, total: int | None, *rest: object) -> None:
            self.name, self.total, self.steps = name, total, 0
            made.append(self)

        def step(self) -> None:
            self.steps += 1

        def close(self) -> None:
            pass

    monkeypatch.setattr(progress, "integration", lambda _: SimpleNamespace(TqdmBar=Counted))

    def shown_by(ds: tfrecs.Dataset, workers: tuple[int, int] | None = None) -> int | None:
        count = len(list(DatasetIterator(ds.node, Run(0, workers))))
        bar = made.pop()
        assert (bar.name, bar.steps) == ("epoch 0", count)
        assert bar.total in (None, count)
        total: int | None = bar.total
        return total

    ds = tfrecs.Dataset(path, progress=True).batch(10)
    assert shown_by(ds) == 100
    assert shown_by(ds, (3, 0)) == 34
    assert shown_by(ds.filter(len)) is None
    monkeypatch.setattr("tfrecs.dataset.sources.files.SMALL", 100)
    large = tfrecs.Dataset(path, progress=True).batch(10)
    assert shown_by(large) is None
    assert large.cardinality() == 100
    assert shown_by(large) == 100, "the files are counted now"


def test_damage_is_told_by_the_pass_and_not_by_its_bar(path: Path, shown: Terminal) -> None:
    path.write_bytes(path.read_bytes()[:-3])
    it = iter(tfrecs.Dataset(path, progress=True))
    assert next(it) == b"0"
    with pytest.raises(tfrecs.TruncatedFileError):
        list(it)


def test_without_tqdm_there_is_silence(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(library: str) -> ModuleType:
        raise ModuleNotFoundError(library)

    terminal = Terminal()
    monkeypatch.setattr(progress, "integration", missing)
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=terminal))
    assert len(list(tfrecs.Dataset(path, progress=True))) == 1000
    assert not terminal.getvalue()


def test_what_is_logged(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="tfrecs")
    list(tfrecs.Dataset(path).shuffle(3).batch(100))
    said = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert all(record.name == "tfrecs" for record in caplog.records)
    texts = [text for _, text in said]
    assert any(level == "INFO" and "made the index of" in text for level, text in said)
    assert any(text.startswith("opened ") and "1000 records" in text for text in texts)
    assert any("epoch 0 of Dataset(" in text and "begins" in text for text in texts)
    assert any("ends: 10 elements in " in text for text in texts)
    caplog.clear()
    data = bytearray(path.read_bytes())
    data[12] ^= 1
    path.write_bytes(data)
    list(tfrecs.Dataset(path, on_corrupt="skip"))
    (warning,) = [one for one in caplog.records if one.levelname == "WARNING"]
    assert "skipped bytes 0 to " in warning.getMessage()


def test_nothing_is_printed_by_itself(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[12] ^= 1
    path.write_bytes(data)
    script = "import sys, tfrecs; list(tfrecs.Dataset(sys.argv[1], on_corrupt='skip'))"
    run = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True
    )
    assert (run.stdout, run.stderr) == ("", "")
