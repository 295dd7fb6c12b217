"""Queues that fill themselves: names of files epoch by epoch, and elements in batches."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfrecs.errors import SpecError
from tfrecs.errors.tf_errors import OutOfRangeError
from tfrecs.tf.functions.filesystem import glob
from tfrecs.tf.graph.deferred import Deferred
from tfrecs.tf.queues.queue import FIFOQueue, PaddingFIFOQueue, RandomShuffleQueue
from tfrecs.tf.queues.threads import QueueRunner, add_queue_runner
from tfrecs.tf.tensor.shapes import TensorShape
from tfrecs.tf.tensor.values import Tensor, tensor


def input_producer(
    input_tensor: Any,
    element_shape: Any = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    summary_name: str | None = None,
    name: str | None = None,
    cancel_op: Any = None,
) -> FIFOQueue:
    """Return a queue of rows, again and again, shuffled anew each time; or `num_epochs` times."""
    values = tensor(input_tensor)
    rows = [(row,) for row in values]
    shape = values.shape[1:] if element_shape is None else element_shape
    queue = FIFOQueue(capacity, [values.dtype], [shape], name=name or "input_producer")
    drawn = random.Random(seed)
    epochs = iter(int, 1) if num_epochs is None else iter(range(num_epochs))

    def put_epoch() -> None:
        if next(epochs, None) is None:
            raise OutOfRangeError("all epochs are over")
        queue.put(drawn.sample(rows, len(rows)) if shuffle else rows)

    add_queue_runner(QueueRunner(queue, [Deferred(put_epoch)], cancel_op=cancel_op))
    return queue


def string_input_producer(
    string_tensor: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
    cancel_op: Any = None,
) -> FIFOQueue:
    """Return a queue of names, as input_producer().

    Raises:
        ValueError: There are none.
    """
    names = tensor(string_tensor)
    if not len(names):
        raise SpecError("string_input_producer requires a non-null input tensor")
    return input_producer(
        names, (), num_epochs, shuffle, seed, capacity, name=name, cancel_op=cancel_op
    )


def range_input_producer(
    limit: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> FIFOQueue:
    """Return a queue of the numbers below `limit`, as input_producer()."""
    numbers = np.arange(int(limit), dtype=np.int32)
    return input_producer(numbers, (), num_epochs, shuffle, seed, capacity, name=name)


def slice_input_producer(
    tensor_list: Sequence[Any],
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> list[Deferred]:
    """Return a row of each value, the same one of all, in each run another.

    Raises:
        ValueError: There are no values.
    """
    values = [tensor(one) for one in tensor_list]
    if not values:
        raise SpecError("slice_input_producer takes at least one value")
    queue = range_input_producer(len(values[0]), num_epochs, shuffle, seed, capacity, name=name)
    number = queue.dequeue()
    return [Deferred(_row, (one, number)).of_kind(one.dtype, one.shape[1:]) for one in values]


def match_filenames_once(pattern: Any, name: str | None = None) -> Tensor:
    """Return the names of the files that match a pattern, or one of several."""
    return tensor(glob(pattern))


def batch(
    tensors: Any,
    batch_size: Any,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return batches of values, which that many threads compute ahead: a dict, a list, or one."""
    how = (capacity, enqueue_many, shapes, dynamic_pad, allow_smaller_final_batch)
    return batch_join([tensors] * num_threads, batch_size, *how, name=name or "batch")


def batch_join(
    tensors_list: Sequence[Any],
    batch_size: Any,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return batches of values, of which a thread for each of the list computes its own."""
    kinds = _kinds(tensors_list[0], shapes, enqueue_many)
    kind = PaddingFIFOQueue if dynamic_pad else FIFOQueue
    queue = kind(capacity, *kinds, name=name or "batch_join")
    return _batched(queue, tensors_list, batch_size, enqueue_many, allow_smaller_final_batch)


def shuffle_batch(
    tensors: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return batches of values in random order, `min_after_dequeue` of which stay behind.

    Raises:
        ValueError: `min_after_dequeue` and a batch do not fit into the capacity.
    """
    how = (capacity, min_after_dequeue, seed, enqueue_many, shapes, allow_smaller_final_batch)
    lists = [tensors] * num_threads
    return shuffle_batch_join(lists, batch_size, *how, name=name or "shuffle_batch")


def shuffle_batch_join(
    tensors_list: Sequence[Any],
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return such batches, of which a thread for each of the list computes its own values.

    Raises:
        ValueError: `min_after_dequeue` and a batch do not fit into the capacity.
    """
    if capacity < min_after_dequeue + int(batch_size):
        raise SpecError(
            f"capacity must be at least min_after_dequeue + batch_size: {capacity} is less than "
            f"{min_after_dequeue} + {batch_size}"
        )
    kinds = _kinds(tensors_list[0], shapes, enqueue_many)
    called = name or "shuffle_batch_join"
    queue = RandomShuffleQueue(capacity, min_after_dequeue, *kinds, seed=seed, name=called)
    return _batched(queue, tensors_list, batch_size, enqueue_many, allow_smaller_final_batch)


def _parts(tensors: Any) -> tuple[Any, ...]:
    if isinstance(tensors, dict):
        return tuple([tensors[name] for name in sorted(tensors)])
    return tuple(tensors) if isinstance(tensors, list | tuple) else (tensors,)


def _kinds(tensors: Any, shapes: Any, many: bool) -> tuple[list[Any], Any]:
    """Return types and shapes of the elements of a queue, None where unknown yet."""
    parts = _parts(tensors)
    dtypes = [getattr(one, "known_dtype", None) for one in parts]
    if shapes is None:
        known = [TensorShape(getattr(one, "known_shape", None)) for one in parts]
        shapes = [one[1:] if many else one for one in known]
    return dtypes, shapes


def _batched(queue: FIFOQueue, lists: Sequence[Any], size: Any, many: bool, smaller: bool) -> Any:
    """Return the values that come out of a queue which a thread for each of `lists` fills."""
    enqueue = queue.enqueue_many if many else queue.enqueue
    add_queue_runner(QueueRunner(queue, [enqueue(_parts(tensors)) for tensors in lists]))
    made = queue.dequeue_up_to(size) if smaller else queue.dequeue_many(size)
    names = sorted(lists[0]) if isinstance(lists[0], dict) else None
    if names is None:
        return made  # of a list of one value, the value
    return dict(zip(names, made if len(names) > 1 else [made], strict=True))


def _row(values: Any, number: Any) -> Any:
    return values[int(number)]
