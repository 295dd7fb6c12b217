"""The tests of this folder need TensorFlow, which only `make oracle` installs.

Elsewhere they are not collected at all, so that `make test` neither fails nor skips for them; and
`make oracle` fails where TensorFlow is missing, because pytest then finds no test.
"""

import os
from importlib.util import find_spec

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

collect_ignore_glob = [] if find_spec("tensorflow") else ["*.py"]


def pytest_report_header() -> list[str]:
    """Say how to run the same random cases again."""
    if collect_ignore_glob:
        return []
    from oracle import cases  # not importable where TensorFlow is missing

    return [cases.header()]
