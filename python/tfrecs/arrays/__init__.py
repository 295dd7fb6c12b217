"""Arrays that NumPy does not have: of byte strings, of rows of different lengths, of few values.

Each is a thin layer over NumPy arrays that are views of the native decoder's memory. Nothing
becomes a Python object before somebody asks for it.
"""

from tfrecs.arrays.byte_strings import BytesArray, Values
from tfrecs.arrays.coercion import IntArray
from tfrecs.arrays.native import Column, column_of, ragged_pieces
from tfrecs.arrays.pieces import Pieces, pieces_of_rows
from tfrecs.arrays.ragged import RaggedTensor
from tfrecs.arrays.sparse import SparseTensor

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
