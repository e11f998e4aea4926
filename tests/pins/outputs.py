"""What a change of structure must not change: every report on fixed runs, configurations, records, parameters, help.

`digests.json` beside this file holds a digest of each output. After a change on purpose, record them anew, and commit
the list of those that differ with the reason:

    .venv/bin/python tests/pins/outputs.py                      # writes digests.json
    .venv/bin/python tests/pins/outputs.py <folder> [<kind>...] # writes the outputs, to be compared by `diff -r`
"""

import hashlib
import io
import json
import os
import re
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from unittest import mock

from omegaconf import OmegaConf

from aiayn.builders.models import build_model
from aiayn.commands.front_end import COMMANDS, main
from aiayn.commands.report import REPORTS
from aiayn.config.compose import compose_command
from aiayn.config.freeze import to_dataclass
from aiayn.config.schema import TrainConfig
from aiayn.config.store import options
from aiayn.runs.record import read_record

ROOT = Path(__file__).parents[2]
DIGESTS = Path(__file__).with_name("digests.json")
STUDIES = ("baselines", "capacity", "overfitting", "scaling")
"""Folders of docs/results/lab with an archive of runs."""

REPORTED = {
    "baselines": ("comparison", "table3"),
    "capacity": ("comparison", "cost", "table3"),
    "overfitting": ("comparison", "cost", "table3", "page", "table2", "table4"),
    "scaling": ("comparison", "table3"),
    "reproductions": ("comparison", "cost", "reproductions", "table2", "table3"),
    "parsing": ("comparison", "cost", "table3", "table4", "page"),
}
"""Reports on all runs of a folder."""

SCALES = ("demo", "nano", "small", "paper")
COLUMNS = "100"
NOW = re.compile(r"(aiayn report page[^,]*,|Written) \d{4}-\d\d-\d\d \d\d:\d\d UTC")
"""When a page was written."""

UNROUNDED = re.compile(r"\d+\.\d{10,}(?:e[+-]?\d+)?")
"""A number with all its digits, as in documents for programs."""

Outputs = Iterator[tuple[str, str]]
"""Names, and texts."""


class _Visible(HTMLParser):
    """The text of a page, and the data of its figures; no style and no program."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._hidden = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden = tag == "style" or (tag == "script" and dict(attrs).get("type") != "application/json")

    def handle_endtag(self, tag: str) -> None:
        self._hidden = False

    def handle_data(self, data: str) -> None:
        if not self._hidden and data.strip():
            self.parts.append(" ".join(data.split()))


def visible_text(page: str) -> str:
    """What a reader of a page sees."""
    reader = _Visible()
    reader.feed(page)
    return NOW.sub(r"\1 <now>", "\n".join(reader.parts) + "\n")


def said(*words: str) -> str:
    """The exit code of a command, its standard output, and its standard error."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(words)
    return f"{code}\n{out.getvalue()}{err.getvalue()}"


def fixed_runs(folder: Path) -> None:
    """The published runs of the studies below a folder, each study's by itself; and parsers in `parsing`."""
    for study in STUDIES:
        with tarfile.open(ROOT / "docs" / "results" / "lab" / study / "runs.tar.xz") as archive:
            archive.extractall(folder / study, filter="data")
    with tarfile.open(ROOT / "docs" / "results" / "reproductions" / "runs.tar.xz") as archive:
        archive.extractall(folder / "reproductions", filter="data")
    bases = sorted((folder / "overfitting" / "runs" / "table3" / "base").iterdir())[:2]
    for number, (base, experiment) in enumerate(zip(bases, ("wsj_only", "semi_supervised"), strict=True)):
        run = folder / "parsing" / "runs" / "table4" / experiment / base.name
        shutil.copytree(base, run)
        _make_parser(run, f"table4/{experiment}", f1=88.5 + number)
    _add_attention(bases[0])


def _make_parser(run: Path, experiment: str, *, f1: float) -> None:
    """Turn the record of a translation model into that of a parser on the Wall Street Journal."""
    record = json.loads((run / "run.json").read_text())
    record |= {"experiment": experiment, "data": "wsj", "name": f"{experiment}/{run.name}"}
    brackets = {"f1": f1, "precision": f1 - 1, "recall": f1 + 1, "exact_match": 40.0, "tagging_accuracy": None}
    changed: dict[str, Any] = {"bleu": None, "chrf": None, "sentences": 2416}
    changed["brackets"] = brackets | {"well_formed": 97.5, "signature": "prm:collins"}
    record["scores"] = {split: scores | changed for split, scores in record["scores"].items()}
    (run / "run.json").write_text(json.dumps(record))


def _add_attention(run: Path) -> None:
    """Attention maps of one sentence of two words."""
    weights = [[[[0.75, 0.25], [0.5, 0.5]]]]
    words = ["a", "b"]
    sentence = {"line": 1, "source": words, "target": words, "target_input": words}
    sentence |= dict.fromkeys(("encoder", "decoder", "cross"), weights)
    content = {"version": 1, "checkpoint_step": 7000, "units": "words", "sentences": [sentence]}
    (run / "attention").mkdir()
    (run / "attention" / "step-0007000.json").write_text(json.dumps(content))


def reports(runs: Path) -> Outputs:
    """Every report in every format, on the fixed runs."""
    with chdir(runs):
        for name, words in report_commands():
            yield f"{name}.txt", said(*words)
            if COMMANDS[words[0]].has_json and "page" not in words:
                yield f"{name}.json", said(*words, "format=json")
            for suffix in REPORTS[words[1]].writes if words[0] == "report" else ():
                if suffix in (".json", ".htm"):
                    continue
                file = Path(f"output{suffix}")
                answer = said(*words, f"output={file}")
                text = file.read_text() if file.exists() else ""
                file.unlink(missing_ok=True)
                yield f"{name}{suffix}", answer + (visible_text(text) if suffix == ".html" else text)


def report_commands() -> Iterator[tuple[str, list[str]]]:
    """Names and words of the commands whose output is a report."""
    for noun in ("paper", "parameters", "fidelity"):
        yield f"report-{noun}", ["report", noun]
    for study, nouns in REPORTED.items():
        for noun in nouns:
            yield f"{study}-{noun}", ["report", noun, f"paths.runs={study}/runs"]
        yield f"{study}-status", ["status", f"paths.runs={study}/runs"]
    like = min(Path("capacity/runs/table3/a_h32").iterdir())
    for noun in ("table3", "page"):
        yield f"capacity-like-{noun}", ["report", noun, "paths.runs=capacity/runs", f"only.like={like}"]
    for plan in sorted(Path().glob("*/runs/registrations/*.json")):
        study = plan.parts[0]
        for noun in ("hypotheses", "table3", "page"):
            yield f"{study}-study-{noun}", ["report", noun, f"study={plan.stem}", f"paths.runs={study}/runs"]
    first, second, *_ = sorted(Path("overfitting/runs/table3/base").iterdir())
    yield "run", ["report", "run", f"run={first}", "paths.runs=overfitting/runs"]
    yield "matrix", ["report", "matrix", f"run={first}", "paths.runs=overfitting/runs"]
    yield "compare", ["compare", f"run={first}", f"against={second}"]
    for experiment in ("table3/base", "table3/big", "baselines/luong"):
        for scale in ("demo", "paper"):
            words = ["plan", f"experiment={experiment}", f"scale={scale}", "hardware=p100", "paths.cache=cache"]
            yield f"plan-{experiment.replace('/', '-')}-{scale}", words


def configurations() -> Outputs:
    """The configuration of every experiment at every scale, with hash and name; values that a user states are ???."""
    for experiment in options("experiment"):
        for scale in SCALES:
            composed = compose_command("train", [f"experiment={experiment}", f"scale={scale}"])
            text = OmegaConf.to_yaml(composed, resolve=True)
            yield f"{experiment.replace('/', '-')}-{scale}.yaml", text.replace(str(Path.cwd()), "<here>")


def parameters() -> Outputs:
    """The names and shapes of every experiment's parameters."""
    for experiment in options("experiment"):
        stated = ["data.path=trees"] if experiment.startswith("table4/") else []
        composed = compose_command("train", [f"experiment={experiment}", "scale=nano", *stated])
        state = build_model(to_dataclass(composed, TrainConfig), vocabulary_size=100).state_dict()
        yield f"{experiment.replace('/', '-')}.txt", "".join(f"{key} {[*each.shape]}\n" for key, each in state.items())


def records(runs: Path) -> Outputs:
    """The records of the fixed runs, read and written."""
    for file in sorted(runs.rglob("run.json")):
        name = "-".join(file.relative_to(runs).parent.parts)
        read_record(file).write(runs / "again.json")
        yield f"{name}.json", (runs / "again.json").read_text()
        (runs / "again.json").unlink()


def helps() -> Outputs:
    """The help of every verb, and of every report."""
    yield "aiayn.txt", said("--help")
    for verb, command in COMMANDS.items():
        yield f"{verb}.txt", said(verb, "--help")
        for noun in command.nouns:
            yield f"{verb}-{noun}.txt", said(verb, noun, "--help")


def outputs(runs: Path, kinds: Sequence[str] = ()) -> Outputs:
    """Those of some kinds; by default all."""
    makers: dict[str, Callable[[], Outputs]] = {
        "reports": lambda: reports(runs),
        "configurations": configurations,
        "parameters": parameters,
        "records": lambda: records(runs),
        "help": helps,
    }
    with mock.patch.dict(os.environ, COLUMNS=COLUMNS):
        for kind in kinds or makers:
            yield from ((f"{kind}/{name}", text) for name, text in makers[kind]())


def digest(text: str) -> str:
    """What digests.json holds of an output: the last digits of unrounded numbers depend on the processor."""
    rounded = UNROUNDED.sub(lambda number: f"{float(number[0]):.9g}", text)
    return hashlib.sha256(rounded.encode()).hexdigest()[:16]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as given:
        fixed_runs(Path(given))
        if len(sys.argv) > 1:
            for name, text in outputs(Path(given), kinds=sys.argv[2:]):
                path = Path(sys.argv[1], name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
        else:
            found = {name: digest(text) for name, text in outputs(Path(given))}
            DIGESTS.write_text(json.dumps(found, indent=1) + "\n")
