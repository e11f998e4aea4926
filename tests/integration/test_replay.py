"""A record of another folder is replayed bit-identically, what differs is named, and the original stays."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from commands import Find, Finished, Said, Say, Train
from earlier_caches import earlier_tokenizer, made_earlier
from json_documents import read_document
from omegaconf import OmegaConf
from run_files import assert_same_end, runs_below

from aiayn.commands.front_end import main
from aiayn.data.preparation.prepared import find_prepared
from aiayn.runs.ledger import read_results
from aiayn.runs.record import read_record

pytestmark = pytest.mark.slow


@pytest.fixture
def record(finished: Finished, tmp_path: Path) -> Path:
    """A copy of a finished run in a folder of its own, as somebody else's."""
    run = finished()
    return Path(shutil.copytree(run, tmp_path / "theirs" / run.relative_to(run.parents[2])))


@pytest.fixture(scope="module")
def replayed(finished: Finished, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a record in theirs/ and its replay in replays/, which tests only copy."""
    folder, run = tmp_path_factory.mktemp("replayed"), finished()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        record = shutil.copytree(run, Path("theirs") / run.relative_to(run.parents[2]))
        before = contents(record)
        assert main(["replay", f"record={record / 'run.json'}"]) == 0
        assert contents(record) == before
    return folder


@pytest.fixture
def copied(replayed: Path, tmp_path: Path) -> Path:
    """The record in a copy of that folder, in which commands run."""
    shutil.copytree(replayed, tmp_path, dirs_exist_ok=True, symlinks=True)
    return only_replay(tmp_path / "theirs")


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def change(record: Path, **fields: Any) -> None:
    """Change fields of run.json."""
    content = json.loads((record / "run.json").read_text())
    (record / "run.json").write_text(json.dumps(content | fields))


def only_replay(folder: Path) -> Path:
    (replay,) = runs_below(folder)
    return replay


def test_a_record_of_another_folder_is_replayed_bit_identically(copied: Path, say: Say, tmp_path: Path) -> None:
    assert_same_end(copied, only_replay(tmp_path / "replays"))
    assert read_results(tmp_path / "replays") == [], "no report counts a replay"
    said = say("replay", f"record={copied}")
    assert said.code == 0, "a finished replay is compared again"
    assert "bit-identical: all 12 logged steps and all scores are equal" in said.out


def test_a_run_on_files_named_from_its_folder_is_replayed_from_another(
    train: Train, only_run: Find, say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["data.max_length=60", "tokenizer.vocabulary_size=300", "optimization.max_steps=3"]
    for split in ("train", "dev", "test"):
        for side in ("source", "target"):
            lines = [f"{side} sentence {number} of {split}\n" for number in range(40)]
            (tmp_path / f"{split}.{side}").write_text("".join(lines))
            words.append(f"data.{split}.{side}={split}.{side}")
    assert train(*words, corpus="text_files") == 0
    run = only_run()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    said = say("replay", f"record={run}")
    assert said.code == 0, said.err
    assert "bit-identical" in said.out
    assert only_replay(Path("replays")).name == run.name


def test_without_its_other_files_a_record_is_composed_of_its_command(record: Path, say: Say, tmp_path: Path) -> None:
    for path in record.iterdir():
        if path.name != "run.json":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    said = say("replay", f"record={record}")
    assert said.code == 0, said.err
    assert "equal scores; neither steps nor hypotheses could be compared" in said.out
    assert "bit-identical" not in said.out
    assert "steps: cannot be compared, no metrics.jsonl lies beside the record" in said.out


def test_a_changed_seed_differs_at_step_1(record: Path, finished: Finished, say: Say, tmp_path: Path) -> None:
    for name in ("metrics.jsonl", "evaluations"):  # of another seed, as if the record stated the wrong one
        other = finished("seed=2") / name
        if other.is_dir():
            shutil.rmtree(record / name)
            shutil.copytree(other, record / name)
        else:
            shutil.copy(other, record / name)
    change(record, scores=json.loads((finished("seed=2") / "run.json").read_text())["scores"])
    said = say("replay", f"record={record}")
    assert "first differs at step 1 (train/loss)" in said.out
    assert "bit-identical" not in said.out
    assert "within seed noise;" in said.out
    assert said.code == 0
    assert "code, packages, data and hardware are the recorded ones" in said.out


def test_another_seed_is_judged_by_the_noise_between_seeds(
    record: Path, finished: Finished, say: Say, tmp_path: Path
) -> None:
    runs = tmp_path / "others"
    for seed in (2, 3):
        run = finished(f"seed={seed}")
        shutil.copytree(run, runs / run.relative_to(run.parents[2]))
    said = say("replay", f"record={record}", "seed=4", f"paths.runs={runs}")
    assert "first differs at step 1 (train/loss)" in said.out
    assert "the spread of 3 seeds of the row (1, 2, 3)" in said.out
    assert "seed" in said.out.partition("Other differences")[2]


def test_other_versions_commits_and_threads_are_named(record: Path, say: Say) -> None:
    known = read_record(record / "run.json")
    hardware = known.hardware | {"processor": "another one"}
    change(record, versions=known.versions | {"torch": "1.2.3"}, commit=40 * "a", hardware=hardware)
    lock = next(record.glob("packages-*.txt"))
    lock.write_text(lock.read_text().replace("numpy==", "numpy==0."))
    said = say("replay", f"record={record}", "mode=score")
    assert said.code == 0, said.err
    lines = [line.split() for line in said.out.splitlines()]
    assert ["torch", "1.2.3", known.versions["torch"]] in lines
    (code,) = (line for line in lines if line[:3] == ["code", "commit", 12 * "a"])
    assert known.commit is None or known.commit[:12] in code[3:]
    assert any(line[:1] == ["numpy"] and line[1].startswith("0.") for line in lines)
    assert any(line[:3] == ["processor", "another", "one"] for line in lines)
    assert f"git checkout {40 * 'a'}" in said.out


@pytest.mark.parametrize("has_checkpoint", [True, False])
def test_scoring_again_gives_the_same_scores(record: Path, say: Say, has_checkpoint: bool) -> None:
    if not has_checkpoint:
        shutil.rmtree(record / "checkpoints")
    before = contents(record)
    said = say("replay", f"record={record}", "mode=score")
    assert said.code == 0, said.err
    assert "bit-identical: all hypotheses and scores are equal" in said.out
    assert "steps: cannot be compared, the replay scored and did not train" in said.out
    assert contents(record) == before


def test_scoring_and_training_again_have_folders_of_their_own(copied: Path, say: Say, tmp_path: Path) -> None:
    before = contents(only_replay(tmp_path / "replays"))
    assert "bit-identical: all hypotheses" in say("replay", f"record={copied}", "mode=score").out
    trained, scored = runs_below(tmp_path / "replays")
    assert scored.name == f"{trained.name}-scored"
    assert contents(trained) == before
    said = say("replay", f"record={copied}")
    assert "bit-identical: all 12 logged steps" in said.out, said.err


def test_changed_hypotheses_are_told(record: Path, say: Say) -> None:
    shutil.rmtree(record / "checkpoints")
    for path in record.glob("evaluations/*/dev.hypotheses.txt"):
        path.write_text("".join("a b c d e f\n" for _ in path.read_text().splitlines()))
    said = say("replay", f"record={record}", "mode=score")
    assert "bit-identical" not in said.out
    assert "dev BLEU" in said.out


def test_a_replay_that_was_cut_goes_on(record: Path, say: Say, tmp_path: Path) -> None:
    assert say("replay", f"record={record}").code == 0
    replay = only_replay(tmp_path / "replays")
    change(replay, status="interrupted", scores={}, steps=9)
    for path in (replay / "checkpoints").iterdir():
        if "9" not in path.name:
            path.unlink()
    assert list((replay / "checkpoints").iterdir()), "the last two are kept"
    lines = (replay / "metrics.jsonl").read_text().splitlines()
    (replay / "metrics.jsonl").write_text("".join(f"{line}\n" for line in lines[:-2]))
    said = say("replay", f"record={record}")
    assert said.code == 0, said.err
    assert "bit-identical: all 12 logged steps" in said.out
    assert_same_end(record, replay)


REFUSALS: dict[str, tuple[tuple[str, ...], str]] = {
    "nothing to do": ((), "record has no value: state it"),
    "the folder of the record": (("output=theirs",), "holds the record itself"),
    "no such record": (("record=nowhere",), "nowhere: nothing is there; name a file run.json"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_refusals(record: Path, say: Say, case: str) -> None:
    words, reason = REFUSALS[case]
    named = [] if case != "the folder of the record" else [f"record={record}"]
    said = say("replay", *named, *words)
    assert (said.code, reason in said.err) == (2, True), said.err


def test_a_configuration_of_another_hash_is_refused(record: Path, say: Say) -> None:
    text = (record / "config.yaml").read_text()
    (record / "config.yaml").write_text(text.replace("label_smoothing: 0.1", "label_smoothing: 0.2"))
    said = say("replay", f"record={record}")
    assert said.code == 2
    assert "config.yaml: has the hash" in said.err


def test_another_seed_than_the_configurations_is_refused(record: Path, say: Say) -> None:
    change(record, seed=5)
    said = say("replay", f"record={record}")
    assert said.refuses_by(f"{record}/config.yaml: has seed=1, and the record states seed=5"), said.err


def test_other_data_are_different_before_training(record: Path, say: Say, tmp_path: Path) -> None:
    change(record, data_fingerprint="0" * 64)
    said = say("replay", f"record={record}")
    assert said.code == 1
    assert "different: the data" in said.err
    assert "combining marks" not in said.err
    assert not (tmp_path / "replays").exists()


@pytest.mark.parametrize("has_code", [True, False])
def test_data_with_words_cut_at_marks_are_scored_from_their_cache(
    train: Train, only_run: Find, say: Say, tmp_path: Path, *, has_code: bool
) -> None:
    hindi, english = ["वह दिन था", "यह किताबें हैं"] * 30, ["he came", "these are books"] * 30
    cache, sides = f"paths.cache={tmp_path / 'own'}", {"source": hindi, "target": english}
    words = ["data.max_length=60", "tokenizer.vocabulary_size=400", "optimization.max_steps=3", cache]
    for split in ("train", "dev", "test"):
        for side, lines in sides.items():
            (tmp_path / f"{split}.{side}").write_text(
                "".join(f"{line}\n" for line in lines[: 60 if split == "train" else 4])
            )
            words.append(f"data.{split}.{side}={split}.{side}")
    assert train(*words, corpus="text_files") == 0
    run = only_run()
    here = find_prepared(tmp_path / "own", read_record(run / "run.json").data_fingerprint or "")
    assert here is not None
    earlier = made_earlier(tmp_path / "own", here, earlier_tokenizer([*hindi, *english]))
    change(run, data_fingerprint=earlier, commit="a" * 40 if has_code else None)
    shutil.rmtree(run / "checkpoints")
    said = say("replay", f"record={run}", "mode=score", cache)
    assert said.code == 0, said.err
    assert "bit-identical: all hypotheses and scores are equal" in said.out
    elsewhere = say("replay", f"record={run}", "mode=score", f"paths.cache={tmp_path / 'other'}")
    trained = say("replay", f"record={run}", cache)
    for refused, advice in (elsewhere, ": if one of them made the record, score on"), (trained, "mode=score scores on"):
        assert (refused.code, "earlier versions split words with combining marks" in refused.err) == (1, True)
        assert (advice in refused.err, f"git checkout {'a' * 40}" in refused.err) == (True, has_code)


def test_the_verdict_as_json(record: Path, say: Say) -> None:
    said = say("replay", f"record={record}", "mode=score", "format=json", "output=elsewhere")
    assert said.code == 0, said.err
    content = read_document(said.out)
    assert "/elsewhere/" in content["replay"], "of replay, output is no file of a report"
    assert (content["schema"], content["verdict"], content["first_step"]) == ("aiayn/replay/1", "bit-identical", None)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [("", "is empty, and the run has 12 steps"), ('{"step": 1}\ngarbage{\n', "line 2: not JSON")],
)
def test_damaged_metrics_are_refused(record: Path, say: Say, content: str, complaint: str) -> None:
    (record / "metrics.jsonl").write_text(content)
    assert say("replay", f"record={record}").refuses_by(f"{record}/metrics.jsonl: {complaint}")


@pytest.mark.parametrize("name", ["dev.sentences.jsonl", "dev.hypotheses.txt"])
def test_a_damaged_evaluation_is_refused_before_training(record: Path, say: Say, tmp_path: Path, name: str) -> None:
    path = next(record.glob(f"evaluations/*/{name}"))
    path.write_text(path.read_text().partition("\n")[2] + ("garbage\n" if name.endswith(".jsonl") else ""))
    said = say("replay", f"record={record}")
    assert said.refuses_by(str(path)), said.err
    assert said.err.endswith("; restore the file, or remove it\n")
    assert not (tmp_path / "replays").exists()


def refused(said: Said, record: Path, reason: str, before: dict[str, bytes]) -> None:
    """One line behind the remarks on the corpus, and nothing changed in the folder that has the record."""
    *_, line = said.err.splitlines()
    assert (said.code, said.err.count("aiayn: "), said.out) == (2, 1, ""), said.err
    assert re.search(reason, line), said.err
    assert contents(record.parents[3]) == before


@pytest.mark.parametrize("mode", ["score", "train"])
@pytest.mark.parametrize("place", ["../../../../../victim/dev.hypotheses.txt", "{}/victim/dev.hypotheses.txt"])
def test_paths_of_a_record_stay_in_its_folder(record: Path, say: Say, tmp_path: Path, mode: str, place: str) -> None:
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim" / "dev.hypotheses.txt").write_text("mine\n")
    scores = json.loads((record / "run.json").read_text())["scores"]
    scores["dev"]["hypotheses"] = place.format(tmp_path)
    change(record, scores=scores)
    before = contents(record.parents[3])
    refused(say("replay", f"record={record}", f"mode={mode}"), record, "scores.dev.*hypotheses=", before)
    refused(say("publish", f"run={record}", "output=published"), record, "scores.dev.*hypotheses=", before)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            {"callbacks": {"x": {"_target_": "pathlib.Path.touch", "_args_": ["ran"]}}},
            r"callbacks\.x\._target_='pathlib",
        ),
        (
            {"trainer": {"plugins": [{"_target_": "pytorch_lightning.callbacks.os.system"}]}},
            r"trainer\.plugins\._target_",
        ),
        ({"trainer": {"_target_": "torch.hub.load"}}, r"trainer\._target_='torch\.hub\.load'"),
        ({"identity": {"name": "../../../victim"}}, r"identity\.name=\.\./"),
        ({"callbacks": {"best": {"filename": "../../../x-{step}"}}}, r"callbacks\.best\.filename="),
        ({"paths": {"cache": "${oc.env:HOME}/x"}}, r"paths\.cache holds an expression"),
    ],
)
def test_a_record_creates_nothing_of_its_own(record: Path, say: Say, changes: dict[str, Any], reason: str) -> None:
    merged = OmegaConf.merge(OmegaConf.load(record / "config.yaml"), changes)
    (record / "config.yaml").write_text(OmegaConf.to_yaml(merged))
    before = contents(record.parents[3])
    refused(say("replay", f"record={record}"), record, reason, before)


@pytest.mark.parametrize(
    "command",
    [
        "",
        "aiayn",
        "aiayn train 'x",
        "aiayn translate run=x",
        "aiayn train --config-dir x",
        "aiayn train +hydra.callbacks.x._target_=os.system",
        "aiayn train 'hydra.searchpath=[file://x]'",
        "aiayn train 'data.name=${oc.env:HOME}'",
    ],
)
def test_a_command_that_is_no_plain_training_is_not_composed(record: Path, say: Say, command: str) -> None:
    (record / "config.yaml").unlink()
    change(record, command=command)
    before = contents(record.parents[3])
    refused(say("replay", f"record={record}"), record, r"no config\.yaml is beside it.*add the file", before)


@pytest.mark.parametrize("mark", ["{", "[]", ""])
def test_a_broken_mark_of_a_replay_is_one_line(copied: Path, say: Say, tmp_path: Path, mark: str) -> None:
    (only_replay(tmp_path / "replays") / "replay.json").write_text(mark)
    said = say("replay", f"record={copied}")
    *_, line = said.err.splitlines()
    assert (said.code, said.err.count("aiayn: ")) == (2, 1), said.err
    assert "replay.json" in line
