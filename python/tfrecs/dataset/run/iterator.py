"""A pass over a dataset, which knows where it is."""

from __future__ import annotations

import hashlib
import traceback
from collections.abc import Iterator, Mapping
from typing import Any, Self

from tfrecs import _core
from tfrecs._internal.wording import counted
from tfrecs.dataset.plan.node import Node
from tfrecs.dataset.plan.source import roots_of
from tfrecs.dataset.run.pass_log import PassLog
from tfrecs.dataset.run.progress import Bar, bar_of
from tfrecs.dataset.run.start import start
from tfrecs.dataset.run.timings import DatasetTimings
from tfrecs.dataset.stages.stage import Run, Stage
from tfrecs.dataset.stages.state import Saved, State
from tfrecs.errors import StateError

# Raised when what states hold means something else.
VERSION = 1


class DatasetIterator(_core.Exclusive, Iterator[Any]):
    """Iterates over a dataset, says where it is, and continues from there in another process.

    `state_dict()` is a small dict for JSON, whatever the buffers hold; `load_state_dict()` of an
    iterator over the same plan and files continues with exactly what would have come next.

    Any number of threads may share it: each element goes to exactly one of them, and a state is the
    place between two elements.

    Example:
        >>> import json, tfrecs
        >>> with tfrecs.RecordWriter("six.tfrecord") as out:
        ...     out.write_batch([b"%d" % i for i in range(6)])
        >>> it = iter(tfrecs.Dataset("six.tfrecord").shuffle(1).batch(2))
        >>> first, state = next(it), json.dumps(it.state_dict())
        >>> again = iter(tfrecs.Dataset("six.tfrecord").shuffle(1).batch(2))
        >>> again.load_state_dict(json.loads(state))
        >>> [batch.tolist() for batch in again] == [batch.tolist() for batch in it]
        True
    """

    # Whether nothing comes after an error. If not, the next element does, unless it was an error of
    # a file: `tfrecs.tf` does as TensorFlow.
    ends_on_error = True

    def __init__(self, node: Node, run: Run) -> None:
        """Begin a pass; nothing is read before the first element is asked for."""
        self._node = node
        self._run = run
        self._stage: Stage | None = None
        self._is_closed = False
        self._bar: Bar | None = None
        self.log = PassLog(node, run)

    def _next(self) -> Any:
        """Return the next element. After the last one, and after an error, nothing comes."""
        if self._is_closed:
            raise StopIteration
        try:
            element = next(self._begun() if self._stage is None else self._stage)
        except Exception:
            # A kept error, with its traceback, must keep no threads alive; a signal ends nothing.
            # A pass that cannot begin would fail for ever.
            if self.ends_on_error or self._stage is None:
                self.close()
            raise
        if self._bar is not None:
            self._bar.step()
        return element

    def _begun(self) -> Stage:
        if self._stage is None:
            self._stage = self._started(self._run, None)
            if self._is_closed:  # meanwhile, by another thread
                self._stage.close()
                raise StateError("another thread has closed this meanwhile")
            self._show()
        return self._stage

    def _started(self, run: Run, saved: Saved | None) -> Stage:
        try:
            return start(self._node, run, saved)
        except Exception as error:
            # Some steps may have begun before this one failed: whoever keeps the error keeps none.
            traceback.clear_frames(error.__traceback__)
            raise

    def _show(self) -> None:
        """Let others see the pass that begins."""
        self.log.begin()
        if self._bar is not None:
            self._bar.close()
        self._bar = bar_of(self._node, self._run, roots_of(self._node))

    @property
    def epoch(self) -> int:
        """Which pass it is."""
        return self._run.epoch

    def place(self) -> State:
        """Return just where the pass is, for a `state_dict` of it that is made later."""
        with self._turn:
            return self._begun().state()

    def state_dict(self, place: State | None = None) -> State:
        """Return where the pass is, after the element that came last, or where it was."""
        return {
            "tfrecs": VERSION,
            "epoch": self._run.epoch,
            "plan": [_digest(line) for line in _plan(self._node)],
            "files": [files.saved() for files in roots_of(self._node)],
            "stripe": None if self._run.stripe is None else list(self._run.stripe),
            "at": self.place() if place is None else place,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue where `state` says.

        Raises:
            StateError: It is none, or of another plan, or of other files; the text says what
                differs. The iterator is where it was.
        """
        with self._turn:
            self._go_on(self.checked(state))

    def _go_on(self, saved: Saved) -> None:
        run = Run(saved.integer("epoch"), self._run.stripe)
        try:
            stage = self._started(run, saved.child("at"))
        except OverflowError as error:
            raise StateError(f"the state is not one of this dataset: {error}") from error
        self.close()
        self._is_closed, self._stage, self._run = False, stage, run
        self.log.renew(run)
        self._show()

    def checked(self, state: Mapping[str, Any]) -> Saved:
        """Return a state that is one of this plan and these files, wherever it is in them.

        Raises:
            StateError: It is none; the text says what differs.
        """
        saved = Saved(state)
        version = saved.integer("tfrecs")
        if version != VERSION:
            raise StateError(f"the state is of version {version}, and this tfrecs knows {VERSION}")
        saved.only(["tfrecs", "epoch", "plan", "files", "stripe", "at"])
        self._check_stripe(saved)
        self._check_plan(saved)
        files = roots_of(self._node)
        for one, theirs in zip(files, saved.children("files", len(files), len(files)), strict=True):
            one.check(theirs)
        return saved

    def _check_stripe(self, saved: Saved) -> None:
        stripe = self._run.stripe
        if not saved.is_same("stripe", None if stripe is None else list(stripe)):
            raise StateError(
                "the state is of one of several workers, or this is one: the same number of "
                "workers, and the same one, can continue from it"
            )

    def _check_plan(self, saved: Saved) -> None:
        lines = list(_plan(self._node))
        theirs = saved.strings("plan")
        for number, line in enumerate(lines):
            if number >= len(theirs) or theirs[number] != _digest(line):
                here = line.strip().splitlines()[0]
                raise StateError(
                    f"the state is of another plan: step {number + 1} is {here!r} here"
                )
        if len(theirs) > len(lines):
            raise StateError(
                f"the state is of another plan, of {counted(len(theirs), 'step')}; "
                f"this one has {len(lines)}"
            )

    def timings(self) -> DatasetTimings:
        """Return what the pass has given so far, and where the time went; see `Dataset.timings`."""
        return self.log.timings()

    def close(self) -> None:
        """Let go of threads and files. Nothing comes any more."""
        self._is_closed = True
        if self._stage is not None:
            self._stage.close()
        if self._bar is not None:
            self._bar.close()
        self.log.end()

    def __del__(self) -> None:
        """Stop the clock of a pass that is given up without a word."""
        if hasattr(self, "log"):
            self.log.end()

    def __enter__(self) -> Self:
        """Return self."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close."""
        self.close()


def _plan(node: Node) -> Iterator[str]:
    """Yield the steps of a plan, as far as a state depends on them."""
    for source in node.sources:
        yield from _plan(source)
    yield node.identity()


def _digest(line: str) -> str:
    return hashlib.sha256(line.encode()).hexdigest()[:8]
