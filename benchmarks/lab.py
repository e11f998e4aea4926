"""The lab on idle cores: the runs of its frozen plans, one process a core, at the lowest priority.

Run: AIAYN_DATA=<folder of real text> python benchmarks/lab.py FOLDER COMMIT [--cores 1|2] [--until 2026-12-01T06:00]

FOLDER/clone becomes a clean clone of COMMIT; in it plans are frozen, into FOLDER/runs (docs/results.md). Of
each study the first seed of all rows is run, then the second, and so on; interrupted runs come first, failed ones are
listed. While FOLDER/pause exists nothing runs. Then, at `--until`, and when this process ends, runs end with a
checkpoint. Several runners may share FOLDER. Finished runs are kept in docs/results/lab/runs, from where an empty
FOLDER gets them.
"""

import argparse
import ctypes
import fcntl
import gzip
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache, partial
from itertools import islice
from math import inf
from pathlib import Path

from aiayn.errors import UserError
from aiayn.reports.reported_runs import finished_run
from aiayn.runs.ledger import State
from aiayn.system import files
from aiayn.system.signals import signals_as_interrupts
from lab_kept import keep, restore
from lab_queue import Job, Lab

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "docs" / "results" / "lab" / "runs"
FIRST_PAIRS = 15_000

POLL_SECONDS = 1.0
PR_SET_PDEATHSIG = 1


@dataclass
class Runner:
    """Runs the lab's jobs side by side."""

    lab: Lab
    cores: int
    until: float
    """Seconds since 1970, as of `time.time`; perhaps infinite."""
    yields: bool = False
    """Whether runs have the lowest priority, and so have their sessions, between which Linux divides the time first."""
    running: dict[str, "subprocess.Popen[bytes]"] = field(default_factory=dict)
    """The processes by the names of their runs."""
    failed: set[str] = field(default_factory=set)
    """The names of runs that ended by themselves without a result, which are not started again."""

    def work(self) -> None:
        """Run until nothing is left that can be started, or until the time."""
        self._keep()
        with signals_as_interrupts():
            try:
                while self._goes_on():
                    time.sleep(POLL_SECONDS)
            finally:
                self._stop()
        self._report()

    def _goes_on(self) -> bool:
        has_changed = self._reap(asked=False)
        is_paused, is_over = (self.lab.folder / "pause").exists(), self.until <= time.time()
        if is_over or is_paused:
            self._stop()
            return not is_over
        if has_changed or not self.running:
            self._fill()
        return bool(self.running)

    def _fill(self) -> None:
        """Start runs on the free cores, those that can finish before the end."""
        estimates = cache(self.lab.estimates)
        for job in self.lab.open_jobs():
            if len(self.running) < self.cores and job.name not in self.failed and self._is_short(job, estimates):
                self._start(job)

    def _is_short(self, job: Job, estimates: Callable[[str], Mapping[str, float]]) -> bool:
        if self.until == inf:
            return True
        entry = self.lab.entry(job)
        done = entry.step / (entry.record.max_steps or 1) if entry is not None and entry.record is not None else 0.0
        return estimates(job.study)[job.row] * (1 - done) < self.until - time.time()

    def _start(self, job: Job) -> None:
        """Start a run, unless another runner has it: the process inherits the lock, which lasts while it lives."""
        path = self.lab.folder / "locks" / job.name.replace("/", "+")
        files.make_folder(path.parent)
        folders = [f"paths.runs={self.lab.runs}", f"paths.cache={self.lab.folder / 'cache'}"]
        with path.open("w") as lock, self.lab.log.open("ab") as log:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            entry = self.lab.entry(job)
            if entry is not None and entry.state not in (State.interrupted, State.killed):
                return  # another runner has just done it
            self.running[job.name] = subprocess.Popen(
                [*self.lab.aiayn, *job.words, *folders],
                cwd=self.lab.clone,
                env={**os.environ, "AIAYN_SWEEP": job.study, "OMP_NUM_THREADS": "1"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[lock.fileno()],
                start_new_session=True,
                preexec_fn=partial(_begin, self.yields),  # noqa: PLW1509 (this process has no other threads)
            )
        _say(f"{'resumed' if entry else 'started'} {job.name}")

    def _reap(self, *, asked: bool) -> bool:
        """Take the processes that have ended, and keep finished runs; whether there are some."""
        ended = [name for name, process in self.running.items() if process.poll() is not None]
        for name in ended:
            process = self.running.pop(name)
            is_finished = finished_run(self.lab.runs / name) is not None
            if not (is_finished or asked):
                self.failed.add(name)
            _say(f"{'finished' if is_finished else f'ended with {process.returncode}'} {name}")
        if ended:
            self._keep()
        return bool(ended)

    def _keep(self) -> None:
        try:
            with self.lab.locked():
                keep([job.name for job in self.lab.jobs()], self.lab.runs, self.lab.kept)
        except UserError as error:  # training goes on: runs are in the folder in any case
            _say(f"not kept: {error}")

    def _stop(self) -> None:
        """Ask all processes to end with a checkpoint, and wait for them."""
        for process in self.running.values():
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGINT)
        for process in self.running.values():
            process.wait()
        self._reap(asked=True)

    def _report(self) -> None:
        states = [(job.name, self.lab.entry(job)) for job in self.lab.jobs()]
        finished = [name for name, entry in states if entry is not None and entry.state is State.finished]
        _say(f"{len(finished)} of {len(states)} runs have finished")
        for name, entry in states:
            if name in self.failed or (entry is not None and entry.state in (State.failed, State.unreadable)):
                message = None if entry is None else entry.message
                _say(f"failed {name}: {message or f'its output is in {self.lab.log}'}")


def _begin(yields: bool) -> None:
    """End when the runner has gone, and perhaps yield to other sessions; called in the session of a started process."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a runner in the background of a script ignores it
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGINT)
    if yields:
        os.nice(19)
        with suppress(OSError):  # Linux does not allow it, or does not weigh sessions
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
            Path("/proc/self/autogroup").write_text("19")


def _say(text: str) -> None:
    print(f"{datetime.now():%Y-%m-%d %H:%M} {text}", flush=True)


def prepare(clone: Path, commit: str) -> None:
    """Make the clone, with its environment and the text.

    Raises:
        UserError: the clone is not a clean one of the commit.
    """

    def git(*words: str) -> str:
        command = ["git", "-C", str(clone), *words]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()

    if not clone.exists():
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        git("checkout", "--quiet", "--detach", commit)
    if (head := git("rev-parse", "HEAD")) != git("rev-parse", f"{commit}^{{commit}}"):
        raise UserError(f"{clone}: is of commit {head}, not of {commit}; state another folder")
    if git("status", "--porcelain", "src", "conf", "sweeps"):
        raise UserError(f"{clone}: has changes below src, conf or sweeps; undo them, or state another folder")
    # With the --quiet of the Makefile, errors of pip alone are printed.
    quiet = {**os.environ, "PIP_QUIET": "1"}
    subprocess.run(["make", "--quiet", "-C", str(clone), ".venv/.installed"], check=True, env=quiet)
    if data := os.environ.get("AIAYN_DATA"):
        if not (clone / "text").exists():
            (clone / "text").symlink_to(data)
        for name in ("train.en.gz", "train.de.gz"):
            if not (path := clone / "multi30k_15k" / name).exists():
                with gzip.open(Path(data) / "multi30k" / name) as lines:
                    files.write_bytes(path, gzip.compress(b"".join(islice(lines, FIRST_PAIRS)), mtime=0))


def main() -> None:
    """Prepare FOLDER, and run what its plans state."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("commit", help="a tag, or a commit")
    parser.add_argument("--cores", type=int, choices=(1, 2), default=1)
    parser.add_argument("--until", type=datetime.fromisoformat, help="no run goes on after this time")
    chosen = parser.parse_args()
    folder = chosen.folder.resolve()
    lab = Lab(folder, [str(folder / "clone" / ".venv" / "bin" / "aiayn")], KEPT)
    try:
        with lab.locked():
            prepare(lab.clone, chosen.commit)
            restore(KEPT, lab.runs)
        Runner(lab, chosen.cores, chosen.until.timestamp() if chosen.until else inf, yields=True).work()
    except (UserError, subprocess.CalledProcessError) as error:
        parser.error(str(error))
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
