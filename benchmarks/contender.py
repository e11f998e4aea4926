"""One contender of a contest, in a process of its own, that works only when it is its turn.

    python benchmarks/contender.py trainers:aiayn '{"threads": 2, ...}'

The process imports a module beside this file, calls the named function with the settings, and gets a `Turn`. Then each
line on standard input, the number of a round, is answered with one line of JSON: what that round took. It ends with its
input. Anything that a library prints goes to standard error.
"""

import importlib
import json
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeAlias

Turn: TypeAlias = Callable[[int], float]
"""Does the round of a number and returns what it did, in the contest's unit of work."""


class Maker(Protocol):
    """Builds a contender from the settings of a contest."""

    def __call__(self, **settings: Any) -> Turn: ...


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    module, _, function = sys.argv[1].partition(":")
    maker: Maker = getattr(importlib.import_module(module), function)
    turn = maker(**json.loads(sys.argv[2]))
    _answer(answers, {"ready": True})
    for line in sys.stdin:
        began, busy = time.perf_counter(), time.process_time()
        work = turn(int(line))
        seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - busy
        memory = {"peak_bytes": peak_bytes(), "resident_bytes": resident_bytes()}
        _answer(answers, {"work": work, "seconds": seconds, "cpu_seconds": cpu_seconds, **memory})


def _answer(answers: Any, content: dict[str, Any]) -> None:
    answers.write(json.dumps(content) + "\n")
    answers.flush()


def peak_bytes() -> int:
    """The most memory that this process ever held."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def resident_bytes() -> int:
    """What it holds now; the peak where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()
    except OSError:
        return peak_bytes()


if __name__ == "__main__":
    main()
