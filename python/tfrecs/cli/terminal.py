"""Writing to terminals and pipes, so that nothing that files contain can do harm there."""

import json
import re
import sys
from typing import Any

from rich.console import Console
from rich.text import Text


def printable(text: str) -> str:
    r"""Return `text` with everything that could steer a terminal, or deceive a reader, escaped.

    That is control characters (a file's name or feature can hold colours, titles, clipboard
    contents), characters that change the direction of writing, invisible and blank ones other than
    a space, and bytes that are no text at all.

    Example:
        >>> printable("red: \x1b[31m")
        'red: \\x1b[31m'
    """
    if is_printable(text):
        return text
    return "".join(char if is_printable(char) else _escaped(char) for char in text)


# Code points that show as nothing or as blank space, though str.isprintable() accepts them: those
# that Unicode calls Default_Ignorable_Code_Point (joiners, Hangul fillers, vowels that are not
# shown, selectors of variants), the Braille pattern without dots, the Khitan filler and the empty
# notehead. str.isprintable() refuses the others of that property.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U00016fe4\U0001d159\U000e0100-\U000e01ef]"
)


def is_printable(text: str) -> bool:
    r"""Return whether every character of `text` is a space or shows as something.

    Example:
        >>> is_printable("two words"), is_printable("fake\u3164space"), is_printable("\x1b[31m")
        (True, False, False)
    """
    return text.isprintable() and not _BLANK.search(text)


def _escaped(char: str) -> str:
    return char.encode("unicode_escape", "surrogatepass").decode("ascii")


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Let whoever called decide; rich would end the process with exit code 1."""
        raise BrokenPipeError


def console(*, stderr: bool = False) -> Console:
    """Return a console for standard output, or for standard error, as it is now."""
    return _Console(stderr=stderr, highlight=False, markup=False, emoji=False)


def say(*parts: str | tuple[str, str], stderr: bool = False) -> None:
    """Print a line: texts, or texts with a style, which show on a terminal only."""
    line = Text()
    for part in parts:
        text, style = (part, "") if isinstance(part, str) else part
        line.append(printable(text), style)
    console(stderr=stderr).print(line, soft_wrap=True)


def complain(text: str) -> None:
    """Print a line about what went wrong on standard error, after what was printed before."""
    sys.stdout.flush()
    say(("tfrecs: ", "bold red"), text, stderr=True)


def say_json(value: Any) -> None:
    """Print `value` as a line of JSON, all ASCII."""
    text = json.dumps(value, allow_nan=False)
    sys.stdout.write(text.replace("\x7f", "\\u007f") + "\n")
