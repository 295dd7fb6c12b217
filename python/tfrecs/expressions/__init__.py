"""What is asked of the features of many records at once."""

from tfrecs.expressions.expression import Expression, col
from tfrecs.expressions.tables import BatchTable, RecordColumns, Table

__all__ = ["BatchTable", "Expression", "RecordColumns", "Table", "col"]
