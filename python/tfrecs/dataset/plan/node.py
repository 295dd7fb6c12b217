"""Steps of a plan."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tfrecs.dataset.native.batches import Elements
from tfrecs.dataset.native.filtered import Choice, ChosenBatches
from tfrecs.dataset.plan.order import Length, RecordOrder
from tfrecs.dataset.plan.state import Saved, State
from tfrecs.dataset.run.stage import Run, Stage, Watched


class Node(ABC):
    """A step of a plan: it only says what to do."""

    # Whether each element is made of just one of the source's, so that leaving out one of the
    # source's leaves out its own.
    one_to_one = False

    @property
    def at_once(self) -> int:
        """How many threads of its own work on it at the same time; at least one may."""
        return 1

    @property
    @abstractmethod
    def sources(self) -> tuple[Node, ...]:
        """The steps before it."""

    @abstractmethod
    def describe(self) -> str:
        """Return the call that made it; a state of another plan is told apart by that."""

    @abstractmethod
    def length(self) -> Length:
        """Return how many elements it gives."""

    @property
    def has_batches(self) -> bool:
        """Whether its elements are batches, as far as is known: functions may make others."""
        return False

    def begin(self, run: Run, saved: Saved | None) -> Stage:
        """Start the step, where `saved` says or at the beginning, if it is no order of records."""
        raise NotImplementedError(f"{type(self).__name__} is always an order of records")

    def order(self) -> RecordOrder | None:
        """Return which records of files its elements are, if they are no more than that."""
        return None

    def choice(self) -> Choice | None:
        """Return which records of files its elements are, if they are those, chosen or not."""
        order = self.order()
        return None if order is None else Choice(order)

    def batched(
        self, size: int, drop_remainder: bool, run: Run, saved: Saved | None
    ) -> Stage | None:
        """Start batches of its elements, where these need not be made one by one."""
        choice = self.choice()
        if choice is None or not choice.conditions:
            return None
        return ChosenBatches(choice, size, drop_remainder, run, saved)

    def with_keys(self) -> Node | None:
        """Return the same elements, each with its key, if they have any."""
        return None

    def native(self, run: Run, saved: Saved | None) -> Stage | None:
        """Start what the native side does by itself, for the elements that the run wants."""
        order = self.order()
        return None if order is None else Elements(order, run, saved)

    def start(self, run: Run, saved: Saved | None) -> Stage:
        """Start the step for the elements that the run wants, and count them."""
        stage = self.native(run, saved)
        if stage is None:
            is_whole = run.stripe is None or self.one_to_one
            stage = self.begin(run, saved) if is_whole else Striped(self, run, saved)
        return Watched.of(stage, self, run)

    def lines(self) -> Iterator[str]:
        """Yield the plan, a step a line, from the files outwards."""
        for number, source in enumerate(self.sources):
            for line in source.lines():
                yield line if number == 0 else f"    {line}"
        yield self.describe()


@dataclass(frozen=True, eq=False)
class Step(Node):
    """A step over one source."""

    source: Node

    @property
    def sources(self) -> tuple[Node, ...]:
        """What it takes its elements from."""
        return (self.source,)

    @property
    def has_batches(self) -> bool:
        """Whether its elements are batches: if the source's are."""
        return self.source.has_batches

    def length(self) -> Length:
        """Return how many there are: as many as the source has."""
        return self.source.length()


class Striped(Stage):
    """The elements i, i + n, i + 2n, … of a step."""

    def __init__(self, node: Node, run: Run, saved: Saved | None) -> None:
        """Start the step, and leave out what others give."""
        assert run.stripe is not None
        self._num, self._pending = run.stripe
        inner = None
        if saved is not None:
            inner = saved.only(["source", "pending"]).child("source")
            self._pending = saved.integer("pending", most=self._num)
        self._stage = node.begin(run.whole(), inner)

    def __next__(self) -> Any:
        """Return the next one of them."""
        if self._pending:
            self._stage.skip(self._pending)
        self._pending = self._num - 1
        return next(self._stage)

    def state(self) -> State:
        """Return where the step is, and how many others are to come first."""
        return {"source": self._stage.state(), "pending": self._pending}

    def close(self) -> None:
        """Close the step."""
        self._stage.close()


def called(function: Callable[..., Any], element: Any, step: Node) -> Any:
    """Call a user's function; what it raises says in which step of the plan that was."""
    try:
        return function(element)
    except StopIteration as error:
        # It would end the iteration, as if there were no more elements.
        where = step.describe().strip()
        raise RuntimeError(f"a function has raised StopIteration, in {where}") from error
    except Exception as error:
        error.add_note(f"in {step.describe().strip()} of a Dataset")
        raise


def name_of(function: Any) -> str:
    """Return by what name a function is known again."""
    module = getattr(function, "__module__", None)
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    return f"{module}.{name}" if module else name
