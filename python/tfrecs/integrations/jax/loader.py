"""A loader of jax.Arrays."""

from __future__ import annotations

from tfrecs.dataset.distributed.loader import HostMemory, Loader
from tfrecs.dataset.distributed.ranks import Ranks
from tfrecs.dataset.plan.node import Node
from tfrecs.dataset.transforms.batch import FixedBatch
from tfrecs.errors import SpecError
from tfrecs.integrations.jax.elements import JaxElements


class JaxLoader(Loader):
    """Iterates over a dataset as jax.Arrays; each pass is the next epoch.

    Its state is where the last pass is, after the element that was taken, whatever is under way;
    after the end of a pass it is the beginning of the next.

    Example:
        >>> import tfrecs
        >>> with tfrecs.RecordWriter("ages.tfrecord") as out:
        ...     out.write_batch([tfrecs.encode_example({"age": n}) for n in range(5)])
        >>> ds = tfrecs.Dataset("ages.tfrecord", {"age": tfrecs.FixedLenFeature([], "int64")})
        >>> loader = ds.batch(2).to_jax()
        >>> len(loader)
        3
        >>> for batch in loader:
        ...     if 2 in batch["age"]:
        ...         state = loader.state_dict()
        >>> again = ds.batch(2).to_jax()
        >>> again.load_state_dict(state)
        >>> list(again)
        [{'age': Array([4], dtype=int32)}]
    """

    def __init__(
        self, node: Node, epoch: int, ranks: Ranks, elements: JaxElements, prefetch: int
    ) -> None:
        """Keep the plan; nothing is read yet.

        Raises:
            SpecError: Processes would have batches of different sizes, which make no array.
        """
        if elements.placing.spans_processes:
            _check_batches(node)
        # Copies to devices are begun, not waited for.
        super().__init__(node, epoch, ranks, elements, HostMemory(), prefetch)


def _check_batches(node: Node) -> None:
    """Refuse batches of which the last one is smaller: just one process would get it."""
    while node.traits.divisible:
        (node,) = node.sources
    if isinstance(node, FixedBatch) and not node.drop_remainder:
        raise SpecError(
            "the last batch may be smaller, and only one of several processes has it, so that no "
            "array can be made of theirs: batch with drop_remainder=True"
        )
