"""What the steps of a pass have given so far: a meter for each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tfrecs import _core


class Reading(NamedTuple):
    """What a meter says.

    Attributes:
        elements: How many elements the step has given.
        taken: How many seconds those who asked for elements have waited for them.
        own: How many of these the step itself was at work.
        waited: How many seconds it has waited for the steps before it.
        worked: How many seconds threads of its own have worked, all together.
        records: How many records were read.
        nbytes: How many bytes they have.
    """

    elements: int
    taken: float
    own: float
    waited: float
    worked: float
    records: int
    nbytes: int


class Meters:
    """The meters of a pass, made when they are first asked for."""

    def __init__(self) -> None:
        """Have none yet."""
        self._meters: dict[object, _core.Meter] = {}
        self._reading: dict[object, _core.Meter] = {}
        self._inside: dict[object, Meters] = {}

    def of(self, step: object) -> _core.Meter:
        """Return the meter of a step."""
        return self._meters.get(step) or self._meters.setdefault(step, _core.Meter())

    def reading(self, source: object) -> _core.Meter:
        """Return the meter of what the native side reads of a source, for whatever step."""
        return self._reading.get(source) or self._reading.setdefault(source, _core.Meter())

    def inside(self, step: object) -> Meters:
        """Return the meters of the plans that a step makes: any number of them, a meter a kind."""
        return self._inside.get(step) or self._inside.setdefault(step, ByKind())

    def read(self, step: object) -> tuple[Reading, Reading]:
        """Return what the meter of a step says, and that of what is read of it."""
        return Reading(*self.of(step).read()), Reading(*self.reading(step).read())

    def kinds(self) -> Iterator[str]:
        """Yield the names of the kinds there are."""
        yield from map(str, {**self._reading, **self._meters})


class ByKind(Meters):
    """One meter for all steps of a kind, which is known by its name."""

    def of(self, step: object) -> _core.Meter:
        """Return the meter of steps like this one."""
        return super().of(_kind(step))

    def reading(self, source: object) -> _core.Meter:
        """Return the meter of sources like this one."""
        return super().reading(_kind(source))


def _kind(step: object) -> str:
    return step if isinstance(step, str) else type(step).__name__
