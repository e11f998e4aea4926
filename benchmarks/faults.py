"""Kill, stop and disturb a sweep at random moments, start it again, and count what came of it.

    python benchmarks/faults.py --trials 36 --output docs/results/faults.md

A three-row sweep of two-process runs is done once undisturbed. Then each trial starts the same command, injects one
fault at a random moment of the time that it has still to take, and waits for its end; whatever is unfinished is for
the next trial to take up. When all rows have finished they are compared, bit by bit, with the undisturbed ones, and a
new folder begins. Every trial is appended to `<work>/trials.jsonl`, and the same command goes on behind the last one.

Linux only: processes are found in /proc. The exit code is 1 where a run did not finish exactly or a process was left.
"""

import argparse
import dataclasses
import datetime
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from aiayn.runs import hardware, provenance
from aiayn.runs.directory import RunDirectory
from aiayn.system import files
from disturbed_sweep import ROWS, History, Process, Sweep, history, phase, status, wait_until_gone
from fault_table import Trial, markdown

TIMEOUT_SECONDS = 30
"""How long a rank waits for another: short, since one is stopped for longer."""

GONE_SECONDS = 3 * TIMEOUT_SECONDS
"""How long what was hit may take to end before that counts as hanging."""

COMMAND_SECONDS = 900
"""How long the command may go on with the other rows."""

TRIALS_OF_A_SWEEP = 3
"""Then it is finished undisturbed: in the last row alone most faults would meet a run that starts."""

PATIENCE = 4
"""How often the command is started, at most, to finish a sweep that nobody disturbs any more."""


@dataclass(frozen=True)
class Fault:
    """A signal, and whom it is sent to."""

    number: signal.Signals
    target: str
    """command, supervisor, rank 0, rank 1, or "a rank": one of the two."""

    def __str__(self) -> str:
        return f"{self.number.name} to {self.target}"

    def victim(self, chance: random.Random) -> str:
        """The role of the process that is hit."""
        return f"rank {chance.randrange(2)}" if self.target == "a rank" else self.target


FAULTS = (
    Fault(signal.SIGKILL, "rank 0"),
    Fault(signal.SIGKILL, "rank 1"),
    Fault(signal.SIGKILL, "supervisor"),
    Fault(signal.SIGKILL, "command"),
    Fault(signal.SIGTERM, "command"),
    Fault(signal.SIGINT, "command"),
    Fault(signal.SIGUSR1, "command"),
    Fault(signal.SIGTERM, "a rank"),
    Fault(signal.SIGSTOP, "a rank"),
)


class Journal:
    """What has been done so far, one JSON object a line; a torn last line is forgotten."""

    def __init__(self, path: Path) -> None:
        self.path = path
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        self.rows: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines() if line.endswith("}")]
        files.write_text(path, "".join(f"{json.dumps(row)}\n" for row in self.rows))

    def add(self, kind: str, **content: Any) -> None:
        """Append a line, and make sure of it."""
        row = {"kind": kind, **content}
        self.rows.append(row)
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(row) + "\n")
            stream.flush()
            os.fsync(stream.fileno())

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The lines of one kind."""
        return [{key: value for key, value in row.items() if key != "kind"} for row in self.rows if row["kind"] == kind]

    def trials(self) -> list[Trial]:
        """All trials in order."""
        return [Trial(**row) for row in self.of("trial")]


def main() -> int:
    options = _options()
    for heard in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(heard) is signal.SIG_IGN:  # as in a shell's background; the command must not inherit it
            signal.signal(heard, signal.default_int_handler)
    options.work.mkdir(parents=True, exist_ok=True)
    journal = Journal(options.work / "trials.jsonl")
    if not journal.of("undisturbed"):
        _do_undisturbed(_sweep(options.work, "undisturbed"), journal)
    seconds = float(journal.of("undisturbed")[0]["seconds"])
    undisturbed = {row: history(run) for row, run in _sweep(options.work, "undisturbed").runs().items()}
    for number in _sweeps_to_do(journal, options.trials):
        _note_commit(journal)
        sweep = _sweep(options.work, f"sweep-{number:03d}")
        try:
            _disturb(sweep, number, journal, options)
            _finish(sweep)
        finally:
            sweep.end()
        journal.add("sweep", number=number, differences=_differences(sweep, undisturbed))
    return _write(journal, options, seconds)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=36, help="faults to inject (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="what the moments derive from (default: %(default)s)")
    parser.add_argument("--work", type=Path, default=Path("faults"), help="folder of the runs (default: %(default)s)")
    parser.add_argument("--output", type=Path, required=True, help="the table; every trial goes beside it, as .json")
    options = parser.parse_args()
    options.work = options.work.resolve()
    return options


def _sweep(work: Path, name: str) -> Sweep:
    return Sweep(work / name, work / "cache", TIMEOUT_SECONDS)


def _do_undisturbed(sweep: Sweep, journal: Journal) -> None:
    """The sweep as it should be; once before to fill the cache, so that the second one's time is like the others'."""
    for each in (dataclasses.replace(sweep, folder=sweep.folder.with_name("first")), sweep):
        shutil.rmtree(each.folder, ignore_errors=True)  # one that was cut short is not undisturbed
        began = time.monotonic()
        command = each.start()
        try:
            command.wait(timeout=COMMAND_SECONDS)
        finally:
            each.end()
        if each.unfinished():
            raise SystemExit(f"{each.folder}: the undisturbed sweep has not finished; see {each.said}")
    journal.add("undisturbed", seconds=time.monotonic() - began)


def _note_commit(journal: Journal) -> None:
    """Note which code is tried from now on, where that is not what was tried last."""
    code = provenance.code_version((*provenance.SOURCES, "benchmarks"))
    name = f"{code.commit or 'unknown'}{', with changes' if code.dirty else ''}"
    if name not in [row["name"] for row in journal.of("commit")[-1:]]:
        journal.add("commit", name=name)


def _sweeps_to_do(journal: Journal, trials: int) -> Iterator[int]:
    """The number of the next sweep, until there are enough trials in sweeps that are compared."""
    while True:
        done = len(journal.of("sweep"))
        injected = [trial for trial in journal.trials() if trial.injected is not None]
        if len(injected) >= trials and all(trial.sweep < done for trial in journal.trials()):
            return
        yield done


def _disturb(sweep: Sweep, number: int, journal: Journal, options: argparse.Namespace) -> None:
    """One trial after another, until the sweep has finished or there are enough."""
    while unfinished := sweep.unfinished():
        trials = journal.trials()
        injected = sum(trial.injected is not None for trial in trials)
        here = sum(trial.sweep == number for trial in trials)
        if injected >= options.trials or here >= TRIALS_OF_A_SWEEP:
            return
        chance = random.Random(f"{options.seed}-{len(trials)}")
        fault = FAULTS[injected % len(FAULTS)]
        trial = Trial(
            number=len(trials),
            sweep=number,
            fault=str(fault),
            victim=fault.victim(chance),
            rows=len(unfinished),
            drawn=chance.uniform(0, len(unfinished) * _seconds_for_a_row(journal)),
        )
        _do(trial, fault, sweep)
        journal.add("trial", **dataclasses.asdict(trial))
        print(trial.line(), file=sys.stderr, flush=True)


def _seconds_for_a_row(journal: Journal) -> float:
    """By the latest commands that came to their end: the machine may be busier at one time than at another."""
    known: list[float] = [row["seconds"] / len(ROWS) for row in journal.of("undisturbed")]
    for trial in journal.trials():
        if trial.injected is None:
            known.append(trial.seconds / trial.rows)
        elif trial.victim != "command" and trial.rows > 1 and not trial.fault.startswith("SIGSTOP"):
            known.append(trial.seconds / (trial.rows - 0.5))  # the row that was hit was done in part
    return median(known[-3:])


def _do(trial: Trial, fault: Fault, sweep: Sweep) -> None:
    """Start the command, inject the fault, wait for the end of what was hit, of the command, and of all the rest."""
    before = {row: _written(run) for row, run in sweep.runs().items()}
    began = time.monotonic()
    heard = sweep.said.stat().st_size if sweep.said.is_file() else 0
    command = sweep.start()
    _wait(command, trial.drawn)
    run = _strike(sweep, command, fault, trial, began=began)
    trial.exit_code = _wait(command, COMMAND_SECONDS)
    ended = time.monotonic()
    trial.seconds = ended - began
    trial.seconds_until_nothing_left = wait_until_gone(sweep, None, since=ended, limit=GONE_SECONDS)
    trial.left_behind = [" ".join(each.words[:6]) for each in sweep.processes()]
    sweep.end()
    if run is not None:
        is_new = _written(run) != before.get(trial.row or "")
        trial.status, trial.message = status(run) if is_new else ("untouched", None)
    with sweep.said.open("rb") as said:
        said.seek(heard)
        lines = said.read().decode(errors="replace").splitlines()
    trial.said = [line for line in lines if line.startswith("aiayn: ")]
    trial.traceback = any(line.startswith("Traceback") for line in lines)


def _written(run: RunDirectory) -> int | None:
    """When the record was written, in nanoseconds; None where there is none."""
    return run.record.stat().st_mtime_ns if run.record.is_file() else None


def _strike(
    sweep: Sweep, command: subprocess.Popen[bytes], fault: Fault, trial: Trial, *, began: float
) -> RunDirectory | None:
    """Inject the fault, and wait for the end of what it was to hit; returns the run that was at work."""
    target = _await_target(sweep, command, trial.victim)
    run = sweep.active()
    hits_command = trial.victim == "command"
    if target is None or (run is None and not hits_command):
        return None
    trial.row = next((row for row, each in sweep.runs().items() if each == run), None)
    trial.phase, trial.step = phase(run)
    struck = time.monotonic()
    try:
        os.kill(target.pid, fault.number)
    except ProcessLookupError:  # it has just ended by itself
        return None
    trial.injected = struck - began
    trial.seconds_to_end = wait_until_gone(sweep, None if hits_command else run, since=struck, limit=GONE_SECONDS)
    if trial.hangs and fault.number is signal.SIGSTOP:
        os.kill(target.pid, signal.SIGCONT)
    return run


def _wait(command: subprocess.Popen[bytes], seconds: float) -> int | None:
    """The command's exit code; None where it has not ended in time."""
    try:
        return command.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        return None


def _await_target(sweep: Sweep, command: subprocess.Popen[bytes], role: str) -> Process | None:
    """The process of a role, as soon as there is one; None where the command ends before."""
    while command.poll() is None:
        for process in sweep.processes():
            if process.role == role:
                return process
        time.sleep(0.02)
    return None


def _finish(sweep: Sweep) -> None:
    """Start the command, undisturbed, until all rows have finished or patience ends."""
    for _ in range(PATIENCE):
        if not sweep.unfinished():
            return
        _wait(sweep.start(), COMMAND_SECONDS)
        sweep.end()


def _differences(sweep: Sweep, undisturbed: dict[str, History]) -> dict[str, list[str]]:
    """For each row what is not as it was undisturbed: nothing, if all is well."""
    unfinished, runs = sweep.unfinished(), sweep.runs()
    return {
        row: ["not finished"] if row in unfinished else history(runs[row]).differences(undisturbed[row]) for row in ROWS
    }


def _write(journal: Journal, options: argparse.Namespace, seconds: float) -> int:
    """The table, and every trial beside it; the exit code."""
    sweeps = {row["number"]: row["differences"] for row in journal.of("sweep")}
    machine = hardware.hardware()
    about = {
        "command": f"python benchmarks/faults.py --trials {options.trials} --seed {options.seed} "
        f"--output {options.output}",
        "commit": "; then ".join(row["name"] for row in journal.of("commit")),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": f"{machine['processor']}, {machine['cores']} cores, {machine['memory_gib']} GiB",
        "versions": provenance.versions(),
        "sweep": " ".join(_sweep(Path(), "").words),
        "seconds_undisturbed": seconds,
        "timeout_seconds": TIMEOUT_SECONDS,
        "gone_seconds": GONE_SECONDS,
    }
    trials = journal.trials()
    content = {"about": about, "trials": [dataclasses.asdict(trial) for trial in trials], "differences": sweeps}
    text = json.dumps(content, indent=1, ensure_ascii=False)
    text = text.replace(f"{options.work.absolute()}/", "")  # where it lay says nothing to others
    files.write_text(options.output.with_suffix(".json"), f"{text}\n")
    files.write_text(options.output, markdown(about, trials, sweeps))
    is_exact = not any(names for rows in sweeps.values() for names in rows.values())
    return 0 if is_exact and not any(trial.left_behind or trial.hangs for trial in trials) else 1


if __name__ == "__main__":
    sys.exit(main())
