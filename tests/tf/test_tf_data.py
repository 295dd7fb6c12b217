"""`tfrecs.tf.data`: what runs natively, and what plans and states there are after it."""

import gc
import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import tfrecs
from tfrecs import tf
from tfrecs.dataset.plan.source import roots_of
from tfrecs.dataset.sources.files import Files
from tfrecs.testing import assert_resumes

SPEC: dict[str, Any] = {
    "id": tf.io.FixedLenFeature([], tf.int64),
    "tags": tf.io.VarLenFeature(tf.string),
}


@pytest.fixture(autouse=True)
def ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with tfrecs.RecordWriter("ids.tfrecord") as out:
        for n in range(10):
            out.write(tfrecs.encode_example({"id": n, "tags": ["t"] * (n % 3)}))


def parsed_natively(ds: Any) -> bool:
    """Whether the plan itself parses."""
    (source,) = roots_of(ds.plan.node)
    assert isinstance(source, Files)
    return source.parses


class Counted:
    """A function that parses, and counts its calls."""

    def __init__(self, pick: Any = None) -> None:
        self.calls = 0
        self.pick = pick or (lambda features: features)

    def __call__(self, record: Any) -> Any:
        self.calls += 1
        return self.pick(tf.io.parse_single_example(record, SPEC))


@pytest.mark.parametrize(
    "pick",
    [
        None,
        lambda features: features["id"],
        lambda features: (features["tags"], features["id"]),
        lambda features: {"a": features["id"], "b": (features["id"], features["tags"])},
    ],
    ids=["all", "one", "two", "nested"],
)
def test_a_function_that_only_parses_is_called_once(pick: Any) -> None:
    parse = Counted(pick)
    ds = tf.data.TFRecordDataset("ids.tfrecord").map(parse, num_parallel_calls=tf.data.AUTOTUNE)
    assert parsed_natively(ds)
    elements = list(ds.as_numpy_iterator())
    assert parse.calls == 1
    wanted = [pick(one) if pick else one for one in eagerly()]
    assert str(elements) == str(wanted)


def eagerly() -> list[Any]:
    """What is parsed of each record, by itself."""
    return [
        {
            name: value.to_dense() if name == "tags" else value[()]
            for name, value in tfrecs.parse_single_example(record, SPEC).items()
        }
        for record in tfrecs.RecordReader("ids.tfrecord")
    ]


def test_a_function_that_does_more_is_called_for_each() -> None:
    parse = Counted(lambda features: features["id"] + 1)
    ds = tf.data.TFRecordDataset("ids.tfrecord").map(parse)
    assert not parsed_natively(ds)
    assert [int(one) for one in ds] == list(range(1, 11))
    assert parse.calls == 11


def test_what_is_parsed_twice_is_not_only_parsed() -> None:
    def parse(record: Any) -> Any:
        first = tf.io.parse_single_example(record, {"id": SPEC["id"]})
        return first["id"], tf.io.parse_single_example(record, SPEC)["id"]

    ds = tf.data.TFRecordDataset("ids.tfrecord").map(parse)
    assert not parsed_natively(ds)
    assert list(ds.take(2).as_numpy_iterator()) == [(0, 0), (1, 1)]


def doubled(record: Any) -> Any:
    """What a function makes that does more than to parse."""
    features = tf.io.parse_single_example(record, dict(SPEC))
    number = features.pop("id")
    return {**features, "twice": number * 2}, tf.shape(features["tags"].values)


def test_what_a_function_parses_is_parsed_for_many_records_before() -> None:
    ds = tf.data.TFRecordDataset("ids.tfrecord").map(doubled)
    assert ".parsed_ahead(id, tags)" in repr(ds)
    for number, (features, shape) in enumerate(ds):
        assert int(features["twice"]) == 2 * number
        assert tf.sparse.to_dense(features["tags"]).numpy().tolist() == [b"t"] * (number % 3)
        assert features["tags"].dense_shape.numpy().tolist() == [number % 3]
        assert shape.numpy().tolist() == [number % 3]


def test_a_record_that_cannot_be_parsed_is_the_function_s_own_business() -> None:
    with tfrecs.RecordWriter("mixed.tfrecord") as out:
        for n in range(10):
            out.write(tfrecs.encode_example({"id": n} if n != 6 else {"id": [1, 2]}))
    spec = {"id": SPEC["id"]}

    def careful(record: Any) -> Any:
        try:
            return tf.io.parse_single_example(record, spec)["id"] + 1
        except tf.errors.InvalidArgumentError:
            return tf.constant(-1, tf.int64)

    ds = tf.data.TFRecordDataset("mixed.tfrecord").map(careful)
    assert list(ds.as_numpy_iterator()) == [1, 2, 3, 4, 5, 6, -1, 8, 9, 10]


def test_a_record_is_a_record_still() -> None:
    def both(record: Any) -> Any:
        number = tf.io.parse_single_example(record, {"id": SPEC["id"]})["id"]
        return record, number if int(number) % 2 else number * 0

    ds = tf.data.TFRecordDataset("ids.tfrecord").map(both)
    assert ".parsed_ahead(id)" in repr(ds)
    records = list(tfrecs.RecordReader("ids.tfrecord"))
    assert [(one, int(n)) for one, n in ds.as_numpy_iterator()] == [
        (record, n if n % 2 else 0) for n, record in enumerate(records)
    ]


def test_other_features_are_parsed_when_they_are_asked_for() -> None:
    asked = iter([{"id": SPEC["id"]}, *[SPEC] * 10])

    def parse(record: Any) -> Any:
        return len(tf.io.parse_single_example(record, next(asked)))

    ds = tf.data.TFRecordDataset("ids.tfrecord").map(parse)
    assert list(ds.as_numpy_iterator()) == [2] * 10


def test_records_before_a_damaged_one_come_first() -> None:
    data = bytearray(Path("ids.tfrecord").read_bytes())
    offset = sum(16 + len(record) for record in list(tfrecs.RecordReader("ids.tfrecord"))[:7])
    data[offset + 13] ^= 1
    Path("bad.tfrecord").write_bytes(data)
    elements = iter(tf.data.TFRecordDataset(["ids.tfrecord", "bad.tfrecord"]).map(doubled))
    seen = [int(next(elements)[0]["twice"]) // 2 for _ in range(17)]
    assert seen == [*range(10), *range(7)]
    with pytest.raises(tf.errors.DataLossError, match="record 7"):
        next(elements)


def test_batches_are_parsed_natively() -> None:
    records = tf.data.TFRecordDataset("ids.tfrecord").shuffle(100, seed=2).batch(4)
    ds = records.map(lambda some: tf.io.parse_example(some, SPEC)).prefetch(1)
    assert parsed_natively(ds)
    assert sorted(int(n) for batch in ds for n in batch["id"]) == list(range(10))


def test_shuffled_and_batched_after_parsing_it_is_still_native() -> None:
    ds = tf.data.TFRecordDataset("ids.tfrecord").map(Counted(lambda features: features["id"]))
    ds = ds.shuffle(5, seed=1).repeat(2).batch(3)
    assert repr(ds).splitlines()[-2:] == ["  .batch(3)", "  .map(id)"]
    assert sorted(int(n) for batch in ds for n in batch) == sorted([*range(10)] * 2)


def test_an_error_names_its_record() -> None:
    spec = {"no": tf.io.FixedLenFeature([], tf.int64)}
    ds = tf.data.TFRecordDataset("ids.tfrecord").map(
        lambda record: tf.io.parse_single_example(record, spec)
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match="record 0") as caught:
        list(ds.batch(2))
    assert isinstance(caught.value, tfrecs.ParseError)
    assert caught.value.message == str(caught.value)


def test_an_error_of_a_function_says_where() -> None:
    ds = tf.data.Dataset.range(3).map(lambda n: 1 // int(2 - n))
    with pytest.raises(ZeroDivisionError) as caught:
        list(ds)
    assert "of a Dataset" in "".join(caught.value.__notes__)


def test_a_function_that_returns_nothing() -> None:
    with pytest.raises(TypeError, match="None"):
        list(tf.data.Dataset.range(1).map(print))


def test_the_plan_is_one_of_ours() -> None:
    ds = tf.data.TFRecordDataset("ids.tfrecord").map(Counted()).batch(4)
    assert isinstance(ds.plan, tfrecs.Dataset)
    it = iter(ds.plan)
    next(it)
    state = json.loads(json.dumps(it.state_dict()))
    again = iter(ds.plan)
    again.load_state_dict(state)
    assert next(again)["id"].tolist() == [4, 5, 6, 7]


@pytest.mark.parametrize(
    "make",
    [
        lambda: tf.data.Dataset.range(7).shuffle(4, seed=1).batch(2),
        lambda: tf.data.Dataset.from_tensor_slices((np.arange(6), ["a"] * 6)).padded_batch(2),
        lambda: tf.data.Dataset.from_generator(lambda: iter(range(5)), output_types=tf.int64),
        lambda: tf.data.Dataset.range(8).shuffle(8, 3, reshuffle_each_iteration=False).take(5),
        lambda: tf.data.TFRecordDataset("ids.tfrecord").map(Counted(lambda one: one["id"])),
        lambda: tf.data.TFRecordDataset(["ids.tfrecord"] * 3, num_parallel_reads=2),
        lambda: tf.data.TFRecordDataset(["ids.tfrecord"] * 15).map(doubled).skip(120).take(15),
        lambda: tf.data.TFRecordDataset(["ids.tfrecord"] * 4).shard(3, 1).map(doubled, 2),
        lambda: tf.data.Dataset.zip((tf.data.Dataset.range(4), tf.data.Dataset.range(5))),
        lambda: tf.data.TextLineDataset(["ids.tfrecord"] * 2, num_parallel_reads=2),
    ],
)
def test_plans_resume(make: Any) -> None:
    assert_resumes(make().plan)


@pytest.mark.skipif(sys.platform != "linux", reason="what is open is told by Linux")
def test_a_pass_that_is_left_leaves_nothing_after() -> None:
    before = descriptors()
    for _ in range(20):
        it = iter(tf.data.TFRecordDataset(["ids.tfrecord"] * 3, num_parallel_reads=2).batch(2))
        next(it)
        del it
    gc.collect()
    assert descriptors() <= before


def descriptors() -> int:
    """How many files are open."""
    return len(list(Path("/proc/self/fd").iterdir()))


def test_what_libraries_get() -> None:
    assert [tf.data.AUTOTUNE, tf.data.experimental.AUTOTUNE] == [-1, -1]
    options = tf.data.Options()
    options.experimental_optimization.map_parallelization = True
    ds = tf.data.Dataset.range(2).with_options(options)
    assert list(ds.as_numpy_iterator()) == [0, 1]
    assert np.asarray(next(iter(ds))).dtype == np.int64


def test_graphs_of_datasets() -> None:
    iterator = tf.data.Dataset.range(2).make_one_shot_iterator()
    element = iterator.get_next()
    with tf.Session() as sess:
        assert [sess.run(element), sess.run(element + 10)] == [0, 11]
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(element)
        sess.run(iterator.initializer)
        assert sess.run({"a": element}) == {"a": 0}


def test_a_path_with_a_star_is_taken_as_it_is() -> None:
    with pytest.raises(tf.errors.NotFoundError):
        list(tf.data.TFRecordDataset("ids*"))


def test_a_missing_file_comes_when_it_is_its_turn() -> None:
    it = iter(tf.data.TFRecordDataset(["ids.tfrecord", "missing"]))
    for _ in range(10):
        next(it)
    with pytest.raises(tf.errors.NotFoundError, match="missing"):
        next(it)


def test_a_part_of_what_is_parsed_is_that_of_each_record() -> None:
    with tfrecs.RecordWriter("pairs.tfrecord") as out:
        out.write_batch([tfrecs.encode_example({"x": [n, 10 + n]}) for n in range(3)])
    spec = {"x": tf.io.FixedLenFeature([2], tf.int64)}
    parts = {
        "one": (lambda x: x[1], [[10, 11], [12]]),
        "some": (lambda x: x[:1], [[[0], [1]], [[2]]]),
        "more": (lambda x: x[None, :], [[[[0, 10]], [[1, 11]]], [[[2, 12]]]]),
        "by another": (lambda x: x[x[0] % 2], [[0, 11], [2]]),
    }
    for name, (part, wanted) in parts.items():
        ds = tf.data.TFRecordDataset("pairs.tfrecord").map(
            lambda record, part=part: part(tf.io.parse_single_example(record, spec)["x"])
        )
        assert [batch.numpy().tolist() for batch in ds.batch(2)] == wanted, name


def test_what_a_function_does_besides_parsing_is_done() -> None:
    seen: list[int] = []

    def parse(record: Any) -> Any:
        features = tf.io.parse_single_example(record, SPEC)
        tf.py_function(lambda number: seen.append(int(number)), [features["id"]], [])
        return features

    assert len(list(tf.data.TFRecordDataset("ids.tfrecord").map(parse))) == 10
    assert seen == list(range(10))


def test_features_are_those_when_the_function_was_given() -> None:
    spec = dict(SPEC)
    ds = tf.data.TFRecordDataset("ids.tfrecord").map(lambda r: tf.io.parse_single_example(r, spec))
    del spec["id"]
    assert [set(one) for one in ds.take(1)] == [{"id", "tags"}]


@pytest.mark.parametrize("called", [tf.py_function, tf.numpy_function])
def test_a_function_may_return_one_value_or_a_list_of_one(called: Any) -> None:
    def element_of(function: Any, types: Any) -> Any:
        made = tf.data.Dataset.range(1).map(lambda n: called(function, [n], types))
        return next(made.as_numpy_iterator())

    assert element_of(lambda n: np.array([7, 8]), tf.int64).tolist() == [7, 8]
    assert element_of(lambda n: [7], tf.int64) == 7
    assert element_of(lambda n: 7, [tf.int64]) == (7,)
    (array,) = element_of(lambda n: np.array([7]), [tf.int64])
    assert array.tolist() == [7]


def test_byte_strings_that_a_function_made_are_padded_with_empty_ones() -> None:
    spec = {"tags": tf.io.VarLenFeature(tf.string)}

    def dense(record: Any) -> Any:
        return tf.sparse.to_dense(tf.io.parse_single_example(record, spec)["tags"])

    ds = tf.data.TFRecordDataset("ids.tfrecord").map(dense)
    first = next(ds.padded_batch(3).as_numpy_iterator())
    assert first.tolist() == [[b"", b""], [b"t", b""], [b"t", b"t"]]
    (alone,) = ds.take(1).padded_batch(1, padded_shapes=[2]).as_numpy_iterator()
    assert alone.tolist() == [[b"", b""]]


@pytest.mark.parametrize("parts", [lambda ds: ds, lambda ds: ds.as_numpy_iterator()])
def test_each_pass_has_another_order(parts: Any) -> None:
    records = tf.data.TFRecordDataset("ids.tfrecord").repeat(10)
    ds = records.map(lambda r: tf.io.parse_single_example(r, SPEC)["id"]).shuffle(100, seed=1)
    assert [int(n) for n in parts(ds)] != [int(n) for n in parts(ds)]
    assert [int(n) for n in ds.plan] != [int(n) for n in ds.plan]


def test_a_function_may_ask_which_kinds_of_values_there_are() -> None:
    def dense(record: Any) -> Any:
        features = tf.io.parse_single_example(record, SPEC)
        for name, value in features.items():
            if isinstance(value, tf.SparseTensor):
                features[name] = tf.sparse.to_dense(value)
        return features

    def shorter(record: Any) -> Any:
        features = tf.io.parse_single_example(record, SPEC)
        return {
            name: tf.cast(value, tf.int32) if value.dtype == tf.int64 else value
            for name, value in features.items()
        }

    records = tf.data.TFRecordDataset("ids.tfrecord").skip(2)
    assert next(iter(records.map(dense)))["tags"].numpy().tolist() == [b"t", b"t"]
    assert next(iter(records.map(shorter)))["id"].dtype == tf.int32


def test_a_range_that_nobody_could_keep() -> None:
    numbers = tf.data.Dataset.range(10**15)
    assert len(numbers) == 10**15
    assert next(iter(numbers)) == 0


class Labelled(NamedTuple):
    number: Any
    tags: Any


def test_named_tuples_keep_their_names() -> None:
    def parse(record: Any) -> Labelled:
        features = tf.io.parse_single_example(record, SPEC)
        return Labelled(features["id"], features["tags"])

    ds = tf.data.TFRecordDataset("ids.tfrecord").map(parse)
    assert parsed_natively(ds)
    for made in (ds, ds.batch(2), ds.map(lambda one: Labelled(one.number + 1, 0)).batch(2)):
        assert type(next(iter(made))) is Labelled
    assert [one.number.tolist() for one in ds.batch(5).as_numpy_iterator()] == [
        [0, 1, 2, 3, 4],
        [5, 6, 7, 8, 9],
    ]
    (one,) = tf.data.Dataset.from_tensor_slices(Labelled([1], ["a"]))
    assert (int(one.number), one.tags.numpy()) == (1, b"a")


def test_what_is_drawn_hangs_on_the_seed() -> None:
    def drawn(seed: int | None) -> list[int]:
        parts = [tf.data.Dataset.range(50), tf.data.Dataset.range(50, 100)]
        ds = tf.data.Dataset.sample_from_datasets(parts, [0.5, 0.5], seed=seed)
        return [int(n) for n in ds.as_numpy_iterator()]

    assert sorted(drawn(1)) == list(range(100))
    assert drawn(1) == drawn(1) != drawn(2)
    assert drawn(None) != drawn(None)


def test_names_of_files_in_an_array_of_any_shape() -> None:
    names = np.array([["ids.tfrecord"], ["ids.tfrecord"]])
    assert len(list(tf.data.TFRecordDataset(names))) == 20
    assert len(list(tf.data.TFRecordDataset(tf.constant(names)))) == 20


def test_weighted_draws_are_the_same_in_every_release() -> None:
    """A saved state names the draws by number only, so their order must never change."""
    parts = [tf.data.Dataset.from_tensors(one).repeat() for one in (1, 2)]
    some = tf.data.Dataset.from_tensors([0.25, 0.75]).repeat()
    for weights in ([0.25, 0.75], some):
        drawn = tf.data.Dataset.sample_from_datasets(parts, weights, seed=5).take(20)
        text = "".join(str(int(one)) for one in drawn)
        assert text == ("21212122221222221221" if weights is some else "22121222211211212222")


def test_weighted_batches_are_filtered_by_row() -> None:
    batches = tf.data.TFRecordDataset("ids.tfrecord").batch(4)
    parsed = batches.map(lambda records: tf.io.parse_example(records, SPEC))
    weights = tf.data.Dataset.from_tensors([1.0]).repeat()
    drawn = tf.data.Dataset.sample_from_datasets([parsed], weights, seed=5)
    rows = drawn.plan.filter(tfrecs.col("id") > 4)
    assert [batch["id"].tolist() for batch in rows] == [[5, 6, 7], [8, 9]]


@pytest.mark.parametrize(
    "shapes",
    [
        (tf.TensorShape([3]), tf.TensorShape([])),
        ([3], []),
        (tf.TensorShape([3]), None),
        ((3,), ()),
    ],
)
def test_padded_shapes_of_parts(shapes: Any) -> None:
    ds = tf.data.Dataset.range(1, 3).map(lambda n: (tf.range(n), n))
    ((rows, numbers),) = ds.padded_batch(2, padded_shapes=shapes).as_numpy_iterator()
    assert rows.tolist() == [[0, 0, 0], [0, 1, 0]]
    assert numbers.tolist() == [1, 2]


def test_a_dataset_of_several_names_at_a_time() -> None:
    for name in ("one", "two"):
        with tf.io.TFRecordWriter(f"{name}.tfrecord") as out:
            for n in range(3):
                out.write(b"%s %d" % (name.encode(), n))
    names = tf.data.Dataset.from_tensors(["one.tfrecord", "two.tfrecord"])
    found = [bytes(record) for record in tf.data.TFRecordDataset(names).as_numpy_iterator()]
    assert found == [b"%s %d" % (name, n) for name in (b"one", b"two") for n in range(3)]
