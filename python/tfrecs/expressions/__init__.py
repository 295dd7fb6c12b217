"""What is asked of the features of many records at once."""

from tfrecs.expressions.tables import BatchTable, RecordColumns, Table
from tfrecs.expressions.tree import Expression, col

__all__ = ["BatchTable", "Expression", "RecordColumns", "Table", "col"]
