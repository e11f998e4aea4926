"""The weights that leave a run, in a published file or another program's format."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load, save
from torch import nn

from aiayn.errors import UserError
from aiayn.inference.averaging import steps_averaged
from aiayn.inference.weights import finite_weights
from aiayn.runs.weights_file import PublishedWeights


class Tied(nn.Module):
    """A model of the user's own, whose output layer has the matrix of its embeddings."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.output = nn.Embedding(5, 3), nn.Linear(3, 5, bias=False)
        self.output.weight = self.embedding.weight


def test_tied_weights_can_be_written_as_safetensors() -> None:
    model = Tied()
    content = load(save(finite_weights(model, Path("step-0000001.ckpt"))))
    assert content.keys() == {"embedding.weight", "output.weight"}
    assert all(torch.equal(weight, model.embedding.weight) for weight in content.values())


def test_weights_that_are_not_finite_are_refused() -> None:
    model = Tied()
    with torch.no_grad():
        model.output.weight[2, 1] = torch.inf
    with pytest.raises(UserError, match=r"^checkpoint=step\.ckpt: some weights are not finite"):
        finite_weights(model, Path("step.ckpt"))


def test_the_averaged_steps_of_a_published_file_are_read_without_its_weights(tmp_path: Path) -> None:
    known = PublishedWeights("average-2-4", 4, (2, 4), {"config_hash": "a"}, sha256="0" * 64)
    content = save({"weight": torch.ones(1000)}, known.metadata())
    path = tmp_path / "model.safetensors"
    path.write_bytes(content[:-3000])
    assert steps_averaged(path) == (2, 4)
