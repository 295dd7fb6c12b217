"""A loader's batches by number, as libraries that resume a training ask for them.

`accelerate.skip_first_batches`, and so the Trainer of transformers, rebuilds a loader from its
`dataset`, `batch_sampler` and `collate_fn`, and leaves out the first numbers of the sampler. Those
of a `TorchLoader` are made so that a batch left out is never read:

    batch_sampler   [0] [1] [2] [3] …    one number a batch; set_epoch() says of which epoch
    skip 2                  [2] [3] …    done by accelerate
    dataset                 batch 2 …    begins the pass at batch 2
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tfrecs.dataset.distributed.loader import Loader, LoaderIterator


class DataLoaderParts(Loader):
    """A loader with the attributes of a DataLoader that other libraries rebuild it from.

    Example:
        >>> import tfrecs
        >>> loader = tfrecs.Dataset([b"0", b"1", b"2", b"3"]).batch(2).to_torch_loader()
        >>> (number,) = next(iter(loader.batch_sampler))
        >>> loader.collate_fn([loader.dataset[number]])
        [b'0', b'1']
    """

    num_workers = 0
    """Threads of the native side read ahead, not worker processes."""

    prefetch_factor = None
    """None, as of any DataLoader without workers."""

    @property
    def dataset(self) -> NumberedBatches:
        """The batches, by the numbers that `batch_sampler` gives."""
        return NumberedBatches(self)

    @property
    def batch_sampler(self) -> BatchNumbers:
        """The numbers of the batches of a pass, a list of one for each."""
        return BatchNumbers(self)

    @property
    def sampler(self) -> BatchNumbers:
        """The same: Lightning calls `set_epoch()` of this one."""
        return BatchNumbers(self)

    @staticmethod
    def collate_fn(batches: Sequence[Any]) -> Any:
        """Return the one batch that a list of one number stands for."""
        (batch,) = batches
        return batch


class BatchNumber(NamedTuple):
    """Which batch of which pass.

    Attributes:
        begun: What identifies the pass.
        number: How many batches of the pass come before it.
    """

    begun: object
    number: int


class NumberedBatches:
    """The batches of a loader's passes by their numbers, in order.

    A number of another pass than the last one begins that pass, at this batch.
    """

    def __init__(self, loader: Loader) -> None:
        """Keep the loader; nothing is read yet."""
        self._loader = loader
        self._begun: object = None
        self._pass: LoaderIterator | None = None

    def __getitem__(self, wanted: BatchNumber) -> Any:
        """Return a batch.

        Raises:
            StopIteration: The pass has no more. This ends a DataLoader without workers.
        """
        if self._pass is None or wanted.begun is not self._begun:
            self._begun, self._pass = wanted.begun, self._loader.begin_at(wanted.number)
        return next(self._pass)


class BatchNumbers:
    """The numbers of a loader's batches, a list of one for each, as a batch sampler gives them."""

    def __init__(self, loader: Loader) -> None:
        """Keep the loader."""
        self._loader = loader

    def __iter__(self) -> Iterator[list[BatchNumber]]:
        """Begin a pass. The numbers have no end; the batches have."""
        begun = object()
        return ([BatchNumber(begun, number)] for number in itertools.count())

    def __len__(self) -> int:
        """Return how many batches a pass has.

        Raises:
            TypeError: The dataset is endless, or its length is unknown before all is read.
        """
        return len(self._loader)

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of the next pass."""
        self._loader.set_epoch(epoch)
