"""A batch: named columns of equal length."""

from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from tfrecs import _core
from tfrecs._internal.optional import integration
from tfrecs._internal.wording import counted, plural
from tfrecs.columns import pickling  # noqa: F401 - it registers how Columns are pickled
from tfrecs.columns.dataframes import Text
from tfrecs.tensors import BytesArray, Column, RaggedTensor, SparseTensor, column_of


class Batch(Mapping[str, Any]):
    """Named columns of equal length: a mapping of arrays, and a table for all that reads Arrow.

    A column is a NumPy array of shape (rows, …), a BytesArray of such a shape, or a RaggedTensor
    (in the batches of a Dataset, what parse_example gives: a SparseTensor for VarLenFeature). The
    arrays are views of the batch's own memory.

    `to_pandas()`, `to_polars()` and `to_arrow()` make tables of those libraries. What reads Arrow,
    as `pyarrow.table(batch)` and DuckDB, takes a batch as it is, without copying
    (`__arrow_c_array__`, `__arrow_c_stream__`). A batch can be pickled and copied; under protocol 5
    its memory goes out of band.

    Example:
        >>> import tfrecs
        >>> records = [tfrecs.encode_example({"x": [1.0, 2.0], "name": "ada"}) for _ in range(3)]
        >>> batch = tfrecs.decode_batch(records, {"x": tfrecs.FixedLenFeature([2], "float32")})
        >>> batch.num_rows, list(batch), batch["x"].shape
        (3, ['x'], (3, 2))
    """

    __eq__ = object.__eq__  # a mapping of arrays has no single truth value
    __hash__ = object.__hash__

    def __init__(self, columns: _core.Columns) -> None:
        """Wrap what the native decoder made."""
        self._columns = columns
        self._places = {name: index for index, name in enumerate(columns.names)}
        self._arrays: dict[str, Column] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the columns; arrays are views of their memory, and made again."""
        return Batch, (self._columns,)

    @property
    def columns(self) -> _core.Columns:
        """The columns as the native side has them."""
        return self._columns

    @property
    def num_rows(self) -> int:
        """How many records the batch was made of."""
        return self._columns.num_rows

    def __getitem__(self, name: str) -> Any:
        """Return the column `name`."""
        if name not in self._arrays:
            self._arrays[name] = column_of(self._columns, self._places[name])
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter(self._places)

    def __len__(self) -> int:
        """Return the number of columns."""
        return len(self._places)

    def __repr__(self) -> str:
        """Show each column on a line."""
        lines = [f"  {name}: {describe(column)}" for name, column in self.items()]
        rows = counted(self.num_rows, "row")
        columns = counted(len(self), "column")
        return "\n".join([f"Batch of {rows}, {columns}", *lines])

    def to_pandas(self, text: Text = False) -> Any:
        """Return a `pandas.DataFrame`; needs pandas.

        Columns of single values (FixedLenFeature([])) are plain columns of their type. Columns of
        arrays and lists have an array, or for byte strings a list, in each row, and None where the
        feature is missing. decode_batch() without features makes a list of every feature, whatever
        its length, and so it stays here: pass features to get single values. What a Dataset parses
        becomes the columns of the records: without padding, and for a SparseFeature or a
        partitioned RaggedFeature the columns that it is made of.

        Args:
            text: Which columns of byte strings become text: True, all that are valid UTF-8; or the
                names of columns, which must be.

        Raises:
            ModuleNotFoundError: pandas is not installed.
            SpecError: A column that `text` names is not there, or is not valid UTF-8.

        Example:
            >>> import tfrecs
            >>> records = [tfrecs.encode_example({"name": "ada", "age": age}) for age in (36, 37)]
            >>> spec = {
            ...     "name": tfrecs.FixedLenFeature([], "string"),
            ...     "age": tfrecs.FixedLenFeature([], "int64"),
            ... }
            >>> tfrecs.decode_batch(records, spec).to_pandas(text=["name"])
              name  age
            0  ada   36
            1  ada   37
        """
        return integration("pandas").frame_of(self._columns, text)

    def to_polars(self, text: Text = False) -> Any:
        """Return a `polars.DataFrame`, whose columns are as for to_pandas(); needs Polars.

        Lists are List or Array columns. Memory is shared where Polars lays it out alike.

        Args:
            text: As for to_pandas().

        Raises:
            ModuleNotFoundError: Polars is not installed.
            SpecError: As for to_pandas().

        Example:
            >>> import tfrecs
            >>> batch = tfrecs.decode_batch([tfrecs.encode_example({"tags": ["x", "y"]})])
            >>> batch.to_polars(text=True).to_dicts()
            [{'tags': ['x', 'y']}]
        """
        return integration("polars").frame_of(self._columns, text)

    def to_arrow(self, text: Text = False) -> Any:
        """Return a `pyarrow.Table`, whose columns are as for to_pandas(); needs pyarrow.

        It is over the same memory where the types are the same; bfloat16 becomes float32.

        Args:
            text: As for to_pandas().

        Raises:
            ModuleNotFoundError: pyarrow is not installed.
            SpecError: As for to_pandas().

        Example:
            >>> import tfrecs
            >>> batch = tfrecs.decode_batch([tfrecs.encode_example({"tags": ["x", "y"]})])
            >>> batch.to_arrow(text=True).to_pylist()
            [{'tags': ['x', 'y']}]
        """
        return integration("pyarrow").table_of(self._columns, text)

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse: pandas.DataFrame(batch) would make a column of the names of the columns."""
        raise TypeError(
            "a Batch is a table, and not an array: use batch.to_pandas(), or batch[name] for the "
            "array of one column"
        )

    def __arrow_c_schema__(self) -> Any:
        """Hand the schema over by Arrow's PyCapsule interface."""
        return self._columns.__arrow_c_schema__()

    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        """Hand the table over by Arrow's PyCapsule interface, as a struct array."""
        return self._columns.__arrow_c_array__(requested_schema)

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        """Hand the table over by Arrow's PyCapsule interface, as a stream of one batch."""
        return self._columns.__arrow_c_stream__(requested_schema)


def describe(column: Column | SparseTensor) -> str:
    """Say the type and the shape of a column in a few words."""
    if isinstance(column, SparseTensor):
        return f"{describe(column.values).split()[0]}, sparse {column.dense_shape.tolist()}"
    if isinstance(column, RaggedTensor):
        flat = column.flat_values
        kind = "bytes" if isinstance(flat, BytesArray) else str(flat.dtype)
        item = "list" if isinstance(column.values, RaggedTensor) else "value"
        missing = 0 if column.missing is None else int(column.missing.sum())
        note = f", missing in {counted(missing, 'row')}" if missing else ""
        lengths = column.row_lengths()
        if not len(lengths):
            return f"{kind}, lists"
        least, most = lengths.min(), lengths.max()
        span = f"{most}" if least == most else f"{least} to {most}"
        return f"{kind}, lists of {span} {plural(most, item)}{note}"
    kind = "bytes" if isinstance(column, BytesArray) else str(column.dtype)
    return f"{kind} {list(column.shape)}"
