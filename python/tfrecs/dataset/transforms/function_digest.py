"""By what a cache knows a function again: all that it is made of, but not what it calls by name.

Its code, defaults, and what it closes over: functions, so that decorators count, arrays by their
content, and the state of objects. What cannot be known is reported once.
"""

from __future__ import annotations

import functools
import hashlib
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from tfrecs.errors import warn

# Values nested deeper than this are not compared.
MOST_DEPTH = 50


def digest_of(function: Callable[..., Any], name: str) -> str:
    """Return 16 hexadecimal digits that change when a function changes.

    Args:
        function: A function, a partial one, or any other object that can be called.
        name: What a warning calls it.

    Warns:
        RuntimeWarning: It holds something of which nobody can tell whether it has changed.
    """
    walk = _Walk()
    walk.add(function, 0)
    if walk.unknown:
        kinds = ", ".join(sorted(walk.unknown))
        warn(
            f"cache(): {name} holds what cannot be compared ({kinds}): when that changes, the "
            "cache is not made anew",
            RuntimeWarning,
        )
    return walk.digest.hexdigest()[:16]


class _Walk:
    """Goes through all that a function is made of."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        self.unknown: set[str] = set()
        self._seen: dict[int, int] = {}
        self._kept: list[Any] = []  # so that no other object gets the same id

    def _say(self, *texts: object) -> None:
        for text in texts:
            said = text if isinstance(text, bytes) else str(text).encode("utf-8", "surrogatepass")
            self.digest.update(b"%d:" % len(said) + said)

    def add(self, value: Any, depth: int) -> None:
        """Add a value, with all that it holds."""
        if value is None or isinstance(value, bool | int | float | complex | str | bytes):
            self._say(type(value).__name__, value if isinstance(value, bytes) else repr(value))
            return
        if id(value) in self._seen:
            self._say("seen", self._seen[id(value)])
            return
        self._seen[id(value)] = len(self._seen)
        self._kept.append(value)
        if depth > MOST_DEPTH:
            self._unknown(value)
            return
        self._add_object(value, depth + 1)

    def _add_object(self, value: Any, depth: int) -> None:
        for kinds, add in _KINDS:
            if isinstance(value, kinds):
                add(self, value, depth)
                return
        if isinstance(value, type):
            self._add_class(value, depth)
        elif hasattr(value, "__wrapped__"):  # functools.lru_cache, which is not Python's code
            self._say(type(value).__qualname__)
            self.add(value.__wrapped__, depth)
        else:
            self._add_state(value, depth)

    def _add_each(self, values: Iterable[Any], depth: int) -> None:
        self._say(type(values).__name__)
        for value in values:
            self.add(value, depth)
        self._say("end")

    def _add_set(self, values: Iterable[Any], depth: int) -> None:
        self._add_each(sorted(map(repr, values)), depth)

    def _add_mapping(self, value: Mapping[Any, Any], depth: int) -> None:
        self._add_each([part for pair in value.items() for part in pair], depth)

    def _add_array(self, value: np.ndarray[Any, Any] | np.generic, depth: int) -> None:
        array = np.asarray(value)
        self._say("array", array.dtype.str, array.shape)
        if array.dtype.hasobject:
            self._add_each(array.ravel().tolist(), depth)
        else:
            self._say(array.tobytes())

    def _add_code(self, code: types.CodeType, depth: int) -> None:
        self._say("code", code.co_code, code.co_names, code.co_flags, code.co_argcount)
        self._add_each(code.co_consts, depth)

    def _add_function(self, function: types.FunctionType, depth: int) -> None:
        self._say("function")
        self.add(function.__code__, depth)
        self.add(function.__defaults__, depth)
        self.add(function.__kwdefaults__, depth)
        for cell in function.__closure__ or ():
            try:
                self.add(cell.cell_contents, depth)
            except ValueError:  # it is not filled yet
                self._say("empty")
        self.add(dict(vars(function)), depth)

    def _add_partial(self, value: functools.partial[Any], depth: int) -> None:
        self._add_each([value.func, value.args, value.keywords], depth)

    def _add_method(self, value: types.MethodType, depth: int) -> None:
        self._add_each([value.__func__, value.__self__], depth)

    def _add_builtin(self, value: types.BuiltinFunctionType, depth: int) -> None:
        self._say("builtin", value.__module__, value.__qualname__)
        owner = getattr(value, "__self__", None)
        if owner is not None and not isinstance(owner, types.ModuleType):
            self.add(owner, depth)

    def _add_named(self, value: types.ModuleType | np.ufunc, depth: int) -> None:
        del depth
        self._say(type(value).__name__, value.__name__)

    def _add_class(self, value: type, depth: int) -> None:
        self._say("class", value.__module__, value.__qualname__)
        for name, part in sorted(vars(value).items()):
            if isinstance(part, types.FunctionType | staticmethod | classmethod | property):
                self._say(name)
                for one in _functions_of(part):
                    self.add(one, depth)

    def _add_state(self, value: Any, depth: int) -> None:
        """Add an object by its class and by what pickle would keep of it."""
        self.add(type(value), depth)
        try:
            reduced = value.__reduce_ex__(4)
        except Exception:  # noqa: BLE001 - whatever it raises, it cannot be known
            self._unknown(value)
            return
        if isinstance(reduced, str):
            self._say(reduced)
            return
        made, arguments, *state = reduced
        self._say(getattr(made, "__qualname__", repr(type(made))))
        self.add(arguments, depth)
        for part in state:
            self.add([*part] if hasattr(part, "__next__") else part, depth)

    def _unknown(self, value: Any) -> None:
        self._say("unknown", type(value).__qualname__)
        self.unknown.add(type(value).__name__)


def _functions_of(part: Any) -> list[Any]:
    """Return the functions of a class attribute, such as a property."""
    if isinstance(part, property):
        return [one for one in (part.fget, part.fset) if one is not None]
    return [getattr(part, "__func__", part)]


_KINDS: list[tuple[Any, Callable[[_Walk, Any, int], None]]] = [
    (tuple | list, _Walk._add_each),  # noqa: SLF001 - of this module
    (set | frozenset, _Walk._add_set),  # noqa: SLF001
    (dict | types.MappingProxyType, _Walk._add_mapping),  # noqa: SLF001
    (np.ndarray | np.generic, _Walk._add_array),  # noqa: SLF001
    (types.CodeType, _Walk._add_code),  # noqa: SLF001
    (types.FunctionType, _Walk._add_function),  # noqa: SLF001
    (functools.partial, _Walk._add_partial),  # noqa: SLF001
    (types.MethodType, _Walk._add_method),  # noqa: SLF001
    (types.BuiltinFunctionType, _Walk._add_builtin),  # noqa: SLF001
    (types.ModuleType | np.ufunc, _Walk._add_named),  # noqa: SLF001
]
