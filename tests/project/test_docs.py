"""Everything that README.md, docs/ and the docstrings show runs, in an empty folder.

A docstring's examples are doctests. On a page, in the order in which they stand there:

- a ```python block runs; all of a page share one namespace. With ``>>>`` it runs as a doctest;
- a ```console block runs its `$ tfrecs ...` lines in a shell (others, such as `$ make`, are not
  run), and what follows a command is its output, with `...` for what varies. A command succeeds,
  unless it says `# exits with 1`;
- a block that cannot run here is marked on the line above: `<!-- not run: reason -->`.
"""

import doctest
import importlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from needs import ELSEWHERE, MODULES, REPO, is_optional, missing

PAGES = [REPO / "README.md", *sorted((REPO / "docs").glob("**/*.md"))]
OUTPUT_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
COMMAND_TIMEOUT = 120

BLOCK = re.compile(
    r"(?P<not_run><!-- not run: .+? -->\n+)?"
    r"^```(?P<language>\w*)[^\n]*\n(?P<body>.*?)^```$",
    flags=re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Block:
    kind: str  # "python", "doctest" or "console"
    text: str
    line: int  # of the page, where `text` begins, from 1


def blocks(page: str) -> Iterator[Block]:
    """The blocks of `page` that run."""
    for match in BLOCK.finditer(page):
        kind = match["language"]
        if match["not_run"] or kind not in {"python", "console"}:
            continue
        text = match["body"]
        if kind == "python" and re.search(r"^>>> ", text, flags=re.MULTILINE):
            kind = "doctest"
        yield Block(kind, text, page.count("\n", 0, match.start("body")) + 1)


def run_python(block: Block, page: str, namespace: dict[str, Any]) -> None:
    source = "\n" * (block.line - 1) + block.text  # so that a traceback names the page's line
    exec(compile(source, page, "exec"), namespace)


def run_examples(test: doctest.DocTest) -> None:
    """Run the examples up to the first that fails."""
    try:
        doctest.DebugRunner(optionflags=OUTPUT_FLAGS).run(test, clear_globs=False)
    except doctest.UnexpectedException as error:
        raise error.exc_info[1] from None
    except doctest.DocTestFailure as failure:
        line = (test.lineno or 0) + failure.example.lineno + 1
        shown = f"{failure.example.source}says:\n{failure.example.want}and it is:\n{failure.got}"
        pytest.fail(f"{test.filename}:{line}: {shown}", pytrace=False)


def run_doctest(block: Block, page: str, namespace: dict[str, Any]) -> None:
    test = doctest.DocTestParser().get_doctest(block.text, {}, page, page, block.line - 1)
    test.globs = namespace
    run_examples(test)


@dataclass(frozen=True)
class Command:
    text: str
    output: str
    line: int


def commands(block: Block) -> Iterator[Command]:
    r"""The commands of a console block; one that ends in \ continues in the next line."""
    for match in re.finditer(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", block.text, re.MULTILINE):
        yield Command(match[1], match[2], block.line + block.text.count("\n", 0, match.start()))


def run_command(command: Command, page: str) -> None:
    where = f"{page}:{command.line}: $ {command.text}"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    run = subprocess.run(
        ["sh", "-c", command.text],
        env={**os.environ, "PATH": path, "COLUMNS": "100", "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=COMMAND_TIMEOUT,
        check=False,
    )
    said = re.search(r"# exits with (\d+)", command.text)
    assert run.returncode == (int(said[1]) if said else 0), f"{where}\n{run.stdout}"
    if command.output.strip():
        same = doctest.OutputChecker().check_output(command.output, run.stdout, OUTPUT_FLAGS)
        assert same, f"{where}\nthe page says:\n{command.output}\nand it is:\n{run.stdout}"


def run_console(block: Block, page: str) -> None:
    for command in commands(block):
        if command.text.startswith("tfrecs "):
            run_command(command, page)


def run_page(path: Path) -> None:
    page = path.relative_to(REPO).as_posix()
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(path.read_text()):
        match block.kind:
            case "python":
                run_python(block, page, namespace)
            case "doctest":
                run_doctest(block, page, namespace)
            case _:
                run_console(block, page)


@contextmanager
def missing_is_said() -> Iterator[None]:
    """An example may need an optional library."""
    try:
        yield
    except ModuleNotFoundError as error:
        name = error.name or ""
        if not is_optional(name):
            raise
        missing(name)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(REPO).as_posix())
def test_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with missing_is_said():
        run_page(page)


def docstrings(module: str) -> list[doctest.DocTest]:
    """The docstrings of `module` that have examples."""
    found = doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(module), module)
    return [test for test in found if test.examples]


@pytest.mark.parametrize("module", sorted(set(MODULES) - ELSEWHERE))
def test_docstrings_run(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with missing_is_said():
        for test in docstrings(module):
            (tmp_path / test.name).mkdir()
            monkeypatch.chdir(tmp_path / test.name)
            run_examples(test)


def test_a_docstring_is_found() -> None:
    assert any(
        docstrings(module) for module in set(MODULES) - ELSEWHERE - {"tfrecs.examples.messages"}
    )


PAGE = """\
```python
x = 1
```
```python
y = x + 1
```
```python
>>> x + y
3
```
<!-- not run: it cannot -->
```python
raise RuntimeError
```
```console
$ tfrecs --help \\
  more
out
  put
$ make demo
```
```text
not code
```
"""


def test_blocks_are_found() -> None:
    found = list(blocks(PAGE))
    assert [(block.kind, block.line) for block in found] == [
        ("python", 2),
        ("python", 5),
        ("doctest", 8),
        ("console", 16),
    ]
    assert list(commands(found[-1])) == [
        Command("tfrecs --help \\\n  more", "out\n  put\n", 16),
        Command("make demo", "", 20),
    ]


def test_blocks_share_a_namespace() -> None:
    namespace: dict[str, Any] = {}
    first, second, third, _ = blocks(PAGE)
    run_python(first, "page", namespace)
    run_python(second, "page", namespace)
    run_doctest(third, "page", namespace)
    assert namespace["y"] == 2


def test_wrong_output_is_an_error() -> None:
    with pytest.raises(pytest.fail.Exception, match="page:3: 1 \\+ 1"):
        run_doctest(Block("doctest", "text\n\n>>> 1 + 1\n3\n", 1), "page", {})
    with pytest.raises(AssertionError, match="the page says"):
        run_command(Command("echo a b", "a c\n", 1), "page")
    run_command(Command("echo a b; exit 3 # exits with 3", "a ...\n", 1), "page")
