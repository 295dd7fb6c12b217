"""The command `tfrecs`: what it prints, where, and how it ends. `convert` has its own tests."""

import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import frames
import needs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import tfrecs

needs.optional("typer")
needs.optional("rich")

from typer.testing import CliRunner  # noqa: E402 - after it is known to be there

from tfrecs.cli import COMMANDS  # noqa: E402
from tfrecs.cli.app import app  # noqa: E402
from tfrecs.cli.preview import Type, bytes_text, interpret, value_text  # noqa: E402
from tfrecs.cli.terminal import is_printable, printable  # noqa: E402

for _name in COMMANDS:  # they register with the application
    importlib.import_module(f"tfrecs.cli.{_name}")

MAIN = [sys.executable, "-c", "from tfrecs.cli import main; main()"]
PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)


def run(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command as a process, with pipes."""
    environment = {**os.environ, "COLUMNS": "80"} | options.pop("env", {})
    return subprocess.run(
        [*MAIN, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=environment,
        **options,
    )


def invoke(*arguments: str | Path) -> tuple[int, str, str]:
    """Run the command in this process: exit code, standard output, standard error."""
    result = CliRunner().invoke(app, [*map(str, arguments)], env={"COLUMNS": "80"})
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def write(path: Path, *records: bytes, compression_type: str = "auto") -> Path:
    with tfrecs.RecordWriter(path, compression_type) as out:
        out.write_batch(records)
    return path


@pytest.fixture
def good(tmp_path: Path) -> Path:
    records = [tfrecs.encode_example({"n": n, "name": f"row {n}"}) for n in range(3)]
    return write(tmp_path / "good.tfrecord.gz", *records)


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    path = write(tmp_path / "damaged.tfrecord", b"a", b"b", b"c")
    data = bytearray(path.read_bytes())
    data[-5] ^= 1  # in the data of the last record
    path.write_bytes(data)
    return path


@pytest.fixture
def page(tmp_path: Path) -> Path:
    (tmp_path / "page.tfrecord").write_text("<!DOCTYPE html><title>404</title>")
    return tmp_path / "page.tfrecord"


# ---------------------------------------------------------------- as a process


def test_version_and_help() -> None:
    assert run("--version").stdout == f"tfrecs {tfrecs.__version__}\n"
    said = run("--help")
    assert said.returncode == 0
    for command in COMMANDS:
        assert command in said.stdout
        told = run(command, "--help")
        assert (told.returncode, told.stderr) == (0, "")
        examples = told.stdout.partition("  Examples:\n")[2]
        assert examples.startswith(f"    tfrecs {command} ")


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["count"],
        ["count", "--nonsense", "x"],
        ["head", "-n", "many", "x"],
        ["head", "-n", "-1", "x"],
        ["verify"],
        ["convert"],
        ["convert", "x.csv"],
    ],
)
def test_wrong_usage_exits_with_2(arguments: list[str]) -> None:
    code, out, err = invoke(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("tfrecs: ")


def test_an_error_is_one_line(damaged: Path) -> None:
    said = run("head", damaged)
    assert said.returncode == 1
    assert said.stderr.count("\n") == 1
    assert said.stderr.startswith(f"tfrecs: {damaged}: record 2 at byte 34: corrupted record")


@pytest.mark.parametrize("command", COMMANDS)
def test_no_colours_in_a_pipe(command: str, good: Path, damaged: Path, tmp_path: Path) -> None:
    paths: list[str | Path] = [good, damaged]
    if command == "convert":
        (tmp_path / "in.csv").write_text("a\n1\n2,3\n")
        paths = [tmp_path / "in.csv", tmp_path / "out", "--on-error", "skip"]
    if command == "repair":
        paths = [damaged, tmp_path / "clean.tfrecord"]
    said = run(command, *paths, env={"TERM": "xterm-256color"})
    assert said.stdout
    assert "\x1b" not in said.stdout + said.stderr


def test_whoever_reads_may_stop(tmp_path: Path) -> None:
    records = [tfrecs.encode_example({"n": n}) for n in range(20_000)]
    path = write(tmp_path / "many.tfrecord", *records)
    for options in ([], ["--json"]):
        command = subprocess.Popen(
            [*MAIN, "head", "-n", "20000", *options, str(path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert command.stdout
        assert command.stderr
        with command:
            assert command.stdout.readline()
            command.stdout.close()
            assert command.stderr.read() == b""
        assert command.returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("options", [["count"], ["verify"], ["head"], ["head", "--json"]])
def test_a_full_disk_is_an_error(options: list[str], unbuffered: str, good: Path) -> None:
    env = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    command = [*MAIN, *options, str(good)]
    with Path("/dev/full").open("w") as full:
        said = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=env
        )
    assert said.returncode == 1
    assert said.stderr.splitlines()[0] == "tfrecs: cannot print: No space left on device"
    assert "Traceback" not in said.stderr


def test_a_terminal_that_knows_only_ascii(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tfrecord", tfrecs.encode_example({"größe": "日本" * 100}))
    said = run("head", path, env={"PYTHONIOENCODING": "ascii"})
    assert (said.returncode, said.stderr) == (0, "")
    assert "gr\\xf6\\xdfe" in said.stdout


@pytest.mark.parametrize("library", ["typer", "rich", "rich.console"])
def test_without_the_extra_it_says_what_to_install(library: str) -> None:
    script = f"import sys; sys.modules[{library!r}] = None; from tfrecs.cli import main; main()"
    command = [sys.executable, "-c", script]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (said.returncode, said.stdout) == (1, "")
    assert said.stderr == (
        f'tfrecs: the command needs {library.partition(".")[0]}: pip install "tfrecs[cli]"\n'
    )


# ---------------------------------------------------------------- count


def test_count(good: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "other.tfrecord", b"x")
    assert invoke("count", good) == (0, f"         3  {good}\n", "")
    code, out, err = invoke("count", good, other)
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        f"         3  {good}",
        f"         1  {other}",
        "         4  total",
    ]


def test_count_as_json(good: Path, page: Path) -> None:
    code, out, err = invoke("count", "--json", good, page)
    found = json.loads(out)
    assert code == 1
    assert found["records"] == 3
    assert found["files"][0] == {"path": str(good), "records": 3, "error": None}
    assert found["files"][1]["records"] is None
    assert "not a TFRecord file" in found["files"][1]["error"]
    assert "not a TFRecord file" in err


def test_count_goes_on_after_a_bad_file(good: Path, page: Path) -> None:
    code, out, err = invoke("count", page, good)
    assert code == 1
    assert str(good) in out
    assert err.startswith(f"tfrecs: {page}: not a TFRecord file")


# ---------------------------------------------------------------- inputs


@pytest.mark.parametrize("command", ["count", "head", "index", "verify"])
def test_what_is_not_there(command: str, tmp_path: Path) -> None:
    code, out, err = invoke(command, tmp_path / "nope.tfrecord")
    assert code == 1
    assert "No such file" in out + err
    code, out, err = invoke(command, tmp_path / "*.tfrecord")
    assert (code, out) == (1, "")
    assert "no file matches this pattern" in err


def test_patterns_and_folders(tmp_path: Path) -> None:
    names = [
        *("a.tfrecord", "b.tfrecords.gz", "sub/c.tfrec", "sub/train-00000-of-00001", "d.TFRecord"),
        *(".f.tfrecord", "sub/.g.tfrecord.tmp"),
    ]
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        write(tmp_path / name, b"x")
    (tmp_path / "e.txt").write_text("not a record")
    code, out, err = invoke("count", tmp_path)
    assert (code, err) == (0, f"tfrecs: skipped 1 file that is not TFRecord: {tmp_path}/e.txt\n")
    assert f"{'5':>10}  total" in out
    for command in ("count", "verify", "index"):
        said = json.loads(invoke(command, "--json", tmp_path)[1])
        assert said["skipped"] == [f"{tmp_path}/e.txt"]
        assert len(said["files"]) == 5
    assert f"{'3':>10}  total" in invoke("count", tmp_path / "**" / "*.tfrec*")[1]
    (tmp_path / "empty").mkdir()
    code, _, err = invoke("count", tmp_path / "empty")
    assert code == 1
    assert err == f"tfrecs: {tmp_path}/empty: no TFRecord file in this folder (it has no others)\n"


# ---------------------------------------------------------------- verify


def test_verify(good: Path, damaged: Path, page: Path, tmp_path: Path) -> None:
    code, out, err = invoke("verify", good)
    assert (code, err) == (0, "")
    assert out == f"ok                   3 records  GZIP  {good}\n"
    code, out, err = invoke("verify", good, damaged, page, tmp_path / "nope")
    assert (code, err) == (1, "")
    assert [line.split()[0] for line in out.splitlines() if not line.startswith(" ")] == [
        "ok",
        "DAMAGED",
        "NO",
        "UNREADABLE",
        "5",
    ]
    assert f"  2 records  -     {damaged}\n    record 2 at byte 34: corrupted record: " in out
    assert "\n5 sound records in 4 files; 3 files are damaged\n" in out


def test_verify_as_json(good: Path, damaged: Path) -> None:
    code, out, err = invoke("verify", "--json", good, damaged)
    found = json.loads(out)
    assert (code, err) == (1, "")
    assert (found["ok"], found["records"]) == (False, 5)
    assert found["files"][0]["compression_type"] == "GZIP"
    assert found["files"][0]["error"] is None
    assert found["files"][1]["error"] == {
        "type": "CorruptRecordError",
        "message": f"{damaged}: record 2 at byte 34: corrupted record: "
        "the checksum of its data does not match",
        "record": 2,
        "offset": 34,
        "reason": "corrupted record: the checksum of its data does not match",
    }


def test_every_cut_and_flip_is_found(tmp_path: Path) -> None:
    records = [b"some", b"records"]
    whole = frames.plain(records)
    boundaries = {*frames.starts(records), len(whole)}
    path = tmp_path / "bad.tfrecord"
    for end in range(len(whole) + 1):
        path.write_bytes(whole[:end])
        assert invoke("verify", path)[0] == (end not in boundaries)
    for place in range(len(whole)):
        flipped = bytearray(whole)
        flipped[place] ^= 1
        path.write_bytes(flipped)
        assert invoke("verify", path)[0] == 1


# ---------------------------------------------------------------- head


def test_head(tmp_path: Path) -> None:
    features = {
        "title": 'a "quoted" line\nand more',
        "image": PNG,
        "scores": [0.1, 2.0],
        "ids": list(range(100)),
        "empty": [],
        "raw": b"\xff\x00",
    }
    record = tfrecs.encode_example(features)
    path = write(tmp_path / "a.tfrecord", record, b"", b"hello", b"\xff")
    code, out, err = invoke("head", path)
    assert (code, err) == (0, "")
    lines = [line.rstrip() for line in out.splitlines()]
    assert lines[:8] == [
        str(path),
        f"record 0: Example, {len(record)} bytes",
        "  empty   -          0",
        "  ids     int64    100  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 1…",
        "  image   bytes      1  108 bytes: image/png",
        "  raw     bytes      1  b'\\xff\\x00'",
        "  scores  float32    2  0.1, 2.0",
        '  title   bytes      1  "a \\"quoted\\" line\\nand more"',
    ]
    assert "record 1: Example, 0 bytes" in lines
    assert lines[lines.index("record 2: not an Example, 5 bytes") + 1] == '  "hello"'
    assert lines[lines.index("record 3: not an Example, 1 byte") + 1] == "  b'\\xff'"
    assert max(map(len, lines[1:])) <= 80


def test_head_of_a_sequence(tmp_path: Path) -> None:
    record = tfrecs.encode_sequence_example({"id": 7}, {"tokens": [["a"], ["b", "c"]], "none": []})
    path = write(tmp_path / "a.tfrecord", record)
    out = invoke("head", path)[1]
    assert "record 0: SequenceExample, " in out
    assert re.search(r"id +int64 +1  7", out)
    assert re.search(r'tokens +bytes +2 steps  \["a"\], \["b", "c"\]', out)
    found = json.loads(invoke("head", "--json", path)[1])
    assert found["type"] == "SequenceExample"
    assert found["context"] == {"id": [7]}
    assert found["feature_lists"] == {"tokens": [["a"], ["b", "c"]], "none": []}


def test_head_shows_as_many_as_asked_for(good: Path) -> None:
    for asked, shown in ((0, 0), (1, 1), (2, 2), (9, 3)):
        assert invoke("head", "-n", str(asked), good)[1].count("record ") == shown
    assert len(invoke("head", "--json", "-n", "2", good)[1].splitlines()) == 2


def test_head_shows_what_comes_before_damage(damaged: Path) -> None:
    code, out, err = invoke("head", "--json", damaged)
    assert code == 1
    assert [json.loads(line)["record"] for line in out.splitlines()] == [0, 1]
    assert "record 2 at byte 34" in err
    assert invoke("head", "--json", "--no-verify", damaged)[0] == 0


def test_head_as_json(tmp_path: Path) -> None:
    features = {
        "text": ["é", "\x1b[31m\x7f"],
        "bytes": b"\xff\xfe",
        "int": 2**63 - 1,
        "float": [0.1, float("nan"), float("inf"), float("-inf"), 1e-45],
        "empty": [],
    }
    path = write(tmp_path / "a.tfrecord", tfrecs.encode_example(features), b"\xff")
    code, out, _ = invoke("head", "--json", path)
    first, second = map(json.loads, out.splitlines())
    assert code == 0
    assert first == {
        "path": str(path),
        "record": 0,
        "type": "Example",
        "features": {
            "text": ["é", "\x1b[31m\x7f"],
            "bytes": [{"base64": "//4="}],
            "int": [2**63 - 1],
            "float": [0.1, "NaN", "Infinity", "-Infinity", 1e-45],
            "empty": [],
        },
    }
    assert second["type"] == "bytes"
    assert second["data"] == {"base64": "/w=="}
    assert out.isascii()


# ---------------------------------------------------------------- what terminals must not see

EVIL = "\x1b[2J\x1b]0;title\x07\x9b31m\r\x08\u202e\x00[red]:smile:"


def steers(text: str) -> bool:
    """Whether there is anything in the output of a command that could steer a terminal."""
    return any(not is_printable(char) for char in text.replace("\n", ""))


def test_control_characters_do_not_get_through(tmp_path: Path) -> None:
    name = EVIL.replace("\0", "").replace("/", "")
    feature = {
        EVIL: EVIL,
        "bytes": EVIL.encode() + b"\xff",
        "latin": EVIL.encode("latin-1", "ignore"),
    }
    example = tfrecs.encode_example(feature)
    sequence = tfrecs.encode_sequence_example({EVIL: EVIL}, {EVIL: [EVIL]})
    path = write(tmp_path / name, example, sequence, EVIL.encode())
    for arguments in (["head"], ["head", "--json"], ["count"], ["verify"]):
        code, out, err = invoke(*arguments, path)
        assert (code, err) == (0, "")
        assert not steers(out)
        assert "[red]:smile:" in out
    for arguments in (["head"], ["count"], ["verify"]):
        path.write_bytes(path.read_bytes()[:-1])
        code, out, err = invoke(*arguments, path)
        assert code == 1
        assert not steers(out + err)


@given(st.text() | st.characters(codec=None).map(str))
@example("a\u034fb")  # a character that str.isprintable() accepts, but that shows as nothing
def test_printable_text_is_as_it_is_and_the_rest_escaped(text: str) -> None:
    shown = printable(text)
    assert is_printable(shown)
    assert (shown == text) == is_printable(text)
    assert shown == "".join(printable(char) for char in text)


@given(
    st.binary(max_size=400) | st.text(max_size=400).map(lambda text: text.encode(errors="ignore"))
)
def test_any_record_is_shown_in_printable_lines(record: bytes) -> None:
    shown = interpret(record)
    assert shown.type in get_args(Type)
    assert is_printable(bytes_text(record))
    assert len(bytes_text(record)) < 400


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (7, "7"),
        (0.10000000149011612, "0.1"),
        (float("nan"), "nan"),
        (b"", '""'),
        ("日本".encode(), '"日本"'),
        (b"a\tb\r\n", '"a\\tb\\r\\n"'),
        (b"\x1b[31m", "b'\\x1b[31m'"),
        (bytes(20), "20 bytes: b'" + "\\x00" * 16 + "'…"),
        (b"\xff\xd8\xff\xe0" + bytes(20), "24 bytes: image/jpeg"),
        (b"RIFF\xff\xff\xff\xffWEBPVP8 ", "16 bytes: image/webp"),
        (b"BM\x1e\x00\x00\x00" + bytes(24), "30 bytes: image/bmp"),
        (b"BM\x1f\x00\x00\x00" + bytes(24), "30 bytes: b'BM\\x1f" + "\\x00" * 13 + "'…"),
        (b"x" * 1000, '"' + "x" * 299 + "…"),
    ],
)
def test_values(value: float | bytes, text: str) -> None:
    assert value_text(value) == text


def test_what_records_are_taken_for() -> None:
    assert interpret(tfrecs.encode_example({})).type == "Example"
    assert interpret(b"\x0a\x00").type == "Example"
    assert interpret(b"").type == "Example"
    assert interpret(tfrecs.encode_example({"a": 1})).type == "Example"
    assert interpret(b"\t\x00\x00\x80o\xf2\xdd\xd6A\x1a\rbrain.Event:2").type == "Event"
    assert interpret(b"hello world").type == "bytes"


# ---------------------------------------------------------------- real files


def test_real_files(shared_data: Path) -> None:
    manifest = json.loads((shared_data / "MANIFEST.json").read_text())
    for entry in manifest:
        if entry["category"] != "valid":
            continue
        code, out, err = invoke("head", "-n", "1", "--json", shared_data / entry["file"])
        assert (code, err) == (0, ""), entry["file"]
        found = json.loads(out)
        kind = {"tf.train.Example": "Example", "tf.train.SequenceExample": "SequenceExample"}
        is_event = "tfevents" in entry["file"]
        wanted = "Event" if is_event else kind.get(entry["kind"], "bytes")
        assert found["type"] == wanted, entry["file"]
        assert invoke("count", shared_data / entry["file"])[1].split()[0] == str(entry["records"])
