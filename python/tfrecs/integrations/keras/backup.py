"""A Keras callback that saves a training between any two steps."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path
from typing import Any, Protocol

import keras
import numpy as np

from tfrecs.errors import SpecError, StateError
from tfrecs.integrations.keras.backend import (
    random_of_texts,
    random_states,
    random_texts,
    set_random_states,
)

VERSION = 1


class Data(Protocol):
    """What is trained with."""

    pulled: int

    @property
    def epoch(self) -> int:
        """Which epoch continues."""

    def state_dict(self, pulled: int | None = None) -> dict[str, Any]:
        """Return where it is."""

    def load_state_dict(self, state: Any) -> None:
        """Continue there."""


class KerasBackup(keras.callbacks.Callback):  # type: ignore[misc, unused-ignore]
    """Saves weights, the optimizer's state, that of random numbers, and where the data is.

    `restore(model)` before `fit` loads all of that, and returns `initial_epoch`. A training that
    was killed continues with the batch after the last one that was saved, and ends with the same
    weights as one that was not.

    Beside `keras.callbacks.BackupAndRestore`, which begins an epoch again, and its random numbers.
    Metrics that `fit` shows for an epoch that continues are those of the rest of it.
    """

    def __init__(self, data: Data, folder: Any, save_freq: int | str = "epoch") -> None:
        """Keep where to save, and how often.

        Raises:
            SpecError: `save_freq` is neither "epoch" nor a number of batches.
        """
        super().__init__()
        given: Any = save_freq
        if given != "epoch" and (
            isinstance(given, bool) or not isinstance(given, int) or given < 1
        ):
            raise SpecError(f'save_freq must be "epoch" or a number of batches, not {given!r}')
        self._data = data
        self._folder = Path(folder)
        self._every = save_freq
        self._number = 0
        self._is_quiet: Any = None
        self._trained = self._unsaved = self._seen = self._base = 0
        # PyTorch's random numbers after the last step, and those to continue with. Between epochs
        # Keras draws some, of which there may be others where an epoch continues.
        self._after: list[Any] = []
        self._random: list[Any] = []

    @property
    def _file(self) -> Path:
        return self._folder / "backup.json"

    # --- Saving ---

    def on_train_begin(self, logs: object = None) -> None:
        """Count batches from here on."""
        del logs
        self._trained = self._unsaved = self._seen = 0
        self._base = self._data.pulled

    def on_epoch_begin(self, epoch: int, logs: object = None) -> None:
        """Count the batches of an epoch, and continue with the random numbers of the last one."""
        del epoch, logs
        self._seen = 0
        self._random = self._after or self._random

    def on_train_batch_begin(self, batch: int, logs: object = None) -> None:
        """Continue with random numbers."""
        del batch, logs
        set_random_states(self._random)
        self._random = []

    def on_train_batch_end(self, batch: int, logs: object = None) -> None:
        """Save, if it is time; `batch` is the last of several if steps are executed together."""
        del logs
        self._after = random_states()
        steps = min(batch + 1 - self._seen, self._data.pulled - self._base - self._trained)
        self._seen = batch + 1
        self._trained += steps
        self._unsaved += steps
        if isinstance(self._every, int) and self._unsaved >= self._every:
            self._save()

    def on_epoch_end(self, epoch: int, logs: object = None) -> None:
        """Save, if it is time."""
        del epoch, logs
        self._be_loud()
        if self._every == "epoch":
            self._save()

    def on_train_end(self, logs: object = None) -> None:
        """Save the end."""
        del logs
        if self._unsaved:
            self._save()

    def _save(self) -> None:
        """Save all, after the batch that was trained with last: it is there whole, or not."""
        self._unsaved = 0
        self._folder.mkdir(parents=True, exist_ok=True)
        self._number += 1
        weights = self._folder / f"{self._number}.weights.h5"
        model = self.model  # on JAX the weights come to the model when it is asked for
        model.save_weights(weights, overwrite=True)
        saved = {
            "version": VERSION,
            "weights": weights.name,
            "seeds": [_values(variable) for variable in _seeds(model)],
            "random": random_texts(self._after),
            "data": self._data.state_dict(self._base + self._trained),
        }
        new = self._folder / "backup.json.new"
        new.write_text(json.dumps(saved))
        os.replace(new, self._file)  # noqa: PTH105 - as everywhere, the one atomic step
        for old in self._folder.glob("*.weights.h5"):
            if old != weights:
                old.unlink()

    # --- Continuing ---

    def restore(self, model: Any) -> int:
        """Load what was saved last, if anything was, into a compiled and built model and the data.

        Returns:
            The epoch that `fit` begins with: its `initial_epoch`.

        Raises:
            StateError: It is of another version, model, plan, or of other files.
        """
        if not self._file.exists():
            return self._data.epoch
        saved = json.loads(self._file.read_text())
        if saved.get("version") != VERSION:
            raise StateError(f"{self._file} is of version {saved.get('version')}, not {VERSION}")
        if not model.built:
            raise StateError(
                "the model is not built, so it has no weights to load: give it an Input, or call "
                "it with a batch"
            )
        model.optimizer.build(model.trainable_variables)
        model.load_weights(self._folder / saved["weights"])
        _set_seeds(model, saved["seeds"])
        self._random, self._after = random_of_texts(saved["random"]), []
        self._data.load_state_dict(saved["data"])
        self._number = int(saved["weights"].split(".")[0])
        self._be_quiet()
        return self._data.epoch

    def _be_quiet(self) -> None:
        """Silence a warning: of an epoch that continues less is left than Keras expects."""
        self._is_quiet = warnings.catch_warnings()
        self._is_quiet.__enter__()
        warnings.filterwarnings("ignore", "Your input ran out of data")

    def _be_loud(self) -> None:
        if self._is_quiet is not None:
            self._is_quiet.__exit__(None, None, None)
            self._is_quiet = None


def _seeds(model: Any) -> list[Any]:
    """Return the states of random numbers, such as dropout's, which are not among the weights."""
    weights = {id(variable) for variable in model.weights}
    return [variable for variable in model.variables if id(variable) not in weights]


def _values(variable: Any) -> Any:
    return np.asarray(keras.ops.convert_to_numpy(variable)).tolist()


def _set_seeds(model: Any, saved: list[Any]) -> None:
    variables = _seeds(model)
    if len(saved) != len(variables):
        raise StateError(
            f"the backup is one of a model with {len(saved)} states of random numbers, and this "
            f"one has {len(variables)}"
        )
    for variable, values in zip(variables, saved, strict=True):
        variable.assign(np.asarray(values, variable.dtype))
