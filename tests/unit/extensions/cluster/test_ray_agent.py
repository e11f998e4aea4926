"""What a node of Ray tells of itself, and the answer where Ray is not installed."""

import subprocess
import sys
from pathlib import Path

from tiny import TINY

from aiayn.extensions.cluster.ray_agent import Agent, interface_of, missing_folders


def test_the_interface_of_an_address() -> None:
    assert interface_of("127.0.0.1") == "lo"
    assert interface_of("203.0.113.1") is None


def test_folders_that_are_not_there(tmp_path: Path) -> None:
    assert missing_folders([str(tmp_path), str(tmp_path / "none")]) == [str(tmp_path / "none")]


def test_a_meeting_point_is_free() -> None:
    first, second = (Agent().meeting_point("127.0.0.1") for _ in range(2))
    assert 1024 <= first < 65536
    assert 1024 <= second < 65536


def test_without_ray_it_is_one_line(tmp_path: Path) -> None:
    line = "import sys; sys.modules['ray'] = None; from aiayn.__main__ import main; sys.exit(main())"
    words = ["train", "-m", *TINY, "seed=1,2", "hydra/launcher=ray", "logger=none"]
    said = subprocess.run(
        [sys.executable, "-c", line, *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    answer = "aiayn: hydra/launcher=ray: ray is not installed; pip install -e '.[ray]' in the checkout\n"
    assert (said.returncode, said.stdout, said.stderr) == (2, "", answer)
