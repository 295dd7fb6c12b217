"""Where a pass is, by the states of its loader: our own, or torchdata's with any workers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfrecs.dataset.distributed.shard_iterator import Given, given_by
from tfrecs.dataset.plan.node import Node
from tfrecs.dataset.stages.state import Saved
from tfrecs.errors import StateError

# More workers than anybody has.
MOST_WORKERS = 1 << 12


def position(node: Node, remainder: str, state: Mapping[str, Any]) -> Given:
    """Return where a pass is, whatever loader gave the state, and with however many workers.

    Raises:
        StateError: It is none, or of another plan, or of other files; or what its workers have
            given is not the beginning of the pass.
    """
    saved = Saved(state)
    workers, since, steps, is_over = _parts(saved, state)
    given = given_by(node, remainder, workers)
    if since:
        # torchdata has counted steps since it asked the workers; a step must be an element.
        if given.of_rank != steps:
            raise _error("its steps are not elements: have the plan make batches, not the loader")
        given = given.further(since)
    return given.next_epoch() if is_over else given


def _parts(saved: Saved, state: Mapping[str, Any]) -> tuple[list[Any], int, int, bool]:
    """Return the workers' states, the steps since then, those before, and if the pass is over."""
    if "_snapshot" in state:
        snapshot, over = saved.child("_snapshot"), _is_over(saved)
        since, steps = saved.integer("_steps_since_snapshot"), snapshot.integer("_snapshot_step")
        workers = snapshot.child("_worker_snapshots")
        num = snapshot.child("_main_snapshot").integer("_num_workers", 1, MOST_WORKERS)
        fetched = [workers.child(f"worker_{worker}") for worker in range(num)]
        return [_of_iterator(one) for one in fetched], since, steps, over
    if "fetcher_state" in state:
        return [_of_iterator(saved)], 0, 0, _is_over(saved)
    return [state], 0, 0, False


def _of_iterator(saved: Saved) -> Any:
    return saved.child("fetcher_state").child("dataset_iter_state").value


def _is_over(saved: Saved) -> bool:
    return saved.is_same("_iterator_finished", value=True)


def _error(what: str) -> StateError:
    return StateError(f"the state is not one of this dataset: {what}")
