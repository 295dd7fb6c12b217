"""All mutants of a Python file, by its syntax tree."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

from mutants.site import Mutant

COMPARISONS: dict[type[ast.cmpop], list[type[ast.cmpop]]] = {
    ast.Lt: [ast.LtE, ast.GtE],
    ast.LtE: [ast.Lt, ast.Gt],
    ast.Gt: [ast.GtE, ast.LtE],
    ast.GtE: [ast.Gt, ast.Lt],
    ast.Eq: [ast.NotEq],
    ast.NotEq: [ast.Eq],
    ast.Is: [ast.IsNot],
    ast.IsNot: [ast.Is],
    ast.In: [ast.NotIn],
    ast.NotIn: [ast.In],
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}
# What is no behaviour: types, and what only says what is there.
IGNORED_CALLS = {"TypeVar", "ParamSpec", "NewType", "overload", "cast"}
IGNORED_NAMES = {"__all__", "__slots__"}


def mutants_of(path: str, source: str) -> list[Mutant]:
    """Return every mutant of the file, in order."""
    return sorted(set(_Finder(path, source).found()))


class _Finder:
    def __init__(self, path: str, source: str) -> None:
        self._path = path
        self._source = source
        # Offsets of lines in characters; columns of nodes are bytes.
        self._lines = source.splitlines(keepends=True)
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))

    def found(self) -> Iterator[Mutant]:
        """Walk the tree, innermost function or class at hand, and leave out what does nothing."""
        yield from self._of_body(ast.parse(self._source).body, (0, 0))

    def _of_body(self, body: list[ast.stmt], around: tuple[int, int]) -> Iterator[Mutant]:
        for statement in body:
            yield from self._of_statement(statement, around)

    def _of_statement(self, node: ast.stmt, around: tuple[int, int]) -> Iterator[Mutant]:
        if _does_nothing(node):
            return
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inside = (node.lineno, node.end_lineno or node.lineno)
            if not isinstance(node, ast.ClassDef):
                for default in [*node.args.defaults, *filter(None, node.args.kw_defaults)]:
                    yield from self._of_expression(default, inside)
            yield from self._of_body(node.body, inside)
            return
        yield from self._of_whole(node, around)
        for name, value in ast.iter_fields(node):
            if name != "annotation":
                for part in value if isinstance(value, list) else [value]:
                    yield from self._of_part(part, around)

    def _of_part(self, part: object, around: tuple[int, int]) -> Iterator[Mutant]:
        if isinstance(part, ast.stmt):
            yield from self._of_statement(part, around)
        elif isinstance(part, ast.ExceptHandler | ast.match_case):
            yield from self._of_body(part.body, around)
        elif isinstance(part, ast.withitem):
            yield from self._of_expression(part.context_expr, around)
        elif isinstance(part, ast.expr):
            yield from self._of_expression(part, around)

    def _of_whole(self, node: ast.stmt, around: tuple[int, int]) -> Iterator[Mutant]:
        """Mutants of a statement as a whole: dropped, negated, without its value."""
        is_kept = isinstance(node, ast.Assign) and any(
            isinstance(it, ast.Name) for it in node.targets
        )
        dropped = (
            ast.Expr
            | ast.AugAssign
            | ast.Assign
            | ast.Delete
            | ast.Raise
            | ast.Continue
            | ast.Break
        )
        if isinstance(node, dropped) and not is_kept:
            yield self._mutant(node, "pass", around, "drop a statement")
        if isinstance(node, ast.Return) and node.value is not None and not _is_none(node.value):
            yield self._mutant(node, "return None", around, "return None")
        if isinstance(node, ast.If | ast.While):
            text = f"not ({ast.unparse(node.test)})"
            yield self._mutant(node.test, text, around, "negate a condition")
        if isinstance(node, ast.AugAssign) and type(node.op) in OPERATORS:
            changed = copy.deepcopy(node)
            changed.op = OPERATORS[type(node.op)]()
            yield self._mutant(node, ast.unparse(changed), around, "swap an operator")

    def _of_expression(self, root: ast.expr, around: tuple[int, int]) -> Iterator[Mutant]:
        waiting: list[ast.AST] = [root]
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.JoinedStr):
                continue  # before Python 3.12 what is in f-strings has no place of its own
            if isinstance(node, ast.Call) and _name_of(node.func) in IGNORED_CALLS:
                continue
            waiting.extend(ast.iter_child_nodes(node))
            if isinstance(node, ast.expr):
                for changed, what in _changed(node):
                    yield self._mutant(node, f"({ast.unparse(changed)})", around, what)

    def _mutant(
        self, node: ast.stmt | ast.expr, text: str, around: tuple[int, int], what: str
    ) -> Mutant:
        begin = self._place(node.lineno, node.col_offset)
        end = self._place(node.end_lineno or node.lineno, node.end_col_offset or 0)
        return Mutant(self._path, begin, end, text, node.lineno, around, what)

    def _place(self, line: int, column: int) -> int:
        text = self._lines[line - 1].encode()[:column].decode()
        return self._starts[line - 1] + len(text)


def _changed(node: ast.expr) -> Iterator[tuple[ast.expr, str]]:
    """What an expression becomes, and in what kind of change."""
    if isinstance(node, ast.Compare):
        yield from _changed_comparison(node)
    elif isinstance(node, ast.BinOp):
        if type(node.op) in OPERATORS and not _is_of_types(node):
            other = OPERATORS[type(node.op)]()
            yield ast.BinOp(node.left, other, node.right), "swap an operator"
    elif isinstance(node, ast.BoolOp):
        either = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield ast.BoolOp(either, node.values), "swap and, or"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand, "drop not"
    elif isinstance(node, ast.Constant):
        yield from _changed_constant(node)
    elif isinstance(node, ast.Name) and node.id in NAMES:
        yield ast.Name(NAMES[node.id]), "swap min, max, any, all"
    elif isinstance(node, ast.IfExp):
        yield ast.IfExp(node.test, node.orelse, node.body), "negate a condition"


def _changed_comparison(node: ast.Compare) -> Iterator[tuple[ast.expr, str]]:
    for number, operator in enumerate(node.ops):
        for other in COMPARISONS[type(operator)]:
            operators = [*node.ops]
            operators[number] = other()
            yield ast.Compare(node.left, operators, node.comparators), "swap a comparison"


def _changed_constant(node: ast.Constant) -> Iterator[tuple[ast.expr, str]]:
    if isinstance(node.value, bool):
        yield ast.Constant(not node.value), "flip a boolean"
    elif isinstance(node.value, int):
        yield ast.Constant(node.value + 1), "add 1 to a constant"
        yield ast.Constant(node.value - 1), "take 1 from a constant"


def _does_nothing(node: ast.stmt) -> bool:
    """Whether the statement is a docstring, an import, an assert, or about types only."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return _is_declaration(node)
    nothing = ast.Import | ast.ImportFrom | ast.Pass | ast.Global | ast.Nonlocal | ast.Assert
    return (
        isinstance(node, nothing)
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))
        or (isinstance(node, ast.AnnAssign) and _is_alias(node))
        or (isinstance(node, ast.Assign) and _name_of(node.targets[0]) in IGNORED_NAMES)
    )


def _is_alias(node: ast.AnnAssign) -> bool:
    return node.value is None or "TypeAlias" in ast.unparse(node.annotation)


def _is_declaration(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    named = {_name_of(it.func if isinstance(it, ast.Call) else it) for it in node.decorator_list}
    bases = {_name_of(it) for it in getattr(node, "bases", [])}
    return bool({"overload", "abstractmethod"} & named) or "Protocol" in bases


def _is_of_types(node: ast.BinOp) -> bool:
    """Whether it looks like `int | None`."""
    if not isinstance(node.op, ast.BitOr):
        return False
    parts = (node.left, node.right)
    return any(_is_none(part) or _name_of(part)[:1].isupper() for part in parts) or all(
        _name_of(part) in {"int", "str", "bytes", "float", "bool", "list", "dict", "tuple", "set"}
        for part in parts
    )


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _name_of(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")
