"""Datasets continue from any state, whatever their steps."""

from __future__ import annotations

from pathlib import Path

import pytest
from plans import SPEC, STEPS, save_shards

import tfrecs
from tfrecs.testing import assert_resumes


@pytest.fixture(scope="module", params=["", "GZIP"])
def paths(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return save_shards(tmp_path_factory.mktemp("shards"), request.param)


@pytest.mark.parametrize("name", STEPS)
def test_each_step_resumes_at_every_step(paths: list[Path], name: str) -> None:
    assert_resumes(STEPS[name](tfrecs.Dataset(paths, SPEC)))


@pytest.mark.parametrize("name", ["records", "batch", "shuffle batch", "buffer", "take batches"])
def test_records_without_features_resume(paths: list[Path], name: str) -> None:
    assert_resumes(STEPS[name](tfrecs.Dataset(paths)))
