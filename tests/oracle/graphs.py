"""Programs of TensorFlow 1, each in a graph and a session of its own: `tf.compat.v1`, and ours."""

from typing import Any

from oracle.programs import outcome, same


def compared(program: Any) -> None:
    """Run a program of `tf` and a session, in a graph of its own, with both."""

    def whole(tf: Any) -> Any:
        names = tf.compat.v1
        with names.Graph().as_default(), names.Session() as sess:
            return program(names, sess)

    same(whole)


def failed(tf: Any, run: Any) -> Any:
    """The classes of TensorFlow's errors that an error has."""
    found = outcome(lambda _: run(), tf)
    assert isinstance(found, set), found
    return sorted(found - {"ValueError"})


def drained(tf: Any, sess: Any, fetches: Any, most: int = 30) -> list[Any]:
    """What threads of queue runners make of something, up to its end, or that many."""
    sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord)
    found: list[Any] = []
    try:
        found.extend(sess.run(fetches) for _ in range(most))
    except tf.errors.OutOfRangeError:
        found.append("the end")
    coord.request_stop()
    coord.join(threads)
    return found
