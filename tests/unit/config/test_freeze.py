"""A frozen configuration thaws to the same dataclass; what is no configuration is refused in one line."""

from enum import Enum
from pathlib import Path

import pytest
import yaml

from aiayn.config.compose import compose_command
from aiayn.config.freeze import frozen_content, frozen_text, load_config, plain, to_dataclass
from aiayn.config.history import BEFORE
from aiayn.config.schema import TrainConfig
from aiayn.errors import UserError

FILES = [f"data.{split}.{side}=x" for split in ("train", "dev", "test") for side in ("source", "target")]


@pytest.mark.parametrize(
    "overrides",
    [[], ["scale=paper"], ["data=text_files", *FILES], ["data=text_files", *FILES, "data.train.source=[a,b]"]],
)
def test_freezing_and_thawing_is_the_identity(overrides: list[str], tmp_path: Path) -> None:
    config = to_dataclass(compose_command("train", overrides), TrainConfig)
    path = tmp_path / "config.yaml"
    path.write_text(frozen_text(config))
    assert load_config(path) == config


def test_a_file_from_before_there_was_a_key_thaws_to_what_runs_did_then(tmp_path: Path) -> None:
    config = to_dataclass(compose_command("train", []), TrainConfig)
    content = plain(config)
    for key, value in BEFORE.items():
        *groups, name = key.split(".")
        node, part = config, content
        for group in groups:
            node, part = getattr(node, group), part[group]
        if name not in part:  # of another kind of corpus
            continue
        del part[name]
        if not part:  # the whole group is younger
            *outer, last = groups
            within = content
            for group in outer:
                within = within[group]
            del within[last]
        if not isinstance(getattr(node, name), Enum):  # those are in conf/ as they always were
            setattr(node, name, value)
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(content))
    assert load_config(path) == config


@pytest.mark.parametrize(
    "text", ["", "[]", "a: b", "data: {kind: poetry}", "seed: [", "data: {kind: grammar}\nmodel: {x: 1}"]
)
def test_anything_else_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(text)
    with pytest.raises(UserError, match=r"config\.yaml") as refusal:
        load_config(path)
    assert "\n" not in str(refusal.value)


def test_a_missing_value_is_named() -> None:
    with pytest.raises(UserError, match=r"^data\.dev\.source has no value"):
        to_dataclass(compose_command("train", ["data=text_files"]), TrainConfig)


def test_keys_added_past_the_schema_are_refused() -> None:
    with pytest.raises(UserError, match=r"^model\.n_heads: no such key"):
        to_dataclass(compose_command("train", ["+model.n_heads=3"]), TrainConfig)


def test_a_file_of_another_version_is_still_read_as_plain_values(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("model: {d_model: 8}\nlong_gone: 1\n")
    assert frozen_content(path) == {"model": {"d_model": 8}, "long_gone": 1}


@pytest.mark.parametrize("text", ["", "[]", "seed: ["])
def test_what_is_no_mapping_is_refused_as_plain_values_too(text: str, tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(text)
    with pytest.raises(UserError, match=r"config\.yaml: not a configuration"):
        frozen_content(path)
