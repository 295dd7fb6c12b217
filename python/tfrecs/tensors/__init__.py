"""Arrays that NumPy does not have: of byte strings, of rows of different lengths, of few values.

Each is a thin layer over NumPy arrays that are views of the native decoder's memory. Nothing
becomes a Python object before somebody asks for it.
"""

from tfrecs.tensors.bytes_array import BytesArray, Values
from tfrecs.tensors.coercion import IntArray
from tfrecs.tensors.column_parts import Pieces, pieces_of_rows
from tfrecs.tensors.native import Column, column_of, ragged_pieces
from tfrecs.tensors.ragged import RaggedTensor
from tfrecs.tensors.sparse import SparseTensor

__all__ = [
    "BytesArray",
    "Column",
    "IntArray",
    "Pieces",
    "RaggedTensor",
    "SparseTensor",
    "Values",
    "column_of",
    "pieces_of_rows",
    "ragged_pieces",
]
