"""parse_example and parse_single_example against TensorFlow's own, on random specs and Examples.

Plain Examples: TensorFlow decides, value for value and error for error. Odd and broken ones, on
which TensorFlow's fast parser is not a protobuf parser (docs/compatibility.md): protobuf decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import hypothesis
import numpy as np
import reference
import reference_rules
import strategies
from hypothesis import strategies as st
from reference import Columns, Spec
from reference_rules import Fault, RejectedError

import tfrecs
from oracle import judge
from oracle.cases import randomly

# The words in our text for each reason: mostly TensorFlow's, which people search for.
WORDS = {
    "malformed": "broken protobuf message",
    "missing": "is required but could not be found",
    "kind": "Data types don't match",
    "count": "values != expected",
}

FORMS: dict[str, Callable[[list[bytes]], Any]] = {
    "list": list,
    "tuple": tuple,
    "Records": tfrecs.Records,
    "NumPy": lambda records: reference.array("string", records),
}
forms = st.sampled_from(sorted(FORMS))


def ours(result: dict[str, Any]) -> Columns:
    for value in result.values():
        values = getattr(value, "values", value)
        assert isinstance(values, np.ndarray | tfrecs.BytesArray), type(values)
        assert not (isinstance(values, np.ndarray) and values.dtype == object)
    return {name: reference.column(value) for name, value in result.items()}


def check_batch(
    records: Sequence[bytes], spec: Spec, form: str, expected: Any, lazily: Any = None
) -> bool:
    features, given = reference.build(tfrecs, spec), FORMS[form](list(records))
    return check(
        lambda: tfrecs.parse_example(given, features),
        expected,
        numbered=True,
        lazily=lazily,
    )


def check_single(record: bytes, spec: Spec, expected: Any, lazily: Any = None) -> None:
    features = reference.build(tfrecs, spec)
    check(
        lambda: tfrecs.parse_single_example(record, features),
        expected,
        numbered=False,
        lazily=lazily,
    )


def check(
    call: Callable[[], Any],
    expected: Callable[[], Columns],
    *,
    numbered: bool,
    lazily: Any = None,
) -> bool:
    """Our call gives what is expected, or fails for one of the expected faults; True if it gives.

    Where only the lazy reading of the rules takes the data, we may give that or fail.
    """
    try:
        answer = expected()
    except RejectedError as rejected:
        check_refusal(call, rejected.faults, numbered, lazily)
        return False
    assert ours(call()) == answer
    return True


def check_refusal(
    call: Callable[[], Any], faults: list[Fault], numbered: bool, lazily: Any = None
) -> None:
    answer, faults = None, list(faults)
    try:
        answer = lazily() if lazily else None
    except RejectedError as rejected:
        faults += rejected.faults
    try:
        found = ours(call())
    except tfrecs.ParseError as error:
        named = any(tells(error, fault, numbered) for fault in faults)
        assert named, (str(error), error.record, error.feature, faults)
    else:
        assert found == answer, ("must be refused", faults)


def tells(error: tfrecs.ParseError, fault: Fault, numbered: bool) -> bool:
    """Whether the error names this fault: record, feature and reason.

    In bytes that are broken, whoever reads in another order meets another fault first.
    """
    if fault.reason == "malformed":
        return not numbered or error.record == fault.record
    return (
        (not numbered or error.record == fault.record)
        and (fault.feature is None or error.feature == fault.feature)
        and WORDS[fault.reason] in str(error)
    )


@randomly(share=1)
@hypothesis.given(strategies.cases(odd=False), forms)
def test_plain_examples(case: strategies.Case, form: str) -> None:
    """Exactly TensorFlow: all of the batch, then those of it that it takes, then one by one."""
    hypothesis.assume(not case.odd)  # a kindless Feature after another of the same key
    records, spec = case.records, case.spec
    if not check_batch(records, spec, form, lambda: judge.batch(records, spec)):
        taken = [record for record in records if accepted(record, spec)]
        assert check_batch(taken, spec, form, lambda: judge.batch(taken, spec))
    for record in sorted(set(records))[:2]:
        check_single(record, spec, lambda record=record: judge.single(record, spec))


def accepted(record: bytes, spec: Spec) -> bool:
    try:
        reference_rules.parse_single(record, spec)
    except RejectedError:
        return False
    return True


@randomly(share=2)
@hypothesis.given(strategies.cases(odd=True), forms)
def test_odd_examples(case: strategies.Case, form: str) -> None:
    """Exactly protobuf's reading, and TensorFlow's rules on what it reads."""
    for reason in case.odd:
        hypothesis.event(reason)
    check_by_protobuf(case, form)


@randomly(share=2)
@hypothesis.given(strategies.broken_cases(), forms)
def test_broken_examples(case: strategies.Case, form: str) -> None:
    """Cut and changed bytes: what protobuf refuses, we refuse; what it takes, we read alike."""
    check_by_protobuf(case, form)


def check_by_protobuf(case: strategies.Case, form: str) -> None:
    records, spec = case.records, case.spec
    for record in set(records):
        judge.decode(record)

    def batch(*, strict: bool = True) -> Columns:
        return reference_rules.parse(records, spec, strict=strict)

    check_batch(records, spec, form, batch, lambda: batch(strict=False))
    for record in sorted(set(records))[:2]:

        def single(*, strict: bool = True, record: bytes = record) -> Columns:
            return reference_rules.parse_single(record, spec, strict=strict)

        check_single(record, spec, single, lambda single=single: single(strict=False))
