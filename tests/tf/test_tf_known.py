"""What is known of values that are not there yet."""

from typing import Any

import numpy as np
import pytest

from tfrecs import tf
from tfrecs.tf.graph.known import known, merged, shape_of


@pytest.mark.parametrize(
    ("value", "integers"),
    [
        (np.int64(3), 3),
        (np.array([1, 2], np.uint8), [1, 2]),
        (np.array([], np.int32), []),
        (np.array([[1, 2], [3, 4]]), None),
        (np.array([[1]]), None),
        (np.array([1.0, 2.0]), None),
        (np.array([True]), None),
    ],
)
def test_integers_of_scalars_and_vectors_are_known(value: Any, integers: Any) -> None:
    found = known(tf.constant(value))
    assert found.integers == integers
    assert found.dtype == tf.as_dtype(value.dtype)
    assert found.shape.as_list() == list(value.shape)


def test_a_matrix_describes_no_shape() -> None:
    assert shape_of(np.array([2, 3])).as_list() == [2, 3]
    assert shape_of(np.array([2, -1])).as_list() == [2, None]
    assert shape_of(np.array([[2, 3]])).rank is None


def test_shapes_of_one_value_are_merged() -> None:
    shapes = [tf.TensorShape([None, 3]), tf.TensorShape([2, None]), tf.TensorShape(None)]
    assert merged(shapes).as_list() == [2, 3]
    with pytest.raises(ValueError, match="compatible"):
        merged([tf.TensorShape([2]), tf.TensorShape([3])])
