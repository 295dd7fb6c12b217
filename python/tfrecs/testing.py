"""Checks that a user's own tests can use."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import numpy as np


class Resumable(Protocol):
    """What can be iterated over, by iterators that know where they are."""

    def __iter__(self) -> Any:
        """Begin."""


# What a state may take as JSON.
MOST_BYTES = 8192


def assert_resumes(ds: Resumable, steps: Iterable[int] | None = None, most: int = 1000) -> None:
    """Check that iterators over `ds` continue from any state with what would have come next.

    At every step, before the first element and after the last among them, the state is turned to
    JSON and back, loaded by another iterator, and the rest compared; its state right after loading
    must be one that gives the same again, and so must a state taken a step later.

    Args:
        ds: A Dataset, or anything like it, whose passes are alike: of one that shuffles, each pass
            is begun by a state of the first one.
        steps: The steps at which to do it; None is at all of them.
        most: How many elements to look at, for datasets without end.

    Raises:
        AssertionError: Something differs, or a state is too large.

    Example:
        >>> import tfrecs, tfrecs.testing
        >>> with tfrecs.RecordWriter("some.tfrecord") as out:
        ...     out.write_batch([b"%d" % i for i in range(5)])
        >>> tfrecs.testing.assert_resumes(tfrecs.Dataset("some.tfrecord").shuffle(1).batch(2))
    """
    whole = iter(ds)
    states, elements = [_state(whole)], []
    for element in whole:
        elements.append(element)
        states.append(_state(whole))
        if len(elements) == most:
            break
    is_whole = len(elements) < most
    for step in range(len(states)) if steps is None else steps:
        again = iter(ds)
        again.load_state_dict(states[step])
        states_differ = _state(again)
        _check_rest(again, elements, step, is_whole)
        again.load_state_dict(states_differ)
        if step < len(elements):
            _check_equal(next(again), elements[step], step)
            twice = iter(ds)
            twice.load_state_dict(_state(again))
            _check_rest(twice, elements, step + 1, is_whole)
            _close(twice)
        _close(again)
    _close(whole)


def _check_rest(it: Any, elements: list[Any], step: int, is_whole: bool) -> None:
    for number in range(step, len(elements)):
        found = list(zip(range(1), it, strict=False))
        assert found, f"resumed at step {step}, it ends at step {number}"
        _check_equal(found[0][1], elements[number], number)
    if is_whole:
        assert not list(zip(range(1), it, strict=False)), f"resumed at step {step}, it continues"


def _state(it: Any) -> Any:
    text = json.dumps(it.state_dict())
    assert len(text) <= MOST_BYTES, f"a state takes {len(text)} bytes: {text[:200]}…"
    return json.loads(text)


def _close(it: Any) -> None:
    if hasattr(it, "close"):
        it.close()


def _check_equal(found: Any, expected: Any, step: int) -> None:
    assert same(found, expected), f"step {step}: {found!r} in place of {expected!r}"


def same(found: Any, expected: Any) -> bool:
    """Return whether two elements are the same: of one type, and equal in every value.

    Example:
        >>> import numpy as np
        >>> same({"a": np.ones(2)}, {"a": np.ones(2)}), same((1, b"x"), (1, b"y"))
        (True, False)
    """
    if isinstance(expected, Mapping):
        return list(found) == list(expected) and all(
            same(found[name], expected[name]) for name in expected
        )
    if isinstance(expected, tuple | list):
        return len(found) == len(expected) and all(map(same, found, expected))
    if type(found) is not type(expected):
        return False
    if isinstance(expected, np.ndarray | np.generic):
        return found.dtype == expected.dtype and np.array_equal(
            found, expected, equal_nan=expected.dtype.kind in "fc"
        )
    if hasattr(expected, "tolist"):
        return bool(found.tolist() == expected.tolist())
    return bool(found == expected)
