"""Lightning: a checkpoint in the middle of an epoch holds the place in the data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import needs
import pytest
from numbered_rows import BATCHES, dataset, expected, write

torch = needs.optional("torch")
lightning = needs.optional("pytorch_lightning")
ModelCheckpoint = lightning.callbacks.ModelCheckpoint

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # Lightning's hints: no GPU is used, no logger is there
]

EPOCHS = 3


class Model(lightning.LightningModule):  # type: ignore[misc, name-defined, unused-ignore]
    """One linear layer, which notes the batches that it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 1)
        self.seen: list[list[int]] = []

    def training_step(self, batch: Any, _: int) -> Any:
        self.seen.append(batch["number"].tolist())
        return (self.linear(batch["x"]).squeeze(1) - batch["number"] / 46).square().mean()

    def configure_optimizers(self) -> Any:
        return torch.optim.Adam(self.parameters(), lr=0.01)


def trained(paths: str, folder: Path, resume_from: Path | None = None) -> Model:
    """Train for EPOCHS, with a checkpoint after each step."""
    torch.manual_seed(0)
    model = Model()
    every_step = ModelCheckpoint(folder, "{step}", every_n_train_steps=1, save_top_k=-1)
    trainer = lightning.Trainer(
        max_epochs=EPOCHS,
        accelerator="cpu",
        callbacks=[every_step],
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, dataset(paths).to_torch_loader(), ckpt_path=resume_from)
    return model


def test_a_training_resumes_from_the_checkpoint_of_any_step(tmp_path: Path) -> None:
    paths = write(tmp_path)
    whole = trained(paths, tmp_path / "whole")
    assert whole.seen == expected(paths, EPOCHS)
    for step in range(1, EPOCHS * BATCHES):
        checkpoint = tmp_path / "whole" / f"step={step}.ckpt"
        rest = trained(paths, tmp_path / "rest", resume_from=checkpoint)
        assert rest.seen == whole.seen[step:], step
        assert torch.equal(rest.linear.weight, whole.linear.weight), step
