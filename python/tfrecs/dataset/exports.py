"""What other libraries take a dataset as: each method leads to a leaf of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from tfrecs._internal.optional import integration
from tfrecs.dataset.plan.node import Node


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
                after batch()) of the one order in turn.
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
        after the element that was taken last, and `load_state_dict()` continues from there.

        Args:
            device: Where tensors go. To a CUDA device they are copied beside the computing, out of
                pinned memory; where there is no CUDA they stay in memory, with a warning.
            prefetch: How many elements are under way to the device, beside the one in use.
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
        `state_dict()` says where the pass is, after the element that was taken last, and
        `load_state_dict()` continues from there.

        JAX has no more than 32 bits unless `jax_enable_x64` is set. Then int64 becomes int32, and a
        value that does not fit is an error; float64 becomes float32, with a warning if that rounds.

        Args:
            sharding: How arrays are divided among devices: a jax.sharding.Sharding, whose first
                dimension is that of the rows; or a device. None is JAX's default device.
            prefetch: How many elements are under way to the device, beside the one in use.
            mesh: Short for a sharding that divides the rows among all devices of a mesh.
            rank: Which of several processes this is that train together; None is what JAX says: by
                the rows that its devices have in the sharding, or without one process_index(). They
                take the elements (batches, after batch()) of the one order in turn; with a
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
        it has, and `fit(shuffle=…)` has no effect, as shuffle() in the plan does it
        better. Where it is unknown how many batches there are, or there is no end, `fit` needs
        `steps_per_epoch`. Ragged and sparse features become dense; padded_batch() says how.

        `backup(folder, save_freq)` of it is a callback that saves weights and data together, so
        that a training continues from any step.

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

    def to_tf(
        self,
        output_signature: Any = None,
        *,
        state: Mapping[str, Any] | str | bytes | None = None,
        with_states: bool = False,
    ) -> Any:
        """Return a `tf.data.Dataset` of the elements; needs TensorFlow.

        What is parsed becomes what `tf.io.parse_example` gives: tensors, strings among them,
        `tf.SparseTensor` and `tf.RaggedTensor`. Each iteration is the next epoch. What is wrong
        with a file is a `tf.errors.OpError` there, whose text has the error and its place.

        Args:
            output_signature: What the elements are, as for `tf.data.Dataset.from_generator`. None
                is what TensorFlow's parsers make of the features; where Python functions make the
                elements, it is what the first one is, which is made for that (after batch() with
                any number of rows, after padded_batch() and bucket_by_length() of any lengths).
            state: Where the first iteration continues, as a dict or as JSON.
            with_states: Whether each element comes in a pair with the state after it, a scalar of
                JSON. So it stays beside its element, however far ahead tf.data works; tf.data's own
                checkpoints know nothing of a dataset that comes of Python.

        Raises:
            SpecError: The elements are made by Python functions, and there is none.
            StateError: It is no state of this plan and these files.
        """
        return integration("tensorflow").dataset_of(
            self.node, self.epoch, output_signature, state, with_states
        )

    def to_hf(
        self, features: Mapping[str, Any] | None = None, num_shards: int | None = None
    ) -> Any:
        """Return a `datasets.IterableDataset` whose examples are the records; needs datasets.

        Its rows are the rows of batches, or what the plan makes one by one, and reach it as Arrow
        tables over the same memory. Lists are as long as in the records, without padding; of a
        VarLenFeature they are its values, a SparseFeature is a struct of `indices` and `values`.
        Records that are not parsed are a column `record`, keys (with_keys()) a column `__key__`.

        Its order is the plan's, of the epoch that was said last by `set_epoch`. `state_dict()` and
        `load_state_dict()` of the IterableDataset continue exactly. Workers of a DataLoader, and
        `split_dataset_by_node`, take the batches in turn.

        Args:
            features: What columns are in place of what their types say, for example
                `datasets.Image()` or `datasets.ClassLabel(10)`. If Python functions make the
                elements, nothing is known of them: it is all columns, or None.
            num_shards: Into how many parts workers and nodes may divide it; None is 48.

        Raises:
            SpecError: There is no such column. By iterating: elements are no dicts, or Arrow does
                not have what is in them.
        """
        return integration("huggingface").dataset_of(self.node, self.epoch, features, num_shards)
