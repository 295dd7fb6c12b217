"""A plugin for pytest under coverage.py: names the running test, and notes how long it takes.

The environment's MUTANTS_TESTS names the file that gets a line of JSON for each part of a test.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    """Have coverage.py count lines for this test, its fixtures included."""
    from coverage import Coverage

    measuring = Coverage.current()
    assert measuring is not None
    measuring.switch_context(item.nodeid)
    try:
        return (yield)
    finally:
        measuring.switch_context("")


@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note a part of a test: set-up, call or tear-down."""
    line = [report.nodeid, report.duration, report.outcome]
    with Path(os.environ["MUTANTS_TESTS"]).open("a") as out:
        out.write(json.dumps(line) + "\n")
