"""Columns as the native decoder has them, of which arrays are made."""

from tfrecs import _core


class Decoded:
    """The columns of a batch.

    Attributes:
        columns: As the native side has them.
        rows: How many rows there are, as the shape of a column of scalars.
    """

    __slots__ = ("columns", "rows")

    def __init__(self, columns: _core.Columns) -> None:
        """Keep them."""
        self.columns = columns
        self.rows = (columns.num_rows,)
