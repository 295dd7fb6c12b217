"""The names of TensorFlow 1: what comes of queues and readers, and when threads stop."""

import gzip
import threading
import time
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfrecs
from tfrecs import tf


@pytest.fixture(autouse=True)
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    with tf.python_io.TFRecordWriter("ids.tfrecord") as out:
        for n in range(6):
            out.write(tfrecs.encode_example({"id": n, "half": n / 2, "tags": ["t"] * n}))
    before = threading.active_count()
    tf.reset_default_graph()
    yield
    tf.reset_default_graph()
    assert threading.active_count() == before


FEATURES = {
    "id": tf.FixedLenFeature([], tf.int64),
    "half": tf.FixedLenFeature([], tf.float32),
    "tags": tf.VarLenFeature(tf.string),
}


def record(**how: Any) -> dict[str, Any]:
    """What will be parsed of the next record."""
    queue = tf.train.string_input_producer(["ids.tfrecord"], **how)
    _, value = tf.TFRecordReader().read(queue)
    parsed: dict[str, Any] = tf.parse_single_example(serialized=value, features=FEATURES, name="p")
    return parsed


def test_what_is_fetched_in_one_run_is_of_one_record() -> None:
    parsed = record(num_epochs=1)
    with tf.Session() as sess:
        for n in range(6):
            made = sess.run({"a": [parsed["id"], (parsed["half"],)], "b": parsed["id"] + 1})
            assert made == {"a": [n, (n / 2,)], "b": n + 1}
        with pytest.raises(tf.errors.OutOfRangeError, match="insufficient elements"):
            sess.run(parsed["id"])


def test_eval_reads_on() -> None:
    parsed = record()
    with tf.Session():
        assert [parsed["id"].eval() for _ in range(8)] == [0, 1, 2, 3, 4, 5, 0, 1]


def test_epochs_are_shuffled_anew() -> None:
    for name in "abcdefgh":
        Path(name).write_text(name)
    queue = tf.train.string_input_producer(list("abcdefgh"), num_epochs=2, seed=3, name="names")
    key, value = tf.WholeFileReader().read(queue)
    with tf.Session() as sess:
        seen = [sess.run([key, value]) for _ in range(16)]
    assert all(key == value for key, value in seen)
    first, second = seen[:8], seen[8:]
    assert sorted(first) == sorted(second)
    assert first != second


def test_keys_and_kinds_of_readers() -> None:
    Path("lines.txt").write_text("name\nada\ngrace\n")
    Path("fixed.bin").write_bytes(b"Haabb")
    Path("ids.gz").write_bytes(gzip.compress(Path("ids.tfrecord").read_bytes()))
    gz = tf.python_io.TFRecordOptions(tf.python_io.TFRecordCompressionType.GZIP)
    readers = {
        "ids.tfrecord": (tf.TFRecordReader(), b"ids.tfrecord:0"),
        "ids.gz": (tf.TFRecordReader(options=gz), b"ids.gz:0"),
        "lines.txt": (tf.TextLineReader(skip_header_lines=1), b"lines.txt:2"),
        "fixed.bin": (tf.FixedLengthRecordReader(2, header_bytes=1), b"fixed.bin:0"),
    }
    with tf.Session() as sess:
        for name, (reader, wanted) in readers.items():
            key, value = reader.read(tf.train.string_input_producer([name]))
            found, content = sess.run([key, value])
            assert found == wanted
            assert content
    assert all(isinstance(reader, tf.ReaderBase) for reader, _ in readers.values())


@pytest.mark.parametrize(
    ("pack", "encoding"), [(gzip.compress, "GZIP"), (zlib.compress, "ZLIB"), (bytes, None)]
)
def test_records_that_overlap(pack: Any, encoding: str | None) -> None:
    Path("hops.bin").write_bytes(pack(b"HHabcdefghijF"))
    reader = tf.FixedLengthRecordReader(4, 2, 1, hop_bytes=2, encoding=encoding)
    key, value = reader.read(tf.train.string_input_producer(["hops.bin"], num_epochs=1))
    with tf.Session() as sess:
        found = [sess.run([key, value]) for _ in range(4)]
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(value)
    assert [content for _, content in found] == [b"abcd", b"cdef", b"efgh", b"ghij"]
    assert found[-1][0] == b"hops.bin:3"


def test_configurations() -> None:
    config = tf.ConfigProto(allow_soft_placement=True)
    assert config.gpu_options.allow_growth is False
    config.gpu_options.allow_growth = True
    config.graph_options.optimizer_options.global_jit_level = tf.OptimizerOptions.ON_1
    assert config.gpu_options.allow_growth is True
    with tf.Session(config=config) as sess:
        assert sess.run(tf.constant(1)) == 1
    with pytest.raises(AttributeError, match="allow_groth"):
        config.gpu_options.allow_groth = True
    with pytest.raises(ValueError, match="gpu_option"):
        tf.ConfigProto(gpu_option=None)


def test_sparse_values() -> None:
    parsed = record()
    with tf.Session() as sess:
        sess.run(parsed["id"])
        tags, dense = sess.run([parsed["tags"], tf.sparse_tensor_to_dense(parsed["tags"], "")])
        assert (tags.values.tolist(), tags.dense_shape.tolist()) == ([b"t"], [1])
        assert dense.tolist() == [b"t"]
        values, shape = sess.run([parsed["tags"].values, parsed["tags"].dense_shape])
        assert (values.tolist(), shape.tolist()) == ([b"t"] * 2, [2])


def test_batches() -> None:
    parsed = record(num_epochs=1)
    ids, tags = tf.train.batch([parsed["id"], parsed["tags"]], 4, allow_smaller_final_batch=True)
    with tf.Session() as sess:
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        first, sparse = sess.run([ids, tags])
        assert first.tolist() == [0, 1, 2, 3]
        assert sparse.dense_shape.tolist() == [4, 3]
        assert sess.run(ids).tolist() == [4, 5]
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(ids)
        coord.request_stop()
        coord.join(threads)


def test_batches_of_dicts_and_of_one_value() -> None:
    one = tf.train.batch(record(num_epochs=1)["id"], 2)
    named = tf.train.batch({"a": record(num_epochs=1)["id"]}, 6)
    with tf.Session() as sess:
        assert sess.run(one).tolist() == [0, 1]
        assert sess.run(named)["a"].tolist() == list(range(6))


def test_batches_that_are_padded_and_of_many() -> None:
    parsed = record(num_epochs=1)
    numbers = tf.py_func(np.arange, [parsed["id"]], tf.int64)
    padded = tf.train.batch([numbers], 4, dynamic_pad=True)
    rows = tf.train.batch([tf.constant([[1], [2]])], 4, enqueue_many=True)
    with tf.Session() as sess:
        made = sess.run(padded)
        assert made.tolist() == [[0, 0, 0], [0, 0, 0], [0, 1, 0], [0, 1, 2]]
        made = sess.run(rows)
        assert made.tolist() == [[1], [2], [1], [2]]


def test_shuffled_batches_leave_some_after() -> None:
    ids = tf.train.shuffle_batch(
        [record(num_epochs=3)["id"]], 2, capacity=9, min_after_dequeue=7, seed=1
    )
    with tf.Session() as sess:
        tf.train.start_queue_runners(sess)
        seen = [sess.run(ids).tolist() for _ in range(9)]
    assert sorted(n for pair in seen for n in pair) == sorted([*range(6)] * 3)
    assert seen[0] != [0, 1]
    with pytest.raises(ValueError, match="capacity"):
        tf.train.shuffle_batch([1], 4, capacity=5, min_after_dequeue=3)


def test_slices() -> None:
    names = tf.train.match_filenames_once("ids*")
    assert names.numpy().tolist() == [b"./ids.tfrecord"]
    image, label = tf.train.slice_input_producer([["a", "b"], [1, 2]], num_epochs=1, shuffle=False)
    with tf.Session() as sess:
        assert [sess.run([image, label]) for _ in range(2)] == [[b"a", 1], [b"b", 2]]


def test_a_queue_by_itself() -> None:
    queue = tf.FIFOQueue(4, [tf.int32, tf.string], names=["n", "s"])
    with tf.Session() as sess:
        sess.run(queue.enqueue({"n": 1, "s": "a"}))
        sess.run(queue.enqueue_many({"n": [2, 3], "s": ["b", "c"]}))
        assert sess.run(queue.size()) == 3
        assert sess.run(queue.dequeue()) == {"n": 1, "s": b"a"}
        sess.run(queue.close())
        assert sess.run(queue.is_closed())
        with pytest.raises(tf.errors.CancelledError):
            sess.run(queue.enqueue({"n": 1, "s": "a"}))
        with pytest.raises(tf.errors.OutOfRangeError, match="requested 3, current size 2"):
            sess.run(queue.dequeue_many(3))
        rest = sess.run(queue.dequeue_up_to(3))
        assert (rest["n"].tolist(), rest["s"].tolist()) == ([2, 3], [b"b", b"c"])


def test_four_threads_fill_a_queue() -> None:
    queue = tf.FIFOQueue(3, tf.int64)
    runner = tf.train.QueueRunner(queue, [queue.enqueue(record()["id"])] * 4)
    with tf.Session() as sess:
        coord = tf.train.Coordinator()
        threads = runner.create_threads(sess, coord=coord, start=True)
        assert len(threads) == 4
        seen = [int(sess.run(queue.dequeue())) for _ in range(30)]
        coord.request_stop()
        coord.join(threads)
    assert set(seen) == set(range(6))


def test_more_is_asked_for_than_there_is_room() -> None:
    queue = tf.FIFOQueue(2, tf.int64)
    runner = tf.train.QueueRunner(queue, [queue.enqueue(record()["id"])])
    with tf.Session() as sess:
        runner.create_threads(sess, start=True)
        assert sess.run(queue.dequeue_many(10)).shape == (10,)


def test_what_waits_for_room_when_a_queue_is_closed_still_comes_in() -> None:
    queue = tf.FIFOQueue(1, tf.int32)
    queue.enqueue(1).run()
    thread = threading.Thread(target=queue.enqueue(2).run)
    thread.start()
    while not queue._pending:
        time.sleep(0.001)
    queue.close().run()
    assert [queue.dequeue().eval() for _ in range(2)] == [1, 2]
    thread.join()
    with pytest.raises(tf.errors.OutOfRangeError):
        queue.dequeue().eval()


def test_what_is_fed_takes_the_place_of_a_value() -> None:
    number = tf.placeholder(tf.int32, [2], name="number")
    queue = tf.FIFOQueue(4, [tf.int32], shapes=[()])
    with tf.Session() as sess:
        sess.run(queue.enqueue_many([number]), feed_dict={number: [1, 2]})
        taken = queue.dequeue()
        assert sess.run([taken, taken + 1], {taken: 7}) == [7, 8]
        assert (taken.eval(), taken.eval({taken: 5})) == (1, 5)
        with pytest.raises(tf.errors.InvalidArgumentError, match="placeholder tensor 'number'"):
            sess.run(number)
        with pytest.raises(ValueError, match="Cannot feed"):
            number.eval({number: [1]})


def test_records_are_batched_and_then_parsed() -> None:
    _, value = tf.TFRecordReader().read(tf.train.string_input_producer(["ids.tfrecord"]))
    parsed = tf.parse_example(tf.train.batch([value], 4), {"id": FEATURES["id"]})
    assert (parsed["id"].dtype, parsed["id"].shape) == (tf.int64, [4])
    with tf.Session() as sess:
        assert sess.run(parsed)["id"].tolist() == [0, 1, 2, 3]


def test_a_reader_counts_and_reads_several_at_once() -> None:
    queue = tf.FIFOQueue(2, tf.string, shapes=())
    queue.enqueue_many([["ids.tfrecord"] * 2]).run()
    queue.close().run()
    reader = tf.TFRecordReader()
    some = reader.read_up_to(queue, 4)
    counts = [reader.num_records_produced(), reader.num_work_units_completed()]
    with tf.Session() as sess:
        keys = [key.decode() for _ in range(4) for key in sess.run(some)[0]]
        assert keys == [f"ids.tfrecord:{n}" for _ in range(2) for n in range(6)]
        assert sess.run(counts) == [12, 1]
        for _ in range(2):
            with pytest.raises(tf.errors.OutOfRangeError):
                sess.run(some)
        assert sess.run(counts) == [12, 2]
        sess.run(reader.reset())
        assert sess.run(counts) == [0, 0]


def test_lists_of_values_are_joined() -> None:
    lists = [[record(num_epochs=1)["id"]] for _ in range(2)]
    joined = tf.train.batch_join(lists, 12)
    shuffled = tf.train.shuffle_batch_join(lists, 6, capacity=12, min_after_dequeue=6)
    assert (joined.shape, shuffled.dtype) == ([12], tf.int64)
    with tf.Session() as sess:
        assert sorted(sess.run(joined)) == sorted([*range(6)] * 2)


# --- Stopping ---


def test_an_exception_of_a_thread_reaches_who_joins() -> None:
    def fail(number: Any) -> Any:
        raise KeyError("in a thread")

    made = tf.train.batch([tf.py_func(fail, [record()["id"]], tf.int64)], 2)
    with tf.Session() as sess:
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        with pytest.raises(KeyError, match="in a thread"):
            sess.run(made)
        assert coord.should_stop()
        for _ in range(2):
            with pytest.raises(KeyError, match="in a thread"):
                coord.join(threads)
        coord.clear_stop()
        coord.join(threads)


def test_the_end_is_no_error_to_a_coordinator() -> None:
    made = tf.train.batch([record(num_epochs=1)["id"]], 6)
    with tf.Session() as sess:
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        sess.run(made)
        coord.request_stop(tf.errors.OutOfRangeError(None, None, "the end"))
        coord.join(threads)
        assert coord.joined


def test_a_session_that_is_forgotten_stops_its_threads() -> None:
    made = tf.train.batch([record()["id"]], 2)
    session = tf.Session()
    threads = tf.train.start_queue_runners(session)
    session.run(made)
    del session
    assert not any(thread.is_alive() for thread in threads)
    with tf.Session() as again:
        assert again.run(made).shape == (2,)


def test_another_graph_stops_threads() -> None:
    made = tf.train.batch([record()["id"]], 2)
    session = tf.InteractiveSession()
    threads = tf.train.start_queue_runners()
    made.eval()
    assert tf.get_default_session() is session
    tf.reset_default_graph()
    assert not any(thread.is_alive() for thread in threads)
    session.close()
    assert tf.get_default_session() is None
    with pytest.raises(RuntimeError, match="closed"):
        session.run(made)


def test_graphs_are_apart() -> None:
    with tf.Graph().as_default() as graph:
        record()
        assert len(graph.runners) == 1
    assert not tf.get_default_graph().runners
    with pytest.raises(ValueError, match="session"):
        tf.train.start_queue_runners()


def test_ten_plain_threads() -> None:
    coord = tf.train.Coordinator()

    def work(number: int) -> None:
        with coord.stop_on_exception():
            while not coord.should_stop():
                if number == 7:
                    raise ValueError("seven")
                coord.wait_for_stop(0.001)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(10)]
    for thread in threads:
        coord.register_thread(thread)
        thread.start()
    with pytest.raises(ValueError, match="seven"):
        coord.join()
    coord.clear_stop()
    assert not coord.should_stop()


def test_threads_that_do_not_stop() -> None:
    coord, end = tf.train.Coordinator(), threading.Event()
    thread = threading.Thread(target=end.wait, name="stubborn")
    thread.start()
    coord.request_stop()
    with pytest.raises(RuntimeError, match="stubborn"):
        coord.join([thread], stop_grace_period_secs=0.05)
    coord.join([thread], stop_grace_period_secs=0.05, ignore_live_threads=True)
    end.set()
    thread.join()


def test_what_there_is_not() -> None:
    with tf.Session() as sess:
        with pytest.raises(TypeError, match="no value of a graph"):
            sess.run(tf.no_op(), feed_dict={"a": 1})
        for nothing in (None, 3, {"a": ["b"]}):
            with pytest.raises(TypeError, match="Fetch argument"):
                sess.run(nothing)
    with pytest.raises(ValueError, match="non-null"):
        tf.train.string_input_producer([])
    with pytest.raises(ValueError, match="2 values, not 1"):
        tf.FIFOQueue(1, [tf.int32, tf.int32]).enqueue([1])
