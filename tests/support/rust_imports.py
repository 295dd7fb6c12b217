"""Which modules of the Rust core use which: `use` lines and paths in code, tests left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

Module = tuple[str, ...]

# What is no code: comments, strings (also raw ones) and characters, such as '"'.
_TEXT = re.compile(
    r"""//[^\n]*|/\*.*?\*/|\br(#*)".*?"\1|"(?:\\.|[^"\\])*"|'(?:\\[^']+|\\'|[^'\\])'""",
    flags=re.DOTALL,
)
# Clippy sees to it that nothing comes after a file's unit tests (items_after_test_module).
_TESTS = re.compile(
    r"#\[cfg\((?:all\()?test\b[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))? )?mod \w+ \{.*",
    re.DOTALL,
)
_TEST_MODULES = re.compile(r"#\[cfg\((?:all\()?test\b[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*mod (\w+);")
_USE = re.compile(r"\buse\s+([^;]+);")
_PATH = re.compile(r"(?<![\w:])(?:crate|super|self)(?:::\w+)+")
_INLINE = re.compile(r"\bmod\s+(\w+)\s*\{")


def rust_code(path: Path) -> str:
    """The code of a Rust file, without its unit tests."""
    return _TESTS.sub("", _TEXT.sub(" ", path.read_text()))


def module_of(path: Path, root: Path) -> Module:
    """The module that a file is."""
    parts = path.relative_to(root).with_suffix("").parts
    return parts[:-1] if parts[-1] in {"mod", "lib"} else parts


def leaves(tree: str) -> Iterator[str]:
    """The paths in a `use` declaration.

    Example:
        >>> [*leaves("super::{a::B, c::{self, D as E}}")]
        ['super::a::B', 'super::c', 'super::c::D']
    """
    before, brace, inside = tree.strip().partition("{")
    if not brace:
        yield re.split(r"\s+as\s+", before)[0].removesuffix("::self")
        return
    depth, item = 0, ""
    for sign in inside[: inside.rindex("}")] + ",":
        depth += {"{": 1, "}": -1}.get(sign, 0)
        if sign == "," and depth == 0:
            if item.strip():
                yield from leaves(before + item.strip())
            item = ""
        else:
            item += sign


def inline_modules(code: str) -> list[tuple[int, int, str]]:
    """Where modules lie within a file: begin, end, name."""
    found = []
    for match in _INLINE.finditer(code):
        depth, at = 1, match.end()
        while depth and at < len(code):
            depth += {"{": 1, "}": -1}.get(code[at], 0)
            at += 1
        found.append((match.end(), at, match[1]))
    return found


def absolute(path: str, module: Module) -> Module | None:
    """The path from the root of the crate; None if it leads out of it."""
    parts = path.split("::")
    if parts[0] == "crate":
        return (*parts[1:],)
    if parts[0] == "self":
        return (*module, *parts[1:])
    ups = next((n for n, part in enumerate(parts) if part != "super"), len(parts))
    return (*module[: len(module) - ups], *parts[ups:]) if ups else None


def used(code: str, module: Module) -> Iterator[Module]:
    """The paths that a file uses, from the root of the crate."""
    inline = sorted(inline_modules(code))
    for match in [*_USE.finditer(code), *_PATH.finditer(code)]:
        inner = (name for begin, end, name in inline if begin <= match.start() < end)
        here = (*module, *inner)
        is_use = match.re is _USE
        for path in leaves(" ".join(match[1].split())) if is_use else [match[0]]:
            if (found := absolute(path.replace(" ", ""), here)) is not None:
                yield found


def imports(root: Path) -> dict[Module, set[Module]]:
    """For each module of a crate, those that it uses; re-exports are not looked through."""
    files = {module_of(path, root): path for path in root.rglob("*.rs")}
    tests = {
        (*module, name)
        for module, path in files.items()
        for name in _TEST_MODULES.findall(_TEXT.sub(" ", path.read_text()))
    }
    of_tests = {module for module in files for test in tests if module[: len(test)] == test}
    found: dict[Module, set[Module]] = {}
    for module in files.keys() - of_tests:
        owners = {owner(path, files) for path in used(rust_code(files[module]), module)}
        found[module] = owners - {module, ()}
    return found


def owner(path: Module, modules: dict[Module, Path]) -> Module:
    """The module that a path leads to, or into."""
    return next(path[:n] for n in range(len(path), -1, -1) if path[:n] in modules or n == 0)


def circle(arrows: dict[Module, set[Module]]) -> list[Module]:
    """Modules that use each other in a circle; empty if none do."""
    done: set[Module] = set()
    for start in arrows:
        way: list[Module] = []
        if found := _walk(start, arrows, way, done):
            return found
    return []


def _walk(
    module: Module, arrows: dict[Module, set[Module]], way: list[Module], done: set[Module]
) -> list[Module]:
    if module in way:
        return [*way[way.index(module) :], module]
    if module in done:
        return []
    way.append(module)
    for other in sorted(arrows.get(module, ())):
        if found := _walk(other, arrows, way, done):
            return found
    way.pop()
    done.add(module)
    return []
