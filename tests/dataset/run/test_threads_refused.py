"""A system that refuses another thread: those there are do the work, or an error says why."""

import inspect
import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import hostile_child as child
import needs
import pytest
import threadless_child

import tfrecs


def refuse_after(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """Let `count` more threads start, and refuse the rest as the system does."""
    start = threading.Thread.start
    started: list[threading.Thread] = []

    def limited(self: threading.Thread) -> None:
        if len(started) >= count:
            raise RuntimeError("can't start new thread")
        started.append(self)
        start(self)

    monkeypatch.setattr(threading.Thread, "start", limited)


def numbers(tmp_path: Path) -> Any:
    with tfrecs.RecordWriter(tmp_path / "numbers") as out:
        out.write_batch([b"%d" % number for number in range(100)])
    return tfrecs.Dataset(tmp_path / "numbers")


def test_no_thread_at_all_is_told_as_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = numbers(tmp_path).map(int, num_threads=4)
    refuse_after(monkeypatch, 0)
    with pytest.raises(tfrecs.OutOfMemoryError, match="cannot start a thread"):
        next(iter(dataset))


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_with_fewer_threads_all_elements_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int, ordered: bool
) -> None:
    dataset = numbers(tmp_path).map(int, num_threads=8, ordered=ordered)
    refuse_after(monkeypatch, count)
    assert sorted(dataset) == list(range(100))


def test_more_threads_than_processors_exist_are_refused(tmp_path: Path) -> None:
    dataset = numbers(tmp_path)
    with pytest.raises(tfrecs.SpecError, match=r"at most 1,024, not 1,000,000"):
        dataset.map(int, num_threads=10**6)
    with pytest.raises(tfrecs.SpecError, match="at most 1,024"):
        tfrecs.open(tmp_path / "numbers", num_threads=1025)
    assert len(list(dataset.map(int, num_threads=1024))) == 100


def test_prefetching_without_bound_needs_a_limit_of_bytes(tmp_path: Path) -> None:
    dataset = numbers(tmp_path)
    for n in (10**7, 2**31, 2**64):
        with pytest.raises(tfrecs.SpecError, match="needs max_bytes"):
            dataset.prefetch(n)
        assert len(list(dataset.prefetch(n, max_bytes=1000))) == 100
    assert len(list(dataset.prefetch(1_000_000))) == 100


@pytest.mark.parametrize("count", [2**31, 2**63, 2**64, 2**80])
def test_counts_beyond_64_bits_mean_all(tmp_path: Path, count: int) -> None:
    dataset = numbers(tmp_path)
    for one in (dataset, dataset.map(int)):
        assert len(list(one.take(count))) == 100
        assert list(one.skip(count)) == []
        assert len(list(one.repeat(count).take(150))) == 150
        assert [len(batch) for batch in one.batch(count)] == [100]
    assert len(list(dataset.shuffle(buffer_size=count))) == 100


@pytest.mark.skipif(sys.platform != "linux", reason="limits of threads are Linux's")
@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_a_process_that_may_start_few_threads_is_told_so(tmp_path: Path, count: int) -> None:
    for name in ("PIL", "soundfile", "typer"):
        needs.optional(name)
    for parent in (tmp_path, *tmp_path.parents[:-2]):  # the child runs as another user
        parent.chmod(parent.stat().st_mode | 0o011)
    tmp_path.chmod(0o777)
    command = [sys.executable, threadless_child.__file__, str(count)]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, timeout=120, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    *lines, (end, _, _) = map(json.loads, done.stdout.splitlines())
    assert end == "done"
    wrong = [
        (name, error, is_same)
        for name, error, is_same in lines
        if not is_same and not is_refusal(error)
    ]
    assert wrong == []
    if count == 0:
        refused = {name for name, error, _ in lines if error}
        assert refused >= {"map", "prefetch", "open", "tf queue runners", "RecordWriter of members"}
    assert {name for name, _, is_same in lines if is_same} >= {"convert_csv", "decode_audio"}


def is_refusal(error: str | None) -> bool:
    is_ours = error is not None and error.startswith(("tfrecs.Error: OutOfMem", "tfrecs.Error: St"))
    return is_ours and "cannot start a thread" in str(error)


THREADED = [
    (name, parameter.name)
    for name in child.targets()
    for parameter in child.parameters_of(name)
    if parameter.name.endswith("num_threads")
]


@pytest.mark.parametrize(("name", "parameter"), THREADED)
def test_every_number_of_threads_has_the_same_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, parameter: str
) -> None:
    monkeypatch.chdir(tmp_path)
    child.write_sound_file()
    pages = inspect.getdoc(child.declared(name.removeprefix("tf.data.experimental."))) or ""
    paragraph = pages.partition(f"{parameter}: ")[2]
    assert paragraph.partition("\n")[0].count("(at most 1,024)") == 1
    with pytest.raises(tfrecs.SpecError, match=r"at most 1,024, not 1,025"):
        child.call(name, {**child.sound(name), parameter: 1025})
