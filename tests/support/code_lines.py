"""How many lines of code a file has: no blank lines, comments and docstrings."""

import ast
import io
import re
import tokenize
from pathlib import Path

_LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
_RUST_COMMENTS = re.compile(r"/\*.*?\*/|^\s*//[^\n]*$", re.DOTALL | re.MULTILINE)


def code_lines(path: Path) -> int:
    text = path.read_text()
    return rust_lines(text) if path.suffix == ".rs" else python_lines(text)


def python_lines(text: str) -> int:
    """Count those of Python.

    Example:
        >>> python_lines('"A docstring."\\n\\n# Why.\\nx = [\\n    1\\n]\\n')
        3
    """
    lines = {
        number
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in _LAYOUT
        for number in range(token.start[0], token.end[0] + 1)
    }
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def rust_lines(text: str) -> int:
    """Count those of Rust.

    Example:
        >>> rust_lines("//! Why.\\n\\nfn one() -> u8 {\\n    1 // and so on\\n}\\n")
        3
    """
    return sum(1 for line in _RUST_COMMENTS.sub("", text).splitlines() if line.strip())
