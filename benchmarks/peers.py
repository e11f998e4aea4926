"""The environment of other people's libraries: benchmarks/requirements-peers.txt in .venv-peers, made on first use.

It sees the packages of the environment that runs the benchmarks, so that all contenders use the same torch, and is
filled without dependencies, so that none of ours is replaced.
"""

import json
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Sequence
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
ENVIRONMENT = FOLDER.parent / ".venv-peers"
REQUIREMENTS = FOLDER / "requirements-peers.txt"
_INSTALLED = ".installed"


@cache
def python(environment: Path = ENVIRONMENT, requirements: Path = REQUIREMENTS) -> Path:
    """The interpreter of the peers. Those that do not install are named, and fail to import when it is their turn."""
    interpreter = environment / "bin" / "python"
    installed = environment / _INSTALLED
    wanted = requirements.read_text(encoding="utf-8")
    if installed.is_file() and installed.read_text(encoding="utf-8") == wanted:
        return interpreter
    print(f"Installing {requirements.name} into {environment.name}", file=sys.stderr, flush=True)
    venv.create(environment, with_pip=True, clear=True)
    inside = environment / Path(sysconfig.get_path("purelib")).relative_to(sys.prefix)
    (inside / "ours.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    flags = "--quiet --no-compile --disable-pip-version-check --no-deps"
    words = [str(interpreter), "-m", "pip", "install", *flags.split()]
    lines = [line for line in wanted.splitlines() if line and not line.startswith("#")]
    for line in lines:  # one by one: what does not install keeps nobody else out
        if subprocess.run([*words, line.partition("#")[0].strip()], check=False).returncode:
            print(f"{line}: does not install here", file=sys.stderr)
    installed.write_text(wanted, encoding="utf-8")
    return interpreter


def versions(names: Sequence[str]) -> dict[str, str]:
    """The versions of those packages that the peers' environment has."""
    code = (
        "import importlib.metadata as m, json, sys\n"
        "there = {d.name.lower().replace('_', '-'): d.version for d in m.distributions()}\n"
        "print(json.dumps({name: there[name] for name in sys.argv[1:] if name in there}))"
    )
    answer = subprocess.run([str(python()), "-c", code, *names], capture_output=True, text=True, check=True)
    found: dict[str, str] = json.loads(answer.stdout)
    return found
