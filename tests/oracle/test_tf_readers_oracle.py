"""TensorFlow 1's readers, and what fills queues, beside those of `tf.compat.v1`."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oracle.graphs import compared, drained, failed
from oracle.programs import write_files


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_files()
    Path("table.csv").write_text("name,age\nada,36\ngrace,\n")


def numbers(tf: Any) -> Any:
    """0 to 4, from a queue."""
    return tf.train.range_input_producer(5, num_epochs=1, shuffle=False).dequeue()


# --- Readers ---


def read(tf: Any, sess: Any, reader: Any, *names: str) -> Any:
    queue = tf.train.string_input_producer(list(names), num_epochs=1, shuffle=False)
    return drained(tf, sess, reader.read(queue))


def lines(tf: Any, sess: Any) -> Any:
    return read(tf, sess, tf.TextLineReader(), "lines.txt", "table.csv")


def lines_below_headers(tf: Any, sess: Any) -> Any:
    return read(tf, sess, tf.TextLineReader(skip_header_lines=1), "lines.txt", "table.csv")


def whole_files(tf: Any, sess: Any) -> Any:
    return read(tf, sess, tf.WholeFileReader(), "lines.txt", "table.csv")


def fixed(tf: Any, sess: Any) -> Any:
    reader = tf.FixedLengthRecordReader(2, header_bytes=2, footer_bytes=1)
    return read(tf, sess, reader, "fixed.bin", "fixed.bin")


def fixed_that_overlap(tf: Any, sess: Any) -> Any:
    reader = tf.FixedLengthRecordReader(3, header_bytes=2, footer_bytes=1, hop_bytes=1)
    return read(tf, sess, reader, "fixed.bin", "fixed.bin")


def fixed_that_are_apart(tf: Any, sess: Any) -> Any:
    reader = tf.FixedLengthRecordReader(2, header_bytes=2, footer_bytes=1, hop_bytes=3)
    return read(tf, sess, reader, "fixed.bin", "fixed.bin")


def records(tf: Any, sess: Any) -> Any:
    found = read(tf, sess, tf.TFRecordReader(), "raw-0.tfrecord", "raw-1.tfrecord")
    return [value for _, value in found[:-1]]  # keys are numbers here, and offsets there


def records_in_gzip(tf: Any, sess: Any) -> Any:
    gzip = tf.python_io.TFRecordOptions(tf.python_io.TFRecordCompressionType.GZIP)
    return [
        value for _, value in read(tf, sess, tf.TFRecordReader(options=gzip), "ex.tfrecord.gz")[:-1]
    ]


def names(tf: Any, sess: Any) -> Any:
    return read(tf, sess, tf.IdentityReader(), "a", "b")


def no_such_file(tf: Any, sess: Any) -> Any:
    return read(tf, sess, tf.TFRecordReader(), "no file")


def damaged(tf: Any, sess: Any) -> Any:
    return read(tf, sess, tf.TFRecordReader(), "flipped.tfrecord")


def in_files(tf: Any, sess: Any) -> tuple[Any, Any]:
    queue = tf.FIFOQueue(9, [tf.string], shapes=())
    sess.run(queue.enqueue_many([["lines.txt", "table.csv"]]))
    sess.run(queue.close())
    return tf.TextLineReader(), queue


def counted(tf: Any, sess: Any) -> Any:
    reader, queue = in_files(tf, sess)
    value = reader.read(queue)[1]
    counts = [reader.num_records_produced(), reader.num_work_units_completed()]
    found = []
    for _ in range(7):
        sess.run(value)
        found.append(sess.run(counts))
    told = failed(tf, lambda: sess.run(value))
    found.append(sess.run(counts))
    sess.run(reader.reset())
    return [found, told, sess.run(counts), reader.supports_serialize]


def several_at_once(tf: Any, sess: Any) -> Any:
    reader, queue = in_files(tf, sess)
    some = reader.read_up_to(queue, 3)
    return [[sess.run(some) for _ in range(3)], failed(tf, lambda: sess.run(some))]


# --- What fills queues ---


def producers(tf: Any, sess: Any) -> Any:
    made = [
        tf.train.string_input_producer(["a", "b"], shuffle=False),
        tf.train.string_input_producer(tf.constant(["a", "b", "c"]), shuffle=False, num_epochs=9),
        tf.train.range_input_producer(3, shuffle=False),
        tf.train.input_producer([[1, 2], [3, 4]], shuffle=False),
    ]
    slices = tf.train.slice_input_producer([[1, 2, 3], ["a", "b", "c"]], shuffle=False)
    kinds = [[value.dtype.name, str(value.shape)] for value in slices]
    return [kinds, drained(tf, sess, [[queue.dequeue() for queue in made], slices], 5)]


def producers_in_random_order(tf: Any, sess: Any) -> Any:
    queue = tf.train.string_input_producer(["a", "b", "c"], num_epochs=2)
    found = drained(tf, sess, queue.dequeue())
    return [sorted(found[:3]), sorted(found[3:6]), found[6:]]


def batches(tf: Any, sess: Any) -> Any:
    one, two, three, four = (numbers(tf) for _ in range(4))
    made = [
        tf.train.batch([one], 2),
        tf.train.batch({"b": two, "a": two * 2}, 2),
        tf.train.batch((three, [three, three]), 2),
        tf.train.batch([tf.stack([four, four + 10])], 2, enqueue_many=True, shapes=[()]),
    ]
    return [drained(tf, sess, made, 2), str(made[0].shape)]


def batches_of_what_is_there(tf: Any, sess: Any) -> Any:
    made = tf.train.batch([[1, 2], tf.constant("a"), numbers(tf)], 2)
    return drained(tf, sess, made)


def the_last_batch(tf: Any, sess: Any) -> Any:
    return drained(tf, sess, tf.train.batch([numbers(tf)], 2, allow_smaller_final_batch=True))


def batches_that_are_padded(tf: Any, sess: Any) -> Any:
    return drained(tf, sess, tf.train.batch([tf.range(numbers(tf))], 2, dynamic_pad=True))


def batches_of_several(tf: Any, sess: Any) -> Any:
    made = tf.train.batch_join([[numbers(tf)], [numbers(tf)]], 2)
    return sorted(np.concatenate(drained(tf, sess, made)[:-1]).tolist())


def shuffled_batches(tf: Any, sess: Any) -> Any:
    made = tf.train.shuffle_batch([numbers(tf)], 5, capacity=10, min_after_dequeue=5)
    return [sorted(one) for one in drained(tf, sess, made)[:-1]]


def shuffled_batches_of_several(tf: Any, sess: Any) -> Any:
    made = tf.train.shuffle_batch_join([[numbers(tf)], [numbers(tf)]], 5, 10, 5)
    return sorted(np.concatenate(drained(tf, sess, made)[:-1]).tolist())


def parsed(tf: Any, sess: Any) -> Any:
    queue = tf.train.string_input_producer(["ex.tfrecord"], num_epochs=1, shuffle=False)
    _, value = tf.TFRecordReader().read(queue)
    features = {
        "id": tf.FixedLenFeature([], tf.int64),
        "raw": tf.FixedLenFeature([], tf.string),
        "pair": tf.FixedLenFeature([2], tf.float32),
        "floats": tf.VarLenFeature(tf.float32),
    }
    one = tf.parse_single_example(value, features)
    pixels = tf.reshape(tf.decode_raw(one["raw"], tf.uint8), [2, 2])
    dense = tf.sparse_tensor_to_dense(one["floats"])
    known = [[one[name].dtype.name, str(one[name].shape)] for name in ("id", "raw", "pair")]
    known.append([value.dtype.name, str(value.shape)])
    fetches = [one["id"], tf.cast(pixels, tf.float32) * (1.0 / 255) - 0.5, dense, one["pair"]]
    return [known, drained(tf, sess, fetches)]


def parsed_in_batches(tf: Any, sess: Any) -> Any:
    queue = tf.train.string_input_producer(["ex.tfrecord"], num_epochs=1, shuffle=False)
    _, value = tf.TFRecordReader().read(queue)
    features = {
        "pair": tf.FixedLenFeature([2], tf.float32),
        "floats": tf.VarLenFeature(tf.float32),
    }
    made = tf.parse_example(tf.train.batch([value], 3), features)
    found = drained(tf, sess, [made["pair"], made["floats"]])
    return [str(made["pair"].shape), [[pair, *floats] for pair, floats in found[:-1]]]


def tables(tf: Any, sess: Any) -> Any:
    queue = tf.train.string_input_producer(["table.csv"], num_epochs=1, shuffle=False)
    _, line = tf.TextLineReader(skip_header_lines=1).read(queue)
    return drained(tf, sess, tf.decode_csv(line, record_defaults=[[""], [0]]))


PROGRAMS = (
    lines,
    lines_below_headers,
    whole_files,
    fixed,
    fixed_that_overlap,
    fixed_that_are_apart,
    records,
    records_in_gzip,
    names,
    no_such_file,
    damaged,
    counted,
    several_at_once,
    producers,
    producers_in_random_order,
    batches,
    batches_of_what_is_there,
    the_last_batch,
    batches_that_are_padded,
    batches_of_several,
    shuffled_batches,
    shuffled_batches_of_several,
    parsed,
    parsed_in_batches,
    tables,
)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_graphs_are_the_same(program: Any) -> None:
    compared(program)
