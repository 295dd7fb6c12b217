"""A loader without worker processes: threads of the native side do the work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfrecs.dataset.distributed.loader import Beginning, HostMemory, Transfer
from tfrecs.dataset.distributed.ranks import Ranks
from tfrecs.dataset.plan.node import Node
from tfrecs.integrations.torch.elements import TorchElements
from tfrecs.integrations.torch.numbered import DataLoaderParts
from tfrecs.integrations.torch.states import position


class TorchLoader(DataLoaderParts):
    """Iterates over a dataset as tensors, on a device; each pass is the next epoch.

    Its state is where the last pass is, after the element that was taken, whatever is under way;
    after the end of a pass it is the beginning of the next.

    Example:
        >>> import tfrecs
        >>> with tfrecs.RecordWriter("ages.tfrecord") as out:
        ...     out.write_batch([tfrecs.encode_example({"age": n}) for n in range(5)])
        >>> ds = tfrecs.Dataset("ages.tfrecord", {"age": tfrecs.FixedLenFeature([], "int64")})
        >>> loader = ds.batch(2).to_torch_loader()
        >>> len(loader)
        3
        >>> for batch in loader:
        ...     if 2 in batch["age"]:
        ...         state = loader.state_dict()
        >>> again = ds.batch(2).to_torch_loader()
        >>> again.load_state_dict(state)
        >>> list(again)
        [{'age': tensor([4])}]
    """

    def __init__(
        self,
        node: Node,
        epoch: int,
        ranks: Ranks,
        elements: TorchElements,
        transfer: Transfer,
        prefetch: int,
    ) -> None:
        """Keep the plan; nothing is read yet."""
        # Without a device the native side's own batches are all there is to make ahead.
        ahead = 0 if isinstance(transfer, HostMemory) else prefetch
        super().__init__(node, epoch, ranks, elements, transfer, ahead)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Let the next pass be what is left of the one that `state` was taken in.

        Args:
            state: One of such a loader, or of torchdata's StatefulDataLoader over the same plan,
                with any number of workers.

        Raises:
            StateError: It is none, or of another plan, or of other files.
        """
        if not isinstance(state, dict) or "at" in state:
            super().load_state_dict(state)
            return
        given = position(self._node, self._ranks.part().remainder, state)
        self._resume(Beginning(given.epoch, given.elements))
