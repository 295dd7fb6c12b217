"""Hold ours against TensorFlow for records of one spec: `examine`.

The judges: the rules of reference_rules.py say which records are refused, and why; TensorFlow says
what the others give, value for value, and must itself refuse those that are refused, one by one. On
odd bytes, reference_wire.py says what they hold, and is itself held against the protobuf runtime;
TensorFlow is then asked about the same content, written as everybody writes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import reference
import reference_rules
import tensorflow as tf
from reference_rules import WORDS, Fault

import tfrecs
from oracle import judge
from oracle.answers import Answer, answer_of, columns_of, difference
from oracle.families import SEQUENCES, Case, Family

# What records can be given as, beside what TensorFlow takes.
FORMS: tuple[Callable[[Any], Any], ...] = (
    list,
    tfrecs.Records,
    lambda records: reference.array("string", records),
)


class Tally(Counter[str]):
    """How many cases, and how many of each kind of deviation."""


@dataclass
class Sides:
    """Both libraries, for one spec."""

    family: Family
    spec: Any

    def __post_init__(self) -> None:
        parts = self.family.parts(self.spec)
        self._theirs = [reference.build(tf.io, part) for part in parts]
        self._ours = [reference.build(tfrecs, part) for part in parts]

    def theirs(self, records: Sequence[bytes] | bytes) -> Answer | str:
        """TensorFlow's answer, or its refusal."""
        function = getattr(tf.io, self._function(records))
        try:
            return answer_of(function(judge.constant(records), *self._theirs), judge.arrays)
        except judge.BAD_DATA as error:
            return str(error)

    def their_columns(self, records: Sequence[bytes] | bytes) -> Any:
        """TensorFlow's answer in the form of the reference, with nothing left open."""
        function = getattr(tf.io, self._function(records))
        result = function(judge.constant(records), *self._theirs)
        if isinstance(result, tuple):
            return judge.sequence_columns(*result)
        return reference.settled(judge.columns(result), self.spec)

    def ours(self, records: Sequence[bytes] | bytes) -> Answer | tfrecs.ParseError:
        """Our answer, or our refusal."""
        function = getattr(tfrecs, self._function(records))
        given = records
        if not isinstance(records, bytes):
            given = FORMS[len(records) % len(FORMS)](records)
        try:
            return answer_of(function(given, *self._ours))
        except tfrecs.ParseError as error:
            return error

    def _function(self, records: Sequence[bytes] | bytes) -> str:
        return self.family.functions[isinstance(records, bytes)]


class DeviationError(AssertionError):
    """Ours differs from what is right, in a way that docs/compatibility.md does not have."""


def examine(family: Family, spec: Any, cases: Sequence[Case], rng: Random, tally: Tally) -> None:
    """Hold ours against TensorFlow for these records.

    Raises:
        DeviationError: they differ.
    """
    sides = Sides(family, spec)
    taken = [case for case in cases if not case.faults]
    _examine_taken(sides, taken, tally)
    if rng.random() < 0.1:
        _examine_taken(sides, [], tally)
    refused = [case for case in cases if case.faults]
    read = _examine_refused(sides, refused, rng, tally)
    _examine_all(sides, [case for case in cases if case.record not in read], tally)
    for case in rng.sample(taken, min(len(taken), 2)):
        _examine_single(sides, case, tally)


def _examine_taken(sides: Sides, taken: Sequence[Case], tally: Tally) -> None:
    """Records that both sides take: the same values."""
    theirs = sides.theirs([case.asked or b"" for case in taken])
    if not taken and isinstance(theirs, str) and _requires_context(sides):
        theirs = columns_of(sides.family.parse([], sides.spec))
        tally["an empty batch, which TensorFlow refuses for want of a required context"] += 1
    if isinstance(theirs, str):
        raise DeviationError(f"TensorFlow alone refuses: {theirs}")
    ours = sides.ours([case.record for case in taken])
    if isinstance(ours, tfrecs.ParseError):
        raise DeviationError(f"we alone refuse: {ours}")
    _compare(sides, ours, theirs)
    tally["accepted by both, all values the same"] += len(taken)


def _requires_context(sides: Sides) -> bool:
    context = sides.family.parts(sides.spec)[0]
    found = (feature for feature in context.values() if isinstance(feature, reference.Fixed))
    return sides.family is SEQUENCES and any(not feature.default for feature in found)


def _compare(sides: Sides, ours: Answer, theirs: Answer) -> None:
    text = difference(ours, theirs, _unsorted(sides))
    if text:
        raise DeviationError(text)


def _unsorted(sides: Sides) -> frozenset[str]:
    """SparseFeatures, of which TensorFlow sorts values at one and the same position anyhow."""
    spec = sides.family.parts(sides.spec)[0]
    return frozenset(name for name, f in spec.items() if isinstance(f, reference.Scattered))


def _examine_refused(
    sides: Sides, refused: Sequence[Case], rng: Random, tally: Tally
) -> set[bytes]:
    """Records that must be refused, one by one; those that we read lazily all the same."""
    read = set()
    asked = {id(case) for case in rng.sample(refused, min(len(refused), 4))}
    for case in refused:
        ours = sides.ours([case.record])
        if not isinstance(ours, tfrecs.ParseError):
            read.add(case.record)
        _check_refusal(sides, case, ours, tally)
        if case.asked is not None and id(case) in asked:
            _check_their_refusal(sides, case, tally)
    return read


def _check_refusal(sides: Sides, case: Case, ours: Any, tally: Tally) -> None:
    reasons = {fault.reason for fault in case.faults}
    if isinstance(ours, tfrecs.ParseError):
        if not any(tells(ours, fault) for fault in case.faults):
            raise DeviationError(f"refused as {ours!r} ({ours.feature}), not for {case.faults}")
        tally[f"refused: {min(reasons)}"] += 1
        return
    if reasons != {"malformed"}:
        raise DeviationError(f"must be refused for {case.faults}")
    try:
        lazily = sides.family.parse([case.record], sides.spec, strict=False)
    except reference_rules.RejectedError as rejected:
        raise DeviationError(f"must be refused for {rejected.faults}") from None
    text = difference(ours, columns_of(lazily))
    if text:
        raise DeviationError(f"read lazily: {text}")
    tally["malformed where nobody asked: read"] += 1


def _check_their_refusal(sides: Sides, case: Case, tally: Tally) -> None:
    theirs = sides.theirs([case.asked or b""])
    reasons = {fault.reason for fault in case.faults}
    if isinstance(theirs, str):
        if not any(judge.says(theirs, fault) for fault in case.faults):
            raise DeviationError(f"TensorFlow refuses as {theirs}, not for {case.faults}")
    elif reasons == {"misfit"}:
        tally["misfit: refused by us alone"] += 1
    else:
        raise DeviationError(f"TensorFlow takes what we refuse for {case.faults}")


def tells(error: tfrecs.ParseError, fault: Fault) -> bool:
    """Whether the error names this fault: feature and reason.

    In bytes that are broken, whoever reads in another order meets another fault first.
    """
    if fault.reason == "malformed":
        return True
    named = error.feature == fault.feature or error.feature in fault.keys
    return named and any(words in str(error) for words in WORDS[fault.reason])


def _examine_all(sides: Sides, cases: Sequence[Case], tally: Tally) -> None:
    """The whole batch is refused for one of its records that are, and names it."""
    refused = {i for i, case in enumerate(cases) if case.faults}
    if not refused:
        return
    ours = sides.ours([case.record for case in cases])
    if not isinstance(ours, tfrecs.ParseError):
        raise DeviationError(f"a batch is taken with its records {sorted(refused)}")
    if ours.record not in refused:
        raise DeviationError(f"{ours!r} names record {ours.record} of {sorted(refused)}")
    if not any(tells(ours, fault) for fault in cases[ours.record].faults):
        raise DeviationError(f"{ours!r} for {cases[ours.record].faults}")
    tally["batches refused, naming a record that is"] += 1


def _examine_single(sides: Sides, case: Case, tally: Tally) -> None:
    ours = sides.ours(case.record)
    if isinstance(ours, tfrecs.ParseError):
        raise DeviationError(f"we refuse the record alone: {ours}")
    if case.has_no_splits:
        tally["single without row splits: an empty row, TensorFlow fails"] += 1
        return
    theirs = sides.theirs(case.asked or b"")
    if isinstance(theirs, str):
        raise DeviationError(f"TensorFlow refuses the record alone: {theirs}")
    _compare(sides, ours, theirs)
    tally["singles, all values the same"] += 1


def examine_reference(family: Family, spec: Any, cases: Sequence[Case]) -> None:
    """The slow reference gives TensorFlow's answers, too."""
    sides = Sides(family, spec)
    records = [case.asked for case in cases if not case.faults and case.asked is not None]
    theirs = sides.theirs(records)
    if not records and isinstance(theirs, str) and _requires_context(sides):
        return
    assert not isinstance(theirs, str), theirs
    text = difference(columns_of(family.parse(records, spec)), theirs, _unsorted(sides))
    if text:
        raise DeviationError(f"the reference is wrong: {text}")


def examine_oddities(family: Family, spec: Any, cases: Sequence[Case], tally: Tally) -> None:
    """Count where TensorFlow reads odd bytes in another way than protobuf and we do.

    Only of a few records, and only where one thing is odd; and only for features of any length, as
    docs/compatibility.md has it.
    """
    sides = Sides(family, spec)
    features = [feature for part in family.parts(spec) for feature in part.values()]
    if any(isinstance(feature, reference.Fixed | reference.Repeated) for feature in features):
        return
    sole = [case for case in cases if len(case.seen) == 1 and not case.faults]
    for case in sole[:12]:
        (way,) = case.seen
        odd, plain = sides.theirs([case.record]), sides.theirs([case.asked or b""])
        assert not isinstance(plain, str), plain
        if isinstance(odd, str):
            reading = "refuses"
        else:
            reading = "reads otherwise" if difference(odd, plain, _unsorted(sides)) else "agrees"
        tally[f"sample of odd bytes, {way}: TensorFlow {reading}"] += 1
