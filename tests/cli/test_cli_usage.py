"""Wrong command lines: every command and option says what is wrong in our own words."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import needs
import pytest

needs.optional("typer")
needs.optional("rich")

import typer  # noqa: E402 - after it is known to be there
from typer.testing import CliRunner  # noqa: E402

from tfrecs.cli import COMMANDS  # noqa: E402
from tfrecs.cli.app import app  # noqa: E402

for _name in COMMANDS:  # they register with the application
    importlib.import_module(f"tfrecs.cli.{_name}")

GROUP: Any = typer.main.get_command(app)
# What the libraries below would say.
FOREIGN = [
    "Usage:",
    "Try '",
    "Error:",
    "Input should be",
    "Value error",
    "Missing argument",
    "Missing parameter",
    "Missing command",
    "No such",
    "Invalid value",
    "is not one of",
    "is not a valid",
    "requires an argument",
    "does not take a value",
    "Got unexpected",
    "Possible options",
    "Did you mean",
    "validation error",
    "pydantic",
    "click",
    "Traceback",
    "\u256d",
]


def arguments_of(command: str) -> list[str]:
    params = GROUP.commands[command].params
    return ["x" for param in params if param.param_type_name == "argument"]


def wrong_lines() -> Iterator[tuple[list[str], str]]:
    """Command lines, and what their error has to name."""
    yield ["cuont", "x"], "unknown command 'cuont'; did you mean count?"
    yield ["qqqq"], "unknown command 'qqqq'; there are count, "
    yield ["--nonsense"], "unknown option '--nonsense'"
    yield ["--versoin"], "did you mean --version?"
    yield ["--version=1"], "--version takes no value"
    yield ["--"], "a command is missing: count, "
    for name, command in GROUP.commands.items():
        words = arguments_of(name)
        yield [name], " is missing"
        yield [name, "--nonsense", *words], "unknown option '--nonsense'"
        if len(words) > 1:
            yield [name, *words, "more"], f"too many arguments: {name} takes "
        for param in command.params:
            if param.param_type_name == "option":
                for option in [*param.opts, *param.secondary_opts]:
                    yield from wrong_values(name, option, param, words)


def wrong_values(
    name: str, option: str, param: Any, words: list[str]
) -> Iterator[tuple[list[str], str]]:
    if len(option) > 4:
        yield [name, option[:-1] + "q", *words], f"did you mean {option}?"
    if param.is_flag:
        if option.startswith("--"):
            yield [name, f"{option}=1", *words], f"{option} takes no value"
        return
    yield [name, *words, option], f"{option} needs a value"
    long = max(param.opts, key=len)
    if param.name in {"format", "on_error"}:
        yield [name, option, "foo", *words], ", not 'foo'"
        yield [name, option, "foo", *words], f"{long} takes "
    if param.name in {"records", "seed", "max_lost_bytes"} or param.metavar == "BYTES":
        for wrong in ("many", "1.5", ""):
            yield [name, option, wrong, *words], f"{long} takes a whole number"
        if param.name != "seed":
            yield [name, option, "-1", *words], ", not '-1'"


LINES = list(wrong_lines())


@pytest.mark.parametrize(("line", "text"), LINES, ids=[" ".join(line) for line, _ in LINES])
def test_wrong_usage_is_described_in_our_words(line: list[str], text: str) -> None:
    done = CliRunner().invoke(app, line)
    assert (done.exit_code, done.stdout) == (2, "")
    said = done.stderr.splitlines()
    assert 1 <= len(said) <= 2
    assert all(one.startswith("tfrecs: ") for one in said)
    assert text in said[0]
    command = f"tfrecs {line[0]}" if line[0] in COMMANDS else "tfrecs"
    assert said[1] == f"tfrecs: see `{command} --help`"
    assert [phrase for phrase in FOREIGN if phrase in done.stderr] == []


def test_every_command_and_option_is_walked() -> None:
    walked = {(line[0], word.partition("=")[0]) for line, _ in LINES for word in line[1:]}
    for name, command in GROUP.commands.items():
        for param in command.params:
            if param.param_type_name == "option" and "--help" not in param.opts:
                assert {(name, max(param.opts, key=len))} <= walked


@pytest.mark.parametrize("line", [["--help"], ["--version"], ["count", "--help"], ["head", "-h"]])
def test_what_is_asked_for_exits_with_0(line: list[str]) -> None:
    done = CliRunner().invoke(app, line)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout
