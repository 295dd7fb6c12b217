"""Describe a mistake on the command line, without the parsing library's own text.

The library's exceptions name the parameter and the value; what an option allows is read from the
annotations of the command's function, which are the same for every version of the library.
"""

import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer

# typer raises its own copy of click's exceptions, or click's, depending on its version.
_raised = sys.modules[typer.BadParameter.__module__]
UsageError: type[Exception] = _raised.UsageError
# Raised by a command line without arguments, to show the help; older versions have none.
HelpWanted: type[Exception] | None = getattr(_raised, "NoArgsIsHelpError", None)

Commands = dict[str, Callable[..., None]]


def describe(error: Exception, group: Any, arguments: Sequence[str], functions: Commands) -> str:
    """Return the lines that say what is wrong, and where to look it up."""
    first = next((word for word in arguments if not word.startswith("-")), "")
    known = first in group.commands
    command = group.commands[first] if known else group
    text = _problem(error, command, first, functions.get(first))
    return f"{text}\nsee `tfrecs {first} --help`" if known else f"{text}\nsee `tfrecs --help`"


def _problem(error: Any, command: Any, word: str, function: Callable[..., None] | None) -> str:
    param = getattr(error, "param", None)
    if isinstance(error, _raised.NoSuchOption):
        return _unknown_option(error, command)
    if isinstance(error, _raised.BadOptionUsage):
        return _option_value(error.option_name, command)
    if isinstance(error, _raised.MissingParameter):
        return f"{_name(param)} is missing"
    if isinstance(error, typer.BadParameter):
        # Without a parameter, one of the commands has raised it, and the text is ours.
        return _wrong_value(error, param, function) if param else str(error)
    return _wrong_words(command, word)


def _unknown_option(error: Any, command: Any) -> str:
    names = [name for param in command.params for name in _spellings(param)]
    near = get_close_matches(error.option_name, names, n=1) or sorted(error.possibilities or [])[:1]
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"unknown option {error.option_name!r}{hint}"


def _option_value(option: str, command: Any) -> str:
    """Describe an option that lacks its value, or has one though it takes none."""
    param = next(param for param in command.params if option in _spellings(param))
    if getattr(param, "is_flag", False):
        return f"{option} takes no value"
    return f"{option} needs a value" + (f": {option} {param.metavar}" if param.metavar else "")


def _wrong_value(error: Any, param: Any, function: Callable[..., None] | None) -> str:
    cause = error.__cause__
    given = f", not {cause.errors()[0]['input']!r}" if hasattr(cause, "errors") else ""
    hints = get_type_hints(function, include_extras=True) if function else {}
    return f"{_name(param)} takes {_allowed(hints.get(param.name))}{given}"


def _allowed(hint: Any) -> str:
    """Return what values an annotation allows.

    Example:
        >>> _allowed(Annotated[int | None, typer.Option(min=1)])
        'a whole number of at least 1'
        >>> _allowed(Literal["fail", "skip"])
        'fail or skip'
    """
    kind, info = get_args(hint)[:2] if get_origin(hint) is Annotated else (hint, None)
    if get_origin(kind) is Literal:
        return " or ".join(get_args(kind))
    if int in (kind, *get_args(kind)):
        least = getattr(info, "min", None)
        return "a whole number" + ("" if least is None else f" of at least {least}")
    return "another value"


def _wrong_words(command: Any, word: str) -> str:
    """Describe a word that is no command, or arguments after the last that a command takes."""
    if not hasattr(command, "commands"):
        takes = [param.metavar for param in command.params if param.param_type_name == "argument"]
        return f"too many arguments: {word} takes {' and '.join(takes) or 'none'}"
    if not word:
        return f"a command is missing: {', '.join(command.commands)}"
    near = get_close_matches(word, command.commands, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(command.commands)}"
    return f"unknown command {word!r}; {hint}"


def _name(param: Any) -> str:
    """Return an option's long spelling, or what the help calls an argument."""
    if param.param_type_name == "argument":
        return str(param.metavar)
    return max(param.opts, key=len)  # type: ignore[no-any-return]


def _spellings(param: Any) -> list[str]:
    is_option = param.param_type_name == "option"
    return [*param.opts, *param.secondary_opts] if is_option else []
