"""A run of several processes, to be disturbed."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from commands import AIAYN, until

from aiayn.system import machine

ENDLESS = ("optimization.max_steps=100000", "optimization.validation_interval=50000")

REAPED_SECONDS = 75
"""Longer than the grace period of a group; on an idle machine it ends in a few seconds."""


@dataclass
class Group:
    """A command whose two workers train."""

    command: subprocess.Popen[str]
    run: Path

    def process(self, name: str) -> int:
        """The process id of the command, the agent, or a rank."""
        if name == "command":
            return self.command.pid
        if name == "agent":
            (agent,) = (number for number, words in self.processes() if "aiayn.launch.group" in words)
            return agent
        return next(
            number
            for number, _ in self.processes()
            if f"RANK={name.removeprefix('rank ')}".encode()
            in Path(f"/proc/{number}/environ").read_bytes().split(b"\0")
        )

    def processes(self) -> list[tuple[int, str]]:
        """Every process of the run except the command, with its command line."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            number = int(folder.name)
            if str(self.run) in words and "aiayn.launch." in words and machine.is_alive(number):
                found.append((number, words))
        return found

    def steps(self) -> list[int]:
        """The steps logged so far."""
        path = self.run / "metrics.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        return [json.loads(line)["step"] for line in lines if line.endswith("}")]

    def end(self) -> tuple[int, str]:
        """Wait for the command and all its processes; its exit code and standard error."""
        _, said = self.command.communicate(timeout=REAPED_SECONDS)
        until(lambda: not self.processes(), seconds=REAPED_SECONDS)
        return self.command.returncode, said


@contextmanager
def started_group(folder: Path, *words: str) -> Iterator[Group]:
    """An endless run of two processes in a folder that has trained a few steps; its processes end with the block."""
    command = [*AIAYN, "train", *words, "logger=none", "trainer.devices=2", *ENDLESS]
    started = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def groups() -> list[Group]:
        return [Group(started, path.parent) for path in folder.glob("runs/*/*/*/metrics.jsonl")]

    try:
        until(lambda: started.poll() is not None or groups())
        assert started.poll() is None, started.communicate()
        (group,) = groups()
        until(lambda: len(group.steps()) >= 4)
        yield group
    finally:
        for number, _ in (process for each in groups() for process in each.processes()):
            os.kill(number, signal.SIGKILL)
        started.kill()
        started.communicate()
