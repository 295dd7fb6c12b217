"""The changes that CONTRIBUTING.md shows can be made as they stand."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from needs import REPO


def changes(diff: str) -> Iterator[tuple[str, str, str]]:
    """The file of each hunk, what stands there, and what is to."""
    for part in re.split(r"^--- .*\n\+\+\+ b/", diff, flags=re.MULTILINE)[1:]:
        name, _, hunks = part.partition("\n")
        for hunk in re.split(r"^@@.*\n", hunks, flags=re.MULTILINE)[1:]:
            lines = [line or " " for line in hunk.splitlines()]
            old = [line[1:] for line in lines if line[0] in " -"]
            new = [line[1:] for line in lines if line[0] in " +"]
            yield name, "\n".join(old), "\n".join(new)


def apply(diff: str, root: Path) -> None:
    for name, old, new in changes(diff):
        path = root / name
        text = path.read_text() if path.exists() else ""
        assert text.count(old) == 1 or not text, f"{name} has changed: {old}"
        path.write_text(text.replace(old, new) if old else f"{new}\n")


SCRIPT = """
import tfrecs, tfrecs.testing
assert tfrecs.__file__.startswith({root!r}), tfrecs.__file__
with tfrecs.RecordWriter("seven.tfrecord") as out:
    out.write_batch([b"%d" % n for n in range(7)])
ds = tfrecs.Dataset("seven.tfrecord").pairwise()
print(len(list(ds)), list(ds)[:2])
for plan in (ds, ds.shard(2, 1), ds.take(3), ds.batch(2), ds.prefetch(2)):
    tfrecs.testing.assert_resumes(plan)
"""


def test_a_transform(tmp_path: Path) -> None:
    text = (REPO / "CONTRIBUTING.md").read_text()
    (diff,) = re.findall(r"```diff\n(.*?)```", text, re.DOTALL)
    shutil.copytree(
        REPO / "python", tmp_path / "python", ignore=shutil.ignore_patterns("__pycache__")
    )
    apply(diff, tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(root=str(tmp_path))],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path / "python")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout == "6 [(b'0', b'1'), (b'1', b'2')]\n"
