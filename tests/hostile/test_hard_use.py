"""What a program can do to us that is unusual, and must cost neither data nor the process."""

import collections
import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import frames
import needs
import numpy as np
import pytest

import tfrecs


def run(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)


def test_what_says_where_values_are_cannot_be_written_to() -> None:
    records = [tfrecs.encode_example({"s": ["a", "b"], "i": [1]})] * 2
    batch = tfrecs.decode_batch(records)
    ragged: Any = batch["s"]
    assert not ragged.row_splits.flags.writeable
    assert not ragged.values.offsets.flags.writeable
    numbers: Any = batch["i"]
    numbers.values[0] = 7  # values may be anything
    assert tfrecs.decode_example(tfrecs.encode_batch(batch)[0])["i"] == [7]


@pytest.mark.parametrize("mode", ["w", "a"])
@pytest.mark.parametrize("atomic", [True, False])
def test_a_fork_leaves_a_writer_alone(tmp_path: Path, mode: str, atomic: bool) -> None:
    path = frames.save(tmp_path / "a", frames.plain([b"old"]))
    script = """
        import os, sys, tfrecs
        out = tfrecs.RecordWriter(sys.argv[1], mode=sys.argv[2], atomic=sys.argv[3] == "True")
        out.write(b"one")
        if child := os.fork():
            assert os.waitpid(child, 0)[1] == 0
        else:
            try:
                out.write(b"no")
            except tfrecs.StateError:
                sys.exit()
        out.write(b"two")
        out.close()
    """
    result = run(script, path, mode, atomic)
    assert (result.returncode, result.stderr) == (0, "")
    old = [b"old"] if mode == "a" else []
    assert list(tfrecs.RecordReader(path)) == [*old, b"one", b"two"]


def test_another_thread_can_read_the_pipe_we_write_to(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    seen: list[bytes] = []
    reading = threading.Thread(target=lambda: seen.extend(tfrecs.RecordReader(tmp_path / "pipe")))
    reading.start()
    with tfrecs.RecordWriter(tmp_path / "pipe") as out:
        for _ in range(20_000):
            out.write(b"x" * 100)
    reading.join(20)
    assert len(seen) == 20_000


def test_a_signal_handler_that_uses_the_same_reader_gets_an_error(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    script = """
        import signal, sys, tfrecs
        reader = tfrecs.RecordReader(sys.argv[1])
        next(reader)
        signal.signal(signal.SIGALRM, lambda *_: reader.close())
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        try:
            next(reader)
        except tfrecs.StateError as error:
            print("heard")
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script), str(tmp_path / "pipe")],
        stdout=subprocess.PIPE,
        text=True,
    )
    with (tmp_path / "pipe").open("wb", buffering=0) as feeder:
        feeder.write(frames.plain([b"one"]))
        assert process.communicate(timeout=20)[0] == "heard\n"


def test_a_full_disk_keeps_what_was_flushed_in_place(tmp_path: Path) -> None:
    path = frames.save(tmp_path / "a", frames.plain([b"old"]))
    script = """
        import resource, signal, sys, tfrecs
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        out = tfrecs.RecordWriter(sys.argv[1], mode="a", atomic=False)
        for _ in range(10):
            out.write(bytes(100))
        out.flush()
        resource.setrlimit(resource.RLIMIT_FSIZE, (1200, 1200))
        try:
            out.write(bytes(5000))
            out.close()
        except tfrecs.FileError:
            print("told")
    """
    result = run(script, path)
    assert result.stdout == "told\n", result.stderr
    reader = tfrecs.RecordReader(path)
    assert [len(next(reader)) for _ in range(11)] == [3, *[100] * 10]


def test_ctrl_c_in_a_block_that_writes_in_place_stays_ctrl_c(tmp_path: Path) -> None:
    out = tfrecs.RecordWriter("/dev/full", atomic=False)

    def write() -> None:
        with out:
            out.write(b"lost")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write()
    assert out.closed


def test_records_before_damage_survive_a_signal(tmp_path: Path) -> None:
    """The signal comes while the damage is met; what was read before is delivered afterwards."""
    os.mkfifo(tmp_path / "pipe")
    script = """
        import signal, sys, tfrecs
        reader = tfrecs.RecordReader(sys.argv[1])
        def handler(*_):
            raise InterruptedError("signal")
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        try:
            reader.read_batch(10)
        except InterruptedError:
            pass
        print([len(reader.read_batch(10)) for _ in "a"], flush=True)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script), str(tmp_path / "pipe")],
        stdout=subprocess.PIPE,
        text=True,
    )
    data = frames.plain([b"one", b"two", b"three"])
    with (tmp_path / "pipe").open("wb", buffering=0) as feeder:
        feeder.write(data[:-3])
        threading.Event().wait(1)
        feeder.write(b"bad")
    assert process.communicate(timeout=20)[0] == "[2]\n"
    assert process.returncode != -signal.SIGALRM


class Odd:
    """A value that changes the mapping it is in while it is looked at."""

    def __init__(self, mapping: dict[str, Any]) -> None:
        self.mapping = mapping

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        self.mapping["more"] = 1
        return np.array([1])


def test_a_mapping_that_changes_while_it_is_encoded() -> None:
    mapping: dict[str, Any] = {"a": 0}
    mapping["b"] = Odd(mapping)
    assert tfrecs.decode_example(tfrecs.encode_example(mapping)) == {"a": [0], "b": [1]}


def test_the_given_order_is_that_of_the_mapping_itself() -> None:
    mapping = collections.OrderedDict(a=1, b=2)
    mapping.move_to_end("a")
    assert list(tfrecs.decode_example(tfrecs.encode_example(mapping))) == ["b", "a"]


def test_endless_things_are_refused_at_once() -> None:
    for many in (range(2**62), range(10**13)):
        with pytest.raises(TypeError, match="must be bytes"):
            tfrecs.Records(many)  # type: ignore[arg-type]
        with pytest.raises(IndexError):
            tfrecs.Records([b"a"])[many]
    with pytest.raises(TypeError, match="sequence of integers"):
        tfrecs.Records([b"a"])[[True]]


def test_a_generator_is_written_as_it_comes(tmp_path: Path) -> None:
    def generate() -> Any:
        yield from [b"x"] * 10_000
        yield "no record"

    with tfrecs.RecordWriter(tmp_path / "a", atomic=False) as out:
        with pytest.raises(TypeError, match="must be bytes"):
            out.write_batch(generate())
        assert out.num_records == 8192


def test_rows_that_are_missing_in_a_stream_of_structs_are_refused() -> None:
    pa = needs.optional("pyarrow")
    rows = pa.chunked_array([pa.array([{"a": 1}, None])])
    with pytest.raises(tfrecs.SpecError, match="without nulls"):
        tfrecs.encode_batch(rows)


def test_a_missing_list_inside_a_row_is_refused() -> None:
    pa = needs.optional("pyarrow")
    inner = pa.FixedSizeListArray.from_arrays(
        pa.array([1, 2, 3, 4]), 2, mask=pa.array([False, True])
    )
    outer = pa.FixedSizeListArray.from_arrays(inner, 2)
    with pytest.raises(tfrecs.SpecError, match="null"):
        tfrecs.encode_batch({"a": outer})


def test_an_arrow_array_is_taken_once() -> None:
    pa = needs.optional("pyarrow")
    pair = pa.record_batch({"a": [1]}).__arrow_c_array__()

    class Again:
        def __arrow_c_array__(self, requested_schema: object = None) -> Any:
            return pair

    assert len(tfrecs.encode_batch(Again())) == 1
    with pytest.raises(tfrecs.SpecError, match="before"):
        tfrecs.encode_batch(Again())


def test_elements_with_a_shape_are_flattened_and_rows_of_rows_are_refused() -> None:
    shaped = tfrecs.RaggedTensor(np.arange(6).reshape(3, 2), np.array([0, 1, 3]))
    records = tfrecs.encode_batch({"a": shaped})
    assert [tfrecs.decode_example(record)["a"] for record in records] == [[0, 1], [2, 3, 4, 5]]
    with pytest.raises(tfrecs.SpecError, match="its rows are made of rows"):
        tfrecs.encode_batch({"a": tfrecs.RaggedTensor.from_rows([[[1], [2]]])})


def test_a_subclass_can_change_how_records_are_written(tmp_path: Path) -> None:
    class Doubling(tfrecs.RecordWriter):
        def write(self, record: Any) -> None:
            super().write(record * 2)

    with Doubling(tmp_path / "a") as out:
        out.write(b"a")
    assert list(tfrecs.RecordReader(tmp_path / "a")) == [b"aa"]


def test_shards_appear_where_they_were_meant_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    out = tfrecs.ShardedWriter("a-{shard}", num_shards=1)
    out.write(b"x")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    out.close()
    assert list(tfrecs.RecordReader(tmp_path / "a-0")) == [b"x"]
