"""`aiayn <verb> [noun] key=value ...`: one grammar for every command, in front of Hydra.

Exit codes: 0, 2 for the user's mistake in one line, 1 for a failure.
"""

import os
import shlex
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING

from aiayn import __version__
from aiayn.commands.report import REPORTS
from aiayn.commands.reproduce import TABLES, reproduce
from aiayn.commands.words import Words, parse_words, unknown_word_remedy
from aiayn.errors import USER_ERROR, RunFailedError, UserError
from aiayn.registry import Command, added_commands, named, with_added
from aiayn.system import processes
from aiayn.system.output_format import printed_as
from aiayn.system.plugins import failure_text
from aiayn.system.progress import has_bars, has_printed, say
from aiayn.system.resource_errors import file_errors_explained, is_of_output, stdout_errors_explained
from aiayn.system.signals import signals_as_interrupts
from aiayn.system.streams import allow_any_path, open_closed_streams
from aiayn.system.torch_environment import set_torch_environment

if TYPE_CHECKING:
    from aiayn.sweep.jobs import Jobs


COMMANDS = with_added(
    {
        "train": Command("prepare the corpus, train, evaluate, write the record", has_json=True),
        "reproduce": Command("run a table's sweep, then print its report", TABLES),
        "prepare": Command("bring a corpus into the cache: tokenizer and token ids", has_json=True),
        "check": Command(
            "test the properties that training and search require of a model, such as causality", has_json=True
        ),
        "evaluate": Command("decode and score a checkpoint of a run", has_json=True),
        "average": Command("average a run's last checkpoints into another one"),
        "translate": Command("translate lines of standard input with a run's model"),
        "score": Command("score given translations by their likelihood under a run's model"),
        "compare": Command(
            "compare two runs on the same sentences: significance, kinds of sentences, examples", has_json=True
        ),
        "status": Command("list the runs below paths.runs: state, steps, scores, time left", has_json=True),
        "sync": Command("send W&B the data of runs that were offline or cut off"),
        "report": Command("print tables from records and the paper", tuple(REPORTS), has_json=True),
    },
    added_commands(),
)

ANNOUNCED_AFTER = 1.0
"""Seconds without a line, after which a command says that it is starting."""

USAGE = """\
aiayn <verb> [noun] [group=option] [key=value] ...

{verbs}

aiayn <verb> --help lists a verb's groups and values; --cfg job --resolve prints the configuration.
Completion: eval "$(aiayn -sc install=bash)"   (zsh likewise; fish: aiayn -sc install=fish | source)
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line, by default the process's own, and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    open_closed_streams()
    allow_any_path()
    set_torch_environment()
    try:
        with signals_as_interrupts(), stdout_errors_explained(), file_errors_explained():
            return _run(words)
    except (UserError, RunFailedError, KeyboardInterrupt) as error:
        _print_error(str(error) or "interrupted")
        _discard_unwritable_output()
        return USER_ERROR if isinstance(error, UserError) else 1
    except BrokenPipeError:  # the reader closed the pipe
        _discard_unwritable_output()
        return 1


def _discard_unwritable_output() -> None:
    """Drop output that cannot be written; otherwise the interpreter reports it when it exits."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):  # ValueError: code of others has closed it
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        print(_usage())  # noqa: T201
        return 0 if words else 2
    if words[0] == "--version":
        print(f"aiayn {__version__}")  # noqa: T201
        return 0
    if words[0] in ("-sc", "--shell-completion"):
        from aiayn.commands.completion import complete

        return complete(words, COMMANDS)
    verb, rest = words[0], words[1:]
    if verb not in COMMANDS:
        raise UserError(f"{verb}: no such verb; {unknown_word_remedy(verb, COMMANDS)}")
    try:
        Path.cwd()
    except OSError as error:
        raise UserError(f"the working folder cannot be used ({error.strerror}); change to one that exists") from error
    if verb == "reproduce":
        return reproduce(rest, _run)
    command = COMMANDS[verb]
    parsed = parse_words(verb, rest, command.nouns, has_json=command.has_json)
    if parsed.help:
        return _help(verb, parsed.overrides)
    with printed_as(parsed.format), nullcontext() if parsed.is_only_shown else _announce_start(verb):
        return _hydra(verb, parsed)


@contextmanager
def _announce_start(verb: str) -> Iterator[None]:
    """Say on the terminal that a command is starting, unless it has shown something or ended within a second."""
    if not has_bars():
        yield
        return
    timer = Timer(ANNOUNCED_AFTER, lambda: None if has_printed() else say(f"aiayn {verb}: loading libraries"))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _usage() -> str:
    width, lines = shutil.get_terminal_size().columns, []
    for verb, command in COMMANDS.items():
        text = command.summary + (f": {', '.join(command.nouns)}" if command.nouns else "")
        lines += textwrap.wrap(text, max(40, width), initial_indent=f"  {verb:<10}", subsequent_indent=" " * 12)
    verbs = "\n".join(lines)
    return USAGE.format(verbs=verbs).rstrip()


def _help(verb: str, words: Sequence[str]) -> int:
    """Print a verb's groups and values."""
    from aiayn.commands.verb_help import print_help

    command = COMMANDS[verb]
    bare = [word for word in words if "=" not in word and word not in command.nouns]
    chosen = [word for word in words if "=" in word]
    print_help(verb, chosen, bare, nouns=command.nouns, has_json=command.has_json)
    return 0


def _hydra(verb: str, words: Words) -> int:
    """Compose and call the command for a single job; let Hydra do so for each job of a multirun, or show something."""
    from aiayn.commands.composing import check_words, compose_first, run_single
    from aiayn.commands.mistakes import explain
    from aiayn.config.compose import register
    from aiayn.config.hydra_versions import show_by_hydra
    from aiayn.config.texts import as_written
    from aiayn.sweep.words import name_sweep, write_out_globs

    register()
    words.overrides = write_out_globs(words.overrides)
    name_sweep(words.overrides, is_multirun=words.multirun)
    words.overrides = as_written(verb, words.overrides)
    composed = check_words(verb, words)
    # Hydra prints its errors in several lines and exits with 1, unless it is told to raise them.
    os.environ["HYDRA_FULL_ERROR"] = "1"
    try:
        if words.is_only_shown:
            sys.argv = [f"aiayn {verb}", *words.hydra_arguments()]
            show_by_hydra(verb)
        elif words.multirun:
            _multirun(verb, words)
        else:
            result = run_single(verb, words.overrides, composed)
            if finish := COMMANDS[verb].finish:
                named(finish)([result], failed=0, jobs=1)
    except (UserError, RunFailedError):
        raise
    except Exception as error:  # of Hydra, or of its launchers and sweepers
        if is_of_output(error):
            raise
        raise UserError(explain(error, verb, words.overrides, partial(compose_first, verb))) from error
    except SystemExit as error:  # Hydra has shown something, or a package that is not there
        if not words.is_only_shown:
            raise RunFailedError(failure_text(error)) from error
        return 0 if error.code in (None, 0) else 2
    return 0


def _multirun(verb: str, words: Words) -> None:
    """Run the jobs, then those that other processes held, and print the results."""
    from concurrent.futures import BrokenExecutor

    from aiayn.sweep.jobs import Jobs
    from aiayn.sweep.multirun import run_multirun

    print_error = _print_error_once if COMMANDS[verb].finish else _print_error  # jobs tend to share it
    with Jobs(verb, print_error=print_error) as jobs:
        try:
            run_multirun(verb, words.overrides, jobs)
        except BrokenExecutor:  # a process of a launcher's pool was killed; the pool then kills the others
            jobs.are_cut_short = True
        jobs.end()
        if not jobs.have_begun:
            typed = shlex.join([verb, *words.hydra_arguments()])
            raise UserError(
                f"aiayn {typed}: no job to run, since a swept key has no values; list at least one, as in seed=1,2"
            )
        _conclude(verb, jobs)


def _conclude(verb: str, jobs: "Jobs") -> None:
    """Print the results of all jobs, and count the jobs that failed."""
    if jobs.show is not None:
        jobs.show()
    elif finish := COMMANDS[verb].finish:
        named(finish)(jobs.results, failed=len(jobs.failed), jobs=len(jobs.outcomes))
    elif verb == "train":
        from aiayn.reports.sweep import print_sweep

        swept = [(outcome.swept, outcome) for outcome in jobs.outcomes if outcome.swept is not None]
        print_sweep(
            [
                replace(job, was_refused=each.failure is not None and not each.is_lost, failure=each.failure)
                for job, each in swept
            ]
        )
    failed = f"{len(jobs.failed)} of {len(jobs.outcomes)}"
    if jobs.are_cut_short:
        why = "a process of the launcher was killed, which ends all jobs"
        raise RunFailedError(f"{failed} jobs that had begun failed: {why}; rerun the command to continue")
    if jobs.failed and jobs.show is None:
        retry = "rerun the command to retry them (a refused job needs another value)"
        raise RunFailedError(f"{failed} jobs failed; {retry}; finished runs are not repeated")


@cache
def _print_error_once(message: str) -> None:
    _print_error(message)


def _print_error(message: str) -> None:
    line = " ".join(message.split())
    rank = 0
    with suppress(UserError):  # of the environment, which the message names
        rank = processes.rank()
    say(f"aiayn: rank {rank}: {line}" if rank else f"aiayn: {line}")
