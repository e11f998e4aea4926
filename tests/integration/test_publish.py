"""`aiayn publish`: a folder that is used like the run, and its way to a hub and back by the real client."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

import pytest
import yaml
from commands import AIAYN, SECONDS, Finished, Said, Say
from hub_server import TOKEN, HubServer, hub_server

from aiayn.runs.record import Status, read_record

pytestmark = pytest.mark.long

TEXT = "the dog\na cat sees the dog\nthe big ship\n"
PAIRS = "the dog\tder Hund\na cat\teine Katze\n"
FILES = {"README.md", "config.yaml", "evaluations", "model.safetensors", "run.json", "tokenizer.json"}


@pytest.fixture
def published(say: Say, trained_run: Path, tmp_path: Path) -> Path:
    """The random weights of step 1, which answer with different lines."""
    assert say("publish", f"run={trained_run}", "checkpoint=1", "output=published") == (0, "published\n", "")
    return tmp_path / "published"


def test_a_published_folder_is_used_like_its_run(say: Say, trained_run: Path, published: Path) -> None:
    assert {path.name for path in published.iterdir()} <= FILES
    assert len({path.stat().st_mode for path in published.rglob("*") if path.is_file()}) == 1, "all by the umask"
    own = (f"run={trained_run}", "checkpoint=1")
    translations = say("translate", *own, given=TEXT)
    assert len({*translations.lines}) > 1, "with one answer to everything, the test would show nothing"
    assert say("translate", f"run={published}", given=TEXT) == translations
    assert say("score", f"run={published}", given=PAIRS) == say("score", *own, given=PAIRS)
    assert say("translate", f"run=[{published},{published}]", given=TEXT).code == 0
    assert say("export", f"run={published}", "format=safetensors", "output=weights").code == 0
    evaluated = say("evaluate", f"run={published}", "splits=test")
    assert evaluated.code == 0, evaluated.err
    assert say("compare", f"run={trained_run}", f"against={next((published / 'evaluations').iterdir())}").code == 0
    assert say("attention", f"run={published}", "format=svg", given="the dog\n").code == 0
    assert say("report", "run", f"run={published}").code == 0


def test_nothing_is_prepared_where_a_published_configuration_says(say: Say, published: Path, tmp_path: Path) -> None:
    content = yaml.safe_load((published / "config.yaml").read_text())
    content["paths"] = {"runs": str(tmp_path / "outside"), "cache": str(tmp_path / "outside")}
    (published / "config.yaml").write_text(yaml.safe_dump(content))
    evaluated = say("evaluate", f"run={published}", "splits=test")
    assert evaluated.code == 0, evaluated.err
    assert not (tmp_path / "outside").exists()


def test_a_published_folder_has_one_checkpoint(say: Say, published: Path) -> None:
    refusal = f"checkpoint=best: {published} is a published run, whose only checkpoint is step-1;"
    assert say("translate", f"run={published}", "checkpoint=best").refuses_by(refusal)
    assert say("translate", f"run={published}", "checkpoint=1", given=TEXT).code == 0
    assert say("average", f"run={published}", "last=1").refuses_by(f"run={published}: is a published run")


def test_damaged_weights_are_refused_in_one_line(say: Say, published: Path) -> None:
    weights = published / "model.safetensors"
    whole = weights.read_bytes()
    for damaged in (b"", whole[:100], whole[:-8]):
        weights.write_bytes(damaged)
        said = say("translate", f"run={published}", given=TEXT)
        assert said.refuses_by(f"{weights}: not "), said.err


def test_the_default_checkpoint_is_the_scored_one(say: Say, finished: Finished) -> None:
    run = finished("experiment=positions/none", "averaging.checkpoints=2", "averaging.interval=3")
    assert say("publish", f"run={run}", "output=averaged").code == 0
    record = read_record(Path("averaged/run.json"))
    assert record.scores == read_record(run / "run.json").scores
    assert record.scores["test"].averaged_steps == (9, 12)
    card = Path("averaged/README.md").read_text()
    assert f"| test | PPL | {record.scores['test'].ppl:.2f} |" in card
    assert say("translate", "run=averaged", "checkpoint=average", given=TEXT) == say(
        "translate", f"run={run}", "checkpoint=average", given=TEXT
    )
    assert say("publish", f"run={run}", "checkpoint=last", "output=last").code == 0
    last = read_record(Path("last/run.json")).scores
    assert last != record.scores, "the weights have been scored before they were averaged"
    assert {scores.averaged_steps for scores in last.values()} == {()}
    assert "scores are of another checkpoint" in Path("last/README.md").read_text()


def test_the_card_states_scores_with_intervals_and_the_hubs_metadata(say: Say, finished: Finished) -> None:
    run = finished("experiment=table3/base")
    assert say("publish", f"run={run}", "output=base").code == 0
    _, metadata, text = Path("base/README.md").read_text().split("---\n", 2)
    record = read_record(run / "run.json")
    (model,) = yaml.safe_load(metadata)["model-index"]
    by_split = {result["dataset"]["split"]: result for result in model["results"]}
    assert by_split.keys() == {"dev", "test"}
    for split, scores in record.scores.items():
        assert by_split[split]["dataset"]["args"] == {"fingerprint": record.data_fingerprint}
        values = {metric["type"]: metric["value"] for metric in by_split[split]["metrics"]}
        assert scores.bleu is not None
        assert values["bleu"] == scores.bleu.score
        assert values["perplexity"] == scores.ppl
        line = next(line for line in text.splitlines() if line.startswith(f"| {split} | PPL | {scores.ppl:.2f} |"))
        low, _, high = line.split("|")[4].strip().partition(" to ")
        assert float(low) < scores.ppl < float(high)
    for stated in (record.config_hash, record.data_fingerprint or "", "energy:", "device-hours", "seed", "grammar"):
        assert stated in text


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"trial": "trainer.fast_dev_run=true"}, "a trial (trainer.fast_dev_run=true)"),
        ({"status": "interrupted"}, "is interrupted; only finished runs are published"),
        ({"imported": {"library": "marian", "file": "x", "sha256": "y"}}, "a model of marian"),
    ],
)
def test_only_results_are_published(
    say: Say, trained_run: Path, tmp_path: Path, change: dict[str, object], complaint: str
) -> None:
    run = tmp_path / "run"
    shutil.copytree(trained_run, run)
    (run / "run.json").write_text(json.dumps({**json.loads((run / "run.json").read_text()), **change}))
    assert say("publish", f"run={run}", "output=there").refuses_by(f"run={run}: {complaint}")
    assert not Path("there").exists()


def test_an_existing_folder_stays_as_it_is(say: Say, trained_run: Path, published: Path) -> None:
    before = (published / "README.md").read_bytes()
    said = say("publish", f"run={trained_run}", "output=published")
    assert said.refuses_by("output=published: exists already")
    assert (published / "README.md").read_bytes() == before
    assert say("publish", f"run={trained_run}").refuses_by("output has no value")


def test_published_copies_are_in_no_table_of_runs(say: Say, finished: Finished, tmp_path: Path) -> None:
    run = finished("experiment=table3/base")
    shutil.copytree(run, tmp_path / "runs" / "table3" / "base" / run.name)
    before = say("report", "table3", "output=before.json")
    assert before.code == 0
    assert say("publish", f"run={run}", "output=runs/copy").code == 0
    assert say("report", "table3", "output=after.json").code == 0
    assert Path("after.json").read_bytes() == Path("before.json").read_bytes()


def test_training_starts_from_published_weights(say: Say, finished: Finished, published: Path) -> None:
    run = finished(f"init_from={published}")
    assert read_record(run / "run.json").status is Status.finished


class Hub:
    """A command in a process of its own, whose client uses a local hub."""

    def __init__(self, server: HubServer, folder: Path) -> None:
        self.server, self.folder = server, folder

    def __call__(self, *words: str, given: str = "", **variables: str) -> Said:
        variables = {"HF_TOKEN": TOKEN, "HF_ENDPOINT": self.server.url, "HF_HOME": str(self.folder / "hf")} | variables
        done = subprocess.run(
            [*AIAYN, *words],
            cwd=self.folder,
            env={**os.environ, "HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_TELEMETRY": "1"} | variables,
            input=given,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        return Said(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    with hub_server() as server:
        yield Hub(server, tmp_path)


def test_an_upload_comes_back_as_the_same_model(hub: Hub, say: Say, trained_run: Path) -> None:
    published = hub("publish", f"run={trained_run}", "checkpoint=1", "output=model", "repository=me/model")
    assert published == (0, f"model\n{hub.server.url}/me/model\n", "")
    assert hub.server.tokens == {TOKEN}
    repository = hub.server.repositories["me/model"]
    assert repository.private
    sent = repository.commits[repository.head]
    folder = hub.folder / "model"
    assert sent == {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}, (
        "one commit has all files"
    )
    expected = say("translate", f"run={trained_run}", "checkpoint=1", given=TEXT).out
    assert hub("translate", "run=hub:me/model", given=TEXT) == (0, expected, "")
    assert hub("translate", f"run=hub:me/model@{repository.head}", given=TEXT).out == expected
    count = len(hub.server.requests)
    assert hub("translate", "run=hub:me/model", given=TEXT, HF_HUB_OFFLINE="1") == (0, expected, "")
    assert len(hub.server.requests) == count, "offline, the cache answers"


def test_a_failed_upload_loses_nothing_and_can_be_repeated(hub: Hub, trained_run: Path) -> None:
    words = ("publish", f"run={trained_run}", "output=model", "repository=me/model", "private=false")
    hub.server.failing = "commit/"
    hub.server.failure = HTTPStatus.FORBIDDEN
    failed = hub(*words)
    assert (failed.code, failed.out) == (1, "model\n")
    assert len(failed.err.splitlines()) == 1
    assert failed.err.startswith("aiayn: repository=me/model: the hub failed (403 Forbidden")
    before = {path: path.read_bytes() for path in (hub.folder / "model").rglob("*") if path.is_file()}
    hub.server.failing = None
    assert hub(*words).code == 0
    assert {path: path.read_bytes() for path in (hub.folder / "model").rglob("*") if path.is_file()} == before
    assert not hub.server.repositories["me/model"].private
    hub.server.repositories.clear()
    assert hub("publish", "run=model", "repository=me/other").out == f"{hub.server.url}/me/other\n"


def test_names_on_the_hub_that_cannot_be_used(hub: Hub, trained_run: Path) -> None:
    for words, code, complaint in [
        (("translate", "run=hub:model"), 2, "run=hub:model: state hub:<user>/<name>"),
        (("translate", "run=hub:me/none"), 2, "run=hub:me/none: no such repository"),
        (("publish", f"run={trained_run}", "repository=model"), 2, "repository=model: state <user>/<name>"),
    ]:
        said = hub(*words)
        assert (said.code, len(said.err.splitlines())) == (code, 1), said.err
        assert said.err.startswith(f"aiayn: {complaint}")
    without = hub("publish", f"run={trained_run}", "repository=me/model", HF_TOKEN="")
    assert without.err.startswith("aiayn: repository=me/model: not logged in to the hub")
    offline = hub("translate", "run=hub:me/none", HF_HUB_OFFLINE="1")
    assert (offline.code, len(offline.err.splitlines())) == (1, 1)
