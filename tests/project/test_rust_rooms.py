"""The rooms of the Rust core: what may use what, how full they are, and what their heads say."""

from __future__ import annotations

from pathlib import Path

import pytest
from needs import REPO
from rust_imports import Module, circle, imports, leaves

CORE = REPO / "crates" / "core" / "src"
ARROWS = imports(CORE)

# Each may use those before it.
LAYERS: list[Module] = [
    ("error",),
    ("runtime",),
    *[("record", name) for name in ("format", "storage", "codec", "read", "write", "index")],
    *[("record", name) for name in ("salvage", "other_formats")],
    ("record",),  # what it re-exports
    ("image",),
    *[("example", name) for name in ("wire", "varint", "spec", "canonical", "message")],
    *[("example", name) for name in ("record_error", "raw", "sparse", "tensor", "decode")],
    *[("example", name) for name in ("event", "kind", "encode", "example_list")],
    ("example",),
    ("pipeline",),
]
MOST_ENTRIES = 15


def test_every_module_is_in_a_layer() -> None:
    rooms = {
        module[:2] if module[:1] in {("record",), ("example",)} else module[:1] for module in ARROWS
    }
    assert rooms - {()} == set(LAYERS)


def test_arrows_lead_down() -> None:
    up = {
        (module, other)
        for module, others in ARROWS.items()
        for other in others
        if module and order(other) > order(module)
    }
    assert up == set()


def order(module: Module) -> int:
    """The layer of a module: that of the longest room it lies in."""
    rooms = [n for n, room in enumerate(LAYERS) if module[: len(room)] == room]
    return max(rooms, key=lambda n: len(LAYERS[n]))


def test_no_module_uses_itself_by_others() -> None:
    assert circle(ARROWS) == []


ROOMS = sorted({path.parent for path in CORE.rglob("*.rs")} - {CORE})


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: str(room.relative_to(CORE)))
def test_a_room_is_not_too_full(room: Path) -> None:
    assert len([*room.iterdir()]) <= MOST_ENTRIES


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: str(room.relative_to(CORE)))
def test_a_room_says_what_it_is_for(room: Path) -> None:
    face = room / "mod.rs" if (room / "mod.rs").exists() else room.with_suffix(".rs")
    head = [line for line in face.read_text().splitlines() if line.startswith("//!")]
    assert head


def test_a_circle_and_an_arrow_up_would_be_found(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "lib.rs").write_text("mod a; mod b;")
    (tmp_path / "a" / "mod.rs").write_text("pub mod inner; mod tests { use crate::b; }")
    (tmp_path / "a" / "inner.rs").write_text(
        'use crate::b::{self, Thing as Other}; // use super::never;\nconst X: &str = "crate::no";'
    )
    (tmp_path / "b.rs").write_text(
        "fn f() { super::a::inner::g() }\n#[cfg(test)]\nmod tests { use super::no; }"
    )
    arrows = imports(tmp_path)
    assert arrows[("a", "inner")] == {("b",)}
    assert arrows[("b",)] == {("a", "inner")}
    assert set(circle(arrows)) == {("a", "inner"), ("b",)}


def test_use_trees() -> None:
    found = [*leaves("crate::{a::{self, B}, c::*, d as e}")]
    assert found == ["crate::a", "crate::a::B", "crate::c::*", "crate::d"]
