"""Examples and SequenceExamples as cases: how to draw them, and what the rules say of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import reference_rules
import reference_wire
from reference import Divided, Spec
from reference_rules import Fault

from oracle import drawing, judge
from oracle.wiring import Pen, mutated

KINDS = ("plain", "odd", "mutated")


@dataclass(frozen=True)
class Family:
    """Examples or SequenceExamples: how to draw, read and parse them."""

    name: str
    parts: Callable[[Any], Sequence[Spec]]
    draw_spec: Callable[[Random], Any]
    draw: Callable[[Random, Sequence[Any], bool], Any]
    write: Callable[[Pen, Any], bytes]
    content: Callable[[Any], Any]
    decode: Callable[[bytes], Any]
    encode: Callable[[Any], bytes]
    rows: Callable[[Any, Any], Any]
    parse: Callable[..., Any]
    functions: tuple[str, str]  # of a batch, of a single one


def _draw_example(rng: Random, wanted: Sequence[Any], faulty: bool) -> Any:
    return drawing.draw_features(rng, wanted[0], faulty)


def _draw_sequence(rng: Random, wanted: Sequence[Any], faulty: bool) -> Any:
    context, lists = wanted
    in_lists = bool(lists) and (not context or rng.random() < 0.6)
    return (
        drawing.draw_features(rng, context, faulty and not in_lists),
        drawing.draw_lists(rng, lists, faulty and in_lists),
    )


def _bytes_keys(features: Any) -> Any:
    return {key.encode(): value for key, value in features.items()}


EXAMPLES = Family(
    name="Example",
    parts=lambda spec: (spec,),
    draw_spec=drawing.example_spec,
    draw=_draw_example,
    write=lambda pen, drawn: pen.example(drawn),
    content=_bytes_keys,
    decode=judge.decode,
    encode=reference_wire.encode,
    rows=reference_rules.example_rows,
    parse=reference_rules.parse,
    functions=("parse_example", "parse_single_example"),
)
SEQUENCES = Family(
    name="SequenceExample",
    parts=lambda spec: spec,
    draw_spec=drawing.sequence_spec,
    draw=_draw_sequence,
    write=lambda pen, drawn: pen.sequence(*drawn),
    content=lambda drawn: reference_wire.SequenceMessage(*map(_bytes_keys, drawn)),
    decode=judge.decode_sequence,
    encode=reference_wire.encode_sequence,
    rows=reference_rules.sequence_rows,
    parse=reference_rules.parse_sequence,
    functions=("parse_sequence_example", "parse_single_sequence_example"),
)
FAMILIES = {family.name: family for family in (EXAMPLES, SEQUENCES)}


# ---------------------------------------------------------------- cases


@dataclass
class Case:
    """One record.

    Attributes:
        record: its bytes.
        asked: what TensorFlow is asked about: these bytes, or the same content plainly written;
            None if protobuf refuses them.
        faults: why it must be refused; none if it must not.
        has_no_splits: whether TensorFlow takes it in a batch only, for want of row splits.
        seen: what is odd about the bytes.
    """

    record: bytes
    asked: bytes | None
    faults: list[Fault]
    has_no_splits: bool = False
    seen: frozenset[str] = frozenset()


def draw_cases(rng: Random, family: Family, kind: str, spec: Any, count: int) -> list[Case]:
    wanted = [drawing.sources(part) for part in family.parts(spec)]
    pen = Pen(rng, odd=kind != "plain" and rng.random() < 0.7, in_sequences=family is SEQUENCES)
    share = rng.choice((0, 0.02, 0.1))
    cases = []
    for _ in range(count):
        pen.seen.clear()
        drawn = family.draw(rng, wanted, rng.random() < share)
        record = family.write(pen, drawn)
        if kind == "plain":
            content = family.content(drawn)
            case = case_of(family, spec, record, content, record)
            if case.faults:  # about those, TensorFlow is asked as it would write them itself
                case.asked = family.encode(content)
            cases.append(case)
            continue
        if kind == "mutated" and rng.random() < 0.5:
            record = mutated(rng, record)
        content = family.decode(record)
        asked = None if content is None else family.encode(content)
        cases.append(case_of(family, spec, record, content, asked, frozenset(pen.seen)))
    return [case for case in cases if "huge" not in {fault.reason for fault in case.faults}]


def case_of(
    family: Family,
    spec: Any,
    record: bytes,
    content: Any,
    asked: bytes | None,
    seen: frozenset[str] = frozenset(),
) -> Case:
    if content is None:
        return Case(record, None, [Fault(0, None, "malformed")], seen=seen)
    found = family.rows(content, spec)
    faults = found if isinstance(found, list) else []
    lacks = _lacks_splits(family.parts(spec)[0], content if family is EXAMPLES else content.context)
    return Case(record, asked, faults, lacks, seen)


def _lacks_splits(spec: Spec, content: Any) -> bool:
    return any(
        not content.get(key.encode(), (None, []))[1]
        for feature in spec.values()
        if isinstance(feature, Divided)
        for kind, key in feature.partitions
        if kind == "RowSplits"
    )
