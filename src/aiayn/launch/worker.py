"""One process of a run: prepare, train, evaluate, record.

Started on a frozen run directory: `python -m aiayn.launch.worker <run directory> <command typed>`.
"""

import logging
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

from aiayn.builders.models import device_of
from aiayn.config.freeze import load_config
from aiayn.config.schema import TrainConfig
from aiayn.errors import RunFailedError, UserError
from aiayn.launch.ranks import Kind, clear_failures, register, unregister, wait_for_cause, write_failure
from aiayn.launch.slurm import set_rendezvous
from aiayn.launch.stages import DifferingRanksError, InterruptedRunError, Job, run_stages
from aiayn.launch.wandb_agent import agent_run_id
from aiayn.runs import provenance
from aiayn.runs.cost import RunCost
from aiayn.runs.directory import RunDirectory
from aiayn.runs.record import Record, Status, new_record, read_record, utc_now
from aiayn.system import files, processes
from aiayn.system.allocator import keep_memory
from aiayn.system.gpu import configure_gpus
from aiayn.system.orphans import end_with_parent
from aiayn.system.plugins import failure_text
from aiayn.system.progress import LineHandler
from aiayn.system.quiet import quiet_libraries
from aiayn.system.resource_errors import disk_errors_explained, file_errors_explained
from aiayn.system.signals import signals_as_interrupts
from aiayn.training.checkpoint_io import UnusableCheckpointError
from aiayn.training.process_group import LostRankError, joined

logger = logging.getLogger("aiayn")


def run(config: TrainConfig, directory: RunDirectory, *, command: str) -> Record:
    """Do the run, or the rest of it, on this rank, and keep its record up to date; the directory is locked."""
    quiet_libraries()
    if config.launch.keep_allocator_memory:
        keep_memory()
    configure_gpus(tf32=config.launch.tf32)
    is_leader = processes.rank() == 0
    kept = (directory.record, directory.cost) if is_leader else ()
    before = {path: path.read_bytes() for path in kept if files.is_file(path)}
    if is_leader and processes.is_rank():
        clear_failures(directory)
    record = _open_record(config, directory, command, is_leader=is_leader)
    agents_id = agent_run_id(config)
    is_adopted = agents_id not in (None, record.run_id)
    record.run_id = agents_id or record.run_id
    disk = f"paths.runs={config.paths.runs}"
    log = _logging_to(directory.log) if is_leader else nullcontext()
    is_refused = False
    with disk_errors_explained(disk), log, signals_as_interrupts():
        try:
            with disk_errors_explained(disk):  # inside too, since the record takes the reason
                _run_with_others(config, directory, record, is_adopted=is_adopted)
            record.status = Status.finished
        except BaseException as raised:
            error = _explained(_told(raised, directory.log), directory)
            record.status = Status.interrupted if _is_interruption(error) else Status.failed
            record.message = _reason(error)
            is_refused = isinstance(error, UnusableCheckpointError)
            if error is raised:
                raise
            raise error from raised
        finally:
            record.ended = utc_now()
            if is_leader and files.is_dir(directory.path):  # else it was removed; a record alone would be no run
                record.write(directory.record)
                directory.cost.unlink(missing_ok=True)  # the record holds it now
                for path, content in before.items() if is_refused else ():
                    files.write_bytes(path, content)
    return record


def _run_with_others(config: TrainConfig, directory: RunDirectory, record: Record, *, is_adopted: bool) -> None:
    if processes.rank() == 0:
        _note_origin(record, directory)
    set_rendezvous()
    device = device_of(config, local_rank=processes.local_rank())
    timeout = config.launch.timeout_seconds
    rank, size = processes.rank(), processes.group_size()
    with joined(rank=rank, size=size, device=device, timeout_seconds=timeout) as group:
        run_stages(Job(config, directory, record, group, is_adopted))


def _told(error: BaseException, log: Path) -> BaseException:
    """The error, or for an unforeseen one a RunFailedError whose traceback stands in the log; of any code that ran."""
    if isinstance(error, UserError | RunFailedError | KeyboardInterrupt):
        return error
    with suppress(OSError), log.open("a", encoding="utf-8", errors=files.NO_UTF8) as file:
        file.writelines(traceback.format_exception(error))
    return RunFailedError(f"{failure_text(error)}; its traceback is in {log}")


def _explained(error: BaseException, directory: RunDirectory) -> BaseException:
    """Write this rank's failure for the others; of a first rank that lost another, return the other's failure."""
    if processes.group_size() == 1 or isinstance(error, DifferingRanksError):
        return error
    write_failure(directory, rank=processes.rank(), kind=_kind(error), message=_reason(error))
    if isinstance(error, LostRankError) and processes.rank() == 0 and (cause := wait_for_cause(directory)) is not None:
        return (UserError if cause.kind is Kind.refused else RunFailedError)(cause.text)
    return error


def _kind(error: BaseException) -> Kind:
    if isinstance(error, LostRankError):
        return Kind.lost
    if isinstance(error, UserError):
        return Kind.refused
    return Kind.interrupted if _is_interruption(error) else Kind.failed


def _open_record(config: TrainConfig, directory: RunDirectory, command: str, *, is_leader: bool) -> Record:
    """The record of the earlier attempts, or a new one, with the status running."""
    if is_leader and files.is_file(directory.record):
        record = read_record(directory.record)
        if record.config_hash != config.identity.hash:
            raise UserError(f"{directory.path}: holds run {record.config_hash}, not {config.identity.hash}; remove it")
        record.cost = RunCost.kept(directory.cost) or record.account
    else:
        record = new_record(config, command=command, status=Status.running)
        record.repeats = directory.repeats
    record.status, record.message = Status.running, None
    record.max_steps = config.optimization.max_steps
    return record


def _note_origin(record: Record, directory: RunDirectory) -> None:
    """Note the code and packages of a new attempt, with files that restore them; its precision is not known yet."""
    if record.precision is not None and directory.steps():
        record.earlier = list(dict.fromkeys((*record.earlier, record.origin)))
    record.precision = record.tf32 = None
    record.versions = provenance.versions()
    record.commit, record.dirty, record.patch, _ = provenance.code_version()
    patch, lock = provenance.source_patch() or b"", provenance.package_lock().encode()
    record.packages = provenance.digest(lock)
    kept = {directory.package_lock(record.packages): lock}
    if record.patch is not None and len(patch) <= provenance.LARGEST_PATCH:
        kept[directory.source_patch(record.patch)] = patch
    elif record.patch is not None:
        sources, size = ", ".join(provenance.SOURCES), len(patch) / 2**20
        logger.warning("%.1f MiB of uncommitted changes below %s: too many to keep beside the record", size, sources)
    for path, content in kept.items():
        if not files.exists(path):
            files.write_bytes(path, content)


@contextmanager
def _logging_to(path: Path) -> Iterator[None]:
    """Write the log to a file as well."""
    handler = logging.FileHandler(path, encoding="utf-8", errors=files.NO_UTF8)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
        handler.close()


def _is_interruption(error: BaseException) -> bool:
    return isinstance(error, InterruptedRunError | KeyboardInterrupt)


def _reason(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted; rerun the command to resume"
    text = str(error).strip().splitlines()
    return text[0] if text else type(error).__name__


def main() -> int:
    """Entry point of a worker; its starter shows the record's message."""
    path, command = sys.argv[1:]
    end_with_parent()
    directory, rank = RunDirectory(Path(path)), processes.rank()
    prefix = f"rank {rank}: " if rank else ""
    logging.basicConfig(level=logging.INFO, format=f"{prefix}%(message)s", handlers=[LineHandler()])
    try:
        with signals_as_interrupts(), file_errors_explained():
            register()
            run(load_config(directory.config), directory, command=command)
        code = 0
    except UserError as error:
        if rank == 0:  # there may be no record yet
            write_failure(directory, rank=0, kind=Kind.refused, message=str(error))
        code = 2
    except InterruptedRunError:
        # All ranks have stopped. With another code the agent would end the first rank before it is done.
        code = 0 if rank else 1
    except (RunFailedError, KeyboardInterrupt):
        code = 1
    if code == 0:
        unregister()
    return code


if __name__ == "__main__":
    sys.exit(main())
