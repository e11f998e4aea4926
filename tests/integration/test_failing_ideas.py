"""What a class of the user's own raises, or returns wrongly, is a failure that names it; the log has the traceback."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import Say
from tiny import TINY

from aiayn.runs.record import Status, read_record

IDEAS = """
import sys
import torch
from aiayn.models.attention_functions import AttentionFunction

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

class Double(Exit):
    def scores(self, query, keys):
        return (self.weight * torch.matmul(query, keys.transpose(-1, -2))).double()
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


FAILURES = {
    "Exit": "model.attention=failing_ideas:Exit: raised SystemExit(0) (failing_ideas.py, line 11); its traceback ",
    "Raising": "model.attention=failing_ideas:Raising: raised IndexError: no head (failing_ideas.py, line 19); ",
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
