"""The content of a checkpoint is judged before it is used, whatever was written into it."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from aiayn.errors import UserError
from aiayn.training.averaging import averaged_checkpoint
from aiayn.training.checkpoint_content import check_fit, check_optimizer_state, has_training_state
from aiayn.training.checkpoint_io import load_checkpoint

WEIGHT = torch.arange(1.0, 7.0).view(2, 3)
CONTENT = {
    "state_dict": {"weight": WEIGHT},
    "global_step": 7,
    "aiayn": {"provenance": {"config_hash": "0"}, "averaged_steps": [3, 7]},
}
PLACES = [
    *((key,) for key in CONTENT),
    ("state_dict", "weight"),
    ("aiayn", "provenance"),
    ("aiayn", "provenance", "config_hash"),
    ("aiayn", "averaged_steps"),
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats() | st.text(max_size=3) | st.just(WEIGHT),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2) | st.integers(), inner, max_size=2),
    max_leaves=4,
)


def edited(content: Any, place: tuple[str, ...], value: Any) -> Any:
    if not place:
        return value
    first, *rest = place
    return {**content, first: edited(content[first], tuple(rest), value)}


@given(st.sampled_from([(), *PLACES]), VALUES)
def test_an_edited_checkpoint_is_used_or_refused_in_one_line(place: tuple[str, ...], value: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "step-0000007.ckpt"
        torch.save(edited(CONTENT, place, value), path)
        try:
            content = load_checkpoint(path, provenance={"config_hash": "0"})
            averaged_checkpoint([path, path])
            assert has_training_state(content) is False
            assert isinstance(content["global_step"], int)
        except UserError as error:
            assert str(error).startswith(f"{path}: ") and "\n" not in str(error)  # noqa: PT017, PT018 (it need not be raised)


@pytest.mark.parametrize(
    ("place", "value", "complaint"),
    [
        ((), [1], "it holds no mapping"),
        (("state_dict", "weight"), "text", "state_dict.weight is no tensor of numbers"),
        (("aiayn", "provenance"), ["0"], "aiayn.provenance is no mapping of texts"),
        (("aiayn", "provenance"), None, "aiayn.provenance is no mapping of texts"),
        (("global_step",), "7", "global_step is no number of steps"),
        (("aiayn", "averaged_steps"), "37", "aiayn.averaged_steps is no list of steps"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, place: tuple[str, ...], value: Any, complaint: str) -> None:
    path = tmp_path / "step-0000007.ckpt"
    torch.save(edited(CONTENT, place, value), path)
    with pytest.raises(UserError) as caught:
        load_checkpoint(path, provenance=None)
    assert str(caught.value) == f"{path}: not a checkpoint of this program ({complaint})"


@pytest.mark.parametrize(
    ("weights", "complaint"),
    [
        ({"weight": torch.ones(2, 3)}, "lacks bias"),
        ({"weight": torch.ones(2, 3), "bias": torch.ones(2), "more": torch.ones(1)}, "another weight, more"),
        ({"weight": torch.ones(3, 2), "bias": torch.ones(2)}, r"weight is \[3, 2\], and the model's \[2, 3\]"),
        ({"weight": torch.ones(2, 3), "bias": torch.ones(2).long()}, r"bias is of torch\.int64, and the model's of"),
    ],
)
def test_weights_of_another_model_do_not_fit(weights: dict[str, torch.Tensor], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        check_fit(torch.nn.Linear(3, 2), weights)


def test_moments_of_another_shape_do_not_fit() -> None:
    parameters = [WEIGHT]
    check_optimizer_state(parameters, {0: {"exp_avg": WEIGHT, "exp_avg_sq": WEIGHT, "step": torch.ones(())}})
    check_optimizer_state(parameters, {})
    for moment in (WEIGHT.T, "text", None):
        with pytest.raises(ValueError, match="exp_avg_sq of parameter 0 has another shape"):
            check_optimizer_state(parameters, {0: {"exp_avg": WEIGHT, "exp_avg_sq": moment}})
