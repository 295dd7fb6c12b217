"""Queues that fill themselves: names of files epoch by epoch, and elements in batches."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfrecs.errors import SpecError
from tfrecs.status import OutOfRangeError
from tfrecs.tf.deferred import Deferred
from tfrecs.tf.filesystem import glob
from tfrecs.tf.queues.queue import FIFOQueue, RandomShuffleQueue
from tfrecs.tf.queues.threads import QueueRunner, add_queue_runner
from tfrecs.tf.values import Tensor, tensor


def string_input_producer(
    string_tensor: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> FIFOQueue:
    """Return a queue of names, again and again, shuffled anew each time; or `num_epochs` times.

    Raises:
        ValueError: There are none.
    """
    rows = [(row,) for row in tensor(string_tensor)]
    if not rows:
        raise SpecError("string_input_producer requires a non-null input tensor")
    queue = FIFOQueue(capacity, name=name or "input_producer")
    drawn = random.Random(seed)
    epochs = iter(int, 1) if num_epochs is None else iter(range(num_epochs))

    def put_epoch() -> None:
        if next(epochs, None) is None:
            raise OutOfRangeError("all epochs are over")
        queue.put(drawn.sample(rows, len(rows)) if shuffle else rows)

    add_queue_runner(QueueRunner(queue, [Deferred(put_epoch)]))
    return queue


def slice_input_producer(
    tensor_list: Sequence[Any], num_epochs: int | None = None, **how: Any
) -> list[Deferred]:
    """Return a row of each value, the same one of all, in each run another."""
    values = [tensor(one) for one in tensor_list]
    number = string_input_producer(np.arange(len(values[0])), num_epochs, **how).dequeue()
    return [Deferred(_row, (value, number)) for value in values]


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
    """Return batches of values, which so many threads compute ahead."""
    queue = FIFOQueue(capacity, [None] * len(_parts(tensors)), name=name or "batch")
    least = 1 if allow_smaller_final_batch else None
    return _batched(queue, tensors, num_threads, enqueue_many, (batch_size, least, dynamic_pad))


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
        ValueError: So many and a batch do not fit into the capacity.
    """
    if capacity < min_after_dequeue + int(batch_size):
        raise SpecError(
            f"capacity must be at least min_after_dequeue + batch_size: {capacity} is less than "
            f"{min_after_dequeue} + {batch_size}"
        )
    kinds = [None] * len(_parts(tensors))
    called = name or "shuffle_batch"
    queue = RandomShuffleQueue(capacity, min_after_dequeue, kinds, seed=seed, name=called)
    least = 1 if allow_smaller_final_batch else None
    return _batched(queue, tensors, num_threads, enqueue_many, (batch_size, least))


def _parts(tensors: Any) -> tuple[Any, ...]:
    if isinstance(tensors, dict):
        return tuple(tensors.values())
    return tuple(tensors) if isinstance(tensors, list | tuple) else (tensors,)


def _batched(
    queue: FIFOQueue, tensors: Any, num_threads: int, many: bool, how: tuple[Any, ...]
) -> Any:
    enqueue = queue.enqueue_many if many else queue.enqueue
    add_queue_runner(QueueRunner(queue, [enqueue(_parts(tensors))] * num_threads))
    taken = Deferred(queue.batch, how)
    parts = [taken[number] for number in range(len(_parts(tensors)))]
    if isinstance(tensors, dict):
        return dict(zip(tensors, parts, strict=True))
    return parts if isinstance(tensors, list | tuple) else parts[0]


def _row(values: Any, number: Any) -> Any:
    return values[int(number)]
