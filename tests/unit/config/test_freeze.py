"""A frozen configuration is read back as the same dataclass; other files are refused in one line."""

from pathlib import Path

import pytest

from aiayn.config.compose import compose_command
from aiayn.config.freeze import frozen_content, frozen_text, load_config, plain, to_dataclass
from aiayn.config.identity import LATER_KEYS, configuration_hash
from aiayn.config.schema import TrainConfig
from aiayn.errors import UserError

FILES = [f"data.{split}.{side}=x" for split in ("train", "dev", "test") for side in ("source", "target")]


@pytest.mark.parametrize(
    "overrides",
    [[], ["scale=paper"], ["data=text_files", *FILES], ["data=text_files", *FILES, "data.train.source=[a,b]"]],
)
def test_a_frozen_configuration_is_read_back(overrides: list[str], tmp_path: Path) -> None:
    config = to_dataclass(compose_command("train", overrides), TrainConfig)
    path = tmp_path / "config.yaml"
    path.write_text(frozen_text(config))
    assert load_config(path) == config


def test_a_configuration_from_before_a_key_was_added_is_read_and_has_its_hash(tmp_path: Path) -> None:
    config = to_dataclass(compose_command("train"), TrainConfig)
    path = tmp_path / "config.yaml"
    lines = frozen_text(config).splitlines()
    earlier = [line for line in lines if line.strip() != "bleu_tokenizer: null"]
    assert len(earlier) == len(lines) - len(LATER_KEYS)
    path.write_text("\n".join(earlier))
    assert load_config(path) == config
    for content in (frozen_content(path), plain(load_config(path))):
        assert configuration_hash(content, fidelity=config.identity.fidelity) == config.identity.hash


@pytest.mark.parametrize(
    "text", ["", "[]", "a: b", "data: {kind: poetry}", "seed: [", "data: {kind: grammar}\nmodel: {x: 1}"]
)
def test_other_files_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(text)
    with pytest.raises(UserError, match=r"config\.yaml") as refusal:
        load_config(path)
    assert "\n" not in str(refusal.value)


def test_a_missing_value_is_named() -> None:
    with pytest.raises(UserError, match=r"^data\.dev\.source has no value"):
        to_dataclass(compose_command("train", ["data=text_files"]), TrainConfig)


def test_a_file_of_another_version_is_read_as_plain_values(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("model: {d_model: 8}\nlong_gone: 1\n")
    assert frozen_content(path) == {"model": {"d_model": 8}, "long_gone": 1}
