"""Datasets of TensorFlow's names that `fit` takes as they are."""

from __future__ import annotations

from functools import cache
from typing import Any

import keras


@cache
def fitted(kind: type[Any]) -> type[Any]:
    """Return the class of datasets that are also what Keras takes: a `keras.utils.PyDataset`.

    Keras tells what it can take by classes. So a dataset of this kind is of both, and what Keras
    calls goes to what `Dataset.to_keras` of its plan returns.
    """

    class Fitted(kind, keras.utils.PyDataset):  # type: ignore[misc, unused-ignore]
        """A dataset that `fit`, `evaluate` and `predict` take."""

        _data: Any = None

        @property
        def _keras(self) -> Any:
            if self._data is None:
                self._data = self.plan.to_keras()
            return self._data

        @property
        def num_batches(self) -> int | None:
            """How many batches an epoch has; None if unknown."""
            return self._keras.num_batches  # type: ignore[no-any-return]

        @property
        def workers(self) -> int:
            """One: native threads do the work."""
            return self._keras.workers  # type: ignore[no-any-return]

        @property
        def use_multiprocessing(self) -> bool:
            """No: one reader that continues is faster."""
            return False

        @property
        def max_queue_size(self) -> int:
            """How many batches Keras takes ahead."""
            return self._keras.max_queue_size  # type: ignore[no-any-return]

        def on_epoch_begin(self) -> None:
            """Hand it on."""
            self._keras.on_epoch_begin()

        def on_epoch_end(self) -> None:
            """Hand it on."""
            self._keras.on_epoch_end()

        def __getitem__(self, index: int) -> Any:
            """Return the next batch."""
            return self._keras[index]

    Fitted.__name__ = Fitted.__qualname__ = kind.__name__
    return Fitted
