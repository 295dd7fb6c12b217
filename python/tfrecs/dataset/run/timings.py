"""What a pass over a dataset has given, and where the time went."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tfrecs.dataset.plan.node import Node
from tfrecs.dataset.stages.meters import Meters

# How wide the columns of the table are: that of the steps, and the others.
STEP = 27
CELLS = (13, 12, 8, 9, 11)


@dataclass(frozen=True)
class StepTimings:
    """What one step of a plan has given; see DatasetTimings.

    Attributes:
        step: The call that made it, indented where it is one of several sources.
        elements: How many elements it has given: batches, where it gives batches. None for steps
            that the native side does together with one after them.
        records: How many records were read; None where none are.
        nbytes: How many bytes they have.
        busy: How many seconds it was at work, on all its threads together.
        waiting: How many seconds it has waited for the steps before it.
        awaited: How many seconds others have waited for it, those before it included.
        at_once: How many threads worked at the same time.
    """

    step: str
    elements: int | None = None
    records: int | None = None
    nbytes: int | None = None
    busy: float = 0.0
    waiting: float = 0.0
    awaited: float = 0.0
    at_once: int = 1

    @property
    def load(self) -> float:
        """How many seconds it was at work, on each of its threads.

        Whoever waits for what is read waits for nothing but that.
        """
        load = self.busy / self.at_once
        return load if self.records is None else max(load, self.awaited)


@dataclass(frozen=True, repr=False)
class DatasetTimings:
    """What a pass has given, and where the time went: a table, when it is printed.

    Attributes:
        epoch: Which pass it is.
        seconds: How long it took, or has taken so far.
        elements: How many elements came.
        records: How many records were read for that, those in reserve included.
        nbytes: How many bytes they have.
        outside: How many seconds of it whoever iterates was at work with what came.
        steps: The steps of the plan, from the files outwards.

    Example:
        >>> import tfrecs
        >>> with tfrecs.RecordWriter("words.tfrecord") as out:
        ...     out.write_batch([b"a", b"bc", b"def"])
        >>> ds = tfrecs.Dataset("words.tfrecord").batch(2).map(len)
        >>> list(ds)
        [2, 1]
        >>> timings = ds.timings()
        >>> timings.elements, timings.records, timings.nbytes
        (2, 3, 6)
        >>> [step.step for step in timings.steps]
        ["Dataset('words.tfrecord')", '  .batch(2)', '  .map(builtins.len)']
    """

    epoch: int
    seconds: float
    elements: int
    records: int
    nbytes: int
    outside: float
    steps: tuple[StepTimings, ...]

    @property
    def records_per_second(self) -> float:
        """How many records were read in a second."""
        return self.records / self.seconds if self.seconds else 0.0

    @property
    def bytes_per_second(self) -> float:
        """How many bytes of records were read in a second."""
        return self.nbytes / self.seconds if self.seconds else 0.0

    @property
    def slowest(self) -> StepTimings | None:
        """The step that the others wait for, if it is not whoever iterates."""
        most = max(self.steps, key=lambda step: step.load, default=None)
        return most if most is not None and most.load > self.outside else None

    def __repr__(self) -> str:
        """Show a table of the steps, and which one is the slowest."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield _line("step", "elements", "per second", "MB/s", "busy s", "waiting s")
        for step in self.steps:
            yield self._step(step)
        yield _line("what iterates", "", "", "", f"{self.outside:.2f}", f"{self._inside:.2f}")
        yield self._summary()

    @property
    def _inside(self) -> float:
        return max(self.seconds - self.outside, 0.0)

    def _step(self, step: StepTimings) -> str:
        count = step.elements if step.records is None else step.records
        if count is None:
            return _line(step.step, "", "", "", "", "")
        each = f"{count / self.seconds:,.0f}" if self.seconds else ""
        rate = ""
        if step.nbytes is not None and self.seconds:
            rate = f"{step.nbytes / self.seconds / 1e6:,.1f}"
        busy, waiting = f"{step.busy:.2f}", f"{step.waiting:.2f}"
        return _line(step.step, f"{count:,}", each, rate, busy, waiting)

    def _summary(self) -> str:
        slowest = self.slowest
        if not self.seconds or slowest is None:
            return f"{self.seconds:.2f} s; the slowest is what iterates"
        share = min(slowest.load / self.seconds, 1.0)
        name = _short(slowest.step.strip())
        return f"{self.seconds:.2f} s; the slowest is {name}, for {share:.0%} of the time"


def _line(step: str, *cells: str) -> str:
    return (_short(step).ljust(STEP) + "".join(map(str.rjust, cells, CELLS))).rstrip()


def _short(step: str) -> str:
    return step if len(step) <= STEP else f"{step[: STEP - 1]}…"


def timings_of(node: Node, epoch: int, meters: Meters, seconds: float) -> DatasetTimings:
    """Return what the meters of a pass say."""
    steps = tuple(_steps(node, meters))
    last, _ = meters.read(node)
    return DatasetTimings(
        epoch,
        seconds,
        last.elements,
        sum(step.records or 0 for step in steps),
        sum(step.nbytes or 0 for step in steps),
        max(seconds - last.taken, 0.0),
        steps,
    )


def _steps(node: Node, meters: Meters) -> Iterator[StepTimings]:
    for number, source in enumerate(node.sources):
        for step in _steps(source, meters):
            yield step if number == 0 else _indented(step)
    inside = meters.inside(node)
    for kind in inside.kinds():
        yield _indented(_measured(kind, kind, inside, 1))
    yield _measured(node.describe().splitlines()[0], node, meters, node.at_once)


def _indented(step: StepTimings) -> StepTimings:
    return StepTimings(**{**vars(step), "step": f"    {step.step}"})


def _measured(name: str, step: object, meters: Meters, at_once: int) -> StepTimings:
    meter, reading = meters.read(step)
    if reading.taken:
        # A wait for what is read is a wait for threads of this very step.
        busy, awaited = meter.own + reading.worked, meter.taken or reading.taken
        elements = meter.elements if meter.taken else None
        return StepTimings(
            name, elements, reading.records, reading.nbytes, busy, 0.0, awaited, at_once
        )
    if not meter.taken:
        return StepTimings(name)
    busy, threads = meter.own + meter.worked, at_once if meter.worked else 1
    return StepTimings(name, meter.elements, None, None, busy, meter.waited, meter.taken, threads)
