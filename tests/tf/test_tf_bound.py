"""What functions given to a dataset find around them: what TensorFlow finds, which calls them once.

`tests/oracle/test_tf_datasets_oracle.py` compares.
"""

import pickle
from typing import Any

import pytest

from tfrecs import tf
from tfrecs.tf.data.closures import bound
from tfrecs.tf.data.elements import Function

FACTOR = 2
CALLS = 0
numbers = tf.data.Dataset.range(3)


def ints(ds: Any) -> list[int]:
    return [int(one) for one in ds]


def times_factor(number: Any) -> Any:
    return number * FACTOR


def test_variables_are_those_when_the_function_was_given() -> None:
    ds = numbers
    for k in (2, 10):
        ds = ds.map(lambda n: n * k)  # noqa: B023 - this is what people write
    assert ints(ds) == [0, 20, 40]
    picked = [numbers.filter(lambda n: n == k) for k in (1, 2)]  # noqa: B023
    assert list(map(ints, picked)) == [[1], [2]]
    made = [numbers.flat_map(lambda n: tf.data.Dataset.range(k)) for k in (1, 2)]  # noqa: B023
    assert [len(ints(one)) for one in made] == [3, 6]


def test_variables_of_the_module_too(monkeypatch: pytest.MonkeyPatch) -> None:
    ds = numbers.map(times_factor)
    monkeypatch.setitem(globals(), "FACTOR", 100)
    assert ints(ds) == [0, 2, 4]
    assert ints(numbers.map(times_factor)) == [0, 100, 200]


def test_what_a_function_changes_is_changed() -> None:
    calls = 0

    def counted(number: Any) -> Any:
        nonlocal calls
        calls += 1
        return number

    before = calls
    assert ints(numbers.map(counted)) == [0, 1, 2]
    assert calls > before


def counted_in_the_module(number: Any) -> Any:
    global CALLS  # noqa: PLW0603 - this is what is tested
    CALLS += 1
    return number


def test_what_a_function_changes_in_the_module_is_changed() -> None:
    before = CALLS
    assert ints(numbers.map(counted_in_the_module)) == [0, 1, 2]
    assert before < CALLS


def test_functions_within_see_what_is_there_when_they_are_called() -> None:
    epoch = 0
    ds = numbers.map(lambda n: tf.py_function(lambda m: m + epoch, [n], tf.int64))
    assert ints(ds) == [0, 1, 2]
    epoch = 10
    assert ints(ds) == [10, 11, 12]


def test_what_comes_later_is_found() -> None:
    ds = numbers.map(lambda n: later(n))  # noqa: PLW0108 - it is not there yet

    def later(number: Any) -> Any:
        return number + 1

    assert ints(ds) == [1, 2, 3]


def test_a_function_with_a_name_is_pickled() -> None:
    again = pickle.loads(pickle.dumps(Function(times_factor)))
    assert int(again(3)) == 6
    assert (again.__module__, again.__qualname__) == (__name__, "times_factor")


def test_a_bound_function_is_called_alike() -> None:
    def with_defaults(a: int, *, b: int = 2) -> tuple[int, int]:
        """Say it."""
        return a, b

    made = bound(with_defaults)
    assert (made(1), made(1, b=3)) == ((1, 2), (1, 3))
    assert (made.__doc__, made.__name__) == ("Say it.", "with_defaults")
    assert bound(len) is len
