"""Steps of a plan: what each takes, what it does, and what it does to the kind of its elements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

from tfrecs.dataset.plan.native_form import BatchReader, Choice, NativeForm
from tfrecs.dataset.plan.order import Length, RecordOrder
from tfrecs.dataset.stages.stage import Run, Stage
from tfrecs.dataset.stages.state import Saved


class Traits(NamedTuple):
    """What a kind of step does to elements; each says all four.

    Attributes:
        keeps_kind: Whether its elements are its source's, chosen and ordered without looking at
            them: what is parsed of records can then be parsed before it.
        gives_batches: Whether its elements are batches; None: if its sources' are.
        pads: Whether it makes elements as long as others that are beside them by chance.
        divisible: Whether each element is made of just one of the source's, so that a worker that
            wants only some of them need not have the others made.
    """

    keeps_kind: bool
    gives_batches: bool | None
    pads: bool
    divisible: bool


# Of steps without sources that give elements one by one.
SOURCE = Traits(keeps_kind=False, gives_batches=False, pads=False, divisible=False)


class Node(ABC):
    """A step of a plan: it only says what to do. `run/start.py` decides who does it."""

    traits: ClassVar[Traits]

    def __init_subclass__(cls, *, traits: Traits | None) -> None:
        """Note the traits; None is for classes that only steps are derived from."""
        super().__init_subclass__()
        if traits is not None:
            cls.traits = traits

    @property
    @abstractmethod
    def sources(self) -> tuple[Node, ...]:
        """The steps before it."""

    @abstractmethod
    def describe(self) -> str:
        """Return the call that made it."""

    @abstractmethod
    def length(self) -> Length:
        """Return how many elements it gives."""

    def begin(self, run: Run, saved: Saved | None) -> Stage:
        """Start it in Python, where `saved` says or at the beginning."""
        raise NotImplementedError(f"{type(self).__name__} always has a native form")

    @property
    def at_once(self) -> int:
        """How many threads of its own work on it at the same time; at least one may."""
        return 1

    @property
    def gives_batches(self) -> bool:
        """Whether its elements are batches, or made of batches; functions may make others."""
        given = self.traits.gives_batches
        return any(one.gives_batches for one in self.sources) if given is None else given

    @property
    def gives_records(self) -> bool:
        """Whether its elements are records, neither parsed nor with keys."""
        return self.traits.keeps_kind and self.sources[0].gives_records

    def identity(self) -> str:
        """Return what a state depends on; a state of another plan is refused by that."""
        return self.describe()

    def order(self) -> RecordOrder | None:
        """Return which records of files its elements are, if they are no more than that."""
        return None

    def choice(self) -> Choice | None:
        """Return which records of files its elements are, filtered by conditions or not."""
        order = self.order()
        return None if order is None else Choice(order)

    def native_form(self) -> NativeForm | None:
        """Return what the native side makes of it; None: it is Python that runs it."""
        return self.choice()

    def batch_reader(self) -> BatchReader | None:
        """Return what reads batches of its elements, where these are no order of records."""
        return None

    def with_keys(self) -> Node | None:
        """Return the same elements, each with its key, if they have any."""
        return None

    def over(self, source: Node) -> Node | None:
        """Return the same step over other elements; None if it holds some of these already."""
        del source
        return None

    def lines(self) -> Iterator[str]:
        """Yield the plan, a step a line, from the files outwards."""
        for number, source in enumerate(self.sources):
            for line in source.lines():
                yield line if number == 0 else f"    {line}"
        yield self.describe()


@dataclass(frozen=True, eq=False)
class Step(Node, traits=None):
    """A step over one source."""

    source: Node

    @property
    def sources(self) -> tuple[Node, ...]:
        """What it takes its elements from."""
        return (self.source,)

    def length(self) -> Length:
        """Return how many there are: as many as the source has."""
        return self.source.length()

    def over(self, source: Node) -> Node | None:
        """Return the same step over other elements."""
        return replace(self, source=source)


def pads(node: Node) -> bool:
    """Whether elements are made as long as others that are beside them by chance."""
    return node.traits.pads or any(map(pads, node.sources))


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
