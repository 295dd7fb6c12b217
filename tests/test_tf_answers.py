"""`tfrecs.tf` where it once answered otherwise than TensorFlow, without an error."""

import pytest

from tfrecs import tf


@pytest.mark.parametrize("line", ['"', 'a"bc', '"x"y', 'a""', "a\nb", "a\n", '"""', ""])
def test_lines_that_are_not_csv_are_refused(line: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="record 0"):
        tf.io.decode_csv([line], [["d"]])


@pytest.mark.parametrize("columns", [[-1, 0], [0, 0], [1, 0]])
def test_selected_columns_increase(columns: list[int]) -> None:
    with pytest.raises(ValueError, match="select_cols"):
        tf.io.decode_csv(["a,b"], [[""], [""]], select_cols=columns)


@pytest.mark.parametrize("default", [[[["d"]]], [["d", "e"]], [[True]]])
def test_defaults_of_csv_are_single_values(default: list[object]) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="record_defaults"):
        tf.io.decode_csv(["a"], default)


def test_csv_is_bytes_with_doubled_quotes() -> None:
    first, second = tf.io.decode_csv([b'"a""b,",\xff'], [[""], [""]])
    assert (first.numpy().tolist(), second.numpy().tolist()) == ([b'a"b,'], [b"\xff"])
