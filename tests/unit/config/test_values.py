"""Every number of the schema has a range, which is checked by key; a text has characters, and only printable ones."""

import dataclasses
import math
from collections.abc import Iterable
from typing import Any, get_type_hints

import pytest
from composed_once import resolved, settled
from hypothesis import given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf
from omegaconf.errors import ValidationError

from aiayn.config.command_schema import DecodingOverridesConfig, SearchOverridesConfig
from aiayn.config.compose import compose_command
from aiayn.config.data_schema import DATA_TYPES
from aiayn.config.freeze import plain, to_dataclass
from aiayn.config.identity import flatten
from aiayn.config.model_kinds import MODEL_TYPES
from aiayn.config.schema import TOKENIZER_TYPES, DecodingConfig, TrainConfig
from aiayn.config.store import COMMANDS
from aiayn.config.values import Range, check_values
from aiayn.errors import UserError
from aiayn.extensions.cluster.schema import SlurmConfig
from aiayn.extensions.tuning.schema import TunedOverridesConfig

finite = st.floats(allow_nan=False, allow_infinity=False)

OUT_OF_RANGE = [
    "model.d_model=0",
    "model.dropout=-0.1",
    "model.dropout=1.0",
    "model.num_layers=1001",
    "model.d_ff=100000000",
    "model.neighbourhood=1",
    "model.layer_norm_epsilon=0",
    "tokenizer.vocabulary_size=2000000000",
    "model.vocabulary_rows=2000000000",
    "optimization.max_steps=99999999999999999999",
    "optimization.learning_rate_factor=0",
    "decoding.beam_size=999999999",
    "decoding.length_penalty_alpha=11",
    "decoding.max_extra_length=1000000",
    "averaging.checkpoints=-1",
    "launch.preparation_processes=100000",
    "cost.price_per_device_hour=-1",
    "cost.probe_seconds=900",
    "scale.width=0",
    "data.max_length=1",
    "data.filters.max_ratio=0.5",
]


@given(finite, finite, finite)
def test_a_range_expects_nothing_of_values_in_it_alone(value: float, first: float, second: float) -> None:
    least, most = sorted((first, second))
    assert (Range(least, most).expected(value) is None) == (least <= value <= most)
    assert (Range(above=least, most=most).expected(value) is None) == (least < value <= most)
    assert (Range(least, below=most).expected(value) is None) == (least <= value < most)


@pytest.mark.parametrize("override", [*OUT_OF_RANGE, "model.dropout=nan", "optimization.learning_rate_factor=inf"])
def test_a_number_out_of_range_is_named(override: str) -> None:
    with pytest.raises(UserError) as refusal:
        to_dataclass(settled(override), TrainConfig)
    key, _, value = override.partition("=")
    assert str(refusal.value).startswith((f"{key}={value}: must be ", f"{key}={value}.0: must be "))
    assert "\n" not in str(refusal.value)


def test_null_is_named_where_it_is_allowed() -> None:
    with pytest.raises(UserError, match=r"^decoding\.limit_sentences=0: must be at least 1, or null$"):
        to_dataclass(settled("decoding.limit_sentences=0"), TrainConfig)


def test_every_key_refuses_values_that_its_type_excludes() -> None:
    """One value too large, one that is no number, one without a character: for every key of the schema."""
    refused = 0
    for key, value in flatten(plain(to_dataclass(settled(), TrainConfig))).items():
        if key.startswith(("identity.", "trainer.", "callbacks.", "logger.")) or isinstance(value, bool):
            continue
        wrong = {int: 10**30, float: math.nan, str: " "}.get(type(value))
        if wrong is None:
            continue
        changed = settled()
        try:
            OmegaConf.update(changed, key, wrong)
        except ValidationError:
            continue  # one of a few choices
        with pytest.raises(UserError, match=rf"^{key}[= ]") as refusal:
            to_dataclass(changed, TrainConfig)
        assert "\n" not in str(refusal.value)
        refused += 1
    assert refused > 40


def test_a_line_break_is_shown_and_refused() -> None:
    with pytest.raises(UserError, match=r"^data\.name='a\\nb': holds a line break"):
        to_dataclass(settled("data.name='a\nb'"), TrainConfig)


def test_keys_added_to_the_schema_are_refused() -> None:
    with pytest.raises(UserError, match=r"^model\.n_heads: no such key"):
        to_dataclass(settled("+model.n_heads=3"), TrainConfig)


@pytest.mark.parametrize("overrides", [SearchOverridesConfig, DecodingOverridesConfig, TunedOverridesConfig])
def test_overrides_of_the_search_are_settings_of_a_run_or_null(overrides: type) -> None:
    fields = {field.name: field.type for field in dataclasses.fields(overrides)}
    assert fields.keys() <= {field.name for field in dataclasses.fields(DecodingConfig)}
    node = OmegaConf.structured(overrides)
    for name in fields:
        node[name] = None
        node[name] = resolved().decoding[name]
    with pytest.raises(ValidationError):
        node.max_extra_length = "x"


def test_overrides_of_the_search_have_its_ranges() -> None:
    for command in ("evaluate", "tune"):
        composed = compose_command(command, ["run=here", "decoding.max_extra_length=-1"])
        with pytest.raises(UserError, match=r"^decoding\.max_extra_length=-1: must be at least 0, or null$"):
            check_values(OmegaConf.to_object(composed))


def parts(schemas: Iterable[Any]) -> set[Any]:
    """The dataclasses, and those of their fields."""
    found: set[Any] = set()
    left = list(schemas)
    while left:
        schema = left.pop()
        if schema not in found:
            found.add(schema)
            left += [hint for hint in get_type_hints(schema).values() if dataclasses.is_dataclass(hint)]
    return found


SCHEMAS = (*COMMANDS.values(), *DATA_TYPES.values(), *MODEL_TYPES.values(), *TOKENIZER_TYPES.values(), SlurmConfig)
BOOLEANS = sorted(
    ((schema, name) for schema in parts(SCHEMAS) for name, hint in get_type_hints(schema).items() if hint is bool),
    key=str,
)


@pytest.mark.parametrize(("schema", "name"), BOOLEANS)
@given(value=st.integers() | finite | st.sampled_from(["true", "yes", "on", "1"]) | st.none())
@settings(max_examples=10)
def test_every_boolean_takes_true_and_false_alone(schema: type, name: str, value: object) -> None:
    node = OmegaConf.structured(schema)
    with pytest.raises(ValidationError):
        node[name] = value
    for stated in (True, False):
        node[name] = stated
        assert node[name] is stated


@pytest.mark.parametrize(
    ("verb", "words", "complaint"),
    [
        ("evaluate", ["run=x", "splits=-1"], "splits=-1: choose from dev, test"),
        ("report", ["fidelity", "profiles=true"], "profiles=true: no such profile"),
        ("tune", ["run=x", "beam_sizes=[a]"], "beam_sizes=['a']: must be a whole number, or a list of them"),
        ("attention", ["run=x", "layers=1.5"], "layers=1.5: must be a whole number, or a list of them, or null"),
    ],
)
def test_a_key_of_one_or_several_values_takes_no_other_kind(
    aiayn: Any, verb: str, words: list[str], complaint: str
) -> None:
    assert aiayn(verb, *words).refuses_by(complaint)
