"""The page of every key agrees with the schema and conf/."""

import re

import pytest
from omegaconf import OmegaConf

from aiayn.commands.front_end import COMMANDS
from aiayn.commands.reproduce import OF_THE_REPORT
from aiayn.config import store
from aiayn.config.compose import compose_command
from aiayn.config.identity import flatten
from aiayn.reports.configuration import configuration_page

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def page() -> str:
    """Written with variables set that must not change it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AIAYN_CACHE", "/elsewhere")
        patch.setenv("AIAYN_SWEEP", "a sweep")
        return configuration_page()


def section(page: str, verb: str) -> str:
    return page.partition(f"\n## aiayn {verb}\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize("verb", store.COMMANDS)
def test_every_key_has_a_row(page: str, verb: str) -> None:
    for overrides in [[f"data={option}"] for option in store.options("data")] if verb == "train" else [[]]:
        composed = compose_command(verb, overrides)
        content = OmegaConf.to_container(composed, resolve=False)
        assert isinstance(content, dict)
        keys = list(flatten({str(key): value for key, value in content.items()}))
        assert keys
        for key in keys:
            is_own = key.startswith("hardware.") or (verb == "inspect" and key in ("depth", "folded", "output"))
            is_of_train = verb in ("prepare", "plan", "check", "inspect") and not is_own
            assert f"\n| `{key}` | " in section(page, "train" if is_of_train else verb)


def test_a_verb_with_the_keys_of_another_points_there(page: str) -> None:
    assert "[aiayn train](#aiayn-train)" in section(page, "prepare")
    assert compose_command("prepare").keys() == compose_command("train").keys()


def test_every_verb_and_every_group_is_on_the_page(page: str) -> None:
    assert set(re.findall(r"^## aiayn (\w+)$", page, re.MULTILINE)) == set(COMMANDS)
    for key in OF_THE_REPORT:
        assert f"`{key}`" in section(page, "reproduce")
    for launcher in ("basic` (default)", "joblib`", "slurm`"):
        assert f"| `{launcher}" in page.partition("## hydra/launcher")[2]
    assert "`hydra.launcher.partition`" in page
    assert "`hydra.sweeper.trials`" in page


def test_every_option_has_a_row_with_its_meaning(page: str) -> None:
    root = store.conf_directory()
    for group in (path.name for path in root.iterdir() if path.is_dir() and path.name != "hydra"):
        for option in store.options(group):
            assert re.search(rf"^\| `{re.escape(option)}`(?: \(default\))? \| \S.* \|$", page, re.MULTILINE), option


def test_every_key_of_the_schema_has_a_meaning(page: str) -> None:
    empty = [line for line in page.splitlines() if line.startswith("| `") and line.endswith("|  |")]
    assert {line.removeprefix("| `").partition(".")[0] for line in empty} <= {"trainer", "callbacks", "logger"}


def test_values_are_shown_with_the_expression_that_they_come_from(page: str) -> None:
    width = compose_command("train").model.d_model
    assert f"| `model.d_model` | integer | `{width}` | `${{scaled:512}}` | " in page
    assert "| `data.train.source` | text or list or `null` | *required* | " in page


def test_every_link_leads_to_a_heading_and_every_table_is_one(page: str) -> None:
    headings = re.findall(r"^#+ (.+)$", page, re.MULTILINE)
    anchors = [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings]
    assert len(set(anchors)) == len(anchors)
    assert set(re.findall(r"\(#([^)]+)\)", page)) < set(anchors)
    for block in page.split("\n\n"):
        if block.startswith("| "):
            assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}) == 1, block
