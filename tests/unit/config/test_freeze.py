"""A frozen configuration is read back as the same dataclass; other files are refused in one line."""

import copy
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf

from aiayn.config.compose import compose_command
from aiayn.config.freeze import drop_earlier_keys, frozen_content, frozen_text, load_config, plain, to_dataclass
from aiayn.config.identity import EARLIER_KEYS, LATER_KEYS, configuration_hash, run_settings
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
    earlier = [line for line in lines if line.strip() not in ("bleu_tokenizer: null", "typed: {}")]
    assert len(earlier) == len(lines) - len(LATER_KEYS)
    path.write_text("\n".join(earlier))
    assert load_config(path) == config
    for content in (frozen_content(path), plain(load_config(path))):
        assert configuration_hash(content, fidelity=config.identity.fidelity) == config.identity.hash


def with_launch(text: str, line: str) -> str:
    """A frozen configuration with a further line in its group `launch`."""
    assert text.count("\nlaunch:\n") == 1
    return text.replace("\nlaunch:\n", f"\nlaunch:\n  {line}\n")


def test_a_configuration_with_a_key_that_is_gone_is_read_and_has_its_hash(tmp_path: Path) -> None:
    assert EARLIER_KEYS == {"launch.static_shapes": False}
    config = to_dataclass(compose_command("train"), TrainConfig)
    path = tmp_path / "config.yaml"
    path.write_text(with_launch(frozen_text(config), "static_shapes: false"))
    assert "static_shapes" in frozen_content(path)["launch"]
    assert load_config(path) == config
    for content in (frozen_content(path), plain(load_config(path))):
        assert configuration_hash(content, fidelity=config.identity.fidelity) == config.identity.hash


def test_a_key_that_is_gone_is_refused_where_it_did_something() -> None:
    for written in ("true", "1.5", '"a\\nb"'):
        assert refusal(with_launch(frozen(), f"static_shapes: {written}")) == (
            f"launch.static_shapes={written}: this version has no such setting; check out the run's commit, or write "
            "false there to go on without it"
        )


@pytest.mark.parametrize(
    "content", [{}, {"launch": None}, {"launch": 5}, {"launch": ["static_shapes"]}, {"launch": {}}]
)
def test_a_file_without_the_group_of_a_key_that_is_gone_has_no_such_key(content: dict[str, Any]) -> None:
    before = copy.deepcopy(content)
    drop_earlier_keys(content, Path("config.yaml"))
    assert content == before


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


@cache
def frozen() -> str:
    return frozen_text(to_dataclass(compose_command("train", []), TrainConfig))


def refusal(text: str) -> str:
    """The message, without the path, with which a configuration is not loaded."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.yaml"
        path.write_text(text)
        with pytest.raises(UserError, match=rf"^{path}: [^\n]+$") as error:
            load_config(path)
    return str(error.value).removeprefix(f"{path}: ")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x: 2020-99-99", "not a configuration (month must be in 1..12"),
        ("x: 2020-01-01", "not a configuration (x=2020-01-01: a date, which no setting is)"),
        ("x: !!binary aaaa", "not a configuration (x=b'i\\xa6\\x9a': a bytes"),
        ("x: !!set {a, b}", "not a configuration (x={"),
        (f"x: {6000 * '9'}", "not a configuration (Exceeds the limit"),
        (f"x: {400 * '9'}", "not a configuration (x: has more than 64 bits)"),
        (f"x: {5000 * '['}{5000 * ']'}", "not a configuration ("),  # of the reader or of the loader, by its version
        ("x: &a\n  b: *a", "not a configuration (nested too deep)"),
        ("\n".join(f"x{n}: &x{n} [{', '.join([f'*x{n - 1}' if n else '1'] * 9)}]" for n in range(9)), "not a conf"),
        ("identity: [1]", "not a configuration (identity=[1]: must be a group of values)"),
        ("identity: {typed: 3}", "not a configuration (identity.typed=3: must be a group of values)"),
        ("data: grammar", "not a configuration (data=grammar: must be a group of values)"),
    ],
)
def test_values_that_no_configuration_has_are_refused(text: str, said: str) -> None:
    assert refusal(text).startswith(said)


def test_a_loaded_configuration_is_judged_as_a_composed_one() -> None:
    def changed(group: str, key: str, value: object) -> str:
        content = yaml.safe_load(frozen())
        content[group][key] = value
        return refusal(yaml.safe_dump(content))

    assert changed("model", "d_model", 0) == "model.d_model=0: must be at least 1; restore the file"
    assert changed("model", "d_model", 10**18).startswith("model.d_model=1000000000000000000: must be at most ")
    assert changed("model", "max_positions", 1).startswith("model.max_positions=1: must be at least data.max_length=")
    assert changed("data", "max_length", 10**9).startswith("data.max_length=1000000000: a sentence this long")
    assert changed("optimization", "max_steps", 1.5).startswith("not a configuration of this version (")


def test_what_is_no_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").mkdir()
    with pytest.raises(UserError, match=rf"^{tmp_path}/config.yaml: cannot be read \(Is a directory\)"):
        load_config(tmp_path / "config.yaml")


def places(content: Any) -> list[tuple[Any, Any]]:
    """Every container below a plain value with each of its keys."""
    keys = content if isinstance(content, dict) else range(len(content) if isinstance(content, list) else 0)
    return [place for key in keys for place in ((content, key), *places(content[key]))]


OTHERS: list[Any] = [None, True, 0, -1, 7, 1.5, 10**20, float("nan"), float("inf"), "text", "", "${seed}", "${nothing}"]
OTHERS += ["a\nb", [], {}, [1], {"a": 1}, [[]], {"a": {"b": None}}, {1: 2}]


def test_a_path_as_typed_has_the_key_of_a_setting(tmp_path: Path) -> None:
    content = yaml.safe_load(frozen())
    content["identity"]["typed"] = {1: "text"}
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(UserError, match=r"identity\.typed=\{1: 'text'\}: must be a group of values"):
        frozen_content(path)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_another_value_anywhere_is_loaded_or_refused_in_one_line(data: st.DataObject) -> None:
    content = yaml.safe_load(frozen())
    container, key = data.draw(st.sampled_from(places(content)))
    container[key] = data.draw(st.sampled_from(OTHERS))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.yaml"
        path.write_text(yaml.safe_dump(content))
        try:
            found = frozen_content(path)
            assert configuration_hash(found, fidelity="paper")
            assert run_settings(found, fidelity="paper")
            load_config(path)
            return
        except UserError as error:
            message = str(error)
        assert message.startswith(f"{path}: ")
        assert "\n" not in message


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("identity.name", "../../other"),
        ("identity.name", "/other"),
        ("identity.experiment", "table3/../../x"),
        ("identity.scale", ".."),
        ("data.name", "${oc.env:HOME}"),
        ("data.name", "a-${seed}"),
    ],
)
def test_names_lead_nowhere_else_and_values_are_no_expressions(key: str, value: str, tmp_path: Path) -> None:
    config = OmegaConf.create(frozen_text(to_dataclass(compose_command("train"), TrainConfig)))
    OmegaConf.update(config, key, value)
    path = tmp_path / "config.yaml"
    path.write_text(OmegaConf.to_yaml(config))
    with pytest.raises(UserError, match=rf"^{path}: {key}"):
        load_config(path)
