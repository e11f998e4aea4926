"""The header of published weights says which checkpoint they are."""

import os
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ordinary_user import ordinary_user
from safetensors.torch import save_file

from aiayn.errors import UserError
from aiayn.runs.weights_file import PublishedWeights, published_weights
from aiayn.training.checkpoint_io import ForeignCheckpointError, load_checkpoint, weights_digest

TEXTS = st.text(st.characters(codec="utf-8"), max_size=10)

KNOWN = st.builds(
    PublishedWeights,
    checkpoint=st.from_regex(r"\A(step-[0-9]{1,9}|average-of[0-9]-[0-9]{7}-[0-9]{7}(-[0-9a-f]{8})?)\Z"),
    step=st.integers(0, 10**9),
    averaged_steps=st.lists(st.integers(0, 10**9)).map(tuple),
    provenance=st.fixed_dictionaries({"config_hash": TEXTS, "data_fingerprint": st.none() | TEXTS}),
    sha256=st.just(weights_digest({"embedding.weight": torch.ones(2, 3)})),
)


def write(path: Path, known: PublishedWeights, value: float = 1.0) -> None:
    save_file({"embedding.weight": torch.full((2, 3), value)}, path, known.metadata())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(known=KNOWN)
def test_the_header_is_read_as_it_was_written(known: PublishedWeights, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    write(path, known)
    assert published_weights(path) == known
    content = load_checkpoint(path, provenance=known.provenance)
    assert content["global_step"] == known.step
    torch.testing.assert_close(content["state_dict"], {"model.embedding.weight": torch.ones(2, 3)})


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(content=st.binary(max_size=40))
def test_other_files_are_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    with pytest.raises(UserError, match="not the weights of a published run"):
        published_weights(path)


@pytest.mark.parametrize("name", ["", "..", "../../x", "/x", "step-1/../../x", "step-1\n", "average-", "step-\u0661"])
def test_a_name_that_is_no_checkpoints_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    write(path, PublishedWeights(name, 1, (), {}, "0"))
    with pytest.raises(UserError, match="not the weights of a published run"):
        published_weights(path)


def test_a_file_that_may_not_be_read_is_not_a_wrong_one(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    with pytest.raises(UserError, match=r"model\.safetensors: no such file"):
        published_weights(path)
    path.touch(mode=0)
    with pytest.raises(UserError, match=r"cannot be read \(Permission denied\)"), ordinary_user():
        published_weights(path)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(UserError, match=r"cannot be read \(not a file\)"):
        published_weights(path)


def test_changed_weights_are_refused(tmp_path: Path) -> None:
    path, digest = tmp_path / "model.safetensors", weights_digest({"embedding.weight": torch.ones(2, 3)})
    known = PublishedWeights("step-1", 1, (), {}, digest)
    write(path, known, value=1.5)
    with pytest.raises(UserError, match="the weights were changed since they were published"):
        load_checkpoint(path, provenance=None)


def test_weights_of_another_run_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    digest = weights_digest({"embedding.weight": torch.ones(2, 3)})
    write(path, PublishedWeights("step-1", 1, (), {"config_hash": "a", "data_fingerprint": "b"}, digest))
    with pytest.raises(ForeignCheckpointError):
        load_checkpoint(path, provenance={"config_hash": "c"})
    save_file({"weight": torch.ones(1)}, path)
    with pytest.raises(UserError, match="not the weights of a published run"):
        load_checkpoint(path, provenance=None)
