"""Whole numbers may be written as YAML's floats; values that make no sense are refused for every key of their type."""

import copy
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import OmegaConf
from omegaconf.errors import ValidationError

from aiayn.config import store
from aiayn.config.compose import compose_command
from aiayn.config.identity import flatten
from aiayn.config.schema import OptimizationConfig
from aiayn.errors import UserError
from aiayn.sweep.jobs import checked


@given(number=st.floats() | st.integers(-(10**6), 10**6).map(float))
def test_a_key_that_counts_takes_whole_numbers_however_written(number: float) -> None:
    store.register()
    node = OmegaConf.structured(OptimizationConfig)
    if math.isfinite(number) and number.is_integer():
        node.max_steps = number
        assert type(node.max_steps) is int
        assert node.max_steps == number
    else:
        with pytest.raises(ValidationError):
            node.max_steps = number


def test_a_whole_float_is_the_same_run() -> None:
    written = [compose_command("train", [f"optimization.max_steps={text}"]) for text in ("1e3", "1000", "1000.0")]
    assert {each.identity.hash for each in written} == {written[0].identity.hash}
    assert written[0].optimization.max_steps == 1000


def test_every_key_refuses_what_its_type_cannot_mean() -> None:
    """One value too large, one that is no number, one without a character: for every key of the schema."""
    composed = compose_command("train")
    content = OmegaConf.to_container(composed, resolve=True)
    assert isinstance(content, dict)
    refused = 0
    for key, value in flatten({str(key): value for key, value in content.items()}).items():
        if key.startswith(("identity.", "trainer.", "callbacks.", "logger.")) or isinstance(value, bool):
            continue
        wrong = {int: 10**30, float: math.nan, str: " "}.get(type(value))
        if wrong is None:
            continue
        changed = copy.deepcopy(composed)
        try:
            OmegaConf.update(changed, key, wrong)
        except ValidationError:
            continue  # an option of few
        with pytest.raises(UserError, match=rf"^{key}[= ]") as refusal:
            checked("train", changed)
        assert "\n" not in str(refusal.value)
        refused += 1
    assert refused > 40


def test_a_line_break_is_shown_and_refused() -> None:
    composed = compose_command("train")
    composed.data.name = "a\nb"
    with pytest.raises(UserError, match=r"^data\.name='a\\nb': holds a line break"):
        checked("train", composed)
