"""What a class of the user's own raises, or returns wrongly, is a failure that names it; the log has the traceback."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import AIAYN, Say
from tiny import TINY

from aiayn.runs.record import Status, read_record

IDEAS = """
import os
import sys
import torch
from aiayn.models.attention import AttentionFunction

class Exit(AttentionFunction):
    def __init__(self, *, num_heads, d_k):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(num_heads, 1, 1))
    def scores(self, query, keys):
        sys.exit(0)

class AtOnce(Exit):
    def __init__(self, *, num_heads, d_k):
        sys.exit(0)

class Raising(Exit):
    def scores(self, query, keys):
        raise IndexError("no\\nhead")

class Nothing(Exit):
    def scores(self, query, keys):
        return None

class Narrow(Exit):
    def scores(self, query, keys):
        return self.weight * torch.matmul(query, keys.transpose(-1, -2))[..., :1, :]

class Ending(BaseException):
    def __str__(self):
        return 5

class Ends(Exit):
    def scores(self, query, keys):
        raise Ending

class Unprintable(Exit):
    def scores(self, query, keys):
        raise ValueError("\\ud800\\x1b[31m" + 10**6 * "y")

class Vanishing(Exit):
    def scores(self, query, keys):
        os._exit(0)

class Double(Exit):
    def scores(self, query, keys):
        return (self.weight * torch.matmul(query, keys.transpose(-1, -2))).double()

class Later(Double):
    def scores(self, query, keys):
        later = os.environ.get("LATER")
        if later == "nothing":
            return None
        if later == "close":
            sys.stdout.close()
        scores = super().scores(query, keys)
        return scores if later == "double" else scores.to(query.dtype)
"""


@pytest.fixture(autouse=True)
def _importable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folder = tmp_path / "ideas"
    folder.mkdir()
    (folder / "failing_ideas.py").write_text(IDEAS)
    (folder / "ending_ideas.py").write_text("import sys\nsys.exit(0)\n")
    monkeypatch.syspath_prepend(folder)
    yield
    sys.modules.pop("failing_ideas", None)


@pytest.mark.parametrize("name", ["failing_ideas:Exit", "failing_ideas:AtOnce", "ending_ideas:Exit"])
def test_a_class_that_ends_the_process_does_not_pass_the_check(say: Say, name: str) -> None:
    said = say("check", f"model.attention={name}")
    assert said.code in (1, 2)
    assert "SystemExit(0)" in said.out + said.err
    assert said.err.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "shown"),
    [pytest.param("Ends", "Ending  ", marks=pytest.mark.long), ("Unprintable", r"\ud800\x1b[31myyy")],
)
def test_whatever_a_class_raises_is_shown_as_short_plain_text(name: str, shown: str) -> None:
    words = ("check", f"model.attention=failing_ideas:{name}")
    environment = {**os.environ, "PYTHONPATH": sys.path[0], "LC_ALL": "C"}  # whose standard output refuses surrogates
    done = subprocess.run([*AIAYN, *words], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert shown in done.stdout
    assert len(done.stdout) < 10_000


FAILURES = {
    "Exit": "model.attention=failing_ideas:Exit: raised SystemExit(0) (failing_ideas.py, line 12); its traceback ",
    "Raising": "model.attention=failing_ideas:Raising: raised IndexError: no head (failing_ideas.py, line 20); ",
    "Nothing": "TypeError: failing_ideas:Nothing.scores returned NoneType instead of a tensor [..., 2, ",
    "Narrow": "TypeError: failing_ideas:Narrow.scores returned a tensor [1, 2, 1, ",
    "Double": "RuntimeError: ",
}


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow) for name in FAILURES])
def test_a_class_that_fails_in_training_is_named(say: Say, name: str) -> None:
    said = say("train", *TINY, "logger=none", f"model.attention=failing_ideas:{name}")
    assert said.code == 1
    assert said.err.splitlines()[-1].startswith(f"aiayn: {FAILURES[name]}"), said.err
    assert f"failing_ideas:{name}" in said.err.splitlines()[-1]
    assert "Traceback" not in said.err
    (log,) = Path("runs").rglob("run.log")
    assert "Traceback" in log.read_text()
    record = read_record(log.with_name("run.json"))
    assert record.status is Status.failed
    assert record.message is not None
    assert record.message in said.err


@pytest.mark.slow
def test_a_callback_of_a_library_that_fails_is_named(say: Say) -> None:
    target = "pytorch_lightning.callbacks.BatchSizeFinder"
    said = say("train", *TINY, "logger=none", f"+callbacks.size._target_={target}")
    assert said.code == 1
    assert said.err.splitlines()[-1].startswith(f"aiayn: callbacks.size={target}: raised MisconfigurationException: ")
    assert "Traceback" not in said.err


@pytest.mark.long
def test_a_class_that_fails_after_training_is_named(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    trained = say("train", *TINY, "logger=none", "model.attention=failing_ideas:Later")
    assert trained.code == 0, trained.err
    (run,) = (path.parent for path in Path("runs").rglob("run.json"))
    text = Path("text.txt")
    text.write_text("The door is open.\n")
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    for later, failure in (("nothing", "TypeError: failing_ideas:Later.scores returned NoneType "), ("double", "Runt")):
        monkeypatch.setenv("LATER", later)
        for words in (
            ("translate", f"run={run}"),
            ("evaluate", f"run={run}"),
            ("attention", f"run={run}"),
            ("tune", f"run={run}", "beam_sizes=[1]", "alphas=[0.6]"),
            ("score", f"run={run}", f"source={text}", f"target={text}"),
        ):
            said = say(*words, given=text.read_text())
            line = said.err.splitlines()[-1]
            assert said.code == 1, words
            assert line.startswith(f"aiayn: {failure}"), words
            assert line.endswith("; aiayn check tests model.attention=failing_ideas:Later")
            assert "Traceback" not in said.err
    assert before == {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    command = [*AIAYN, "translate", f"run={run}"]
    environment = {**os.environ, "PYTHONPATH": sys.path[0], "LATER": "close"}
    closed = subprocess.run(command, env=environment, input="a\n", capture_output=True, text=True, check=False)
    assert (closed.returncode, closed.stderr.count("\n")) == (1, 1), closed.stderr


@pytest.mark.long
def test_a_job_whose_process_a_class_ends_has_not_finished() -> None:
    command = [*AIAYN, "train", "-m", *TINY, "logger=none", "seed=1", "model.attention=failing_ideas:Vanishing"]
    environment = {**os.environ, "PYTHONPATH": sys.path[0]}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 1, ended.stderr
    (path,) = Path("runs").rglob("run.json")
    record = read_record(path)
    assert record.status is Status.failed
    assert record.message == f"the worker ended with code 0; see {path.with_name('run.log').absolute()}"
