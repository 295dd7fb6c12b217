"""Tokens of Rust code: no comments or attributes, no unit tests, no code for other systems."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

TOKEN = re.compile(
    r"""
    (?P<space>\s+|//[^\n]*)
  | (?P<comment>/\*)
  | (?P<raw>b?r(?P<hashes>\#*)")
  | (?P<string>[bc]?"(?:\\.|[^"\\])*")
  | (?P<char>b?'(?:\\[^']+|\\'|[^'\\])')
  | (?P<lifetime>'\w+)
  | (?P<number>\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?\w*)
  | (?P<name>\w+)
  | (?P<sign><<=|>>=|\.\.=|\.\.\.|->|=>|::|<=|>=|==|!=|&&|\|\||<<|>>|[-+*/%&|^]=|\.\.|.)
    """,
    re.VERBOSE | re.DOTALL,
)
# Of a `cfg` that holds one of these the code is not compiled here (Linux, x86-64, no tests).
ELSEWHERE = re.compile(
    r"\btest\b|windows|macos|aarch64|not\s*\(\s*(?:unix|target_os|target_arch|target_endian)|big"
)
OPEN, CLOSE = "([{", ")]}"


@dataclass(frozen=True)
class Token:
    """Attributes:
    kind: Of the groups of TOKEN.
    spaced: Whether there is space before and after it.
    """

    kind: str
    text: str
    begin: int
    end: int
    spaced: bool = False


def tokens_of(source: str) -> list[Token]:
    """Return the tokens of the code that runs here."""
    return list(_compiled(list(_all_tokens(source))))


def _all_tokens(source: str) -> Iterator[Token]:
    place = 0
    while place < len(source):
        match = TOKEN.match(source, place)
        assert match is not None, source[place : place + 20]
        kind, end = match.lastgroup or "sign", match.end()
        if match["comment"]:
            kind, end = "space", _end_of_comment(source, place)
        elif match["raw"]:
            kind, end = "string", source.index('"' + match["hashes"], match.end()) + 1
            end += len(match["hashes"])
        if kind != "space":
            spaced = source[place - 1 : place].isspace() and source[end : end + 1].isspace()
            yield Token(kind, source[place:end], place, end, spaced)
        place = end


def _end_of_comment(source: str, place: int) -> int:
    """Comments nest."""
    depth = 0
    for match in re.compile(r"/\*|\*/").finditer(source, place):
        depth += 1 if match[0] == "/*" else -1
        if depth == 0:
            return match.end()
    return len(source)


def _compiled(tokens: list[Token]) -> Iterator[Token]:
    """Leave out attributes, and the items whose `cfg` is not for here."""
    place = 0
    while place < len(tokens):
        is_attribute = tokens[place].text == "#" and _text(tokens, place + 1) in ("[", "!")
        if not is_attribute:
            yield tokens[place]
            place += 1
            continue
        begin = place + (2 if _text(tokens, place + 1) == "!" else 1)
        end = matching(tokens, begin)
        said = " ".join(token.text for token in tokens[begin : end + 1])
        place = end + 1
        if said.startswith("[ cfg (") and ELSEWHERE.search(said):
            place = _end_of_item(tokens, place)


def _text(tokens: list[Token], place: int) -> str:
    return tokens[place].text if place < len(tokens) else ""


def matching(tokens: list[Token], begin: int) -> int:
    """Return the place of the bracket that closes the one at `begin`."""
    depth = 0
    for place in range(begin, len(tokens)):
        text = tokens[place].text
        depth += (text in OPEN) - (text in CLOSE)
        if depth == 0:
            return place
    return len(tokens) - 1


def _end_of_item(tokens: list[Token], place: int) -> int:
    """Return the place after an item: its `;` or `,`, or the brace that ends it."""
    while place < len(tokens):
        text = tokens[place].text
        if text in (";", ","):
            return place + 1
        if text in OPEN:
            place = matching(tokens, place)
            if text == "{":
                return place + 1
        place += 1
    return place
