"""Bash completes verbs, nouns, groups, options and keys after `aiayn -sc install=bash`."""

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from aiayn.commands.front_end import COMMANDS
from aiayn.config.store import conf_directory

SCRIPTS = sysconfig.get_path("scripts")

COMPLETE = """
eval "$(aiayn -sc install=bash)"
complete -p aiayn >&2
while IFS= read -r COMP_LINE; do
  words=($COMP_LINE)
  COMP_POINT=${#COMP_LINE}
  COMP_CWORD=$(( ${#words[@]} - 1 ))
  [[ $COMP_LINE == *" " ]] && COMP_CWORD=${#words[@]}
  COMPREPLY=()
  hydra_bash_completion
  echo "${COMPREPLY[@]}"
done
"""

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash"),
]


def options(group: str, prefix: str = "") -> set[str]:
    folder = conf_directory() / group
    names = (str(path.relative_to(folder).with_suffix("")) for path in folder.rglob("*.yaml"))
    return {f"{group}={name}" for name in names if name.startswith(prefix)}


COMPLETIONS = {
    "aiayn ": set(COMMANDS),
    "aiayn t": {"train", "translate", "tune"},
    "aiayn x": set(),
    "aiayn report ": set(COMMANDS["report"].nouns),
    "aiayn report p": {"page", "paper", "parameters"},
    "aiayn trian x": set(),
    "aiayn train scale=": options("scale"),
    "aiayn train scale=n": {"scale=nano"},
    "aiayn train data=": options("data"),
    "aiayn train model.d_": {"model.d_model=", "model.d_ff=", "model.d_k=", "model.d_v="},
    "aiayn train experiment=table3/a_h1 optimization.warm": {"optimization.warmup_steps="},
    "aiayn train -m seed=1,2 decoding.beam": {"decoding.beam_size="},
    "aiayn report run outp": {"output="},
    "aiayn evaluate checkp": {"checkpoint="},
    "aiayn reproduce t": set(COMMANDS["reproduce"].nouns),
    "aiayn reproduce table3 scale=n": {"scale=nano"},
    "aiayn train experiment=": options("experiment"),
    "aiayn train experiment=table3/c_": options("experiment", "table3/c_"),
}


def test_lines_are_completed(tmp_path: Path) -> None:
    """All by one shell."""
    result = subprocess.run(
        ["bash", "-c", COMPLETE],
        input="".join(f"{line}\n" for line in COMPLETIONS),
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{SCRIPTS}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    (rule,) = result.stderr.splitlines()
    assert rule.endswith(" aiayn"), "the name of the program"
    answers = [set(answer.split()) for answer in result.stdout.splitlines()]
    assert dict(zip(COMPLETIONS, answers, strict=True)) == COMPLETIONS
