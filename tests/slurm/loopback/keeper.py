"""Starts programs, and ends all their descendants when the process that asked for them is gone.

Standard input is a list of commands, each a line of JSON: the file for its output, then its words. When the list ends,
because it was closed or its writer was killed, every descendant is killed. A daemon that leaves its parent, as Slurm's
do for each step, becomes a child of this process instead of init's (PR_SET_CHILD_SUBREAPER): all are found, and no
other process is touched.

Their host name is localhost (CLONE_NEWUTS), so that programs that listen on the address of their host listen on
loopback.
"""

import ctypes
import json
import os
import signal
import socket
import sys
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
CLONE_NEWUTS = 0x04000000


def main() -> None:
    system = ctypes.CDLL(None, use_errno=True)
    if system.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) or system.unshare(CLONE_NEWUTS):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    socket.sethostname("localhost")
    signal.signal(signal.SIGCHLD, lambda *_: reap())
    try:
        for line in sys.stdin:
            output, *words = json.loads(line)
            start(output, words)
    finally:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        end_all()


def start(output: str, words: list[str]) -> None:
    files = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    os.posix_spawnp(words[0], words, os.environ, file_actions=files)


def reap() -> None:
    """Collect the children that have ended, so that none stays a zombie."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


def end_all() -> None:
    """Kill the children, then those that they leave to this process, and so on."""
    while True:
        for child in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
            os.kill(int(child), signal.SIGKILL)  # its number is its own until it is reaped, which nobody else does
        try:
            os.wait()
        except ChildProcessError:
            return


if __name__ == "__main__":
    main()
