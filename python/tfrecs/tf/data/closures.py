"""Functions with the variables around them as they are now.

TensorFlow calls a function when it is given to `map`, and never again: what it looks up then is
what it has. Here it is called later, when `for k in (1, 2): ds = ds.map(lambda x: x * k)` would
find the last `k` in each. So its variables are looked up at once.
"""

from __future__ import annotations

import builtins
import dis
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

# Code that is a function of its own to Python alone.
_INLINE = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")

# What looks up names that nobody sees.
_BY_NAME = {"globals", "eval", "exec", "locals", "vars"}


def bound(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function with the variables of its surroundings, and of its module, as they are.

    Those that it changes, and those of functions within it, which tf.py_function may call whenever,
    are looked up when it is called, as in TensorFlow. What is no plain function stays as it is.
    """
    if type(function) is not FunctionType:
        return function
    uses = list(_uses(function.__code__, inside=False))
    made = FunctionType(
        function.__code__,
        _globals(function.__globals__, uses),
        function.__name__,
        function.__defaults__,
        _cells(function, uses),
    )
    made.__kwdefaults__ = function.__kwdefaults__
    made.__dict__.update(function.__dict__)
    made.__qualname__, made.__module__ = function.__qualname__, function.__module__
    return made


class _Use(NamedTuple):
    """One use of a variable: what is done to it, and whether in a function within."""

    how: str
    name: str
    inside: bool


def _uses(code: CodeType, *, inside: bool) -> Iterator[_Use]:
    for step in dis.get_instructions(code):
        if step.opname.endswith(("_GLOBAL", "_GLOBALS", "_NAME", "_DEREF")):
            yield _Use(step.opname, str(step.argval), inside)
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _uses(one, inside=inside or one.co_name not in _INLINE)


def _globals(now: dict[str, Any], uses: list[_Use]) -> dict[str, Any]:
    """Return the variables of a module that are used, or the module's own if they must be."""
    asked = [use for use in uses if not use.how.endswith("_DEREF")]
    names = {use.name for use in asked}
    if names & _BY_NAME or any(name not in now and not hasattr(builtins, name) for name in names):
        return now
    if any(use.inside and not _is_lasting(now.get(use.name)) for use in asked):
        return now
    if any(not use.how.startswith("LOAD_") for use in asked):
        return now
    module = {name: one for name, one in now.items() if name.startswith("__")}
    return module | {name: now[name] for name in names if name in now}


def _is_lasting(value: Any) -> bool:
    """Whether a variable is one that nobody changes: a module, a function, a class, or nothing."""
    lasting = (ModuleType, FunctionType, BuiltinFunctionType, type)
    return value is None or isinstance(value, lasting)


def _cells(function: FunctionType, uses: list[_Use]) -> tuple[CellType, ...] | None:
    if function.__closure__ is None:
        return None
    asked = [use for use in uses if use.how.endswith("_DEREF")]
    live = {use.name for use in asked if use.inside or not use.how.startswith("LOAD_")}
    pairs = zip(function.__code__.co_freevars, function.__closure__, strict=True)
    return tuple([cell if name in live else _cell(cell) for name, cell in pairs])


def _cell(cell: CellType) -> CellType:
    try:
        return CellType(cell.cell_contents)
    except ValueError:  # nothing is in it yet
        return cell
