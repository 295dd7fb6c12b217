"""A dataset as Keras takes it.

Keras asks a PyDataset for batch i, in an order that it may have shuffled itself. Here batches come
in the order of the plan, whatever i is: one reader that continues is many times as fast as one that
seeks, the plan has shuffled all records already, and what it gives can be resumed. So it must be
known when Keras begins anew. It does not say, but it can be told from what it calls:

- `workers` is asked for when fit, evaluate or predict begins. Before the first epoch fit and
  evaluate look at a batch, to build the model, or not, and call `on_epoch_end` either way: then the
  pass begins again.
- `on_epoch_end` without `on_epoch_begin` is another evaluation, from the beginning.
- Epochs in between continue where the last one stopped, with `steps_per_epoch` in the middle of a
  pass.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import keras

from tfrecs import _core
from tfrecs.dataset.distributed.ranks import Ranks, known_length
from tfrecs.dataset.distributed.shard_iterator import ShardIterator
from tfrecs.dataset.plan.node import Node
from tfrecs.dataset.plan.order import Length
from tfrecs.dataset.stages.state import State
from tfrecs.errors import SpecError, StateError
from tfrecs.integrations.keras.backup import KerasBackup
from tfrecs.integrations.keras.elements import KerasElements

# Keras takes some batches ahead of the one that it computes with; more of them than this it never
# does, and only of these it is known where they lie.
MOST_AHEAD = 256


@dataclass
class _Pass:
    """A pass, or what is left of one after a state."""

    dealt: ShardIterator
    start: State | None
    left: Length
    given: int = 0

    @property
    def is_over(self) -> bool:
        """Whether all has been given; if it is unknown how much that is, it is not."""
        return self.given == self.left

    @property
    def is_begun(self) -> bool:
        """Whether some has been given, and not all."""
        return self.given > 0 and not self.is_over


class KerasDataset(keras.utils.PyDataset):  # type: ignore[misc, unused-ignore]
    """The batches of a dataset, for `fit`, `evaluate` and `predict` of a Keras model.

    Each epoch is a pass, in the order of the plan: `shuffle()` in the plan makes it another one in
    each epoch, and `fit(shuffle=…)` has no effect. Where it is unknown how many
    batches a pass has, or there is no end of them, passes follow each other without end, and `fit`
    needs `steps_per_epoch`. One object is for one `fit` at a time.

    Its state is where the last pass is, after the batch that was taken last. Within `fit` that may
    be some batches ahead of the one that was trained with last: `backup()` knows which one that is.

    Example:
        >>> import keras, tfrecs
        >>> with tfrecs.RecordWriter("rooms.tfrecord") as out:
        ...     for n in range(6):
        ...         out.write(tfrecs.encode_example({"rooms": [float(n)], "price": 100.0 * n}))
        >>> spec = {
        ...     "rooms": tfrecs.FixedLenFeature([1], "float32"),
        ...     "price": tfrecs.FixedLenFeature([], "float32"),
        ... }
        >>> ds = tfrecs.Dataset("rooms.tfrecord", spec).shuffle(0).batch(2)
        >>> model = keras.Sequential([keras.layers.Dense(1)])
        >>> model.compile("sgd", "mse")
        >>> data = ds.to_keras("price", "rooms")
        >>> len(data)
        3
        >>> history = model.fit(data, epochs=2, verbose=0)
        >>> len(history.history["loss"])
        2
    """

    def __init__(self, node: Node, epoch: int, ranks: Ranks, elements: KerasElements) -> None:
        """Keep the plan; nothing is read yet."""
        super().__init__()
        self._node = node
        self._next = epoch
        self._ranks = ranks
        self._elements = elements
        self._pass: _Pass | None = None
        # Held while a batch is made: threads get different ones.
        self._turn = _core.Turn()
        self._taken: deque[tuple[int, _Pass, Any, bool]] = deque(maxlen=MOST_AHEAD)
        # How many batches were taken ever, and when the last fit, evaluate or predict began.
        self.pulled = 0
        self._opened: int | None = None
        self._is_within = False

    # --- What Keras calls ---

    def __len__(self) -> int:
        """Return how many batches an epoch has: files are counted for that, by an index.

        Raises:
            TypeError: There is no end, or the number is unknown before all is read.
        """
        return known_length(self._node, self._ranks.part())

    def __bool__(self) -> bool:
        """Return True: nothing is counted to find out."""
        return True

    @property
    def num_batches(self) -> int | None:
        """How many batches an epoch has; within one, how many are left in the pass that it begins.

        None if it is unknown, or there is no end.
        """
        one, length = self._pass, self._ranks.part().length(self._node.length())
        if self._is_within and self._opened is None and one is not None and not one.is_over:
            length = one.left
        return length if isinstance(length, int) else None

    @property
    def workers(self) -> int:
        """One, and it cannot be changed: native threads do the work."""
        self._opened = self.pulled
        return 1

    def on_epoch_begin(self) -> None:
        """Note that an epoch begins, which continues with the pass."""
        self._is_within = True

    def on_epoch_end(self) -> None:
        """Begin the pass again, if this was no more than a look at it, or an evaluation ended."""
        looked = self._opened is not None and self.pulled > self._opened
        begins = self._opened is not None or not self._is_within
        if self._pass is not None and (looked or (begins and self._pass.is_begun)):
            self._again(self._pass)
        self._opened, self._is_within = None, False

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        """Return the next batch, whatever `index` is."""
        del index
        with self._turn:
            return self._next_batch()

    def _next_batch(self) -> tuple[Any, ...]:
        if self._pass is None or self._pass.is_over:
            self._pass = self._begun()
        try:
            batch = next(self._pass.dealt)
        except StopIteration:
            batch = self._first_of_another(self._pass)
        except Exception:
            self._again(self._pass)
            raise
        self._pass.given += 1
        self.pulled += 1
        place = self._pass.dealt.place()
        if self._pass.is_over:
            self._pass.dealt.close()
        self._taken.append((self.pulled, self._pass, place, self._pass.is_over))
        return self._elements(batch)

    def _first_of_another(self, over: _Pass) -> Any:
        """Return the first batch of the pass after one of which nobody knew when it would end."""
        if not over.given and over.start is None:
            raise SpecError("there is no batch to train with")
        self._pass = self._begun()
        try:
            return next(self._pass.dealt)
        except StopIteration:
            raise SpecError("there is no batch to train with") from None

    # --- Passes ---

    def _begun(self) -> _Pass:
        """Return the next pass."""
        if self._pass is not None:
            self._pass.dealt.close()
        self._next += 1
        return self._made(self._next - 1, None)

    def _made(self, epoch: int, start: State | None) -> _Pass:
        dealt = ShardIterator(self._node, epoch, self._ranks.part())
        if start is not None:
            dealt.load_state_dict(start)
        return _Pass(dealt, start, dealt.left())

    def _again(self, one: _Pass) -> None:
        """Begin a pass once more, where it began here."""
        one.dealt.close()
        self._taken.clear()
        self._pass = self._made(one.dealt.epoch, one.start)

    # --- States ---

    @property
    def epoch(self) -> int:
        """Which epoch continues, or begins, with the next batch: `initial_epoch` for `fit`."""
        one = self._pass
        return self._next if one is None or one.is_over else one.dealt.epoch

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch the next pass is; passes count on by themselves."""
        self._next = epoch

    def state_dict(self, pulled: int | None = None) -> State:
        """Return where the pass is, after the batch that was taken last.

        Args:
            pulled: Or after this number of batches taken in all, if it was one of the last 256.

        Raises:
            StateError: It was not.
        """
        if pulled is None or (pulled == self.pulled and not self._taken):
            if self._pass is not None and not self._pass.is_over:
                return self._pass.dealt.state_dict()
            return self._upcoming(self._next)
        for number, one, place, is_last in reversed(self._taken):
            if number == pulled:
                after = one.dealt.epoch + 1
                return self._upcoming(after) if is_last else one.dealt.state_dict(place)
        raise StateError(f"batch {pulled} is none of those that were taken last")

    def _upcoming(self, epoch: int) -> State:
        dealt = ShardIterator(self._node, epoch, self._ranks.part())
        state = dealt.state_dict()
        dealt.close()
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Let the next pass be what is left of the one that `state` was taken in.

        Raises:
            StateError: It is none, or of another plan, or of other files.
        """
        made = self._made(self._next, dict(state))
        self.close()
        self._pass, self._next = made, made.dealt.epoch + 1

    def backup(self, folder: Any, save_freq: int | str = "epoch") -> KerasBackup:
        """Return a Keras callback that saves the training, so that it can continue from any step.

        Args:
            folder: Where to; it is made if it is not there.
            save_freq: After how many batches each time; "epoch" is after each epoch.
        """
        return KerasBackup(self, folder, save_freq)

    def close(self) -> None:
        """Let go of threads and files, which an epoch in the middle of a pass keeps."""
        if self._pass is not None:
            self._pass.dealt.close()
        self._pass = None
        self._taken.clear()

    def __enter__(self) -> Self:
        """Return self."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close."""
        self.close()
