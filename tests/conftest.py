from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import hypothesis
import needs
import pytest

from torture.heard import hear_interrupts

# How long an example takes depends on the machine; a failure prints how to repeat it. In CI the
# examples are the same every time: a change is judged by what it changes, not by luck.
hypothesis.settings.register_profile(
    "tfrecs", deadline=None, print_blob=True, derandomize=needs.IN_CI
)
hypothesis.settings.load_profile("tfrecs")

hear_interrupts()


@pytest.fixture(scope="session")
def optional() -> Callable[[str], ModuleType]:
    """`optional("pyarrow")` is that library, or the end of the test: see needs.py."""
    return needs.optional


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real files that other people's programs wrote."""
    return needs.shared_data()
