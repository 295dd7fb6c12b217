"""What all commands share: the application they register with, exit codes, and their inputs."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import tfrecs
from tfrecs.cli.terminal import complain
from tfrecs.cli.usage import Commands, HelpWanted, UsageError, describe
from tfrecs.errors import Error, SpecError, file_error
from tfrecs.storage.folders import FoundFiles, find_files

FAILED = 1
USAGE = 2
INTERRUPTED = 130

Paths = Annotated[
    list[str],
    typer.Argument(
        help="Files, folders (all TFRecord files in them) or quoted patterns.",
        metavar="PATHS",
    ),
]

MaxRecordBytes = Annotated[
    int | None,
    typer.Option(min=1, metavar="BYTES", help="Fail at a record that is longer."),
]
MaxDecompressedBytes = Annotated[
    int | None,
    typer.Option(min=1, metavar="BYTES", help="Fail if more comes out of a compressed file."),
]

_functions: Commands = {}


class _Group(TyperGroup):
    def main(self, args: Sequence[str] | None = None, *others: Any, **options: Any) -> Any:
        """Run the command line; describe wrong usage in our own words."""
        arguments = sys.argv[1:] if args is None else list(args)
        options["standalone_mode"] = False
        try:
            code = super().main(arguments, *others, **options)
        except UsageError as error:
            code = USAGE
            if HelpWanted is not None and isinstance(error, HelpWanted):
                error.show()  # type: ignore[attr-defined]
            else:
                for line in describe(error, self, arguments, _functions).splitlines():
                    complain(line)
        except typer.Abort:
            code = INTERRUPTED
        sys.exit(code)


app = typer.Typer(
    name="tfrecs",
    cls=_Group,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: the examples in it can be copied from a terminal
    context_settings={"help_option_names": ["-h", "--help"]},
)


def run() -> None:
    """Run the command line, and end the process with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # of a process
    app()


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Register a command. What it raises becomes a line on standard error and an exit code."""
    _functions[function.__name__] = function

    @app.command()
    @wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> None:
        with _exit_codes():
            function(*args, **kwargs)
            sys.stdout.flush()

    return guarded


@contextmanager
def _exit_codes() -> Iterator[None]:
    try:
        yield
    except SpecError as error:
        complain(str(error))
        raise typer.Exit(USAGE) from error
    except BrokenPipeError as error:
        _close_stdout()
        raise typer.Exit from error
    except KeyboardInterrupt as error:
        complain("interrupted")
        raise typer.Exit(INTERRUPTED) from error
    except Error as error:
        complain(str(error))
        raise typer.Exit(FAILED) from error
    except OSError as error:
        if error.filename is not None:
            complain(str(file_error(error, os.fsdecode(error.filename))))
            raise typer.Exit(FAILED) from error
        _close_stdout()
        complain(f"cannot print: {error.strerror}")
        raise typer.Exit(FAILED) from error


def _close_stdout() -> None:
    """Throw away what is left to print: whoever read it has gone, or there is no room for it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tfrecs {tfrecs.__version__}")
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Look into TFRecord files, check them, and make them from other formats.

    Exit codes: 0 fine, 1 damage found or failed, 2 wrong usage.
    """


def files(paths: Iterable[str]) -> FoundFiles:
    """Return the files that are meant, and say on standard error which others folders have.

    Raises:
        MissingFileError: A pattern matches nothing, or a folder has no TFRecord file.
    """
    found = find_files(paths)
    if found.skipped:
        complain(found.skipped_line())
    return found
