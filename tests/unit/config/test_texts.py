"""A text keeps its letters, however much it looks like a number, a truth value or a date, or is refused."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

import pytest
import yaml
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from hypothesis import example, given
from hypothesis import strategies as st
from omegaconf import OmegaConf
from omegaconf.errors import ValidationError

from aiayn.config.freeze import LOADER
from aiayn.config.store import COMMANDS
from aiayn.config.sweep_schema import LAUNCHERS, SWEEPERS
from aiayn.config.texts import AGENT, KINDS, as_written, text_keys
from aiayn.config.values import alternatives, is_text
from aiayn.errors import UserError

KEYS = [(verb, key) for verb in COMMANDS for key in sorted(text_keys(verb))]
NUMBERS = ["1e3", "2026_11_28", "0x1F", "0o17", "010", "12:30:45", "1_000.5", ".5", "+7", "-0", "1E5", "nan", "-inf"]
OTHERS = [
    "2026-11-28",
    "no",
    "Yes",
    "TRUE",
    "false",
    "on",
    "Off",
    "y",
    "None",
    "True",
    "a:b",
    "a@b",
    "1e3e",
    "a%b",
    "-",
]
LIKE_OTHERS = st.sampled_from([*NUMBERS, *OTHERS])
SYNTAX = frozenset("'\"\\$[]{}(),\n\r\t")
"""Quotes, escapes, expressions, lists and functions of Hydra's."""
TEXTS = LIKE_OTHERS | st.text("0123456789_.eE+-xob:NnTt ", min_size=1, max_size=8) | st.text(min_size=1, max_size=8)


def _read(verb: str, word: str) -> Any:
    """The value that Hydra reads in a word; the word's text after = if it is refused."""
    try:
        (written,) = as_written(verb, [word])
        return OverridesParser.create().parse_override(written).value()
    except (UserError, HydraException):
        return word.partition("=")[2]


@given(place=st.sampled_from(KEYS), text=TEXTS.filter(lambda text: not SYNTAX & {*text} and text.lower() != "null"))
@example(place=("train", "paths.runs"), text="2026_11_28")
@example(place=("train", "data.name"), text="1e3")
@example(place=("evaluate", "checkpoint"), text="0010")
@example(place=("train", "data.name"), text=" x ")
@example(place=("train", "cost.currency"), text=" ")
@example(place=("train", "cost.currency"), text="0 ")
def test_a_text_is_as_written_or_refused(place: tuple[str, str], text: str) -> None:
    verb, key = place
    assert _read(verb, f"{key}={text}") == text


@given(place=st.sampled_from(KEYS), texts=st.lists(LIKE_OTHERS, min_size=2, max_size=4))
def test_the_texts_of_a_multirun_and_of_a_list_are_as_written(place: tuple[str, str], texts: list[str]) -> None:
    verb, key = place
    listed = ",".join(texts)
    assert _read(verb, f"{key}=[{listed}]") == texts
    for word in (f"{key}={listed}", f"{key}=choice({listed})"):
        swept = OverridesParser.create().parse_override(*as_written(verb, [word]))
        jobs = [f"{key}={value}" for value in swept.sweep_string_iterator()]
        assert [OverridesParser.create().parse_override(job).value() for job in jobs] == texts


@given(place=st.sampled_from(KEYS), text=st.text(max_size=12))
def test_words_are_written_once(place: tuple[str, str], text: str) -> None:
    verb, key = place
    try:
        written = as_written(verb, [f"{key}={text}"])
    except UserError:
        return
    assert as_written(verb, written) == written


@given(text=TEXTS)
def test_a_frozen_text_is_read_as_it_was(text: str) -> None:
    if text.isprintable():  # others are refused before
        assert yaml.load(OmegaConf.to_yaml(OmegaConf.create({"x": text})), Loader=LOADER) == {"x": text}


def _schemas(schema: type) -> Iterator[type]:
    for each in (each for each in schema.__mro__ if dataclasses.is_dataclass(each)):
        yield each
        for hint in get_type_hints(each, include_extras=True).values():
            for part in alternatives(hint):
                for kind in KINDS.get(
                    part, [part] if isinstance(part, type) and dataclasses.is_dataclass(part) else []
                ):
                    yield from _schemas(kind)


ROOTS = [*COMMANDS.values(), *LAUNCHERS.values(), *SWEEPERS.values()]


@pytest.mark.parametrize(
    "schema", {each: None for root in ROOTS for each in _schemas(root)}, ids=lambda each: each.__name__
)
def test_every_text_of_the_schema_refuses_other_values(schema: type) -> None:
    node = OmegaConf.structured(schema)
    hints = get_type_hints(schema, include_extras=True)
    for name in hints:
        if name != "_target_" and str in alternatives(get_type_hints(schema)[name]):
            assert any(is_text(part) for part in alternatives(hints[name]))
            for value in (1000.0, 20261128, False):
                with pytest.raises(ValidationError):
                    node[name] = value


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["data=mine"], "data.target_language=False: must be text; put it in quotes"),
        (["data.name=str(1e3)"], "data.name=str(1e3): str(1e3) is a function of Hydra's"),
        (["sweeps=mine"], "hydra.sweeper.params: paths.runs: 20261128: must be text; put it in quotes twice"),
    ],
)
def test_what_is_no_text_any_more_is_refused(aiayn: Any, tmp_path: Path, words: list[str], complaint: str) -> None:
    folder = tmp_path / "own"
    files = {
        "data/mine.yaml": "defaults:\n  - grammar\ntarget_language: no\n",
        "sweeps/mine.yaml": "# @package _global_\n"
        "hydra: {mode: MULTIRUN, sweeper: {params: {paths.runs: 2026_11_28}}}\n",
    }
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(content)
    assert aiayn("train", *words, "--config-dir", str(folder)).refuses_by(complaint)


def test_a_folder_of_digits_is_the_one_that_is_named(aiayn: Any) -> None:
    said = aiayn("train", "paths.runs=2026_11_28", "data.name=1e3", "--cfg", "job")
    assert {"  runs: '2026_11_28'", "  name: '1e3'"} <= {*said.out.splitlines()}
    assert aiayn("status", "paths.runs=2026_11_28").refuses_by("paths.runs=2026_11_28: no such folder")


def test_what_wandbs_agent_passes_is_read_as_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["init_from=None", "optimization.patience=None", "data.name=1e3"]
    assert as_written("train", words)[:2] == words[:2], "a text without an agent"
    monkeypatch.setenv(AGENT, "s")
    assert as_written("train", words) == ["init_from=null", "optimization.patience=null", "data.name='1e3'"]
    with pytest.raises(UserError, match=r"^data.target_language=False: W&B passes False for a yes or no of its file"):
        as_written("train", ["data.target_language=False"])
