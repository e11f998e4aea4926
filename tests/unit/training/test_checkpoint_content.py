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


def adam() -> torch.optim.Adam:
    return torch.optim.Adam([torch.nn.Parameter(WEIGHT.clone())], lr=0.1, betas=(0.9, 0.98), fused=True)


def stepped() -> Any:
    """The state of an optimizer after a step with a schedule."""
    optimizer = adam()
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (step + 1))
    optimizer.param_groups[0]["params"][0].grad = WEIGHT
    optimizer.step()
    schedule.step()
    return optimizer.state_dict()


def test_the_state_of_an_optimizer_fits_one_of_the_same_settings() -> None:
    state = stepped()
    check_optimizer_state(adam(), state)
    check_optimizer_state(adam(), {**state, "state": {}})  # no parameter had a gradient
    (group,) = state["param_groups"]
    flags = [name for name, value in group.items() if isinstance(value, bool)]
    earlier = {name: value for name, value in group.items() if name not in flags}  # of a version without these
    check_optimizer_state(adam(), {**state, "param_groups": [{**earlier, "fused": None}]})


@pytest.mark.parametrize(
    "moment", [WEIGHT.T, WEIGHT.long(), WEIGHT.to("meta"), WEIGHT.to_sparse(), "text", None], ids=str
)
@pytest.mark.parametrize("name", ["step", "exp_avg", "exp_avg_sq"])
def test_other_moments_do_not_fit(name: str, moment: Any) -> None:
    state = stepped()
    state["state"][0][name] = moment
    with pytest.raises(ValueError, match=f"the optimizer's {name} of parameter 0 is no tensor of fractions "):
        check_optimizer_state(adam(), state)
    del state["state"][0][name]
    with pytest.raises(ValueError, match=f"the optimizer's {name} of parameter 0 is no tensor of fractions "):
        check_optimizer_state(adam(), state)


@given(VALUES, st.sampled_from([name for name in stepped()["param_groups"][0] if name != "params"]))
def test_a_setting_of_an_optimizer_is_used_or_refused(value: Any, name: str) -> None:
    state, optimizer = stepped(), adam()
    state["param_groups"][0][name] = value
    try:
        check_optimizer_state(optimizer, state)
    except ValueError as error:
        assert str(error) == f"the optimizer's setting {name} is not that of the configuration"  # noqa: PT017 (it need not be raised)
        return
    optimizer.load_state_dict(state)
    optimizer.param_groups[0]["params"][0].grad = WEIGHT
    optimizer.step()


def test_weights_without_numbers_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "step-0000007.ckpt"
    torch.save(edited(CONTENT, ("state_dict", "weight"), WEIGHT.to("meta")), path)
    with pytest.raises(UserError, match=r"\(state_dict.weight is no tensor of numbers\)$"):
        load_checkpoint(path, provenance=None)
    assert load_checkpoint(path, provenance=None, map_location="meta")["global_step"] == 7
