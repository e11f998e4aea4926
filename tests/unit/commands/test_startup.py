"""Help, completion, the configuration and tables import no heavy package."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HYDRA = {"hydra", "omegaconf", "yaml", "antlr4"}
HEAVY = {"torch", "pytorch_lightning", "lightning", "wandb", "datasets", "tokenizers", "sacrebleu", "numpy", "rich"}
HEAVY |= {"jinja2", "plotly"}  # of pages

COMPLETED = "aiayn train scale="

REFUSED = {
    "--help": HYDRA | HEAVY,
    "--version": HYDRA | HEAVY,
    "-sc query=bash": HEAVY,
    "train --help": HEAVY,
    "train --cfg job": HEAVY,
    "prepare --cfg job": HEAVY,
    "evaluate run=here --cfg job": HEAVY,
    "attention run=here --cfg job": HEAVY,
    "sync --cfg job": HEAVY,
    "report run --cfg job": HEAVY,
    "dashboard --cfg job": HEAVY,
    "plan": HEAVY - {"rich"},
    "status": HEAVY - {"rich"},
    "report paper": HEAVY - {"rich"},
    "report table3": HEAVY - {"rich", "numpy"},
}
"""The packages that a command line must not import. A line may import all that the lines before it may."""

COUNT = """
import json, sys
from aiayn.commands.front_end import main
before = set()
for line in json.loads(sys.argv[1]):
    code = main(line.split())
    packages = {name.partition(".")[0] for name in sys.modules}
    print(json.dumps([line, code, sorted(packages - before)]), file=sys.stderr)
    before = packages
"""


@pytest.mark.slow
def test_no_heavy_package_is_imported(tmp_path: Path) -> None:
    """All lines in one process: a process takes half a second."""
    (tmp_path / "runs").mkdir()
    result = subprocess.run(
        [sys.executable, "-c", COUNT, json.dumps([*REFUSED])],
        cwd=tmp_path,
        env={**os.environ, "COMP_LINE": COMPLETED, "COMP_POINT": str(len(COMPLETED))},
        capture_output=True,
        text=True,
        check=True,
    )
    answers = [json.loads(line) for line in result.stderr.splitlines() if line.startswith("[")]
    assert [(line, code) for line, code, _ in answers] == [(line, 0) for line in REFUSED], result.stderr
    assert "aiayn" in answers[0][2]
    assert {line: found for line, _, packages in answers if (found := REFUSED[line].intersection(packages))} == {}
