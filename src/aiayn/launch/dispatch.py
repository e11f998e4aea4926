"""One composed configuration to one run: in this process, or in fresh ones that read the frozen file."""

import logging
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NoReturn

from aiayn.config.freeze import frozen_content, frozen_text
from aiayn.config.schema import TrainConfig
from aiayn.errors import RunFailedError, UserError
from aiayn.launch.failures import cause_of, forget_failures, last_words, read_failures
from aiayn.launch.forked_workers import Started, start_group, start_worker
from aiayn.launch.members import FOLDER, end_workers, group_folder
from aiayn.launch.shares import ANYWHERE, THREAD_VARIABLES, Place, Share, placed
from aiayn.launch.wandb_agent import tell_agent
from aiayn.runs.directory import RunDirectory
from aiayn.runs.provenance import code_version, commit_text
from aiayn.runs.record import Record, Status, read_record
from aiayn.system import files, machine, processes
from aiayn.system.disk import refusals_explained
from aiayn.system.orphans import GRACE_SECONDS, STARTER
from aiayn.system.scratch import lock_of
from aiayn.system.signals import SignalledInterrupt, ended_as_interrupted

logger = logging.getLogger("aiayn")

USER_MISTAKE = 2
"""Exit code of a worker that refuses its configuration."""


def launch_run(config: TrainConfig, *, command: str, fresh_process: bool, share: Share | None = None) -> Record:
    """Do a run to its end and return its record; a finished run is not done again.

    Args:
        config: what to run.
        command: what the user typed, for the record.
        fresh_process: whether this process must stay clean, as in a multirun.
        share: what to lease of the machine first; None where the run has the machine to itself.

    Raises:
        UserError: the configuration, the data or the directory cannot be used.
        RunFailedError: the run started and could not finish.
    """
    directory = RunDirectory(Path(config.paths.runs) / config.identity.name)
    processes.refuse_another_size(config.trainer)
    if processes.rank() > 0:
        return _follow(config, directory, command)
    if share is None or processes.is_rank() or (_is_finished(directory) and not config.force):
        return _hold_and_run(config, directory, command, fresh_process=fresh_process, place=ANYWHERE)
    with placed(share) as place:  # before the directory is held: others may do the run while this one waits
        config.trainer["devices"] = share.processes  # nothing else is visible to it
        return _hold_and_run(config, directory, command, fresh_process=True, place=place)


def _hold_and_run(
    config: TrainConfig, directory: RunDirectory, command: str, *, fresh_process: bool, place: Place
) -> Record:
    disk = refusals_explained(f"paths.runs={config.paths.runs}")
    with disk, directory.locked() as lock, _taken_back_if_refused(directory):
        if config.force:
            _start_anew(config, directory)
        if config.identity.sweep:
            directory.join_sweep(config.identity.sweep)
        if _is_finished(directory):
            record = read_record(directory.record)
            logger.info("%s: finished already; shown, not done again%s", directory.path, _other_code(record))
            tell_agent(config, directory, record)
            return record
        for left_over in directory.path.rglob("*.partial"):  # by an attempt that was killed while it wrote
            if left_over.is_file():  # a folder is an export's, which may be under way
                left_over.unlink(missing_ok=True)
        config.identity.title = _title(directory) or config.identity.title
        files.write_text(directory.config, frozen_text(config))
        count = 1 if processes.is_rank() else processes.devices_per_node(config.trainer)
        if count == 1 and not fresh_process:
            return _run_here(config, directory, command)
        _run_group(
            directory,
            command,
            processes_per_node=count,
            is_forked=fresh_process and config.launch.fork_jobs,
            lock=lock,
            place=place,
        )
        return read_record(directory.record)


def _other_code(record: Record) -> str:
    """Where a finished run is of another commit than the program: both, and the remedy; else empty."""
    made, here = (record.commit, record.dirty), code_version()
    if made == here:
        return ""
    return f"; made by {commit_text(*made)}, and here is {commit_text(*here)}: force=true does it again"


def _follow(config: TrainConfig, directory: RunDirectory, command: str) -> Record:
    """What a rank does whose leader holds the directory: as much of the run as the leader."""
    if _is_finished(directory) and not config.force:
        return read_record(directory.record)
    return _run_here(config, directory, command)


def _is_finished(directory: RunDirectory) -> bool:
    return directory.record.is_file() and read_record(directory.record).status is Status.finished


def _title(directory: RunDirectory) -> str | None:
    """What an earlier attempt called the run, which keeps its name; None where there was none."""
    earlier = frozen_content(directory.config) if directory.config.is_file() else {}
    return (earlier.get("identity") or {}).get("title")


def _start_anew(config: TrainConfig, directory: RunDirectory) -> None:
    """Honour `force`, once: who takes the run up later reads a configuration without it."""
    config.force = False
    if directory.record.is_file():
        logger.info("%s: removed and started anew, since force=true", directory.path)
    directory.clear()


@contextmanager
def _taken_back_if_refused(directory: RunDirectory) -> Iterator[None]:
    """Leave nothing behind where a new run is refused, or stopped before it has a record; the lock is held."""
    is_new = not directory.record.is_file()
    try:
        yield
    except (UserError, KeyboardInterrupt) as error:
        has_record = directory.record.is_file()
        refused = isinstance(error, UserError) and has_record and not read_record(directory.record).has_begun
        if is_new and (refused or not has_record):
            directory.remove_refused()
        raise


def _run_here(config: TrainConfig, directory: RunDirectory, command: str) -> Record:
    from aiayn.launch.worker import run  # imports torch and Lightning

    return run(config, directory, command=command)


def _run_group(
    directory: RunDirectory, command: str, *, processes_per_node: int, is_forked: bool, lock: int, place: Place
) -> None:
    """Start the workers on the frozen configuration in a process group of their own, and reap it whatever happens.

    They inherit the locks and the leases: should this process be killed, they go on for a moment, and nobody may come
    between.
    """
    forget_failures(directory)
    words = [str(directory.path), command]
    environment = {**_clean(os.environ), **place.environment, STARTER: str(os.getpid())}
    if processes_per_node > 1:
        words.append(str(processes_per_node))
        each = max(1, len(place.cores or machine.cores()) // processes_per_node)
        environment = dict.fromkeys(THREAD_VARIABLES, str(each)) | environment
    start = partial(start_worker, is_forked=is_forked) if processes_per_node == 1 else start_group
    before = _written_record(directory)
    with ended_as_interrupted(), group_folder() as folder:
        with place.pinned():
            group = start(
                words,
                environment={**environment, FOLDER: str(folder)},
                descriptors=(lock, lock_of(folder), *place.descriptors),
            )
        try:
            code = group.wait()
        except KeyboardInterrupt as error:
            _stop(group, error)
            forget_failures(directory)
            if _written_record(directory) != before and (record := read_record(directory.record)).message:
                error.args = (record.message,)
            raise
        except BaseException as error:
            _stop(group, error)
            raise
        finally:
            _signal(group, signal.SIGKILL)
            end_workers(folder)
    if code and not _is_finished(directory):  # what happens to processes that only have to end is no matter
        who = "the worker" if processes_per_node == 1 else "the process group"
        _report(directory, f"{who} {last_words(code)}", code=code, before=before)


def _written_record(directory: RunDirectory) -> bytes | None:
    return directory.record.read_bytes() if directory.record.is_file() else None


def _report(directory: RunDirectory, last: str, *, code: int, before: bytes | None) -> NoReturn:
    """Say why the workers did not finish, in the record too where they could not.

    Args:
        directory: of the run, which is held.
        last: what is known of their end.
        code: their exit code.
        before: the record before they began. One that is as it was tells of an earlier attempt.

    Raises:
        UserError: they refused what the user asked for.
        RunFailedError: they failed, or were stopped.
    """
    now = _written_record(directory)
    record = None if now in (None, before) else read_record(directory.record)
    cause = cause_of(read_failures(directory))
    forget_failures(directory)
    if cause is not None:
        said = cause.text
    elif record is None or record.status is Status.running:
        said = f"{last}; see {directory.log}"
    else:
        said = record.message or last
    if record is not None and record.status is not Status.interrupted:
        record.status, record.message = Status.failed, said
        record.write(directory.record)
    raise UserError(said) if code == USER_MISTAKE else RunFailedError(said)


def _clean(environment: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in environment.items() if key not in processes.GROUP_VARIABLES}


def _stop(group: Started, error: BaseException) -> None:
    """Ask the group to stop at the next step, and wait for its checkpoint."""
    # A Ctrl-C would show the traceback of a process that still loads libraries.
    _signal(group, error.signal if isinstance(error, SignalledInterrupt) else signal.SIGTERM)
    try:
        group.wait(timeout=GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        _signal(group, signal.SIGKILL)
        group.wait()


def _signal(group: Started, number: signal.Signals) -> None:
    try:
        os.killpg(group.pid, number)
    except ProcessLookupError:
        return
