"""All mutants of a Rust file, by its tokens. Some do not compile; those are not counted."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mutants.rust_tokens import Token, matching, tokens_of
from mutants.site import Mutant

SWAPPED = {
    "<=": ["<", ">"],
    ">=": [">", "<"],
    "==": ["!="],
    "!=": ["=="],
    "<": ["<=", ">="],
    ">": [">=", "<="],
    "&&": ["||"],
    "||": ["&&"],
    "+": ["-"],
    "-": ["+"],
    "*": ["/"],
    "/": ["*"],
    "%": ["/"],
    "+=": ["-="],
    "-=": ["+="],
    "<<": [">>"],
    ">>": ["<<"],
    "&": ["|"],
    "|": ["&"],
}
# Words that change what a call does.
PAIRS = [
    ("min", "max"),
    ("any", "all"),
    ("true", "false"),
    ("is_some", "is_none"),
    ("is_ok", "is_err"),
    ("first", "last"),
    ("saturating_sub", "saturating_add"),
    ("wrapping_add", "wrapping_sub"),
    ("checked_add", "checked_sub"),
]
WORDS = {**dict(PAIRS), **{second: first for first, second in PAIRS}}
CONSTANTS = {"true", "false"}
# A statement that begins so is none that can be dropped.
KEPT = re.compile(
    r"(?:let|return|use|pub|fn|const|static|type|mod|struct|enum|impl|unsafe|extern)$"
)
# Results that have a default.
DEFAULTS = re.compile(r"(?:u8|u16|u32|u64|usize|i32|i64|bool|Option<.*>|Vec<.*>|String)$")


def mutants_of(path: str, source: str) -> list[Mutant]:
    """Return every mutant of the file, in order."""
    tokens = tokens_of(source)
    functions = list(_functions(tokens))
    found = {
        _mutant(path, source, begin, end, text, what, functions)
        for begin, end, text, what in [*_of_tokens(tokens), *_dropped(tokens), *_emptied(tokens)]
    }
    return sorted(it for it in found if it.lines != (0, 0) or "constant" in it.what)


Change = tuple[int, int, str, str]


def _mutant(
    path: str,
    source: str,
    begin: int,
    end: int,
    text: str,
    what: str,
    functions: list[tuple[int, int]],
) -> Mutant:
    line = source.count("\n", 0, begin) + 1
    around = [it for it in functions if it[0] <= begin < it[1]]
    first, last = max(around, default=(0, 0))
    lines = (
        (source.count("\n", 0, first) + 1, source.count("\n", 0, last) + 1) if around else (0, 0)
    )
    return Mutant(path, begin, end, text, line, lines, what)


def _functions(tokens: list[Token]) -> Iterator[tuple[int, int]]:
    """Where the bodies of functions are, in characters."""
    for place in range(len(tokens)):
        if tokens[place].text == "fn" and (body := _body(tokens, place)) is not None:
            yield tokens[body].begin, tokens[matching(tokens, body)].end


def _body(tokens: list[Token], place: int) -> int | None:
    """Return where the body of the function that begins at `place` begins."""
    while place < len(tokens) and tokens[place].text not in (";", "{"):
        place = matching(tokens, place) if tokens[place].text in ("(", "[") else place
        place += 1
    return place if place < len(tokens) and tokens[place].text == "{" else None


def _of_tokens(tokens: list[Token]) -> Iterator[Change]:
    for place, token in enumerate(tokens):
        before = tokens[place - 1].text if place else ""
        after = tokens[place + 1].text if place + 1 < len(tokens) else ""
        if token.kind == "sign" and token.spaced and token.text in SWAPPED:
            if not _is_of_types(tokens, place):
                for text in SWAPPED[token.text]:
                    yield token.begin, token.end, text, f"swap {token.text}"
        elif token.text == "!" and before != "#" and not _is_operand(tokens, place - 1):
            yield token.begin, token.end, "", "drop !"
        elif token.kind == "number" and before != ".":
            yield from _constants(token)
        elif token.text in WORDS and (
            token.text in CONSTANTS or (before in (".", "::") and after == "(")
        ):
            yield token.begin, token.end, WORDS[token.text], f"swap {token.text}"


def _is_operand(tokens: list[Token], place: int) -> bool:
    """Whether a value may end there, so that `!` is of a macro's name."""
    return (
        place >= 0
        and tokens[place].kind == "name"
        and tokens[place].text not in (*("return", "if", "while", "in", "match", "else"),)
    )


def _is_of_types(tokens: list[Token], place: int) -> bool:
    """Whether it looks like the bound `A + 'a`, or the pattern `A | B`."""
    if tokens[place].text not in "+|":
        return False
    near = [tokens[at] for at in (place - 1, place + 1) if 0 <= at < len(tokens)]
    return any(
        token.kind == "lifetime" or re.match(r"[A-Z][a-z]\w*$", token.text) or token.text == "_"
        for token in near
    )


def _constants(token: Token) -> Iterator[Change]:
    match = re.fullmatch(r"(0[xob])?([\da-fA-F_]+?)((?:[ui](?:8|16|32|64|128|size))?)", token.text)
    if match is None:
        return
    base = {"0x": 16, "0o": 8, "0b": 2}.get(match[1] or "", 10)
    try:
        value = int(match[2].replace("_", ""), base)
    except ValueError:
        return
    yield token.begin, token.end, f"{value + 1}{match[3]}", "add 1 to a constant"
    if value:
        yield token.begin, token.end, f"{value - 1}{match[3]}", "take 1 from a constant"


def _dropped(tokens: list[Token]) -> Iterator[Change]:
    """Statements that end with `;`: calls and assignments."""
    for place, token in enumerate(tokens[:-1]):
        if token.text not in (";", "{", "}"):
            continue
        first, at = tokens[place + 1], place + 1
        if (first.kind != "name" and first.text != "*") or KEPT.match(first.text):
            continue
        while at < len(tokens) and tokens[at].text not in (";", "}", "{", ","):
            at = matching(tokens, at) if tokens[at].text in ("(", "[") else at
            at += 1
        if at < len(tokens) and tokens[at].text == ";" and at > place + 2:
            yield first.begin, tokens[at].end, "", "drop a statement"


def _emptied(tokens: list[Token]) -> Iterator[Change]:
    """Functions that return what a default of their result is."""
    for place in range(len(tokens)):
        if tokens[place].text != "fn" or (body := _body(tokens, place)) is None:
            continue
        texts = [token.text for token in tokens[place:body]]
        if "->" not in texts:
            continue
        result = "".join(texts[len(texts) - texts[::-1].index("->") :]).partition("where")[0]
        if DEFAULTS.match(result):
            end = tokens[matching(tokens, body)].end
            yield tokens[body].begin, end, "{ Default::default() }", "return the default"
