"""A dataset for PyTorch's DataLoader."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch.utils.data import IterableDataset, get_worker_info

from tfrecs import _core
from tfrecs.dataset.distributed.ranks import Ranks, known_length
from tfrecs.dataset.distributed.shard_iterator import ShardIterator
from tfrecs.dataset.plan.node import Node
from tfrecs.errors import Error
from tfrecs.integrations.torch.elements import TorchElements
from tfrecs.integrations.torch.epochs import Epochs, Pass, cohort_of
from tfrecs.integrations.torch.placed import with_place
from tfrecs.integrations.torch.states import position


class TorchDataset(IterableDataset):  # type: ignore[misc, unused-ignore]
    """The elements of a dataset as tensors, dealt out to ranks and to a DataLoader's workers.

    Example:
        >>> import tfrecs
        >>> from torch.utils.data import DataLoader
        >>> with tfrecs.RecordWriter("ages.tfrecord") as out:
        ...     out.write_batch([tfrecs.encode_example({"age": n}) for n in range(5)])
        >>> ds = tfrecs.Dataset("ages.tfrecord", {"age": tfrecs.FixedLenFeature([], "int64")})
        >>> for batch in DataLoader(ds.batch(3).to_torch(), batch_size=None):
        ...     print(batch["age"])
        tensor([0, 1, 2])
        tensor([3, 4])
    """

    def __init__(self, node: Node, epoch: int, ranks: Ranks, elements: TorchElements) -> None:
        """Keep the plan; nothing is read yet."""
        self._node = node
        self._epochs = Epochs(epoch)
        self._ranks = ranks
        self._elements = elements
        self._passes = 0

    def __getstate__(self) -> dict[str, Any]:
        """Take along which rank this is: a worker of its own is not asked."""
        return {**self.__dict__, "_ranks": self._ranks.resolved()}

    def __iter__(self) -> TorchIterator:
        """Begin a pass: the next epoch."""
        info, this = get_worker_info(), None
        part = self._ranks.part()
        if info is not None:
            cohort = cohort_of(info.id)
            this = Pass(info.seed - info.id, self._passes, info.num_workers, info.id, cohort)
            part = replace(part, num_workers=info.num_workers, worker=info.id)
        self._passes += 1
        begin = self._epochs.next(this)
        return TorchIterator(self, ShardIterator(self._node, begin.epoch, part, begin.base))

    def __len__(self) -> int:
        """Return how many elements this rank has: files are counted for that, by an index.

        Raises:
            TypeError: There is no end, or the number is unknown before all is read.
        """
        return known_length(self._node, self._ranks.part())

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch the next pass is, for all workers; passes count on by themselves."""
        self._epochs.go_on(epoch, in_worker=get_worker_info())

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Let the pass that begins next be what is left of the one that `state` was taken in.

        Any loader over this dataset then resumes there, with any number of workers, and any number
        of ranks if each of them loads a state of one. (torchdata's StatefulDataLoader by itself
        loads only what was saved with as many workers as it has.)

        Args:
            state: The state of a StatefulDataLoader with any number of workers, or of the loader
                that to_torch_loader() returns.

        Raises:
            StateError: It is none, or of another plan, or of other files; or the loader made the
                batches itself, so that what its workers have given is not the beginning of a pass.

        Example:
            >>> import tfrecs
            >>> with tfrecs.RecordWriter("ages.tfrecord") as out:
            ...     out.write_batch([tfrecs.encode_example({"age": n}) for n in range(5)])
            >>> ds = tfrecs.Dataset("ages.tfrecord", {"age": tfrecs.FixedLenFeature([], "int64")})
            >>> loader = ds.batch(2).to_torch_loader()
            >>> first, state = next(iter(loader)), loader.state_dict()
            >>> dataset = ds.batch(2).to_torch()
            >>> dataset.load_state_dict(state)
            >>> [batch["age"].tolist() for batch in dataset]
            [[2, 3], [4]]
        """
        given = position(self._node, self._ranks.part().remainder, state)
        self._epochs.go_on(given.epoch, given.elements, in_worker=get_worker_info())

    def resumed(self, epoch: int) -> None:
        """Note that a pass continues in `epoch`, so that the one after it is the next."""
        self.set_epoch(epoch + 1)

    def convert(self, element: Any) -> Any:
        """Return what is made of an element."""
        return self._elements(element)


class TorchIterator(_core.Exclusive, Iterator[Any]):
    """A pass over a TorchDataset, in one process; threads may share it.

    torchdata's StatefulDataLoader asks it for its state.
    """

    def __init__(self, dataset: TorchDataset, dealt: ShardIterator) -> None:
        """Begin with the first element."""
        self._dataset = dataset
        self._dealt = dealt

    def _next(self) -> Any:
        """Return the next element as tensors."""
        try:
            return self._dataset.convert(next(self._dealt))
        except Error as error:
            if get_worker_info() is not None:
                with_place(error)
            raise

    def state_dict(self) -> dict[str, Any]:
        """Return where the pass is, in this worker, after the element that came last."""
        with self._turn:
            return self._dealt.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue where `state` says; the next pass is the epoch after its.

        Raises:
            StateError: It is none, or of another plan, other files, or another number of workers.
        """
        with self._turn:
            self._dealt.load_state_dict(state)
            self._dataset.resumed(self._dealt.epoch)

    def close(self) -> None:
        """Let go of threads and files. Nothing comes any more."""
        self._dealt.close()


def distributed_rank() -> tuple[int, int] | None:
    """Return what torch.distributed says, if it is initialised."""
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    return None
