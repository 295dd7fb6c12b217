"""`tf.compat.v1.io`: `tf.io`, with the arguments of some functions in another order."""

from __future__ import annotations

from typing import Any

from tfrecs.tf import io
from tfrecs.tf.functions.keywords import ordered

__all__ = ["decode_csv", "decode_raw", "parse_example", "parse_single_example"]

_PARSED = "serialized features name example_names"

decode_csv = ordered(
    io.decode_csv,
    "records record_defaults field_delim use_quote_delim name na_value select_cols",
)
decode_raw = ordered(io.decode_raw, "input_bytes out_type little_endian name bytes")
parse_example = ordered(io.parse_example, _PARSED)
parse_single_example = ordered(io.parse_single_example, _PARSED)


def __getattr__(name: str) -> Any:
    return getattr(io, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *io.__all__})
