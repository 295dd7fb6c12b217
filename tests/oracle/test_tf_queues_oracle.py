"""TensorFlow 1's queues, sessions and coordinators beside those of `tf.compat.v1`."""

import threading
from functools import partial
from typing import Any

import pytest

from oracle.graphs import compared, failed

# --- Queues ---


def of_numbers(tf: Any, given: Any = (1, 2, 3)) -> Any:
    """A queue, and what puts numbers into it."""
    queue = tf.FIFOQueue(10, [tf.int32], shapes=[()])
    return queue, queue.enqueue_many([list(given)])


def in_and_out(tf: Any, sess: Any) -> Any:
    queue, put = of_numbers(tf)
    assert sess.run(queue.enqueue(7)) is None
    sess.run(put)
    sizes = [sess.run(queue.size()), queue.size().eval()]
    return [sizes, sess.run(queue.dequeue()), sess.run(queue.dequeue_many(2)), sess.run(put)]


def several_values(tf: Any, sess: Any) -> Any:
    queue = tf.FIFOQueue(10, [tf.int32, tf.string], shapes=[(2,), ()])
    sess.run(queue.enqueue(([1, 2], "a")))
    sess.run(queue.enqueue_many([[[3, 4], [5, 6]], ["b", "c"]]))
    return [sess.run(queue.dequeue()), sess.run(queue.dequeue_many(2))]


def given_in_lists(tf: Any, sess: Any) -> Any:
    queue = tf.FIFOQueue(10, [tf.int32])
    for given in ([7], (8,), [[9, 10]], 11):
        sess.run(queue.enqueue(given))
    return [sess.run(queue.dequeue()) for _ in range(4)]


def with_names(tf: Any, sess: Any) -> Any:
    names = ["i", "f"]
    queue = tf.FIFOQueue(10, [tf.int32, tf.float32], names=names, shapes=[(), ()])
    sess.run(queue.enqueue({"i": 1, "f": 2.0}))
    sess.run(queue.enqueue_many({"i": [1, 2], "f": [2.0, 3.0]}))
    wrong = [{"i": 1}, (1, 2.0)]
    told = [is_refused(partial(queue.enqueue, given)) for given in wrong]
    return [queue.names, sess.run(queue.dequeue()), sess.run(queue.dequeue_many(2)), told]


def is_refused(use: Any) -> bool:
    """Whether something is a ValueError."""
    try:
        use()
    except ValueError:
        return True
    return False


def what_is_known(tf: Any, _: Any) -> Any:
    queue = tf.FIFOQueue(10, [tf.int32, tf.float32], shapes=[(), (2,)], name="mine")
    one = tf.FIFOQueue(10, tf.float32, shapes=(2,))
    out = [one.dequeue(), one.dequeue_many(3), one.dequeue_up_to(3), tf.FIFOQueue(1, tf.int64)]
    shapes = [str(value.shape) for value in out[:3]]
    return [
        [dtype.name for dtype in queue.dtypes],
        [str(shape) for shape in (*queue.shapes, *out[3].shapes)],
        [queue.names, queue.name, one.dequeue().dtype.name, out[3].dtypes[0].name],
        shapes,
    ]


def refused(tf: Any, _: Any) -> Any:
    one = tf.FIFOQueue(9, [tf.int32], shapes=[(2,)])
    tries = [
        lambda: one.enqueue(tf.constant([1.5, 2.5])),
        lambda: one.enqueue({"i": 1}),
        lambda: tf.FIFOQueue(10, [tf.int32], names=["a", "b"]),
        lambda: tf.FIFOQueue(10, [tf.int32], shapes=[(), ()]),
        tf.train.QueueRunner,
        lambda: tf.train.QueueRunner(one, []),
        lambda: tf.train.slice_input_producer([]),
        lambda: tf.train.string_input_producer([]),
    ]
    return list(map(is_refused, tries))


def a_shape_that_does_not_fit(tf: Any, sess: Any) -> Any:
    return sess.run(tf.FIFOQueue(10, [tf.int32], shapes=[(2,)]).enqueue([1]))


def rows_of_different_numbers(tf: Any, sess: Any) -> Any:
    queue = tf.FIFOQueue(10, [tf.int32, tf.int32], shapes=[(), ()])
    return sess.run(queue.enqueue_many(([1, 2], [1])))


def closed(tf: Any, sess: Any) -> Any:
    queue, put = of_numbers(tf)
    sess.run(put)
    sess.run(queue.close())
    errors = [failed(tf, lambda op=op: sess.run(op)) for op in (put, queue.close())]
    errors.append(failed(tf, lambda: sess.run(queue.dequeue_many(4))))
    found = [sess.run(queue.dequeue_up_to(2)), sess.run(queue.dequeue_up_to(2))]
    takers = (queue.dequeue_up_to(2), queue.dequeue())
    errors += [failed(tf, lambda op=op: sess.run(op)) for op in takers]
    return [errors, found, sess.run(queue.is_closed()), sess.run(queue.dequeue_many(0))]


def less_than_nothing(tf: Any, sess: Any) -> Any:
    return sess.run(of_numbers(tf)[0].dequeue_many(-1))


def in_random_order(tf: Any, sess: Any) -> Any:
    queue = tf.RandomShuffleQueue(10, 3, [tf.int32], shapes=[()])
    sess.run(queue.enqueue_many([list(range(8))]))
    first = sess.run(queue.dequeue_many(5))
    sess.run(queue.close())
    return sorted([*first, *sess.run(queue.dequeue_up_to(9))])


def padded(tf: Any, sess: Any) -> Any:
    queue = tf.PaddingFIFOQueue(10, [tf.int32], shapes=[(None,)])
    for row in ([1], [1, 2]):
        sess.run(queue.enqueue([row]))
    return sess.run(queue.dequeue_many(2))


# --- Sessions ---


def fed(tf: Any, sess: Any) -> Any:
    number = tf.placeholder(tf.int32, [], name="number")
    queue = tf.FIFOQueue(3, [tf.int32])
    value = queue.dequeue()
    sess.run(queue.enqueue(number), feed_dict={number: 3})
    fed = [sess.run(number + 1, {number: 2}), (number * 2).eval(feed_dict={number: 5})]
    errors = [failed(tf, lambda: sess.run(number))]
    errors.append(is_refused(lambda: sess.run(number, {number: [1, 2]})))
    return [fed, sess.run(value + 1, {value: 10}), sess.run(value), errors]


def fetched(tf: Any, sess: Any) -> Any:
    one, text, many = tf.constant(1), tf.constant("x"), tf.constant([[1.5]])
    made = sess.run([one, (text, one), {"k": many, "l": [text]}, [], many])
    return [made, [type(value).__name__ for value in (*made, one.eval(), text.eval())]]


def fetched_wrongly(tf: Any, sess: Any) -> Any:
    tf.constant(1)
    return sess.run([None])


def runners(tf: Any, sess: Any) -> Any:
    queue, put = of_numbers(tf)
    runner = tf.train.QueueRunner(queue, [put] * 2)
    threads = runner.create_threads(sess)
    known = [runner.queue is queue, len(runner.enqueue_ops), runner.name]
    known += [runner.exceptions_raised, runner.queue_closed_exception_types[0].__name__]
    again = runner.create_threads(sess)
    return [known, [len(threads), threads[0].is_alive()], again]


def iterators(tf: Any, sess: Any) -> Any:
    iterator = tf.data.make_initializable_iterator(tf.data.Dataset.range(2))
    value, found = iterator.get_next(), []
    told = [failed(tf, lambda: sess.run(value))]
    for _ in range(2):
        sess.run(iterator.initializer)
        found += [sess.run(value), sess.run(value)]
        told.append(failed(tf, lambda: sess.run(value)))
    return [found, told]


# --- Coordinators ---

# How TensorFlow wants exceptions: it fails to tell of those that come without their class.
BAD = (ValueError, ValueError("bad"), None)


def asked_to_stop(tf: Any, _: Any) -> Any:
    coord = tf.train.Coordinator()
    before = [coord.should_stop(), coord.wait_for_stop(0.01), coord.joined]
    coord.request_stop()
    coord.request_stop(BAD)  # too late to be heard
    coord.join([])
    return [before, [coord.should_stop(), coord.wait_for_stop(0.01), coord.joined]]


def asked_to_stop_by_an_exception(tf: Any, _: Any) -> Any:
    coord = tf.train.Coordinator()
    coord.raise_requested_exception()
    coord.request_stop(BAD)
    coord.request_stop((TypeError, TypeError("worse"), None))
    raised = [told_by(use) for use in (coord.raise_requested_exception, coord.join, coord.join)]
    coord.clear_stop()
    coord.join([])
    return [raised, coord.should_stop(), told_by(lambda: coord.request_stop(BAD))]


def told_by(use: Any) -> str:
    """What an error says; nothing, if there is none."""
    try:
        use()
    except (RuntimeError, ValueError) as error:
        return str(error)
    return ""


def asked_to_stop_by_the_end(tf: Any, _: Any) -> Any:
    kind = tf.errors.OutOfRangeError
    end = (kind, kind(None, None, "the end"), None)
    coord = tf.train.Coordinator()
    coord.request_stop(end)
    coord.join([])
    other = tf.train.Coordinator(clean_stop_exception_types=(ValueError,))
    other.request_stop(BAD)
    other.join([])
    third = tf.train.Coordinator(clean_stop_exception_types=(ValueError,))
    third.request_stop(end)
    return [coord.should_stop(), failed(tf, lambda: third.join([]))]


def joined(tf: Any, _: Any) -> Any:
    coord, end = tf.train.Coordinator(), threading.Event()
    registered = threading.Thread(target=lambda: None)
    registered.start()
    coord.register_thread(registered)
    coord.join()
    found = [coord.should_stop(), coord.joined, registered.is_alive()]
    stubborn = threading.Thread(target=end.wait, name="stubborn")
    stubborn.start()
    coord.request_stop()
    told = told_by(lambda: coord.join([stubborn], stop_grace_period_secs=0.1))
    coord.join([stubborn], stop_grace_period_secs=0.1, ignore_live_threads=True)
    end.set()
    return [found, told]


def a_block_that_raises(tf: Any, _: Any) -> Any:
    coord = tf.train.Coordinator()

    def work() -> None:
        with coord.stop_on_exception():
            raise ValueError("in a thread")

    thread = threading.Thread(target=work)
    thread.start()
    return [told_by(lambda: coord.join([thread])), coord.should_stop()]


PROGRAMS = (
    asked_to_stop,
    asked_to_stop_by_an_exception,
    asked_to_stop_by_the_end,
    joined,
    a_block_that_raises,
    in_and_out,
    several_values,
    given_in_lists,
    with_names,
    what_is_known,
    refused,
    a_shape_that_does_not_fit,
    rows_of_different_numbers,
    closed,
    less_than_nothing,
    in_random_order,
    padded,
    fed,
    fetched,
    fetched_wrongly,
    runners,
    iterators,
)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_graphs_are_the_same(program: Any) -> None:
    compared(program)
