"""The Trainer of transformers: a training that stops in any epoch resumes with the next batch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import needs
import pytest
from numbered_rows import BATCHES, SIZE, dataset, expected, shuffled, write

torch = needs.optional("torch")
transformers = needs.optional("transformers")

EPOCHS = 3


class Model(torch.nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
    """One linear layer, which notes the batches that it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 1)
        self.seen: list[list[int]] = []

    def forward(self, number: Any, x: Any) -> dict[str, Any]:
        self.seen.append(number.tolist())
        return {"loss": (self.linear(x).squeeze(1) - number / 46).square().mean()}


class FromLoader(transformers.Trainer):  # type: ignore[misc, name-defined, unused-ignore]
    """A Trainer that takes a loader as it is, as the guide shows."""

    def __init__(self, loader: Any, **options: Any) -> None:
        super().__init__(**options)
        self.loader = loader

    def get_train_dataloader(self) -> Any:
        return self.loader


def trained(paths: str, folder: Path, steps: int, *, resume: bool, way: str) -> Model:
    """Train for that many steps in all."""
    torch.manual_seed(0)
    model = Model()
    options = transformers.TrainingArguments(
        output_dir=str(folder),
        per_device_train_batch_size=SIZE,
        num_train_epochs=EPOCHS,
        lr_scheduler_type="constant",
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        use_cpu=True,
    )
    stop = Stop(steps)
    if way == "loader":
        loader = dataset(paths).to_torch_loader()
        trainer = FromLoader(loader, model=model, args=options, callbacks=[stop])
    else:
        rows = shuffled(paths).to_torch()
        trainer = transformers.Trainer(model, options, train_dataset=rows, callbacks=[stop])
    trainer.train(resume_from_checkpoint=resume)
    return model


class Stop(transformers.TrainerCallback):  # type: ignore[misc, name-defined, unused-ignore]
    """Saves and ends a training at a step."""

    def __init__(self, step: int) -> None:
        self.step = step

    def on_step_end(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        control.should_save = control.should_training_stop = state.global_step == self.step


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write(tmp_path_factory.mktemp("rows"))


@pytest.mark.parametrize("way", ["loader", "rows"])
@pytest.mark.parametrize("stop", [1, 5, BATCHES, BATCHES + 1, 2 * BATCHES + 7, 3 * BATCHES - 1])
def test_a_training_resumes_in_any_epoch(paths: str, tmp_path: Path, way: str, stop: int) -> None:
    whole = trained(paths, tmp_path / "whole", 0, resume=False, way=way)
    assert whole.seen == expected(paths, EPOCHS)
    before = trained(paths, tmp_path / "cut", stop, resume=False, way=way)
    after = trained(paths, tmp_path / "cut", 0, resume=True, way=way)
    assert before.seen + after.seen == whole.seen
    assert torch.equal(after.linear.weight, whole.linear.weight)


def test_evaluation_takes_a_loader(paths: str, tmp_path: Path) -> None:
    model = Model()
    options = transformers.TrainingArguments(
        output_dir=str(tmp_path), report_to="none", use_cpu=True, disable_tqdm=True
    )
    trainer = transformers.Trainer(model, options)
    loader = dataset(paths).to_torch_loader()
    trainer.evaluation_loop(loader, "test", prediction_loss_only=True)
    assert model.seen == expected(paths, 2)[:BATCHES]
