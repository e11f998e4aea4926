"""Run one composed configuration: in this process, or in new processes that read the frozen file."""

import logging
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

from aiayn.config.freeze import drop_earlier_keys, frozen_content, frozen_text
from aiayn.config.schema import TrainConfig
from aiayn.errors import USER_ERROR, KilledRunError, RunFailedError, UserError
from aiayn.launch.forked_workers import GROUP, WORKER, Started, start_worker
from aiayn.launch.ranks import (
    FOLDER,
    Kind,
    cause_of,
    clear_failures,
    exit_text,
    group_folder,
    kill_running,
    read_failures,
)
from aiayn.launch.shares import THREAD_VARIABLES, WHOLE_MACHINE, Lease, Share, leased
from aiayn.launch.wandb_agent import log_to_agent
from aiayn.runs.directory import RunDirectory
from aiayn.runs.provenance import code_version
from aiayn.runs.record import Record, Status, is_finished, read_record
from aiayn.system import files, machine, processes
from aiayn.system.orphans import GRACE_SECONDS, STARTER
from aiayn.system.resource_errors import disk_errors_explained
from aiayn.system.scratch import lock_of
from aiayn.system.signals import passed_on, signals_as_interrupts

logger = logging.getLogger("aiayn")


def launch_run(config: TrainConfig, *, command: str, fresh_process: bool, share: Share | None = None) -> Record:
    """Do a run to its end and return its record; a finished run is not repeated.

    Args:
        config: the run's configuration.
        command: the command that the user typed, for the record.
        fresh_process: whether to use a new process even for a single worker, as in a multirun.
        share: the part of the machine to lease first; None: all of it, without a lease.
    """
    directory = RunDirectory(Path(config.paths.runs) / config.identity.name)
    is_done = not config.force and is_finished(directory)
    if not is_done:  # a finished run is shown on any machine
        processes.check_group_size(config.trainer)
    if processes.rank() > 0:  # the first rank locks the directory
        return read_record(directory.record) if is_done else _run_here(config, directory, command)
    if share is None or processes.is_rank() or is_done:
        return _lock_and_run(config, directory, command, fresh_process=fresh_process, lease=WHOLE_MACHINE)
    with leased(share) as lease:  # before the lock: others may do the run while this process waits
        config.trainer["devices"] = share.processes  # only the leased ones are visible to it
        return _lock_and_run(config, directory, command, fresh_process=True, lease=lease)


def _lock_and_run(
    config: TrainConfig, directory: RunDirectory, command: str, *, fresh_process: bool, lease: Lease
) -> Record:
    disk, within = (disk_errors_explained(f"paths.runs={config.paths.runs}") for _ in ("the lock", "its block"))
    with disk, directory.locked() as lock, _removed_if_refused(directory), within:
        if config.force:
            if files.is_file(directory.record):
                logger.info("%s: removed and started anew, since force=true", directory.path)
                if _may_have_finished(directory):
                    directory.count_repeat()
            directory.clear()
            config.force = False  # the next attempt resumes
        if config.identity.sweep:
            directory.join_sweep(config.identity.sweep)
        if is_finished(directory):
            record = read_record(directory.record)
            logger.info("%s: already finished; its record is shown%s", directory.path, _other_code(record))
            log_to_agent(config, directory, record)
            return record
        directory.remove_partial_files()
        earlier = frozen_content(directory.config) if files.is_file(directory.config) else {}
        drop_earlier_keys(earlier, directory.config)  # a run that this version cannot continue is refused
        config.identity.title = (earlier.get("identity") or {}).get("title") or config.identity.title
        files.write_text(directory.config, frozen_text(config))
        count = 1 if processes.is_rank() else processes.devices_per_node(config.trainer)
        if count == 1 and not fresh_process:
            return _run_here(config, directory, command)
        is_forked = fresh_process and config.launch.fork_jobs
        _run_group(directory, command, processes_per_node=count, is_forked=is_forked, lock=lock, lease=lease)
        return read_record(directory.record)


def _may_have_finished(directory: RunDirectory) -> bool:
    """Whether the record states it, or cannot be read."""
    try:
        return is_finished(directory)
    except UserError:
        return True


def _other_code(record: Record) -> str:
    """Both versions and the remedy, if another version of the code made the run; else empty."""
    recorded, here = record.origin.code, code_version()
    if recorded == here:
        return ""
    return f"; trained by {recorded.text}, and the code here is {here.text}: force=true trains it again"


@contextmanager
def _removed_if_refused(directory: RunDirectory) -> Iterator[None]:
    """Remove the files of a new run that is refused, or stopped before it has a record."""
    is_new = not files.is_file(directory.record)
    try:
        yield
    except (UserError, KeyboardInterrupt) as error:
        has_record = files.is_file(directory.record)
        refused = isinstance(error, UserError) and has_record and not read_record(directory.record).has_begun
        if is_new and (refused or not has_record):
            directory.remove_refused()
        raise


def _run_here(config: TrainConfig, directory: RunDirectory, command: str) -> Record:
    from aiayn.launch.worker import run  # imports torch and Lightning

    return run(config, directory, command=command)


def _run_group(
    directory: RunDirectory, command: str, *, processes_per_node: int, is_forked: bool, lock: int, lease: Lease
) -> None:
    """Run the workers in a session of their own; they inherit the locks and leases, and so hold them to their end."""
    clear_failures(directory)
    words = [str(directory.path), command]
    inherited = {key: value for key, value in os.environ.items() if key not in processes.GROUP_VARIABLES}
    environment = {**inherited, **lease.environment, STARTER: str(os.getpid())}
    module, name = WORKER, "the worker"
    if processes_per_node > 1:
        module, name = GROUP, "the process group"
        words.append(str(processes_per_node))
        each = max(1, len(lease.cores or machine.cores()) // processes_per_node)
        environment = dict.fromkeys(THREAD_VARIABLES, str(each)) | environment
    before = _written_record(directory)
    with signals_as_interrupts(), group_folder() as folder:
        environment[FOLDER] = str(folder)
        descriptors = (lock, lock_of(folder), *lease.descriptors)
        group: Started | None = None
        try:
            with lease.pinned():
                group = start_worker(
                    words, environment=environment, descriptors=descriptors, is_forked=is_forked, module=module
                )
            code = group.wait()
        except KeyboardInterrupt as error:
            _stop(group, error)
            clear_failures(directory)
            if _written_record(directory) != before and (record := read_record(directory.record)).message:
                error.args = (record.message,)
            raise
        except BaseException as error:
            _stop(group, error)
            raise
        finally:
            _kill(group)
            kill_running(folder)
    if not is_finished(directory):  # whatever the exit code: a class of the user's own may have ended the process by 0
        _raise_failure(directory, f"{name} {exit_text(code)}", code=code, before=before)


def _written_record(directory: RunDirectory) -> bytes | None:
    return directory.record.read_bytes() if files.is_file(directory.record) else None


def _raise_failure(directory: RunDirectory, end: str, *, code: int, before: bytes | None) -> NoReturn:
    """Raise why the workers did not finish, and write it into the record if they could not.

    Args:
        directory: of the run, which is locked.
        end: how the processes ended, in words.
        code: their exit code.
        before: the record before they began.
    """
    files.require_folder(directory.path)
    now = _written_record(directory)
    record = None if now in (None, before) else read_record(directory.record)
    cause = cause_of(read_failures(directory))
    clear_failures(directory)
    if cause is not None:
        message = cause.text
    elif record is None or record.status is Status.running:
        message = f"{end}; see {directory.log}"
    else:
        message = record.message or end
    if record is not None and record.status is not Status.interrupted:
        record.status, record.message = Status.failed, message
        record.write(directory.record)
    if code == USER_ERROR:
        raise UserError(message)
    was_killed = code < 0 if cause is None else cause.kind is Kind.killed
    raise KilledRunError(message) if was_killed else RunFailedError(message)


def _stop(group: "Started | None", error: BaseException) -> None:
    """Ask the group, if it has begun, to stop at the next step, and wait for its checkpoint."""
    if group is None:
        return
    with suppress(ProcessLookupError):  # to itself alone: it ends its helpers, which may not handle the signal
        os.kill(group.pid, passed_on(error))
    try:
        group.wait(timeout=GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        _kill(group)
        group.wait()


def _kill(group: "Started | None") -> None:
    if group is not None:
        with suppress(ProcessLookupError):
            os.killpg(group.pid, signal.SIGKILL)
