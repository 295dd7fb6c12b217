"""Run the commands with hostile arguments, made from their options, in a confined process.

`python hostile_commands.py` prints a line of JSON for each run that ended by anything but the exit
codes of the page docs/cli.md, and "done" at the end.
"""

from __future__ import annotations

import contextlib
import io
import signal
import sys
from collections.abc import Iterator
from typing import Any

import hostile_child as child
import typer

import tfrecs.cli

HOSTILE = [
    "",
    "no such name",
    "x" * 300,
    "\udcff",
    "\ud800",
    "a\0b",
    "-1",
    "0",
    "1e999",
    "nan",
    str(2**64),
    str(-(2**70)),
    "train=nan",
    "a=b=c",
    "=",
    "*",
    "{}",
]

# Arguments of sound runs.
SOUND = {
    "count": ["sound.tfrecord"],
    "head": ["sound.tfrecord"],
    "index": ["sound.tfrecord"],
    "verify": ["sound.tfrecord"],
    "repair": ["sound.tfrecord", "repaired.tfrecord", "--overwrite"],
    "convert": ["table.csv", "converted", "--overwrite"],
}


def runs() -> Iterator[list[str]]:
    """Yield the arguments of runs: sound ones, but for one that is hostile."""
    from tfrecs.cli.app import app

    group: Any = typer.main.get_command(app)
    for command, sound in SOUND.items():
        yield [command, *sound]
        for hostile in HOSTILE:
            for place in range(len(sound)):
                yield [command, *sound[:place], hostile, *sound[place + 1 :]]
            for option in group.commands[command].params:
                for name in option.opts:
                    if name.startswith("-"):
                        yield [command, *sound, name, hostile]
            yield [hostile, *sound]


def outcome(arguments: list[str]) -> str | None:
    """Return what is wrong with how a run ended, or None."""
    sys.argv = ["tfrecs", *arguments]
    printed = io.TextIOWrapper(io.BytesIO(), write_through=True)
    signal.alarm(child.SECONDS)
    try:
        with contextlib.redirect_stderr(printed), contextlib.redirect_stdout(printed):
            tfrecs.cli.main()
    except SystemExit as end:
        return None if end.code in (None, 0, 1, 2) else f"exit code {end.code}"
    except BaseException as error:  # noqa: BLE001 - a panic is a BaseException
        return f"{type(error).__name__}: {ascii(str(error))[:150]}"
    finally:
        signal.alarm(0)
    return "it did not end the process"


def main() -> None:
    child.write_sound_file()
    with open("table.csv", "w") as table:  # noqa: PTH123
        table.write("a,b\n1,2\n3,4\n")
    for command, sound in SOUND.items():
        outcome([command, *sound])  # which imports whatever it needs
    each = [*runs()]
    "".encode("unicode_escape")  # what cannot be printed
    child.confine()
    for arguments in each:
        if (wrong := outcome(arguments)) is not None:
            child.tell(f"{arguments!a}: {wrong}")
    child.tell("done")


if __name__ == "__main__":
    main()
