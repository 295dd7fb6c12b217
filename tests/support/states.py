"""States of iterators, and what is in them."""

import json
from itertools import islice
from typing import Any

import tfrecs


def state_of(ds: tfrecs.Dataset, steps: int = 2) -> Any:
    it = iter(ds)
    list(islice(it, steps))
    state = json.loads(json.dumps(it.state_dict()))
    it.close()
    return state


def places(value: Any) -> list[list[Any]]:
    """The ways to all parts of a state."""
    if isinstance(value, dict):
        keys: list[Any] = list(value)
    elif isinstance(value, list):
        keys = list(range(len(value)))
    else:
        return []
    return [[key, *rest] for key in keys for rest in [[], *places(value[key])]]
