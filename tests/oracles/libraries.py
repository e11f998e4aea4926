"""The environment of fairseq and transformers: requirements.txt in .venv-oracles, made on first use.

python tests/oracles/libraries.py prints their versions, or why one is missing, and then fails.
"""

import subprocess
import sys
from pathlib import Path

import peers

FOLDER = Path(__file__).parent
ENVIRONMENT = FOLDER.parents[1] / ".venv-oracles"
VERSIONS = (
    "import fairseq, transformers; print('fairseq', fairseq.__version__, 'transformers', transformers.__version__)"
)


def python() -> Path:
    """The interpreter of the libraries; those that cannot be installed are named, and cannot be imported."""
    return peers.python(ENVIRONMENT, FOLDER / "requirements.txt")


def missing(library: str) -> str | None:
    """Why a library cannot be imported; None if it can."""
    command = [str(python()), "-W", "ignore", "-c", f"import {library}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else done.stderr.strip().rpartition("\n")[2]


if __name__ == "__main__":
    sys.exit(subprocess.run([python(), "-W", "ignore", "-c", VERSIONS], check=False).returncode)
