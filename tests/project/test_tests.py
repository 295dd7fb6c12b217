"""No test passes without having tested: rules for the source of all tests."""

import ast
from collections.abc import Callable, Iterator

import pytest
from needs import REPO

TESTS = REPO / "tests"
FILES = sorted(path for path in TESTS.rglob("*.py") if path != TESTS / "support" / "needs.py")
# A call of such a name, or of a name that begins so, fails the test if something is wrong.
CLAIMS = {"raises", "warns", "fail", "same"}
CLAIM_BEGINNINGS = ("check", "assert")
# What also catches a failed assert.
CATCHES_ALL = {"AssertionError", "Exception", "BaseException", ""}

Function = ast.FunctionDef | ast.AsyncFunctionDef
Rule = Callable[[ast.AST], Iterator[str]]


def is_claim(node: ast.AST) -> bool:
    name = ast.unparse(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""
    return (
        isinstance(node, ast.Assert | ast.Raise)
        or name in CLAIMS
        or name.startswith(CLAIM_BEGINNINGS)
    )


def own_nodes(function: Function) -> Iterator[ast.AST]:
    """All nodes of the function, without those of functions defined in it."""
    waiting: list[ast.AST] = [*function.body]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, Function | ast.Lambda | ast.ClassDef):
            yield node
            waiting.extend(ast.iter_child_nodes(node))


def early_returns(tree: ast.AST) -> Iterator[str]:
    """Tests that end before any claim; `hypothesis.assume` at least counts what it drops."""
    tests = (node for node in ast.walk(tree) if isinstance(node, Function))
    for test in (test for test in tests if test.name.startswith("test_")):
        nodes = [*own_nodes(test)]
        claims = [getattr(node, "lineno", 0) for node in nodes if is_claim(node)]
        for node in nodes:
            if isinstance(node, ast.Return) and min(claims, default=node.lineno) >= node.lineno:
                yield f"{test.name}: return in line {node.lineno}"


def skips(tree: ast.AST) -> Iterator[str]:
    """Skips that CI would not see. `skipif`, for another kind of system, is allowed."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in {"skip", "importorskip", "xfail"}:
            owner = ast.unparse(node.value)
            if owner in {"pytest", "pytest.mark", "unittest"}:
                yield f"{owner}.{node.attr} in line {node.lineno}: use needs.py"


def swallowed_asserts(tree: ast.AST) -> Iterator[str]:
    """`try: assert ...; except Exception: pass` and its like."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Try) or not any(
            isinstance(inner, ast.Assert) for part in node.body for inner in ast.walk(part)
        ):
            continue
        for handler in node.handlers:
            caught = "" if handler.type is None else ast.unparse(handler.type)
            forgets = all(
                isinstance(it, ast.Pass | ast.Continue | ast.Return) for it in handler.body
            )
            if caught in CATCHES_ALL and forgets:
                yield f"assert in try, line {handler.lineno}"


RULES: list[Rule] = [early_returns, skips, swallowed_asserts]


@pytest.mark.parametrize("rule", RULES)
def test_every_test_tests(rule: Rule) -> None:
    assert len(FILES) > 100
    found = {str(path.relative_to(TESTS)): [*rule(ast.parse(path.read_text()))] for path in FILES}
    assert not {path: places for path, places in found.items() if places}


@pytest.mark.parametrize(
    ("rule", "text", "count"),
    [
        (early_returns, "def test_a():\n if a:\n  return\n assert b", 1),
        (early_returns, "def test_a():\n assert b\n if a:\n  return", 0),
        (early_returns, "def test_a():\n def f():\n  return\n assert f", 0),
        (skips, "a = pytest.importorskip('a')", 1),
        (skips, "@pytest.mark.xfail\ndef test(): pass", 1),
        (skips, "@pytest.mark.skipif(a, reason='')\ndef test(): pass", 0),
        (swallowed_asserts, "try:\n assert a\nexcept Exception:\n pass", 1),
        (swallowed_asserts, "try:\n assert a\nexcept Exception:\n raise", 0),
        (swallowed_asserts, "try:\n assert a\nexcept OSError:\n pass", 0),
    ],
)
def test_the_rules_find_what_they_are_for(rule: Rule, text: str, count: int) -> None:
    assert len([*rule(ast.parse(text))]) == count
