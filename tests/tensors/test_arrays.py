"""BytesArray, RaggedTensor and SparseTensor: each behaves as the plainer thing it stands for."""

import math
import pickle
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tfrecs
from tfrecs import BytesArray, RaggedTensor, SparseTensor
from tfrecs.tensors.dense import rows_side_by_side, scattered


def objects(values: list[bytes], shape: tuple[int, ...]) -> npt.NDArray[np.object_]:
    """An object array of bytes: what a BytesArray is compared with."""
    array = np.empty(len(values), np.object_)
    array[:] = values
    return array.reshape(shape)


@st.composite
def pairs(draw: st.DrawFn, min_dims: int = 1) -> tuple[BytesArray, npt.NDArray[np.object_]]:
    """A BytesArray and the object array of the same values."""
    shape = draw(hnp.array_shapes(min_dims=min_dims, max_dims=3, min_side=0, max_side=4))
    size = int(np.prod(shape))
    values = draw(st.lists(st.binary(max_size=4), min_size=size, max_size=size))
    array = BytesArray.from_values(values).reshape(shape)
    if draw(st.booleans()):  # values that begin somewhere in their buffer
        array = BytesArray.from_values([b"before", *values, b"after"])[1:-1].reshape(shape)
    return array, objects(values, shape)


def check_same(found: Any, expected: Any) -> None:
    if isinstance(expected, np.ndarray) and expected.ndim == 0:
        expected = expected.item()  # array[..., 0]: a value of ours is bytes however it was found
    if isinstance(expected, np.ndarray):
        assert isinstance(found, BytesArray)
        assert found.shape == expected.shape
        assert found.tolist() == expected.tolist()
        assert found.size == expected.size
        assert found.ndim == expected.ndim
        assert found.nbytes == sum(map(len, expected.ravel()))
    else:
        assert type(found) is bytes
        assert found == expected


@given(pair=pairs(), data=st.data())
def test_indexing_is_numpys(
    pair: tuple[BytesArray, npt.NDArray[np.object_]], data: st.DataObject
) -> None:
    ours, theirs = pair
    index = data.draw(
        hnp.basic_indices(theirs.shape, allow_newaxis=True)
        | hnp.integer_array_indices(theirs.shape)
        if theirs.size
        else hnp.basic_indices(theirs.shape)
    )
    check_same(ours[index], theirs[index])


@given(pair=pairs(), data=st.data())
def test_indexing_twice_is_numpys(
    pair: tuple[BytesArray, npt.NDArray[np.object_]], data: st.DataObject
) -> None:
    ours, theirs = pair
    begin, end = data.draw(st.integers(-5, 5)), data.draw(st.integers(-5, 5))
    mask = data.draw(hnp.arrays(np.bool_, theirs[begin:end].shape))
    check_same(ours[begin:end], theirs[begin:end])
    check_same(ours[begin:end][mask], theirs[begin:end][mask])
    check_same(ours[begin:end].ravel(), theirs[begin:end].ravel())
    assert ours[begin:end].to_records() == theirs[begin:end].ravel().tolist()


@given(pair=pairs())
def test_the_rest_is_numpys(pair: tuple[BytesArray, npt.NDArray[np.object_]]) -> None:
    ours, theirs = pair
    assert np.asarray(ours).tolist() == theirs.tolist()
    assert np.asarray(ours).dtype == np.object_
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        check_same(one, other)
    assert (ours == theirs).tolist() == (theirs == theirs).tolist()  # noqa: PLR0124
    assert not np.any(ours != ours)  # noqa: PLR0124
    assert (ours == b"a").tolist() == (theirs == b"a").tolist()
    assert (ours != "a").tolist() == (theirs != b"a").tolist()


@pytest.mark.parametrize("index", [5, -6, (0, 0), 1.5, "a", None, [9], [True]])
def test_bad_indices_are_numpys(index: Any) -> None:
    ours = BytesArray.from_values([b"a", b"b", b"c", b"d", b"e"])
    theirs = objects(ours.tolist(), (5,))
    try:
        expected = theirs[index]
    except IndexError:
        with pytest.raises(IndexError):
            ours[index]
    else:
        check_same(ours[index], expected)


def test_scalars() -> None:
    scalar = BytesArray.from_values(["é"]).reshape([])
    assert (scalar.shape, scalar.size, scalar.ndim) == ((), 1, 0)
    assert scalar.item() == bytes(scalar) == scalar.tolist() == scalar[()] == "é".encode()
    assert np.asarray(scalar).shape == ()
    assert bool(scalar == "é")
    with pytest.raises(TypeError, match="0-d"):
        len(scalar)
    for wrong in (BytesArray.from_values([]), BytesArray.from_values(["a", "b"])):
        with pytest.raises(tfrecs.SpecError, match="one value"):
            wrong.item()


def test_text() -> None:
    array = BytesArray.from_values(["é", "日本", ""]).reshape(3, 1)
    assert array.astype_str().tolist() == [["é"], ["日本"], [""]]
    assert array.astype_str().shape == (3, 1)
    latin = BytesArray.from_values([b"\xe9"])
    assert latin.astype_str("latin-1").tolist() == ["é"]
    with pytest.raises(UnicodeDecodeError):
        latin.astype_str()
    assert latin.astype_str(errors="replace").tolist() == ["\ufffd"]
    assert (array.ravel() == ["é", "日本", "x"]).tolist() == [True, True, False]


def test_conversions() -> None:
    array = BytesArray.from_values([b"ab", b"c\0\0"])
    assert np.asarray(array, "S5").tolist() == [b"ab", b"c"]
    assert np.array(array).tolist() == [b"ab", b"c\0\0"]
    with pytest.raises(ValueError, match="copy"):
        np.asarray(array, copy=False)
    assert repr(array) == "BytesArray(shape=(2,), nbytes=5, [b'ab', b'c\\x00\\x00'])"
    with pytest.raises(TypeError, match="hashable"):
        hash(array)


def test_slices_are_views_and_selections_are_not() -> None:
    array = BytesArray.from_values([b"abc"] * 10)
    assert np.shares_memory(array[2:5].data, array.data)
    assert np.shares_memory(array.reshape(5, 2)[1:].data, array.data)
    assert not np.shares_memory(array[[2, 3]].data, array.data)


@pytest.mark.parametrize("shape", [(3,), (2, 2), (-1, 4), (0,)])
def test_shapes_that_do_not_fit(shape: tuple[int, ...]) -> None:
    array = BytesArray.from_values([b"a"] * 5)
    with pytest.raises(ValueError, match="shape"):
        array.reshape(shape)
    with pytest.raises(tfrecs.SpecError, match="shape"):
        BytesArray(array.data, array.offsets, shape)


@given(
    st.lists(st.integers(0, 5), max_size=6),
    st.sampled_from([(), (3,), (2, 2), (0,)]),
    st.sampled_from(["int64", "float32", "uint8", "bool", "float16"]),
    st.sampled_from([None, 0, 1, -0.0]),
    st.integers(0, 2),
)
def test_rows_side_by_side_are_their_values_scattered(
    lengths: list[int], element: tuple[int, ...], dtype: str, default: Any, more: int
) -> None:
    splits = np.cumsum([0, *lengths])
    longest = max(lengths, default=0) + more
    values = np.arange(splits[-1] * math.prod(element)).astype(dtype)
    places = [row * longest + place for row, size in enumerate(lengths) for place in range(size)]
    at = np.array(places, np.int64)
    values = values.reshape(len(at), *element)
    expected = scattered(values, at, len(lengths) * longest, default)
    found = rows_side_by_side(values, splits, longest, default)
    assert found.shape == (len(lengths), longest, *element)
    assert found.dtype == expected.dtype
    assert found.tobytes() == expected.tobytes()


@given(pair=pairs())
def test_bytes_arrays_pickle(pair: tuple[BytesArray, npt.NDArray[np.object_]]) -> None:
    again = pickle.loads(pickle.dumps(pair[0]))
    check_same(again, pair[1])


# ---------------------------------------------------------------- ragged and sparse

ROWS = st.lists(st.none() | st.lists(st.integers(-9, 9), max_size=4), max_size=6)
TEXT_ROWS = st.lists(
    st.none() | st.lists(st.binary(max_size=3), min_size=1, max_size=3), max_size=6
)


@given(rows=ROWS | TEXT_ROWS)
def test_ragged_rows(rows: list[Any]) -> None:
    ragged = RaggedTensor.from_rows(rows)
    assert len(ragged) == len(rows)
    assert ragged.tolist() == rows
    assert [None if row is None else row.tolist() for row in ragged] == rows
    assert ragged.row_lengths().tolist() == [len(row or []) for row in rows]
    for begin in range(-2, len(rows) + 1):
        for end in (*range(-1, len(rows) + 2), None):
            part = ragged[begin:end]
            assert part.tolist() == rows[begin:end]
            assert part.to_sparse().values.tolist() == [
                v for row in rows[begin:end] for v in row or []
            ]
    for index in range(-len(rows), len(rows)):
        row = ragged[index]
        assert (None if row is None else row.tolist()) == rows[index]
    with pytest.raises(IndexError):
        ragged[len(rows)]


@given(rows=ROWS | TEXT_ROWS)
def test_sparse_is_ragged_laid_out(rows: list[Any]) -> None:
    sparse = RaggedTensor.from_rows(rows).to_sparse()
    width = max((len(row or []) for row in rows), default=0)
    assert sparse.dense_shape.tolist() == [len(rows), width]
    places = [[r, c] for r, row in enumerate(rows) for c in range(len(row or []))]
    assert sparse.indices.tolist() == places
    assert sparse.indices.dtype == sparse.dense_shape.dtype == np.int64
    assert sparse.indices.shape == (len(places), 2)
    filler = b"" if isinstance(sparse.values, BytesArray) else 0
    dense = [[*(row or []), *[filler] * (width - len(row or []))] for row in rows]
    assert sparse.to_dense().tolist() == dense
    indices, values, shape = sparse
    assert (indices is sparse.indices, values is sparse.values) == (True, True)
    assert shape is sparse.dense_shape


@given(rows=ROWS | TEXT_ROWS)
def test_ragged_tensors_pickle(rows: list[Any]) -> None:
    assert pickle.loads(pickle.dumps(RaggedTensor.from_rows(rows))).tolist() == rows


def test_a_sparse_default() -> None:
    sparse = SparseTensor(np.array([[0, 1]]), np.array([7]), np.array([1, 3]))
    assert sparse.to_dense(-1).tolist() == [[-1, 7, -1]]
    assert pickle.loads(pickle.dumps(sparse)).to_dense().tolist() == [[0, 7, 0]]
    assert repr(sparse) == "SparseTensor(1 value of int64, dense_shape=(1, 3))"


def test_a_step_of_rows() -> None:
    with pytest.raises(tfrecs.SpecError, match="step"):
        RaggedTensor.from_rows([[1], [2]])[::2]


def test_arrays_and_records_can_be_pickled() -> None:
    rows = [{"a": [*range(n)], "b": [b"x" * n] * n} for n in range(4)]
    records = tfrecs.Records([tfrecs.encode_example(row) for row in rows])
    batch = tfrecs.decode_batch(records)
    for array in (batch["a"], batch["b"], batch["b"].values, batch["b"].values[2:4]):
        again = pickle.loads(pickle.dumps(array))
        assert type(again) is type(array)
        assert again.tolist() == array.tolist()
    assert pickle.loads(pickle.dumps(records)) == records
