"""A configuration that somebody sent creates the classes listed alone, and runs no code without the user's word."""

import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiayn.config.compose import compose_command
from aiayn.config.freeze import plain, to_dataclass
from aiayn.config.schema import TrainConfig
from aiayn.config.trust import CLASSES, check_links, check_plugins, check_targets, is_own
from aiayn.errors import UserError
from aiayn.system.plugins import source_digest

PLACE = Path("config.yaml")
HOSTILE = [
    "os.system",
    "torch.hub.load",
    "shutil.copyfile",
    "pytorch_lightning.utilities.os.system",
    "pytorch_lightning.callbacks.ModelCheckpoint.__init__",
    "pytorch_lightning.callbacks.model_checkpoint.ModelCheckpoint",
    "pytorch_lightning.callbacks.LambdaCallback",
    "pytorch_lightning.callbacks.OnExceptionCheckpoint",
    "pytorch_lightning.Trainer.fit",
    "pytorch_lightning.trainer",
    "Pytorch_lightning.Trainer",
    " pytorch_lightning.Trainer",
    "aiayn.commands.front_end.main",
]


def configuration(*words: str) -> TrainConfig:
    return to_dataclass(compose_command("train", ["logger=none", *words]), TrainConfig)


def test_what_the_platform_writes_itself_is_listed() -> None:
    check_targets(plain(configuration()), PLACE)


@pytest.mark.parametrize("name", CLASSES)
def test_each_listed_name_leads_to_its_class(name: str) -> None:
    check_targets({"callbacks": {"x": {"_target_": name}}}, PLACE)


@given(
    target=st.sampled_from(HOSTILE) | st.text(max_size=20) | st.none() | st.integers() | st.just([CLASSES]),
    path=st.lists(st.sampled_from(["callbacks", "trainer", "plugins", "x", 0]), max_size=5),
)
def test_any_other_name_is_refused_wherever_it_stands(target: Any, path: list[str | int]) -> None:
    content: Any = {"_target_": target}
    for part in path:
        content = [content] if part == 0 else {part: content}
    before = {*sys.modules}
    with pytest.raises(UserError, match=r"^config\.yaml: .*_target_=") as refusal:
        check_targets({"callbacks": content}, PLACE)
    assert "\n" not in str(refusal.value)
    assert {*sys.modules} == before, "nothing is imported"


@pytest.fixture
def idea(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A class whose package leaves a file when it is imported."""
    (tmp_path / "sent_package").mkdir()
    code = f"import pathlib\npathlib.Path({str(tmp_path / 'ran')!r}).touch()\n"
    (tmp_path / "sent_package" / "__init__.py").write_text(code)
    (tmp_path / "sent_package" / "ideas.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "sent_package", raising=False)
    return "sent_package.ideas:Mine"


def test_plugged_in_code_is_run_with_the_users_word_and_the_recorded_digest(idea: str, tmp_path: Path) -> None:
    config = configuration()
    config.model.attention = idea  # type: ignore[attr-defined]
    with pytest.raises(UserError, match=r"model\.attention=sent_package\.ideas:Mine: .* state trust=true"):
        check_plugins(config, PLACE, trust=False)
    assert not (tmp_path / "ran").exists(), "not even its package is imported"
    config.identity.sources = f"{idea}={'0' * 16}"
    with pytest.raises(UserError, match=r"sent_package\.ideas has changed since the run began"):
        check_plugins(config, PLACE, trust=True)
    config.identity.sources = f"{idea}={source_digest(idea)}"
    check_plugins(config, PLACE, trust=True)


def test_a_run_of_others_has_no_link_to_write_through(tmp_path: Path) -> None:
    run = tmp_path / "run"
    (run / "evaluations" / "step-8").mkdir(parents=True)
    (run / "again").symlink_to(run / "evaluations")
    (run / "run.json").symlink_to("/etc/passwd")  # a file is replaced, not written through
    (tmp_path / "linked").symlink_to(run)
    check_links(run)
    check_links(tmp_path / "linked")
    (run / "evaluations" / "step-8" / "dev").symlink_to(tmp_path)
    for path in (run, tmp_path / "linked"):
        with pytest.raises(UserError, match=rf"^{path}/evaluations/step-8/dev: a link out of the run, .* trust=true"):
            check_links(path)


def test_runs_below_the_folder_runs_are_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "linked").symlink_to(tmp_path / "elsewhere")
    assert is_own(Path("runs/table3/base/x"))
    assert is_own(tmp_path / "runs" / "linked")
    assert not any(map(is_own, (Path("runs/../sent"), Path("elsewhere"), Path("runs2/x"), Path("/hub/runs/x"))))
