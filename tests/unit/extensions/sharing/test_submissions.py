"""Every submitted record is whole, and each kind of damage is named with its file."""

import json
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aiayn.extensions.sharing.replays import open_record
from aiayn.extensions.sharing.submissions import CHECKSUMS, checksums, findings, records_below, submit

RECORDS = Path(__file__).parents[3] / "records"
SUBMITTED = records_below(RECORDS)


@pytest.mark.parametrize("record", SUBMITTED, ids=lambda path: path.name)
def test_every_submitted_record_is_whole(record: Path) -> None:
    assert findings(record) == []
    assert sum(path.stat().st_size for path in record.rglob("*")) < 300_000


def test_there_is_one() -> None:
    assert SUBMITTED


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """A copy of a submitted record at its place."""
    first = SUBMITTED[0]
    return Path(shutil.copytree(first, tmp_path / first.relative_to(RECORDS)))


def edited(path: str, /, **fields: Any) -> Callable[[Path], None]:
    """Changes fields of a JSON file."""

    def damage(record: Path) -> None:
        content = json.loads((record / path).read_text())
        (record / path).write_text(json.dumps(content | fields))

    return damage


def replaced(pattern: str, old: str, new: str) -> Callable[[Path], None]:
    """Replaces the first match of an expression in a file."""

    def damage(record: Path) -> None:
        path = one(record, pattern)
        text = path.read_text()
        changed = re.sub(old, new, text, count=1)
        assert changed != text
        path.write_text(changed)

    return damage


def removed(pattern: str) -> Callable[[Path], None]:
    return lambda record: one(record, pattern).unlink()


def added(pattern: str, text: str) -> Callable[[Path], None]:
    def damage(record: Path) -> None:
        with one(record, pattern).open("a") as stream:
            stream.write(text)

    return damage


def one(record: Path, pattern: str) -> Path:
    return next(iter(sorted(record.glob(pattern))))


DAMAGES: dict[str, tuple[Callable[[Path], None], str, str]] = {
    "no record": (removed("run.json"), "run.json", "no such file"),
    "a record of another schema": (edited("run.json", schema_version=99), "run.json", "schema_version=99"),
    "an unknown field": (edited("run.json", surprise=1), "run.json", "surprise"),
    "a run that did not finish": (edited("run.json", status="failed"), "run.json", "status=failed"),
    "a trial": (edited("run.json", trial="trainer.fast_dev_run=true"), "run.json", "trial"),
    "another name": (edited("run.json", name="table3/base/other"), "run.json", "name=table3/base/other"),
    "no commit": (edited("run.json", commit=None), "run.json", "commit=None"),
    "changes without a patch": (edited("run.json", dirty=True, patch="0" * 12), "source-000000000000.patch", "missing"),
    "unknown changes": (edited("run.json", dirty=None), "run.json", "dirty=null"),
    "another hash": (edited("run.json", config_hash="00000000"), "config.yaml", "config_hash=00000000"),
    "another seed": (edited("run.json", seed=77), "config.yaml", "seed=1"),
    "another setting": (replaced("config.yaml", "label_smoothing: 0.1", "label_smoothing: 0.2"), "config.yaml", "hash"),
    "no configuration": (removed("config.yaml"), "config.yaml", "no such file"),
    "a configuration that is none": (replaced("config.yaml", "seed:", "seed: ["), "config.yaml", "not a configuration"),
    "no metrics": (removed("metrics.jsonl"), "metrics.jsonl", "missing"),
    "a metric that is no number": (added("metrics.jsonl", '{"step": "x"}\n'), "metrics.jsonl", "line 142: step="),
    "a cut line of metrics": (added("metrics.jsonl", '{"step": 5\n'), "metrics.jsonl", "not JSON"),
    "a repeated step": (added("metrics.jsonl", '{"step": 1, "train/loss": 1.0}\n'), "metrics.jsonl", "do not ascend"),
    "no packages": (removed("packages-*.txt"), "packages-", "missing"),
    "other packages": (added("packages-*.txt", "numpy==0\n"), "packages-", "another digest"),
    "no hypotheses": (removed("evaluations/*/dev.hypotheses.txt"), "dev.hypotheses.txt", "missing"),
    "a hypothesis too many": (added("evaluations/*/dev.hypotheses.txt", "x\n"), "dev.hypotheses.txt", "lines where"),
    "another hypothesis": (
        replaced("evaluations/*/test.hypotheses.txt", r"^\S+ ", ""),
        "test.hypotheses.txt",
        "line 1 has other n-grams",
    ),
    "no scores of sentences": (removed("evaluations/*/dev.sentences.jsonl"), "dev.sentences.jsonl", "missing"),
    "another likelihood": (
        replaced("evaluations/*/dev.sentences.jsonl", r'"nll": \d', '"nll": 99'),
        "dev.sentences.jsonl",
        "sentences give dev PPL",
    ),
    "other counts": (
        replaced("evaluations/*/dev.sentences.jsonl", r'"bleu_statistics": \[\d+', '"bleu_statistics": [999'),
        "dev.sentences.jsonl",
        "sentences give dev BLEU",
    ),
    "no scores": (removed("evaluations/*/scores.json"), "scores.json", "missing"),
    "other scores": (replaced("evaluations/*/scores.json", r'"ppl": \d', '"ppl": 9'), "scores.json", "other scores"),
    "a secret": (replaced("config.yaml", "^", "# api_key: 0123456789abcdef\n"), "config.yaml", "secret"),
    "a home": (edited("run.json", command="aiayn train paths.runs=/home/ada/runs"), "run.json", "/home/ada"),
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_each_kind_of_damage_is_named_with_its_file(record: Path, kind: str) -> None:
    damage, file, reason = DAMAGES[kind]
    damage(record)
    (record / CHECKSUMS).write_text(checksums(record))  # whoever made the damage could have written them anew
    found = findings(record)
    assert any(file in line.partition(": ")[0] and reason in line for line in found), found


def test_a_secret_of_the_environment_is_named(record: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not findings(record)
    command = json.loads((record / "run.json").read_text())["command"]
    monkeypatch.setenv("MY_API_KEY", command)
    assert f"{record / 'run.json'}: has the value of MY_API_KEY; remove it" in findings(record)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(data=st.data())
def test_any_changed_byte_is_found_by_its_file(record: Path, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from([path for path in sorted(record.rglob("*")) if path.is_file()]))
    content = path.read_bytes()
    position = data.draw(st.integers(0, len(content) - 1))
    changed = content[:position] + bytes([content[position] ^ data.draw(st.integers(1, 255))]) + content[position + 1 :]
    path.write_bytes(changed)
    try:
        found = findings(record)
    finally:
        path.write_bytes(content)
    named = (
        [str(record / line.split("  ")[-1]) for line in content.decode().split("\n") if line]
        if path.name == CHECKSUMS
        else []
    )
    assert any(line.startswith((str(path), *named)) for line in found), found


def test_a_submitted_record_keeps_no_folder_of_its_command(record: Path, tmp_path: Path) -> None:
    private = ["paths.runs='/tmp/my runs'", "logger.entity='my team'", "--config-dir", "/tmp/my conf"]
    public = ["aiayn", "train", "experiment=table3/base", "scale=demo"]
    edited("run.json", command=shlex.join([*public, *private]))(record)
    submitted = submit(open_record(str(record)), tmp_path / "records")
    assert shlex.split(json.loads((submitted / "run.json").read_text())["command"]) == public


def test_files_that_are_missing_or_not_listed_are_named(record: Path) -> None:
    (record / "notes.txt").write_text("by hand")
    (record / "metrics.jsonl").unlink()
    found = findings(record)
    assert any(line.startswith(f"{record / 'notes.txt'}: not in {CHECKSUMS}") for line in found)
    assert any(line.startswith(f"{record / 'metrics.jsonl'}: missing") for line in found)
    (record / CHECKSUMS).unlink()
    assert any(line.startswith(f"{record / CHECKSUMS}: missing") for line in findings(record))
