"""RaggedTensors of any depth, and what ragged and sparse tensors turn into."""

import pickle
from typing import Any

import ml_dtypes
import needs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tfrecs
from tfrecs import BytesArray, RaggedTensor, SparseTensor, SpecError

pa = needs.optional("pyarrow")
scipy_sparse = needs.optional("scipy.sparse")


def nested_lists(leaves: Any, depth: int) -> Any:
    """Lists of lists of … leaves, `depth` levels of lists in all."""
    lists = leaves
    for _ in range(depth):
        lists = st.lists(lists, max_size=3)
    return lists


LEAVES = st.sampled_from([st.integers(-9, 9), st.binary(max_size=3)])


@st.composite
def ragged(draw: st.DrawFn) -> tuple[RaggedTensor, Any]:
    """A RaggedTensor and the lists that it was made of."""
    depth = draw(st.integers(2, 4))
    lists = draw(nested_lists(draw(LEAVES), depth))
    return of_lists(lists, depth), lists


def of_lists(lists: Any, depth: int) -> RaggedTensor:
    """Level by level, so that the depth does not depend on what is in the lists."""
    splits = []
    for _ in range(depth - 1):
        splits.append(np.cumsum([0, *map(len, lists)]))
        lists = [item for row in lists for item in row]
    is_bytes = bool(lists) and isinstance(lists[0], bytes)
    values: Any = BytesArray.from_values(lists) if is_bytes else np.array(lists, np.int64)
    return RaggedTensor.from_nested_row_splits(values, splits)


def padded(lists: Any, shape: tuple[int, ...], default: Any) -> Any:
    """What to_dense must give, list by list."""
    if not shape:
        return lists
    size, *inner = shape
    rows = [padded(row, tuple(inner), default) for row in lists]
    return rows + [filled(tuple(inner), default)] * (size - len(rows))


def filled(shape: tuple[int, ...], default: Any) -> Any:
    return [filled(shape[1:], default)] * shape[0] if shape else default


@given(pair=ragged(), data=st.data())
def test_nested_rows(pair: tuple[RaggedTensor, Any], data: st.DataObject) -> None:
    tensor, lists = pair
    assert tensor.tolist() == lists
    assert [row.tolist() for row in tensor] == lists
    assert tensor.row_lengths().tolist() == [len(row) for row in lists]
    assert tensor.shape == (len(lists), *[None] * tensor.ragged_rank)
    assert pickle.loads(pickle.dumps(tensor)).tolist() == lists
    assert pa.array(tensor).to_pylist() == lists
    begin, end = data.draw(st.integers(-4, 4)), data.draw(st.integers(-4, 4))
    part = tensor[begin:end]
    assert part.tolist() == lists[begin:end]
    assert pa.array(part).to_pylist() == lists[begin:end]
    again = RaggedTensor.from_nested_row_splits(tensor.flat_values, tensor.nested_row_splits)
    assert again.tolist() == lists


@given(pair=ragged(), data=st.data())
def test_dense_and_sparse(pair: tuple[RaggedTensor, Any], data: st.DataObject) -> None:
    begin = data.draw(st.integers(0, 2))
    tensor, lists = pair[0][begin:], pair[1][begin:]
    is_bytes = isinstance(tensor.flat_values, BytesArray)
    sparse = tensor.to_sparse()
    for default in (None, b"pad" if is_bytes else -1):
        dense = tensor.to_dense(default)
        filler = (b"" if is_bytes else 0) if default is None else default
        assert dense.tolist() == padded(lists, dense.shape, filler)
        assert sparse.shape == dense.shape
        assert sparse.to_dense(default).tolist() == dense.tolist()
    assert sparse.tolist() == tensor.to_dense().tolist()


def test_values_of_a_shape() -> None:
    values = np.arange(12).reshape(3, 2, 2)
    tensor = RaggedTensor(values, np.array([0, 2, 2, 3], np.int32))
    assert (tensor.ragged_rank, tensor.shape) == (1, (3, None, 2, 2))
    assert tensor.row_splits.dtype == np.int32
    assert tensor.tolist() == [values[:2].tolist(), [], values[2:].tolist()]
    assert tensor.to_dense().shape == (3, 2, 2, 2)
    assert tensor.to_sparse().to_dense().tolist() == tensor.to_dense().tolist()
    assert pa.array(tensor).to_pylist() == tensor.tolist()
    texts = RaggedTensor(BytesArray.from_values("abcdef").reshape(3, 2), np.array([0, 1, 3]))
    assert texts.to_dense("x").tolist() == [
        [[b"a", b"b"], [b"x", b"x"]],
        [[b"c", b"d"], [b"e", b"f"]],
    ]
    assert pa.array(texts).to_pylist() == texts.tolist()


def test_rows_of_rows() -> None:
    tensor = RaggedTensor.from_rows([[[1, 2], [3]], None, [], [[4]]])
    assert tensor.tolist() == [[[1, 2], [3]], None, [], [[4]]]
    assert pa.array(tensor).to_pylist() == tensor.tolist()
    assert tensor[1] is None
    assert tensor[0].tolist() == [[1, 2], [3]]
    assert isinstance(tensor[0], RaggedTensor)
    assert repr(tensor) == "RaggedTensor(4 values of int64, shape=(4, None, None))"
    texts = RaggedTensor.from_rows([[["a"], ["b", "c"]]])
    assert texts.tolist() == [[[b"a"], [b"b", b"c"]]]


NUMBERS = [
    *("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"),
    *("float16", "float32", "float64"),
]


@pytest.mark.parametrize("dtype", NUMBERS)
def test_arrow_has_the_types(dtype: str) -> None:
    tensor = RaggedTensor.from_rows([[1, 0], [1]], dtype)
    array = pa.array(tensor)
    array.validate(full=True)
    assert array.type.value_type.to_pandas_dtype() == np.dtype(dtype)
    assert array.to_pylist() == [[1, 0], [1]]
    table = pa.record_batch(tensor.to_sparse())
    assert table.schema.field("values").type == array.type.value_type


def test_arrow_has_types_of_extensions() -> None:
    tensor = RaggedTensor.from_rows([[True, False], [True]], np.bool_)
    array = pa.array(tensor)
    assert array.type.value_type == pa.bool8()
    assert array.to_pylist() == [[True, False], [True]]
    assert pa.record_batch(tensor.to_sparse()).schema.field("values").type == pa.bool8()
    words = pa.array(RaggedTensor.from_rows([[0.5], []], ml_dtypes.bfloat16))
    assert words.to_pylist() == [[np.array(0.5, ml_dtypes.bfloat16).tobytes()], []]


def test_parts_that_are_none() -> None:
    values = np.arange(3)
    for splits in (np.array([], np.int64), np.array([[0, 3]]), np.array(0)):
        with pytest.raises(SpecError, match="row_splits have one dimension and at least one"):
            RaggedTensor(values, splits)
    with pytest.raises(SpecError, match="at least one dimension"):
        RaggedTensor(np.array(5), np.array([0, 1]))
    with pytest.raises(SpecError, match="row splits of at least one level"):
        RaggedTensor.from_nested_row_splits(values, [])


@pytest.mark.parametrize("splits", [[0, 4], [0, 2, 1], [-1, 2], [2, 1]])
def test_splits_that_do_not_fit(splits: list[int]) -> None:
    for tensor in (
        RaggedTensor(np.arange(3), np.array(splits)),
        RaggedTensor(RaggedTensor(np.arange(9), np.array([0, 1, 2, 9])), np.array(splits)),
        RaggedTensor(RaggedTensor(np.arange(3), np.array(splits)), np.array([0, 1])),
    ):
        assert len(tensor.tolist()) == len(tensor)
        assert [row.tolist() for row in tensor] == tensor.tolist()
        if tensor.ragged_rank == 1:
            for convert in (tensor.to_sparse, tensor.to_dense):
                with pytest.raises(SpecError, match="row_splits do not fit the 3 values"):
                    convert()


# ---------------------------------------------------------------- sparse tensors


@st.composite
def sparse(draw: st.DrawFn) -> tuple[SparseTensor, Any]:
    """A SparseTensor and the array of the same values."""
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4))
    dense = draw(hnp.arrays(np.int32, shape, elements=st.sampled_from([0, 0, 1, -5, 9])))
    indices = np.argwhere(dense)
    return SparseTensor(indices, dense[dense != 0], np.array(shape)), dense


@given(pair=sparse())
def test_sparse_tensors(pair: tuple[SparseTensor, Any]) -> None:
    tensor, dense = pair
    assert tensor.shape == dense.shape
    assert tensor.to_dense().tolist() == tensor.tolist() == dense.tolist()
    assert tensor.to_dense().dtype == np.int32
    table = pa.record_batch(tensor)
    assert table.column("indices").to_pylist() == tensor.indices.tolist()
    assert table.column("values").to_pylist() == tensor.values.tolist()
    if dense.ndim == 2:
        coo = tensor.to_scipy()
        assert isinstance(coo, scipy_sparse.coo_array)
        assert coo.dtype == np.int32
        assert coo.toarray().tolist() == dense.tolist()
        assert coo.tocsr().toarray().tolist() == dense.tolist()


def test_sparse_strings() -> None:
    records = [tfrecs.encode_example({"s": row}) for row in (["a", "b"], [], ["c"])]
    tensor = tfrecs.parse_example(records, {"s": tfrecs.VarLenFeature("string")})["s"]
    assert tensor.tolist() == [[b"a", b"b"], [b"", b""], [b"c", b""]]
    assert tensor.to_dense("?").tolist()[1] == [b"?", b"?"]
    assert pa.record_batch(tensor).column("values").to_pylist() == [b"a", b"b", b"c"]
    with pytest.raises(SpecError, match="no sparse arrays of byte strings"):
        tensor.to_scipy()


def test_sparse_tensors_that_scipy_does_not_have() -> None:
    values = np.array([1.0])
    one, three = np.array([[0]]), np.array([[0, 0, 0]])
    for indices, shape in ((one, [1]), (three, [1, 1, 1])):
        with pytest.raises(SpecError, match=f"have 2 dimensions, this tensor has {len(shape)}"):
            SparseTensor(indices, values, np.array(shape)).to_scipy()
    for outside in ([0, 5], [-1, 0]):
        tensor = SparseTensor(np.array([outside]), values, np.array([2, 5]))
        with pytest.raises(SpecError, match="SciPy refuses"):
            tensor.to_scipy()


def test_indices_outside_of_the_shape() -> None:
    for outside in ([0, 5], [-1, 0], [2, 0]):
        tensor = SparseTensor(np.array([[0, 0], outside]), np.arange(2), np.array([2, 5]))
        with pytest.raises(
            SpecError, match=rf"index \{outside} lies outside of dense_shape \[2, 5]"
        ):
            tensor.to_dense()
    unknown = SparseTensor(np.zeros((0, 2), np.int64), np.arange(0), np.array([1, -1]))
    with pytest.raises(SpecError, match="has an unknown dimension"):
        unknown.to_dense()


def test_shapes_larger_than_any_memory() -> None:
    large = SparseTensor([[0, 0]], [7], [2**40, 2**40])
    with pytest.raises(SpecError, match=r"an array of shape .* is too large"):
        large.to_dense()


def test_places_are_integers() -> None:
    with pytest.raises(SpecError, match="indices must be integers, not float64"):
        SparseTensor([[0.5]], [7], [2])
    with pytest.raises(SpecError, match="row_splits must be integers, not float64"):
        RaggedTensor([1], [0, 1.0])  # type: ignore[list-item]


def test_parts_that_are_lists() -> None:
    assert SparseTensor([[0, 1]], [7], [1, 3]).tolist() == [[0, 7, 0]]
    assert SparseTensor([[1]], ["a"], [2]).tolist() == [b"", b"a"]
    assert RaggedTensor([1, 2, 3], [0, 1, 3]).tolist() == [[1], [2, 3]]
    assert RaggedTensor(["a", b"b"], [0, 0, 2]).tolist() == [[], [b"a", b"b"]]


@pytest.mark.parametrize(
    "parts", [([[0, 1], [0, 0]], [7], [2, 2]), ([[0]], [7], [2, 2]), ([0], [7], [2])]
)
def test_parts_that_do_not_belong_together(parts: Any) -> None:
    with pytest.raises(SpecError, match=r"are no sparse tensor: they are \(N, D\), \(N,\) and"):
        SparseTensor(*parts)


@pytest.mark.parametrize("lengths", [[], [1, 1], [4], [-1, 4], [2, None]])
def test_lengths_that_do_not_divide_the_values(lengths: list[int | None]) -> None:
    with pytest.raises(SpecError, match="these lengths of rows do not divide 3 values"):
        RaggedTensor.from_row_lengths(np.arange(3), lengths)


def test_indices_that_are_none() -> None:
    for tensor in (RaggedTensor.from_rows([[1]]), BytesArray.from_values(["a"])):
        for index in (1, -2):
            with pytest.raises(IndexError, match=rf"index {index} is out of bounds for 1 row"):
                tensor[index]
    wrong: Any = (0, 0)
    with pytest.raises(TypeError, match=r"indexed by an int or a slice, not \(0, 0\)"):
        RaggedTensor.from_rows([[1]])[wrong]


def test_two_values_in_one_place() -> None:
    """The last one stays, in arrays and in strings, whose places are then not ascending."""
    indices = np.array([[0, 1], [0, 1], [0, 0]])
    numbers = SparseTensor(indices, np.array([1, 2, 3]), np.array([1, 3]))
    assert numbers.tolist() == [[3, 2, 0]]
    texts = SparseTensor(indices, BytesArray.from_values("abc"), np.array([1, 3]))
    assert texts.tolist() == [[b"c", b"b", b""]]
