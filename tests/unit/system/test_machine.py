"""Running processes are told from zombies."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from aiayn.system import machine


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="tells who has ended but is not reaped by /proc")
def test_a_zombie_is_not_alive() -> None:
    assert machine.is_alive(os.getpid())
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert machine.is_alive(child.pid)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not machine.is_alive(child.pid), "nobody has reaped it"
    child.communicate()
    assert not machine.is_alive(child.pid)
