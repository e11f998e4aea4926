"""A run is put to use with TensorFloat-32 if it was trained with it, whatever torch's defaults are."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from commands import Finished, Say
from run_files import copied_run

pytestmark = pytest.mark.slow

Flags = tuple[bool, bool]
"""Whether products of matrices and convolutions are TensorFloat-32 on a GPU."""


def flags() -> Flags:
    return torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32


def set_flags(matmul: bool, cudnn: bool) -> None:
    torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = matmul, cudnn


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    before = flags()
    yield
    set_flags(*before)


def recorded(run: Path, runs: Path, *, tf32: bool | None) -> Path:
    """A copy of a run whose record states TensorFloat-32."""
    run = copied_run(run, runs)
    record = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**record, "tf32": tf32}))
    return run


@pytest.mark.parametrize(
    ("verb", "tf32"),
    [
        *((verb, tf32) for verb in ("translate", "score", "evaluate", "replay") for tf32 in (True, False)),
        ("translate", None),  # as all verbs but replay open a run
        ("replay", None),
    ],
)
def test_the_record_decides(finished: Finished, say: Say, tmp_path: Path, verb: str, tf32: bool | None) -> None:
    run = recorded(finished(), tmp_path / "runs", tf32=tf32)
    words = {"evaluate": ["splits=[dev]"], "replay": ["mode=score", "output=replays"]}.get(verb, [])
    named = f"record={run / 'run.json'}" if verb == "replay" else f"run={run}"
    set_flags(matmul=not tf32, cudnn=not tf32)
    said = say(verb, named, *words, given={"translate": "the dog\n", "score": "the dog\tder Hund\n"}.get(verb, ""))
    assert said.code == 0, said.err
    assert flags() == (bool(tf32), bool(tf32))
    assert not torch.backends.cuda.cudnn_sdp_enabled()  # type: ignore[no-untyped-call]


def test_the_first_run_of_an_ensemble_decides(finished: Finished, say: Say, tmp_path: Path) -> None:
    one, other = (recorded(finished(), tmp_path / str(tf32), tf32=tf32) for tf32 in (True, False))
    for runs, expected in (((one, other), True), ((other, one), False)):
        assert say("translate", f"run=[{','.join(map(str, runs))}]", given="the dog\n").code == 0
        assert flags() == (expected, expected)
