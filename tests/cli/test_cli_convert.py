"""`tfrecs convert`: its options, its report, and what an interruption leaves."""

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import needs
import pytest

import tfrecs

needs.optional("typer")
needs.optional("rich")
needs.optional("PIL")

from PIL import Image  # noqa: E402 - after it is known to be there

MAIN = [sys.executable, "-c", "from tfrecs.cli import main; main()"]
CSV = "name,born\nAda,1815\nGrace,1906\nAlan,1912\nnobody\n"


def convert(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run `tfrecs convert` as a process, with pipes."""
    return subprocess.run(
        [*MAIN, "convert", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def people(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text(CSV)
    return tmp_path / "people.csv"


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    for label in ("cat", "dog"):
        for number in range(5):
            path = tmp_path / "photos" / label / f"{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.new("L", (4, 4), number).save(path)
    (tmp_path / "photos" / "cat" / "broken.png").write_bytes(b"junk")
    return tmp_path / "photos"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_bad_row_fails(people: Path, tmp_path: Path) -> None:
    said = convert(people, tmp_path / "out")
    assert (said.returncode, said.stdout) == (1, "")
    assert said.stderr.splitlines() == [
        f"tfrecs: {people}: line 5: has 1 cell, but there are 2 columns",
        "tfrecs: nothing was written; --on-error skip leaves bad inputs out and lists them",
    ]
    assert not (tmp_path / "out").exists()


def test_a_bad_row_is_skipped_and_reported(people: Path, tmp_path: Path) -> None:
    said = convert(people, tmp_path / "out", "--on-error", "skip")
    assert said.returncode == 0
    assert said.stderr == f"skipped {people}: line 5: has 1 cell, but there are 2 columns\n"
    assert said.stdout.splitlines()[-1] == f"3 examples written to {tmp_path / 'out'}, 1 skipped"
    assert names(tmp_path / "out") == ["people-00000-of-00001.tfrecord"]


def test_the_report_says_what_changed(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,key,x\n5,16777217,0.1\nnan,1.5,-87.62519214\n,2,3\n")
    said = convert(tmp_path / "t.csv", tmp_path / "out")
    assert said.returncode == 0
    nan, key, narrowed = said.stderr.splitlines()
    assert nan == "column 'id': 1 NaN cell is a missing feature"
    assert key.startswith("column 'key': stays text, because float32 cannot hold 16777217; ")
    assert key.endswith("; --type key=float32 rounds it")
    assert narrowed == "column 'x': 1 value changes in float32, by at most 1.6e-08 of it"
    rounded = convert(tmp_path / "t.csv", tmp_path / "out2", "--type", "key=float32")
    assert "column 'key': 1 value changes in float32, by at most 6.0e-08 of it" in rounded.stderr


def test_options_of_csv_files(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("n;größe\n1;NA\n".encode("latin-1"))
    said = convert(
        *(tmp_path / "a.txt", tmp_path / "out", "--delimiter", ";", "--encoding", "latin-1"),
        *("--type", "n=float32", "--missing", "NA", "--missing", "-"),
    )
    assert (said.returncode, said.stderr) == (0, "")
    (record,) = tfrecs.RecordReader(tmp_path / "out" / "a-00000-of-00001.tfrecord")
    assert tfrecs.decode_example(record) == {"n": [1.0]}


def test_images(photos: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    said = convert(
        *(photos, out, "--split", "train=0.8,test=0.2", "--shards", "train=2,test=1"),
        *("--compression", "gzip", "--on-error", "skip", "--seed", "3"),
    )
    assert said.returncode == 0
    assert said.stderr.startswith(f"skipped {photos / 'cat' / 'broken.png'}: unknown image format")
    assert said.stdout.splitlines()[-1] == f"10 examples written to {out}, 1 skipped"
    assert names(out) == [
        "test-00000-of-00001.tfrecord.gz",
        "train-00000-of-00002.tfrecord.gz",
        "train-00001-of-00002.tfrecord.gz",
    ]
    assert tfrecs.count(out / "*") == 10


def test_long_reports_are_shortened(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n1,2\n" + "1\n" * 30)
    said = convert(tmp_path / "a.csv", tmp_path / "out", "--on-error", "skip")
    lines = said.stderr.splitlines()
    assert (len(lines), lines[-1]) == (21, "skipped 10 more")


def test_what_is_there_is_not_overwritten(people: Path, tmp_path: Path) -> None:
    options = (people, tmp_path / "out", "--on-error", "skip")
    assert convert(*options).returncode == 0
    said = convert(*options, "--shards", "2")
    assert said.returncode == 1
    assert "--overwrite" in said.stderr
    assert convert(*options, "--shards", "2", "--overwrite").returncode == 0
    assert names(tmp_path / "out") == [f"people-0000{i}-of-00002.tfrecord" for i in range(2)]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--split", "train"], "expected NAME=VALUE"),
        (["--split", "train=x"], "'x' is no number"),
        (["--split", "a=0.5,a=0.5"], "names something twice"),
        (["--split", "a=0.5,b=0.6"], "add up to 1.1"),
        (["--shards", "many"], "'many' is no number"),
        (["--shards", "0"], "at least 1 shard"),
        (["--compression", "bzip2"], "--compression is none, gzip or zlib, not 'bzip2'"),
        (["--compression", "auto"], "not 'auto'"),
        (["--on-error", "ignore"], "ignore"),
        (["--type", "born"], "expected NAME=VALUE"),
        (["--type", "born=date"], "dtype 'date'"),
        (["--type", "died=int64"], "['died']"),
        (["--encoding", "klingon"], "klingon"),
    ],
)
def test_wrong_usage_exits_with_2(
    options: list[str], text: str, people: Path, tmp_path: Path
) -> None:
    said = convert(people, tmp_path / "out", *options)
    assert (said.returncode, said.stdout) == (2, "")
    assert text in said.stderr
    assert "Traceback" not in said.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("spelling", ["gz", "GZIP", "Gzip"])
def test_every_spelling_of_a_compression(spelling: str, people: Path, tmp_path: Path) -> None:
    assert (
        convert(
            people, tmp_path / "out", "--compression", spelling, "--on-error", "skip"
        ).returncode
        == 0
    )
    assert names(tmp_path / "out") == ["people-00000-of-00001.tfrecord.gz"]


def test_inputs_of_other_kinds(photos: Path, tmp_path: Path) -> None:
    (tmp_path / "a.json").touch()
    assert convert(tmp_path / "a.json", tmp_path / "out").returncode == 2
    assert convert(photos, tmp_path / "out", "--type", "a=int64").returncode == 2
    assert convert(tmp_path / "nope.csv", tmp_path / "out").returncode == 1
    assert convert(tmp_path / "nope", tmp_path / "out").returncode == 1
    assert convert(photos / "cat" / "broken.png", tmp_path / "out").returncode == 2


def test_a_place_that_cannot_be_written_to(people: Path) -> None:
    said = convert(people, people / "out", "--on-error", "skip")
    assert said.returncode == 1
    assert said.stderr == f"tfrecs: {people / 'out'}: Not a directory\n"


def test_without_pillow_it_says_what_to_install(photos: Path, people: Path, tmp_path: Path) -> None:
    script = "import sys; sys.modules['PIL'] = None; from tfrecs.cli import main; main()"
    command = [sys.executable, "-c", script, "convert"]
    said = subprocess.run(
        [*command, photos, tmp_path / "out"], capture_output=True, text=True, check=False
    )
    assert said.returncode == 1
    assert said.stderr == 'tfrecs: converting images needs Pillow: pip install "tfrecs[images]"\n'
    options = ["--on-error", "skip"]
    assert (
        subprocess.run([*command, people, tmp_path / "out", *options], check=False).returncode == 0
    )


# ---------------------------------------------------------------- interruption and progress


def endless(folder: Path) -> Path:
    """A folder of images that takes far longer to convert than a test waits."""
    (folder / "class").mkdir(parents=True)
    Image.effect_noise((1000, 1000), 100).save(folder / "class" / "0.png")
    for number in range(1, 3000):
        os.link(folder / "class" / "0.png", folder / "class" / f"{number}.png")
    return folder


def bytes_of_shards(folder: Path) -> int:
    """How much is written already, wherever it waits for its name."""
    return sum(path.stat().st_size for path in folder.rglob(".*tmp/*.tmp")) + sum(
        path.stat().st_size for path in folder.glob("out/.*.tmp")
    )


@pytest.mark.parametrize("existing", [False, True])
def test_ctrl_c_leaves_no_shard(existing: bool, tmp_path: Path) -> None:
    source, out = endless(tmp_path / "in"), tmp_path / "out"
    if existing:
        out.mkdir()
        (out / "in-00000-of-00001.tfrecord").write_bytes(b"as it was")
    command = subprocess.Popen(
        [*MAIN, "convert", str(source), str(out), "--shards", "2", "--overwrite"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 30
    while bytes_of_shards(tmp_path) < 10_000_000 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert command.poll() is None, command.communicate()
    command.send_signal(signal.SIGINT)
    interrupted = time.monotonic()
    told, complained = command.communicate(timeout=10)
    assert time.monotonic() - interrupted < 2
    assert (command.returncode, told, complained) == (130, "", "tfrecs: interrupted\n")
    if existing:
        assert names(out) == ["in-00000-of-00001.tfrecord"]
        assert (out / "in-00000-of-00001.tfrecord").read_bytes() == b"as it was"
    else:
        assert not out.exists()


def on_a_terminal(command: list[str]) -> tuple[int, str]:
    """Run a command whose output and errors are a terminal: its exit code, and what it printed."""
    main, terminal = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80"}
    environment.pop("NO_COLOR", None)
    process = subprocess.Popen(command, stdout=terminal, stderr=terminal, env=environment)
    os.close(terminal)
    shown = b""
    try:
        while piece := os.read(main, 4096):
            shown += piece
    except OSError:
        pass  # how a terminal says that the other side has gone
    os.close(main)
    return process.wait(timeout=30), shown.decode()


def test_a_progress_bar_on_a_terminal_only(photos: Path, tmp_path: Path) -> None:
    arguments = ["convert", str(photos), str(tmp_path / "out"), "--on-error", "skip", "--overwrite"]
    code, shown = on_a_terminal([*MAIN, *arguments])
    assert code == 0
    assert "converting" in shown
    assert "11/11" in shown
    assert shown.rstrip().endswith(", 1 skipped")
    said = convert(*arguments[1:])
    assert "converting" not in said.stdout + said.stderr


def test_colours_on_a_terminal(people: Path) -> None:
    code, shown = on_a_terminal([*MAIN, "verify", str(people)])
    assert code == 1
    assert "\x1b[1;31m" in shown
