"""`tfrecs index`: where it writes, and what."""

import json
import subprocess
import sys
from pathlib import Path

import frames
import needs
import pytest

import tfrecs

needs.optional("typer")
needs.optional("rich")

MAIN = [sys.executable, "-c", "from tfrecs.cli import main; main()"]
RECORDS = [b"a", b"bc", b""]


def index(*arguments: str | Path) -> tuple[int, str, str]:
    """Run `tfrecs index`: exit code, standard output, standard error."""
    command = [*MAIN, "index", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(params=frames.CODECS)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return frames.save(tmp_path / "a", frames.compressed(request.param, frames.plain(RECORDS)))


def test_beside_the_file(path: Path) -> None:
    code, out, err = index(path)
    hidden = path.with_name(".a.tfrindex")
    size = hidden.stat().st_size
    assert (code, out, err) == (0, f"         3 records  {size:>9} bytes  {hidden}\n", "")
    records = tfrecs.open(path)
    assert (records.index_paths, list(records)) == ([str(hidden)], RECORDS)


def test_elsewhere(path: Path, tmp_path: Path) -> None:
    code, out, err = index("--output-dir", tmp_path / "new" / "folder", "--json", path)
    place = tmp_path / "new" / "folder" / "a.tfrindex"
    line = {"path": str(path), "index": str(place), "records": 3, "bytes": place.stat().st_size}
    assert (code, json.loads(out), err) == (0, {"files": [line], "skipped": []}, "")
    assert list(tfrecs.open(path, index_paths=place)) == RECORDS


def test_texts(path: Path, tmp_path: Path) -> None:
    code, out, err = index("--format", "text", path)
    if tfrecs.RecordReader(path).compression_type:
        assert (code, out) == (2, "")
        assert "a text index is of offsets in the file, and this one is compressed" in err
    else:
        assert (tmp_path / "a.idx").read_text() == "0 17\n17 18\n35 16\n"
        assert (code, err) == (0, "")
