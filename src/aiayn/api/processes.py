"""Commands in processes of their own, watched from a program or a notebook."""

import subprocess
import sys
from collections.abc import Sequence
from tempfile import TemporaryFile
from threading import Thread
from typing import IO

from aiayn.errors import USER_ERROR, RunFailedError, UserError
from aiayn.system.orphans import STOP_SECONDS
from aiayn.system.signals import passed_on

CHILD = "aiayn.api.child"

DRAIN_SECONDS = 5.0
"""Longest wait for the last lines of a command that has ended."""

OWN = "aiayn: "
"""Start of the line with which a command explains its failure."""


def run_command(words: Sequence[str]) -> str:
    """Run `aiayn <words>` to its end and return what it prints; its progress goes to this program's standard error.

    A KeyboardInterrupt stops the command, which writes its checkpoint first; a second one kills it. The process has a
    session of its own, so that an interrupt of the terminal or of the notebook's kernel reaches it in this way alone.

    Raises:
        UserError: the command refused its words or files (exit code 2).
        RunFailedError: it failed.
    """
    with TemporaryFile("w+", encoding="utf-8") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", CHILD, *words],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
        assert process.stderr is not None
        relay = _Relay(process.stderr)
        try:
            code = process.wait()
        except BaseException as error:
            _stop(process, passed_on(error))
            relay.join(DRAIN_SECONDS)
            if isinstance(error, KeyboardInterrupt):
                error.args = (relay.explanation,)
            raise
        relay.join(DRAIN_SECONDS)
        if code:
            raise (UserError if code == USER_ERROR else RunFailedError)(relay.explanation or f"exit code {code}")
        output.seek(0)
        return output.read()


class _Relay(Thread):
    """Prints the lines of a command, except the last one that explains its failure: an exception has it."""

    def __init__(self, lines: IO[str]) -> None:
        super().__init__(name="aiayn-relay", daemon=True)
        self._lines = lines
        self.explanation = ""
        self.start()

    def run(self) -> None:
        with self._lines:
            for line in self._lines:
                if line.startswith(OWN):
                    if self.explanation:
                        self._print(OWN + self.explanation)
                    self.explanation = line.removeprefix(OWN).rstrip("\n")
                else:
                    self._print(line.rstrip("\n"))

    @staticmethod
    def _print(line: str) -> None:
        print(line, file=sys.stderr, flush=True)  # noqa: T201


def _stop(process: "subprocess.Popen[str]", number: int) -> None:
    """Ask a command to stop by a signal, and kill it if it does not, or if another interrupt comes."""
    process.send_signal(number)
    try:
        process.wait(STOP_SECONDS)
    except BaseException as error:
        process.kill()
        process.wait()
        if not isinstance(error, subprocess.TimeoutExpired):
            raise
