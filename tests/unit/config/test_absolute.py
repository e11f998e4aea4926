"""Paths are absolute in a frozen configuration, which has the identity of the paths as typed."""

from pathlib import Path

import pytest

from aiayn.config.absolute import make_absolute
from aiayn.config.compose import compose_command
from aiayn.config.freeze import frozen_content, frozen_text, load_config, plain, to_dataclass
from aiayn.config.identity import flatten, run_settings
from aiayn.config.schema import TrainConfig
from aiayn.errors import UserError
from aiayn.extensions.sharing.replays import content_hash

FILES = {
    f"data.{split}.{side}": f"x/{split}.{side}" for split in ("train", "dev", "test") for side in ("source", "target")
}
TREES = {f"data.{part}": f"x/{part}.ptb" for part in ("train", "dev", "test", "silver")}
CASES: dict[str, tuple[list[str], dict[str, str]]] = {
    "weights": ([], {"init_from": "runs/x"}),
    "text files": (["data=text_files"], FILES),
    "lists of them": (
        ["data=text_files"],
        {**FILES, "data.train.source": "[x/a,../b,'~/c']", "data.train.target": "[a,b,c]"},
    ),
    "a folder of trees": (["data=gum"], {"data.path": "x"}),
    "trees": (["data=treebank"], TREES),
    "given pieces": (["tokenizer=given", "data.pretokenized=true"], {"tokenizer.vocabulary": "x/dict.txt"}),
    "a folder as of the hub": (["data=multi30k"], {"data.path": "x"}),
}
"""Groups, and relative paths by key."""


def composed(case: str) -> TrainConfig:
    groups, paths = CASES[case]
    words = [*groups, *(f"{key}={value}" for key, value in paths.items())]
    return to_dataclass(compose_command("train", words), TrainConfig)


def frozen(config: TrainConfig, folder: Path) -> Path:
    path = folder / "config.yaml"
    path.write_text(frozen_text(config))
    return path


@pytest.mark.parametrize("case", CASES)
def test_a_frozen_configuration_has_absolute_paths_and_the_hash_of_the_run(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x").mkdir()
    config = composed(case)
    typed = flatten(plain(config))
    make_absolute(config)
    content = frozen_content(frozen(config, tmp_path))
    for key in CASES[case][1]:
        value = flatten(content)[key]
        assert all(Path(file).is_absolute() for file in (value if isinstance(value, list) else [value])), key
        assert content["identity"]["typed"][key] == typed[key]
    assert content_hash(content) == config.identity.hash


@pytest.mark.parametrize("case", CASES)
def test_a_frozen_configuration_read_elsewhere_is_the_same(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x").mkdir()
    monkeypatch.chdir(tmp_path)
    config = composed(case)
    make_absolute(config)
    path = frozen(config, tmp_path)
    monkeypatch.chdir("/")
    again = load_config(path)
    make_absolute(again)
    assert again == config


@pytest.mark.parametrize("case", CASES)
def test_the_settings_of_a_run_do_not_depend_on_its_folder(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = []
    for name in ("here", "there"):
        (tmp_path / name / "x").mkdir(parents=True)
        monkeypatch.chdir(tmp_path / name)
        config = composed(case)
        make_absolute(config)
        settings.append(run_settings(plain(config), fidelity="paper"))
    assert settings[0] == settings[1]


def test_absolute_paths_and_names_on_the_hub_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = [f"{key}=/{value}" for key, value in FILES.items()]
    for stated in (["data=text_files", *words], ["data=multi30k", "init_from=hub:user/name"]):
        config = to_dataclass(compose_command("train", stated), TrainConfig)
        before = flatten(plain(config))
        make_absolute(config)
        after = flatten(plain(config))
        assert {key for key in before if before[key] != after[key]} == {"paths.runs", "paths.cache"}


@pytest.mark.parametrize(
    "words",
    [
        ["data=text_files", *(f"{key}={path}" for key, path in FILES.items()), r"data.train.source=a\${b}/train.en"],
        [r"data.name=a\${b}"],
    ],
)
def test_what_a_frozen_configuration_could_not_state_is_refused(words: list[str]) -> None:
    config = to_dataclass(compose_command("train", words), TrainConfig)
    with pytest.raises(UserError, match=r"data\.(train\.source|name)=.*a\$\{b\}.*: Hydra reads"):
        make_absolute(config)
