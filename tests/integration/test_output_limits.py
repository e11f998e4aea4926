"""Outputs that reach their limit, and references beyond it, are counted and remarked."""

import json
from pathlib import Path

from commands import Say
from run_files import add_random_checkpoint, copied_run

from aiayn.data.preparation.prepared import PreparedData


def test_outputs_at_their_limit_are_counted_in_scores_and_remarked(
    say: Say, trained_run: Path, trained_data: PreparedData, tmp_path: Path
) -> None:
    run = copied_run(trained_run, tmp_path / "runs")
    add_random_checkpoint(run)
    words = ("evaluate", f"run={run}", "splits=dev", "decoding.beam_size=1", "checkpoint=1")
    said = say(*words, "decoding.max_extra_length=0")
    assert said.code == 0, said.err
    folder = next(path for path in (run / "evaluations").iterdir() if "extra0" in path.name)
    counted = json.loads((folder / "scores.json").read_text(encoding="utf-8"))["dev"]["cut_short"]
    dev = trained_data.split("dev")
    assert 0 < counted <= len(dev)
    remark = f"{counted} outputs reach the limit of source tokens + 0 (decoding.max_extra_length)"
    assert f"; {remark}" in said.err
    assert f"dev: {remark}" in said.out
    beyond = dev.target.lengths.astype(int) - dev.source.lengths
    warning = (
        f"decoding.max_extra_length=0: outputs end at source tokens + 0, and {(beyond > 0).sum()} of {len(dev)} "
        f"references of dev are longer; {beyond.max()} is enough for all"
    )
    assert warning in said.err
    plenty = say(*words, "decoding.max_extra_length=100")
    assert "references of" not in plenty.err
