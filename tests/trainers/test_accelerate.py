"""Accelerate: a prepared loader, and `skip_first_batches` in the middle of an epoch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import needs
import pytest
from numbered_rows import BATCHES, dataset, expected, write

torch = needs.optional("torch")
accelerate = needs.optional("accelerate")


def numbers(batches: Any) -> list[list[int]]:
    return [batch["number"].tolist() for batch in batches]


@pytest.fixture
def paths(tmp_path: Path) -> str:
    return write(tmp_path)


@pytest.mark.parametrize("epoch", [0, 1, 3])
@pytest.mark.parametrize("skipped", range(BATCHES + 1))
def test_skipping_leaves_out_the_first_batches_of_the_epoch(
    paths: str, epoch: int, skipped: int
) -> None:
    loader = dataset(paths).to_torch_loader()
    loader.set_epoch(epoch)
    rest = accelerate.skip_first_batches(loader, skipped)
    everything = expected(paths, epoch + 2)
    at = epoch * BATCHES
    assert len(rest) == BATCHES - skipped
    assert numbers(rest) == everything[at + skipped : at + BATCHES]
    assert numbers(loader) == everything[at + BATCHES :]


def test_the_sampler_of_what_is_left_sets_the_epoch(paths: str) -> None:
    rest = accelerate.skip_first_batches(dataset(paths).to_torch_loader(), 5)
    rest.batch_sampler.batch_sampler.set_epoch(2)
    assert numbers(rest) == expected(paths, 3)[2 * BATCHES + 5 :]


@pytest.mark.parametrize("rank", range(3))
@pytest.mark.parametrize("remainder", ["drop", "pad", "uneven"])
def test_ranks_skip_their_own_batches(paths: str, rank: int, remainder: str) -> None:
    def loader() -> Any:
        return dataset(paths).take(11).to_torch_loader(rank=rank, num_ranks=3, remainder=remainder)

    everything = numbers(loader())
    for skipped in range(len(everything) + 1):
        assert numbers(accelerate.skip_first_batches(loader(), skipped)) == everything[skipped:]


def test_skipped_batches_are_not_made(paths: str) -> None:
    made: list[int] = []

    def noted(batch: Any) -> Any:
        made.append(1)
        return batch

    loader = dataset(paths).map(noted).to_torch_loader()
    rest = numbers(accelerate.skip_first_batches(loader, 9))
    assert len(rest) == len(made) == BATCHES - 9


def test_the_state_counts_skipped_batches(paths: str) -> None:
    loader = dataset(paths).to_torch_loader()
    it = iter(accelerate.skip_first_batches(loader, 5))
    numbers([next(it), next(it)])
    again = dataset(paths).to_torch_loader()
    again.load_state_dict(loader.state_dict())
    assert numbers(again) == expected(paths, 2)[7:BATCHES]


PROGRAM = """
import sys
import torch
from accelerate import Accelerator, skip_first_batches
from numbered_rows import dataset

paths, state, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
accelerator = Accelerator(cpu=True)
torch.manual_seed(0)
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
model, optimizer, loader = accelerator.prepare(model, optimizer, dataset(paths).to_torch_loader())
accelerator.register_for_checkpointing(loader)
try:
    accelerator.load_state(state)
except (OSError, ValueError):
    pass
done = 0
for epoch in range(loader.state_dict()["at"]["epoch"], 3):
    for batch in loader:
        print(*batch["number"].tolist(), flush=True)
        error = (model(batch["x"]).squeeze(1) - batch["number"] / 46).square().mean()
        accelerator.backward(error)
        optimizer.step()
        optimizer.zero_grad()
        done += 1
        if done == steps:
            accelerator.save_state(state)
            sys.exit()
print(*(value for row in model.state_dict().values() for value in row.flatten().tolist()))
"""


def run(paths: str, state: Path, steps: int) -> list[str]:
    command = [sys.executable, "-c", PROGRAM, paths, str(state), str(steps)]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, cwd=Path(__file__).parent.parent
    )
    return done.stdout.splitlines()


def test_a_program_resumes_from_its_state(paths: str, tmp_path: Path) -> None:
    whole = run(paths, tmp_path / "none", 0)
    assert whole[:-1] == [" ".join(map(str, batch)) for batch in expected(paths, 3)]
    for steps in [5, 12, 17]:
        state = tmp_path / f"state{steps}"
        assert run(paths, state, steps) + run(paths, state, 0) == whole
