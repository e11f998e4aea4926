"""The page shows the records as text, and makes no network requests."""

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from aiayn.config.report_schema import OnlyConfig
from aiayn.errors import UserError
from aiayn.extensions.page.content import GROUPS, PageContent, RunContent, read_content
from aiayn.extensions.page.render import SCRIPTS, Bundle, page, plotly_bundle, script_hash
from aiayn.paper.tables import load_table3
from aiayn.runs.record import Record, Status

MakeRun = Callable[..., Path]

ATTACK = "</script><script>alert(1)</script><!-- <b onclick=alert(2)> \" ' &amp;"

BUNDLE = Bundle("cGxvdGx5", "'sha256-x'")

VOID = {"meta", "input", "br", "col"}


class Outline(HTMLParser):
    """The elements of a page, each of which has to end where it should."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((name, dict(attributes)))
        if name not in VOID:
            self.open.append(name)

    def handle_endtag(self, name: str) -> None:
        assert self.open.pop() == name

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def all(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for found, attributes in self.elements if found == name]


def contents(runs: Path, **only: Any) -> PageContent:
    chosen = OnlyConfig(**{"scale": None, "data": None, "like": None} | only)
    return read_content(runs, cache=runs.parent / "cache", only=chosen)


def rendered(content: PageContent, refresh: int | None = None) -> str:
    return page(content, BUNDLE, command="aiayn report page", refresh=refresh)


def run_called(content: PageContent, row: str) -> RunContent:
    (found,) = (run for run in content.runs if run.row == row)
    return found


@pytest.fixture
def some_runs(tmp_path: Path, make_run: MakeRun, make_record: Callable[..., Record]) -> Path:
    """Base, a row, one that failed with texts of an attacker, one's own, and one that is no record."""
    make_run("base")
    make_run("a_h1", nll=2.1)
    make_run("b_dk16", status=Status.failed, message=ATTACK, command=ATTACK, versions={ATTACK: ATTACK}, scores={})
    own = make_run("base", seed=3, experiment="mine", message=None)
    own.rename(own.with_name("mine"))
    (tmp_path / "runs" / "broken").mkdir()
    (tmp_path / "runs" / "broken" / "run.json").write_text("{")
    return tmp_path / "runs"


def test_every_row_and_run_is_there_without_a_script(some_runs: Path) -> None:
    content = contents(some_runs)
    outline = Outline(rendered(content))
    rows = [attributes["data-v"] for name, attributes in outline.elements if name == "th" and "data-v" in attributes]
    assert rows[: len(load_table3().rows)] == [row.id for row in load_table3().rows]
    anchors = [attributes["id"] for attributes in outline.all("details") if attributes.get("class") == "run"]
    assert anchors == [run.anchor for run in content.runs]
    assert len(set(anchors)) == 5
    links = {attributes["href"] for attributes in outline.all("a")}
    targets = {f"#{attributes['id']}" for _, attributes in outline.elements if attributes.get("id")}
    assert links <= targets


def test_scores_have_the_digits_in_which_seeds_differ(tmp_path: Path, make_run: MakeRun) -> None:
    for seed, nll in ((1, 0.090), (2, 0.094), (3, 0.098)):
        make_run("base", seed=seed, nll=nll)
    outline = Outline(rendered(contents(tmp_path / "runs")))
    assert any(re.fullmatch(r"1\.\d{3} ± 0\.00[1-9]", text) for text in outline.texts)


def test_text_of_runs_is_escaped(some_runs: Path) -> None:
    text = rendered(contents(some_runs))
    outline = Outline(text)
    shown = [text for text in outline.texts if ATTACK in text]
    assert {ATTACK, f": {ATTACK}"} < set(shown)
    assert any(f"{ATTACK} {ATTACK}" in text for text in shown), "name and version of a package"
    scripts = outline.all("script")
    assert [attributes.get("type") for attributes in scripts] == ["application/json", "application/gzip-base64", None]
    assert not any("onclick" in attributes for _, attributes in outline.elements)


def test_nothing_is_fetched_and_only_the_two_scripts_run(some_runs: Path) -> None:
    text = rendered(contents(some_runs))
    outline = Outline(text)
    (policy,) = (each["content"] for each in outline.all("meta") if each.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    script = text.rpartition("<script>")[2].rpartition("</script>")[0]
    assert f"script-src {script_hash(script.encode())} {BUNDLE.hash};" in policy
    assert policy.startswith("default-src 'none';")
    assert not any({"src", "srcset", "action"} & attributes.keys() for _, attributes in outline.elements)
    assert not outline.all("link")
    assert all((attributes.get("href") or "#").startswith("#") for _, attributes in outline.elements)
    style = text.partition("<style>")[2].partition("</style>")[0]
    assert not re.search(r"url\(|@import", style)


def test_no_path_of_the_machine_is_in_the_page(tmp_path: Path, make_run: MakeRun) -> None:
    make_run("base", commit="a" * 40, dirty=False)
    make_run("a_h1", commit="b" * 40, dirty=False)
    text = rendered(contents(tmp_path / "runs"))
    assert f"commit {'a' * 12}: " in text
    assert str(tmp_path) not in text
    assert str(Path.cwd()) not in text


def test_settings_trained_and_why_claims_are_not_tested_are_shown(tmp_path: Path, make_run: MakeRun) -> None:
    counts = {"train": {"pairs": 100, "source_tokens": 1000, "target_tokens": 1000}}
    short = {"steps": 1400, "tokens": 6000, "data_counts": counts}
    make_run("base", **short)
    make_run("b_dk16", **short)
    make_run("d_drop0", **short)
    make_run("d_drop0", seed=2, status=Status.interrupted, scores={})
    content = contents(tmp_path / "runs")
    text = rendered(content)
    texts = Outline(text).texts
    assert content.report.scope in texts
    assert text.index('<p class="scope">') < text.index('<p class="lead">')
    assert any("Not tested: no row has two seeds" in each for each in texts)
    row = text.partition('data-v="b_dk16"')[2].partition("</tr>")[0]
    assert "<sub>k</sub>=16 (4)" in row
    dropout = text.partition('data-v="d_drop0"')[2].partition("</tr>")[0]
    assert ">seed 2 interrupted, not counted</a>" in dropout
    numbers = "4 runs: 3 finished, 1 interrupted; the table's numbers are of 3 of them."
    assert sum(numbers in each for each in texts) == 2, "at the top and above the runs"
    assert any("4 runs, 3 of them finished: " in each for each in texts), "above the cost"


def test_runs_are_in_the_papers_order_before_other_experiments(some_runs: Path) -> None:
    content = contents(some_runs)
    assert [run.row for run in content.runs] == ["base", "a_h1", "b_dk16", "broken", "mine"]
    assert {run.group for run in content.runs} <= set(GROUPS)
    assert {line.row.group for line in content.report.lines} <= set(GROUPS)
    assert run_called(content, "broken").entry.message


def test_changes_are_against_base_and_leave_the_seed_out(some_runs: Path) -> None:
    content = contents(some_runs)
    base, row, own = (run_called(content, name) for name in ("base", "a_h1", "mine"))
    assert base.changes == own.changes == {}
    assert base.compared_with == row.compared_with == own.compared_with == base.folder
    assert row.changes == {"model.num_heads": ("8", "1"), "model.d_k": ("16", "128"), "model.d_v": ("16", "128")}


def test_missing_parts_are_noted_and_hide_no_other_run(some_runs: Path) -> None:
    folder = next(some_runs.glob("table3/a_h1/*"))
    (folder / "attention").mkdir()
    (folder / "attention" / "step-3.json").write_text("[]")
    content = contents(some_runs)
    notes = run_called(content, "a_h1").notes
    assert any("step-3.json" in note for note in notes)
    assert any("no longer in the cache" in note for note in notes)
    assert len(content.runs) == 5


def test_only_selects_other_experiments_too(some_runs: Path) -> None:
    content = contents(some_runs, scale="nano")
    assert "mine" in [run.row for run in content.runs]
    path = next(some_runs.glob("table3/base/mine/run.json"))
    path.write_text(json.dumps(json.loads(path.read_text()) | {"scale": "demo"}))
    assert "mine" not in [run.row for run in contents(some_runs, scale="nano").runs]


def test_without_runs_the_page_names_a_command(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    text = rendered(contents(tmp_path / "runs"))
    Outline(text)
    assert "aiayn train sweeps=table3 scale=nano" in text
    with pytest.raises(UserError, match="no such folder"):
        contents(tmp_path / "nowhere")


def test_a_page_that_is_rewritten_reloads(some_runs: Path) -> None:
    content = contents(some_runs)
    for seconds, stated in ((None, ""), (15, "15")):
        assert Outline(rendered(content, seconds)).all("html")[0]["data-refresh"] == stated


def test_the_pages_own_scripts_cannot_end_their_element() -> None:
    folder = Path(__file__).parents[4] / "src" / "aiayn" / "extensions" / "page" / "assets"
    assert {path.name for path in folder.glob("*.js")} == set(SCRIPTS)
    for path in folder.glob("*.js"):
        assert not re.search(r"</script|<!--", path.read_text(encoding="utf-8"), re.IGNORECASE)


def test_the_full_bundle_is_that_of_the_package() -> None:
    bundle = plotly_bundle(None)
    script = gzip.decompress(base64.b64decode(bundle.packed))
    assert b"plotly.js" in script[:200]
    assert bundle.hash == f"'sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}'"


@pytest.mark.parametrize("content", [None, b"\xff\xfe", b"console.log(1)"])
def test_a_file_that_is_no_bundle_is_refused(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "bundle.js"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError, match=re.escape(f"plotly_bundle={path}: ")):
        plotly_bundle(path)
