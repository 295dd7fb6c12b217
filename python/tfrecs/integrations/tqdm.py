"""tqdm: the bar of a pass."""

from __future__ import annotations

from typing import TextIO

from tqdm.auto import tqdm


class TqdmBar:
    """Shows how far a pass is."""

    def __init__(self, name: str, total: int | None, rates: object, file: TextIO) -> None:
        """Begin with none of `total` elements."""
        self._rates = rates
        self._bar = tqdm(total=total, desc=name, file=file, dynamic_ncols=True)

    def step(self) -> None:
        """Show one more."""
        if self._bar.update():
            self._bar.set_postfix_str(str(self._rates), refresh=False)

    def close(self) -> None:
        """Show no more."""
        self._bar.close()
