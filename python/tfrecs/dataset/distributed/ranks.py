"""Which of several processes this is that train together, and how many elements it gets."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tfrecs.dataset.distributed.shard_iterator import Part
from tfrecs.dataset.plan.node import Node
from tfrecs.dataset.transforms.shard import POLICIES
from tfrecs.errors import SpecError

Asked: TypeAlias = Callable[[], tuple[int, int] | None]
"""A function that says which rank this is of how many, or None if there is but one."""


class Ranks:
    """Which rank this is of how many: as given, or as `ask` says when it matters."""

    def __init__(
        self,
        rank: int | None,
        num_ranks: int | None,
        remainder: str,
        ask: Asked,
        known: tuple[int, int] = (0, 1),
    ) -> None:
        """Keep what is given, whom to ask, and what is to be taken where there is nobody to ask.

        Raises:
            SpecError: There is no such rank, or no such policy, or only one of the two is given.
        """
        if (rank is None) != (num_ranks is None):
            raise SpecError("rank and num_ranks are given both, or neither")
        if rank is not None and num_ranks is not None and not 0 <= rank < num_ranks:
            raise SpecError(f"there is no rank {rank} of {num_ranks}: they are counted from 0")
        if remainder not in POLICIES:
            raise SpecError(f"remainder must be one of {', '.join(POLICIES)}, not {remainder!r}")
        self._given = None if rank is None or num_ranks is None else (rank, num_ranks)
        self._known = known
        self._remainder = remainder
        self._ask = ask

    def part(self) -> Part:
        """Return the elements of this rank."""
        rank, num = self._given or self._ask() or self._known
        return Part(rank, num, self._remainder)

    def resolved(self) -> Ranks:
        """Return the same for a process that may have nobody to ask, as a worker."""
        part = self.part()
        rank, num = self._given or (None, None)
        return Ranks(rank, num, self._remainder, self._ask, known=(part.rank, part.num_ranks))


def known_length(node: Node, part: Part) -> int:
    """Return how many elements there are.

    Raises:
        TypeError: There is no end, or the number is unknown before all is read; as len() must.
    """
    length = part.length(node.length())
    if not isinstance(length, int):
        why = "it is unknown how many there are" if length is None else "there is no end of them"
        raise TypeError(f"this dataset's elements have no length: {why}")
    return length
