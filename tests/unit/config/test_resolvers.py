"""The interpolations of conf/: sizes scale, heads divide, shares are whole, and the same configuration has one hash."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import OmegaConf

from aiayn.config.identity import configuration_hash, flatten
from aiayn.config.resolvers import head_width, last_part, scaled, share
from aiayn.errors import UserError

factors = st.floats(1e-6, 1e3)
keys = st.text("abcdefgh_", min_size=1, max_size=4)
leaves = st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.lists(st.integers(), max_size=2)
contents = st.dictionaries(
    keys, st.recursive(leaves, lambda inner: st.dictionaries(keys, inner, max_size=3), max_leaves=6), max_size=4
)


@given(st.integers(1, 10**6), factors, factors)
def test_a_size_follows_its_axis_and_is_never_nothing(value: int, width: float, steps: float) -> None:
    root = OmegaConf.create({"scale": {"width": width, "steps": steps}})
    for axis, factor in (("width", width), ("steps", steps)):
        size = scaled(value, axis, _root_=root)
        assert size >= 1
        assert size == 1 or abs(size - value * factor) <= 0.5
    assert scaled(value, _root_=root) == scaled(value, "width", _root_=root)


@pytest.mark.parametrize(
    ("path", "name"), [("wmt/wmt14", "wmt14"), ("/data/my corpus/", "my corpus"), ("x", "x"), ("/", "/"), ("???", "")]
)
def test_the_last_part_of_a_path_also_where_it_is_not_stated(path: str, name: str) -> None:
    assert last_part("path", _parent_=OmegaConf.create({"path": path})) == name


def test_an_axis_that_the_scale_has_not_is_refused() -> None:
    root = OmegaConf.create({"scale": {"width": 1.0, "depth": 1.0}})
    with pytest.raises(UserError, match=r"^scaled:512,height: .* no axis 'height'; it has width, depth$"):
        scaled(512, "height", _root_=root)


@given(st.integers(1, 4096), st.integers(-2, 64))
def test_heads_share_the_width_or_have_none(d_model: int, num_heads: int) -> None:
    width = head_width(d_model, num_heads)
    if num_heads < 1 or d_model % num_heads:
        assert width == 0
    else:
        assert width * num_heads == d_model


@given(st.integers(1, 10**6), st.integers(1, 1000))
def test_shares_fit_into_the_total(total: int, parts: int) -> None:
    assert share(total, parts) >= 1
    assert share(total, parts) * parts <= max(total, parts)
    assert share(total, parts) == 1 or (share(total, parts) + 1) * parts > total


def nested(leaves: dict[str, Any]) -> dict[str, Any]:
    """Dotted keys as mappings in each other."""
    content: dict[str, Any] = {}
    for path, value in leaves.items():
        *folders, name = path.split(".")
        node = content
        for folder in folders:
            node = node.setdefault(folder, {})
        node[name] = value
    return content


@given(contents)
def test_flattening_loses_nothing(content: dict[str, Any]) -> None:
    assert nested(flatten(content)) == content


@given(contents, st.randoms(use_true_random=False))
def test_the_order_of_keys_is_no_part_of_the_identity(content: dict[str, Any], rng: random.Random) -> None:
    shuffled = list(content.items())
    rng.shuffle(shuffled)
    assert configuration_hash(dict(shuffled), fidelity="paper") == configuration_hash(content, fidelity="paper")


@given(contents, keys)
def test_a_new_value_and_a_new_fidelity_are_new_identities(content: dict[str, Any], key: str) -> None:
    before = configuration_hash(content, fidelity="paper")
    assert configuration_hash(content, fidelity="text") != before
    assert configuration_hash({**content, f"model_{key}": "new"}, fidelity="paper") != before
    for neutral in ("paths", "logger", "launch", "callbacks", "scale"):
        assert configuration_hash({**content, neutral: {key: "new"}}, fidelity="paper") == before
