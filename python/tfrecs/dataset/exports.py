"""What other libraries take a dataset as: each method leads to a leaf of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from tfrecs.dataset.node import Node
from tfrecs.leaves import integration


class Exports(ABC):
    """What all datasets can be given to."""

    @property
    @abstractmethod
    def node(self) -> Node:
        """The last step of the plan."""

    @property
    @abstractmethod
    def epoch(self) -> int:
        """Which epoch the next pass is."""

    def to_torch(
        self,
        *,
        rank: int | None = None,
        num_ranks: int | None = None,
        remainder: str = "drop",
        strings: str = "list",
        ragged: str = "nested",
        sparse: str = "coo",
    ) -> Any:
        """Return a `torch.utils.data.IterableDataset` of the elements as tensors; needs PyTorch.

        Batches become dicts of tensors, over the same memory. A DataLoader takes them as they are,
        with `batch_size=None`, and its workers give them in turn: the same ones in the same order,
        however many there are. Each pass is the next epoch, in workers too. As a rule
        to_torch_loader() is faster, which needs no workers; they are for Python functions that
        take long.

        Args:
            rank: Which of several processes this is that train together; None is what
                torch.distributed says, if it is initialised. They take the elements (batches,
                behind batch()) of the one order in turn.
            num_ranks: How many they are.
            remainder: What becomes of a last round of fewer elements than ranks, as for shard().
                "drop" and "pad" give all ranks as many; they count the files, by an index.
            strings: What becomes of byte strings: "list", lists of bytes; "str", lists of text;
                "array", they stay a BytesArray; "drop", they are left out.
            ragged: What becomes of a RaggedTensor: "nested", a nested tensor (jagged); "padded", a
                dense tensor; "list", a list of tensors.
            sparse: What becomes of a SparseTensor: "coo", a sparse tensor; "padded", a dense one.

        Raises:
            SpecError: One of them is none of these.
        """
        ranks, kinds = (rank, num_ranks, remainder), (strings, ragged, sparse)
        return integration("torch").dataset_of(self.node, self.epoch, ranks, kinds)

    def to_torch_loader(
        self,
        device: Any = None,
        prefetch: int = 2,
        pin_memory: bool | None = None,
        *,
        rank: int | None = None,
        num_ranks: int | None = None,
        remainder: str = "drop",
        strings: str = "list",
        ragged: str = "nested",
        sparse: str = "coo",
    ) -> Any:
        """Return what iterates over the elements as tensors, on a device; needs PyTorch.

        It needs no worker processes: the native side's threads read and parse ahead. Each pass is
        the next epoch; `len()` is how many elements one has. `state_dict()` says where the pass is,
        behind the element that was taken last, and `load_state_dict()` goes on from there.

        Args:
            device: Where tensors go. To a CUDA device they are copied beside the computing, out of
                pinned memory; where there is no CUDA they stay in memory, with a warning.
            prefetch: How many elements are under way to the device.
            pin_memory: Whether memory is pinned; None is on the way to a CUDA device.
            rank: As for to_torch().
            num_ranks: As for to_torch().
            remainder: As for to_torch().
            strings: As for to_torch().
            ragged: As for to_torch().
            sparse: As for to_torch().

        Raises:
            SpecError: One of them is none of these.
        """
        ranks, kinds = (rank, num_ranks, remainder), (strings, ragged, sparse)
        return integration("torch").loader_of(
            self.node, self.epoch, ranks, kinds, device, prefetch, pin_memory
        )

    def to_jax(
        self,
        sharding: Any = None,
        prefetch: int = 2,
        *,
        mesh: Any = None,
        rank: int | None = None,
        num_ranks: int | None = None,
        remainder: str = "drop",
        strings: str = "array",
        ragged: str = "splits",
        sparse: str = "bcoo",
    ) -> Any:
        """Return what iterates over the elements as jax.Arrays; needs JAX.

        Batches become dicts of arrays, on a device or divided among several, copied there ahead of
        the computing. Each pass is the next epoch; `len()` is how many elements one has.
        `state_dict()` says where the pass is, behind the element that was taken last, and
        `load_state_dict()` goes on from there.

        JAX has no more than 32 bits unless `jax_enable_x64` is set. Then int64 becomes int32, and a
        value that does not fit is an error; float64 becomes float32, with a warning if that rounds.

        Args:
            sharding: How arrays are divided among devices: a jax.sharding.Sharding, whose first
                dimension is that of the rows; or a device. None is JAX's default device.
            prefetch: How many elements are under way to the device.
            mesh: Short for a sharding that divides the rows among all devices of a mesh.
            rank: Which of several processes this is that train together; None is what JAX says: by
                the rows that its devices have in the sharding, or without one process_index(). They
                take the elements (batches, behind batch()) of the one order in turn; with a
                sharding over all of them, their batches of a step are one array.
            num_ranks: How many they are.
            remainder: As for to_torch().
            strings: What becomes of byte strings, of which JAX has no arrays: "array", they stay a
                BytesArray; "list", lists of bytes; "str", lists of text; "drop", they are left out.
            ragged: What becomes of a RaggedTensor: "splits", a tuple of its values and the row
                splits of each level; "padded", a dense array.
            sparse: What becomes of a SparseTensor: "bcoo", a jax.experimental.sparse.BCOO;
                "padded", a dense array.

        Raises:
            SpecError: One of them is none of these, or cannot be. By iterating: a value does not
                fit, or the rows of a batch cannot be divided among the devices.
        """
        ranks, kinds = (rank, num_ranks, remainder), (strings, ragged, sparse)
        return integration("jax").loader_of(
            self.node, self.epoch, ranks, kinds, (sharding, mesh), prefetch
        )

    def to_keras(
        self,
        label_key: str | Sequence[str] | None = None,
        feature_key: str | Sequence[str] | None = None,
        weight_key: str | None = None,
        *,
        rank: int | None = None,
        num_ranks: int | None = None,
        remainder: str = "drop",
        strings: str = "raise",
    ) -> Any:
        """Return what `fit`, `evaluate` and `predict` of a Keras model take; needs Keras 3.

        A `keras.utils.PyDataset` of the batches: each epoch is a pass, `len()` is how many batches
        it has, and what `fit(shuffle=…)` is told changes nothing, as shuffle() in the plan does it
        better. Where nobody knows how many batches there are, or there is no end, `fit` needs
        `steps_per_epoch`. Ragged and sparse features become dense; padded_batch() says how.

        `backup(folder, save_freq)` of it is a callback that saves weights and data together, so
        that a training goes on from any step.

        Args:
            label_key: The feature that is the label; several become a dict. None is none, as for
                `predict`, or that elements are tuples of inputs and labels already.
            feature_key: The feature that the model gets; several become a dict, and None is a dict
                of all others.
            weight_key: The feature that says how much each row counts.
            rank: As for to_torch(); None is what the backend says, torch.distributed or JAX.
            num_ranks: As for to_torch().
            remainder: As for to_torch().
            strings: What becomes of byte strings among them, which no model can take: "raise", an
                error that names the feature; "drop", they are left out.

        Raises:
            SpecError: One of them is none of these. By iterating: there is no such feature, or an
                integer does not fit in the 32 bits that JAX has.
        """
        ranks, keys = (rank, num_ranks, remainder), (label_key, feature_key, weight_key)
        return integration("keras").dataset_of(self.node, self.epoch, ranks, keys, strings)
