"""From other formats to sharded TFRecords: one module a format, each with one function.

    from tfrecs import convert_csv, convert_images

The modules are imported when their function is first asked for, because each needs the library of
its format.
"""

from typing import TYPE_CHECKING, Any

from tfrecs._internal.optional import load

if TYPE_CHECKING:
    from tfrecs.formats.csv import convert_csv
    from tfrecs.formats.images import convert_images

__all__ = ["convert_csv", "convert_images"]

_MODULES = {"convert_csv": "tfrecs.formats.csv", "convert_images": "tfrecs.formats.images"}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(load(_MODULES[name]), name)
    raise AttributeError(f"module 'tfrecs.formats' has no attribute {name!r}")
