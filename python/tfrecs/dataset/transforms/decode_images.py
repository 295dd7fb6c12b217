"""decode_images(): bytes of images to arrays of pixels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from tfrecs._internal.optional import load
from tfrecs.dataset.plan.node import Node, Traits
from tfrecs.dataset.transforms.one_by_one import OneByOne
from tfrecs.errors import SpecError


@dataclass(frozen=True, eq=False)
class DecodeImages(
    OneByOne,
    traits=Traits(keeps_kind=False, gives_batches=None, pads=False, divisible=True),
):
    """The source's elements, in which the images of a feature are decoded."""

    key: str
    options: dict[str, Any]
    num_threads: int | None

    # Of decode_image(), beside those of its own.
    takes: ClassVar[frozenset[str]] = frozenset(
        ["dtype", "expand_animations", "resample", "dct_method", "apply_orientation", "max_pixels"]
    )

    @classmethod
    def of(
        cls, source: Node, key: str, options: dict[str, Any], num_threads: int | None
    ) -> DecodeImages:
        """Return the step, if there is what decodes images.

        Raises:
            ModuleNotFoundError: Pillow is not installed.
        """
        _decode_image()
        return cls(source, key, options, num_threads)

    def describe(self) -> str:
        """Return the call; how many threads there are makes no difference to what comes."""
        given = [f"{name}={value!r}" for name, value in self.options.items() if value]
        return f"  .decode_images({', '.join([repr(self.key), *given])})"

    def make(self, element: Any) -> Any:
        """Return an element with pixels."""
        if isinstance(element, Mapping) and self.key in element:
            return {**element, self.key: self._decoded(element)}
        if isinstance(element, tuple):  # with a label, a key or a number beside it
            places = [
                place
                for place, part in enumerate(element)
                if isinstance(part, Mapping) and self.key in part
            ]
            if len(places) == 1:
                (place,) = places
                return (*element[:place], self.make(element[place]), *element[place + 1 :])
        raise SpecError(
            f"decode_images() finds no feature {self.key!r} in {type(element).__name__}"
        )

    def _decoded(self, batch: Mapping[str, Any]) -> Any:
        contents = batch[self.key]
        if getattr(contents, "shape", None) == ():
            return _decode_image()(contents[()], **self.options, feature=self.key)
        return _decode_image()(
            contents,
            **self.options,
            num_threads=self.num_threads,
            feature=self.key,
            records=getattr(batch, "records", None),
        )


def _decode_image() -> Callable[..., Any]:
    """Load what decodes images, which needs an optional library."""
    decode: Callable[..., Any] = load("tfrecs.media.images").decode_image
    return decode
