"""The feature classes of tf.io, and what is wrong with a request before any record is read."""

import pickle
from typing import Any

import numpy as np
import pytest

import tfrecs
from tfrecs import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    SpecError,
    VarLenFeature,
    parse_example,
    parse_sequence_example,
    parse_single_example,
    parse_single_sequence_example,
)

RECORD = tfrecs.encode_example({"i": [0, 2], "v": [1.0, 2.0]})


def refused(match: str, features: Any, feature: str | None = None) -> None:
    """Both functions refuse the features, and name the one at fault."""
    for parse in (lambda: parse_example([RECORD], features), lambda: single(features)):
        with pytest.raises(SpecError, match=match) as caught:
            parse()
        assert caught.value.feature == feature


def single(features: Any) -> Any:
    return parse_single_example(RECORD, features)


# ---------------------------------------------------------------- the classes


def test_fields_and_defaults_are_tensorflows() -> None:
    assert FixedLenFeature([], "int64")._fields == ("shape", "dtype", "default_value")
    assert VarLenFeature._fields == ("dtype",)
    names = ("index_key", "value_key", "dtype", "size", "already_sorted")
    assert SparseFeature._fields == names
    assert SparseFeature("i", "v", "int64", 3).already_sorted is False
    assert FixedLenSequenceFeature([], "int64")[2:] == (False, None)
    assert FixedLenSequenceFeature._fields == ("shape", "dtype", "allow_missing", "default_value")
    ragged = RaggedFeature("int64")
    assert ragged._fields == ("dtype", "value_key", "partitions", "row_splits_dtype", "validate")
    assert ragged[1:] == (None, (), "int32", False)
    for name in ("RowSplits", "RowLengths", "RowStarts", "RowLimits", "ValueRowIds"):
        assert getattr(RaggedFeature, name)("k")._asdict() == {"key": "k"}
    assert RaggedFeature.UniformRowLength(2)._asdict() == {"length": 2}


def test_features_compare_print_and_pickle() -> None:
    ragged = RaggedFeature("int64", "v", [RaggedFeature.RowSplits("s")], validate=True)
    assert ragged == RaggedFeature("int64", "v", (RaggedFeature.RowSplits("s"),), validate=True)
    assert repr(ragged) == (
        "RaggedFeature(dtype='int64', value_key='v', partitions=(RowSplits(key='s'),), "
        "row_splits_dtype='int32', validate=True)"
    )
    for feature in (ragged, SparseFeature("i", "v", "float32", 3), FixedLenSequenceFeature(2, int)):
        assert pickle.loads(pickle.dumps(feature)) == feature


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"dtype": "complex64"}, "list of allowed values"),
        ({"dtype": None}, "list of allowed values"),
        ({"value_key": ""}, "must be a string that is not empty"),
        ({"value_key": 5}, "must be a string"),
        ({"row_splits_dtype": "uint8"}, "must be int32 or int64"),
        ({"row_splits_dtype": "float32"}, "must be int32 or int64"),
        ({"partitions": "s"}, "must be a list or tuple"),
        ({"partitions": ["s"]}, r"objects of RaggedFeature's RowSplits, .*, got 's'"),
        ({"partitions": [RaggedFeature.RowSplits(5)]}, "the key of a partition is a string"),  # type: ignore[arg-type]
        ({"partitions": [RaggedFeature.UniformRowLength(0)]}, "a positive integer"),
        ({"partitions": [RaggedFeature.UniformRowLength(-1)]}, "a positive integer"),
        ({"partitions": [RaggedFeature.UniformRowLength(1.0)]}, "a positive integer"),  # type: ignore[arg-type]
        ({"validate": 1}, "must be a bool"),
    ],
)
def test_ragged_features_are_checked_when_made(arguments: dict[str, Any], match: str) -> None:
    with pytest.raises(SpecError, match=match):
        RaggedFeature(**{"dtype": "int64", **arguments})


def test_reasons_leave_the_feature_s_name_to_the_text() -> None:
    """As those of errors from the native side do."""
    values: list[Any] = [object(), [object()], [1, "a"]]
    for value in values:
        with pytest.raises(SpecError) as caught:
            tfrecs.encode_example({"n": value})
        assert caught.value.feature == "n"
        assert not caught.value.reason.startswith("feature")
        assert str(caught.value).startswith("feature")
    with pytest.raises(SpecError) as caught:
        tfrecs.parse_example([RECORD], {"n": FixedLenFeature("2", "int64")})  # type: ignore[arg-type]
    assert (caught.value.feature, caught.value.reason) == ("n", "shape '2' is no list of integers")


def test_a_wrong_type_of_no_name_in_particular() -> None:
    with pytest.raises(SpecError, match=r"^dtype 'bogus' is not in the list") as caught:
        RaggedFeature("bogus")
    assert caught.value.feature is None


# ---------------------------------------------------------------- requests


def test_no_features() -> None:
    nothings: list[Any] = [None, {}]
    for nothing in nothings:
        refused("Argument `features` cannot be None or falsy", nothing)
        for parse in (parse_sequence_example, parse_single_sequence_example):
            with pytest.raises(SpecError, match="at least one should have values"):
                parse(RECORD, nothing, nothing)


def test_what_are_no_features() -> None:
    refused("a mapping of names to features, not list", [VarLenFeature("int64")])
    refused("Unsupported int 5 for key 'a'", {"a": 5}, "a")
    refused("Unsupported type .* for key 'a'", {"a": VarLenFeature}, "a")
    refused("name must be str, not int", {5: VarLenFeature("int64")})
    refused("encodable as UTF-8", {"\ud800": VarLenFeature("int64")})
    refused("encodable as UTF-8", {"a": RaggedFeature("int64", "\ud800")})
    refused("name must be str, not bytes", {"a": SparseFeature("i", b"v", "int64", 5)})  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", ["complex64", "int128", None, 5, np.datetime64, "", object()])
def test_unknown_dtypes(dtype: Any) -> None:
    for feature in (
        FixedLenFeature([], dtype),
        VarLenFeature(dtype),
        SparseFeature("i", "v", dtype, 5),
        FixedLenSequenceFeature([], dtype, True),
    ):
        refused("is not in the list of allowed values", {"a": feature}, "a")


@pytest.mark.parametrize("number", [int, bool, float])
def test_numpy_s_codes_are_dtypes(number: type) -> None:
    """As codes, TensorFlow's other words, and NumPy's objects of any byte order."""
    words: dict[type, list[Any]] = {
        int: ["int64", "i8", "<i4", ">i2", "u1", np.dtype(">u4"), np.int8],
        bool: ["bool", "?", "b1", np.bool_],
        float: ["float", "double", "half", "f8", "<f4", np.dtype(">f2")],
    }
    record = tfrecs.encode_example({"a": number(1)})
    for word in words[number]:
        found = tfrecs.parse_example([record], {"a": FixedLenFeature([], word)})["a"]
        plain: Any = {"float": "f4", "half": "f2"}.get(str(word), word)
        wanted = np.dtype(plain).newbyteorder("=")
        assert (found.dtype, found.tolist()) == (wanted, [1])


@pytest.mark.parametrize(
    ("shape", "match"),
    [
        (None, "Missing shape"),
        ([None], "all dimensions known"),
        ([2, None], "all dimensions known"),
        ([0], "have no values"),
        ([2, 0], "have no values"),
        ([-1], "must be >= 0"),
        ("2", "no list of integers"),
        ([1.5], "no list of integers"),
        ([2**40], "too large"),
    ],
)
def test_shapes_of_elements(shape: Any, match: str) -> None:
    refused(match, {"a": FixedLenSequenceFeature(shape, "int64", True)}, "a")
    with pytest.raises(SpecError, match=match):
        parse_sequence_example([], None, {"a": FixedLenSequenceFeature(shape, "int64")})


@pytest.mark.parametrize(
    ("default", "match"),
    [
        ([], "one value to pad with, but it has 0"),
        ([1, 2], "one value to pad with, but it has 2"),
        (1.5, "is no int64"),
        ("x", "is no int64"),
        (2**63, "is no int64"),
    ],
)
def test_paddings(default: Any, match: str) -> None:
    refused(match, {"a": FixedLenSequenceFeature([], "int64", True, default)}, "a")


@pytest.mark.parametrize(
    ("dtype", "default"),
    [
        ("uint8", 256),
        ("uint8", -1),
        ("int8", 128),
        ("int16", -(2**15) - 1),
        ("uint32", 2**32),
        ("uint64", -1),
        ("bool", 2),
        ("float16", 1e6),
        ("float64", 1e300),
        ("bfloat16", 3.4e38),
    ],
)
def test_defaults_fit_their_dtype(dtype: str, default: Any) -> None:
    text = f"default_value .* does not fit {dtype}"
    refused(text, {"a": FixedLenFeature([], dtype, default)}, "a")
    refused(text, {"a": FixedLenFeature([2], dtype, [0, default])}, "a")
    refused(text, {"a": FixedLenSequenceFeature([], dtype, True, default)}, "a")


def test_a_sequence_in_an_example_may_be_missing() -> None:
    match = "FixedLenSequenceFeature requires allow_missing to be True"
    refused(match, {"a": FixedLenSequenceFeature([], "int64")}, "a")
    with pytest.raises(SpecError, match=match):
        tfrecs.decode_batch([RECORD], {"a": FixedLenSequenceFeature([], "int64")})


@pytest.mark.parametrize(
    ("index_key", "size", "match"),
    [
        ("", 5, "Missing index_key"),
        ([], [], "Missing index_key"),
        (None, 5, "Missing index_key"),
        ("i", [5], "no integer"),
        ("i", None, "no integer"),
        ("i", 5.0, "no integer"),
        ("i", "5", "no integer"),
        (["i"], 5, "a list of integers, not 5"),
        (["i"], [5, 6], "equal lengths, they have 1 and 2"),
        (["i", "i"], [5], "equal lengths, they have 2 and 1"),
        (["i"], [None], "no integer"),
    ],
)
def test_indices_and_sizes(index_key: Any, size: Any, match: str) -> None:
    refused(match, {"a": SparseFeature(index_key, "v", "float32", size)}, "a")


def test_keys_and_sizes_of_a_sparse_feature_may_be_arrays() -> None:
    record = tfrecs.encode_example({"i": [1], "j": [2], "v": [0.5]})
    for keys, size in ((np.array(["i", "j"]), np.array([3, 4])), (["i", "j"], (3, np.int64(4)))):
        feature = SparseFeature(keys, "v", "float32", size)  # type: ignore[arg-type]
        found = tfrecs.parse_example([record], {"s": feature})["s"]
        assert (found.indices.tolist(), found.shape) == ([[0, 1, 2]], (1, 3, 4))


def test_a_sparse_feature_needs_values() -> None:
    for key in ("", None):
        refused("Missing value_key", {"a": SparseFeature("i", key, "float32", 5)}, "a")  # type: ignore[arg-type]


# ---------------------------------------------------------------- keys that clash

SPARSE = SparseFeature("i", "v", "float32", 5)


@pytest.mark.parametrize(
    ("features", "match"),
    [
        ({"s": SPARSE, "v": FixedLenFeature([2], "float32")}, "Dense and sparse keys"),
        ({"i": FixedLenSequenceFeature([], int, True), "s": SPARSE}, "Dense and sparse keys"),
        ({"r": RaggedFeature(float, "v"), "v": FixedLenFeature([2], float)}, "Dense and ragged"),
        ({"r": RaggedFeature(float, "v"), "s": SPARSE}, "Ragged and sparse keys"),
        ({"v": VarLenFeature(float), "r": RaggedFeature(float, "v")}, "Ragged and sparse keys"),
        ({"v": VarLenFeature(int), "s": SPARSE}, "Conflicting type int64 vs float32"),
        ({"i": VarLenFeature("int32"), "s": SPARSE}, "Conflicting type int32 vs int64"),
        ({"a": SparseFeature("i", "i", "float32", 5)}, "Conflicting type int64 vs float32"),
        (
            {"a": RaggedFeature(int, "i"), "b": RaggedFeature(int, "i", row_splits_dtype="int64")},
            "Conflicting partition type int32 vs int64",
        ),
        (
            {"r": RaggedFeature(float, "i", [RaggedFeature.RowLengths("i")])},
            "Conflicting type float32 vs int64",
        ),
    ],
)
def test_features_that_want_one_key_in_two_ways(features: dict[str, Any], match: str) -> None:
    for parse in (lambda: parse_example([RECORD], features), lambda: single(features)):
        with pytest.raises(SpecError, match=match) as caught:
            parse()
        assert caught.value.feature in {"i", "v"}


def test_features_of_one_class_share_keys() -> None:
    found = parse_example(
        [RECORD],
        {
            "s": SPARSE,
            "t": SparseFeature("i", "v", "float32", 9, already_sorted=True),
            "i": VarLenFeature("int64"),
            "v": SparseFeature("i", "v", "float32", 7),
        },
    )
    assert list(found) == ["s", "t", "i", "v"]
    assert [found[name].dense_shape.tolist() for name in found] == [[1, 5], [1, 9], [1, 2], [1, 7]]
    ragged = parse_example([RECORD], {"a": RaggedFeature(float, "v"), "v": RaggedFeature(float)})
    assert ragged["a"].tolist() == ragged["v"].tolist() == [[1.0, 2.0]]


# ---------------------------------------------------------------- features of sequences


def test_kinds_that_sequences_do_not_have() -> None:
    kinds: list[Any] = [SPARSE, FixedLenSequenceFeature([], "int64", True)]
    for feature in kinds:
        with pytest.raises(SpecError, match=f"Unsupported {type(feature).__name__}"):
            parse_sequence_example([b""], {"a": feature})
    kinds = [SPARSE, FixedLenFeature([], "int64")]
    for feature in kinds:
        with pytest.raises(SpecError, match=f"Unsupported {type(feature).__name__}"):
            parse_single_sequence_example(b"", None, {"a": feature})


def test_lists_have_no_default() -> None:
    for allow_missing in (False, True):
        feature = FixedLenSequenceFeature([], "int64", allow_missing, 5)
        with pytest.raises(SpecError, match=r"feature_list.dense_defaults\[a\] must be None"):
            parse_sequence_example([b""], None, {"a": feature})


def test_context_and_lists_share_names() -> None:
    record = tfrecs.encode_sequence_example({"a": 1}, {"a": [[1.0], [2.0]]})
    context, lists = parse_single_sequence_example(
        record, {"a": FixedLenFeature([], "int64")}, {"a": VarLenFeature("float32")}
    )
    assert (context["a"].tolist(), lists["a"].values.tolist()) == (1, [1.0, 2.0])


# ---------------------------------------------------------------- columns


def test_columns_are_features_as_they_are() -> None:
    for feature in (
        SPARSE,
        RaggedFeature("float32", "v"),
        RaggedFeature("float32", partitions=[RaggedFeature.UniformRowLength(2)]),
    ):
        with pytest.raises(SpecError, match="use parse_example") as caught:
            tfrecs.decode_batch([RECORD], {"a": feature})
        assert caught.value.feature == "a"


def test_columns_of_every_kind_that_is_one() -> None:
    records = [tfrecs.encode_example(row) for row in ({"a": [1, 2], "b": [1, 2]}, {"b": [3, 4]})]
    batch = tfrecs.decode_batch(
        records,
        {"a": RaggedFeature("uint8"), "b": FixedLenSequenceFeature([2], "int64", True)},
    )
    a, b = batch["a"], batch["b"]
    assert isinstance(a, tfrecs.RaggedTensor)
    assert isinstance(b, tfrecs.RaggedTensor)
    assert a.tolist() == [[1, 2], None]
    assert a.flat_values.tolist() == [1, 2]
    assert (b.tolist(), b.shape) == ([[[1, 2]], [[3, 4]]], (2, None, 2))
    assert "lists of 0 to 2 values, missing in 1 row" in repr(batch)
