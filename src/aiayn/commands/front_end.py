"""`aiayn <verb> [noun] key=value ...`: one grammar for every command, in front of Hydra.

Exit codes: 0, 2 for the user's mistake in one line, 1 for a failure.
"""

import os
import shlex
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING

from aiayn import __version__
from aiayn.commands.flags import ordered
from aiayn.commands.reproduce import TABLES, reproduce
from aiayn.errors import RunFailedError, UserError
from aiayn.system import processes
from aiayn.system.progress import say
from aiayn.system.signals import signals_as_interrupts
from aiayn.system.torch_environment import set_torch_environment

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from aiayn.sweep.jobs import Jobs


@dataclass(frozen=True)
class Command:
    """A verb of the command line."""

    summary: str
    module: str
    """Holds `main(composed)`, and `checked(composed)`, which judges what is not on disk. Help does not import it."""
    nouns: tuple[str, ...] = ()
    """What the verb can be applied to, where it must be said."""


COMMANDS = {
    "train": Command("prepare the corpus, train, evaluate, write the record", "aiayn.commands.train"),
    "reproduce": Command("a table of the paper: its sweep, then its report", "aiayn.commands.reproduce", TABLES),
    "prepare": Command("bring a corpus into the cache: tokenizer and token ids", "aiayn.commands.prepare"),
    "plan": Command("what training would cost: operations, memory, time, disk", "aiayn.commands.plan"),
    "evaluate": Command("decode and score a checkpoint of a run", "aiayn.commands.evaluate"),
    "average": Command("the mean of a run's last checkpoints, as a checkpoint", "aiayn.commands.average"),
    "translate": Command("lines of standard input through a run's model", "aiayn.commands.translate"),
    "parse": Command("lines of standard input to trees, by a run that parses", "aiayn.commands.parse"),
    "tune": Command("beam size and length penalty by BLEU on dev", "aiayn.commands.tune"),
    "score": Command("how likely a run's model finds given translations", "aiayn.commands.score"),
    "compare": Command("two runs on the same sentences: significance, where, and examples", "aiayn.commands.compare"),
    "export": Command("a run's model for CTranslate2, or as safetensors", "aiayn.commands.export"),
    "attention": Command("pictures of what a run's model attends to in sentences", "aiayn.commands.attention"),
    "status": Command("the runs below paths.runs: state, steps, scores, time left", "aiayn.commands.status"),
    "dashboard": Command("a report and a workspace of W&B that show Table 3", "aiayn.commands.dashboard"),
    "sync": Command("send W&B what ran offline, or was cut off", "aiayn.commands.sync"),
    "report": Command(
        "tables from records and the paper",
        "aiayn.commands.report",
        (
            "comparison",
            "configuration",
            "cost",
            "fidelity",
            "matrix",
            "page",
            "paper",
            "parameters",
            "run",
            "sharpness",
            "table1",
            "table2",
            "table3",
            "table4",
        ),
    ),
}

SHELLS = ("bash", "fish", "zsh")

LOOKING = {"--cfg", "-c", "--info", "-i"}
"""Flags under which nothing is run."""

ANNOUNCED = "+hydra.callbacks.jobs._target_=aiayn.sweep.jobs.Announcement"
"""Has Hydra tell `Jobs` that a multirun starts."""

COMPLETION_REQUESTS = [[f"{request}={shell}"] for request in ("install", "uninstall", "query") for shell in SHELLS]

USAGE = """\
aiayn <verb> [noun] [group=option] [key=value] ...

{verbs}

aiayn <verb> --help lists a verb's groups and values; --cfg job --resolve shows what would run.
Completion: eval "$(aiayn -sc install=bash)"   (zsh and fish likewise)
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code.

    Args:
        arguments: what follows the program's name; from the process by default.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    set_torch_environment()
    try:
        with signals_as_interrupts():
            return _run(words)
    except UserError as error:
        _complain(str(error))
        return 2
    except RunFailedError as error:
        _complain(str(error))
        return 1
    except KeyboardInterrupt as error:
        _complain(str(error) or "interrupted")
        return 1
    except BrokenPipeError:  # the reader of our output left
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _run(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        print(_usage())  # noqa: T201
        return 0 if words else 2
    if words[0] == "--version":
        print(f"aiayn {__version__}")  # noqa: T201
        return 0
    if words[0] in ("-sc", "--shell-completion"):
        return _complete(words)
    verb, rest = words[0], words[1:]
    if verb not in COMMANDS:
        raise UserError(f"{verb}: no such verb; choose from {', '.join(COMMANDS)}")
    if verb == "reproduce":
        return reproduce(rest, _run)
    words = ordered(_with_noun(verb, rest))
    from aiayn.sweep.words import sweep_words  # imports Hydra, which the words above need not wait for

    return _hydra(verb, sweep_words(words))


def _usage() -> str:
    verbs = "\n".join(
        f"  {verb:<10}{command.summary}" + (f": {', '.join(command.nouns)}" if command.nouns else "")
        for verb, command in COMMANDS.items()
    )
    return USAGE.format(verbs=verbs).rstrip()


def _with_noun(verb: str, words: list[str]) -> list[str]:
    """Turn the noun, the first bare word, into an override."""
    nouns = COMMANDS[verb].nouns
    if nouns and words and "=" not in words[0] and not words[0].startswith("-"):
        if words[0] not in nouns:
            raise UserError(f"aiayn {verb} {words[0]}: choose from {', '.join(nouns)}")
        return [f"noun={words[0]}", *words[1:]]
    wants_help = any(word.startswith("-") for word in words)
    if nouns and not wants_help and not any(word.startswith("noun=") for word in words):
        raise UserError(f"aiayn {verb}: of what? Choose from {', '.join(nouns)}")
    return words


def _hydra(verb: str, words: list[str]) -> int:
    """Let Hydra parse flags and overrides, compose, and call the command; a multirun's jobs do not stop each other."""
    from concurrent.futures import BrokenExecutor

    import hydra

    from aiayn.commands.mistakes import ASSERTED, BEFORE_THE_COMMAND, explain, is_asserted
    from aiayn.config import store
    from aiayn.config.hydra_composition import checked_when_composed, mode_known_by
    from aiayn.sweep.jobs import Jobs

    store.register()
    # Hydra prints its errors in several lines and exits with 1, unless it is told to raise them.
    os.environ["HYDRA_FULL_ERROR"] = "1"
    sys.argv = [f"aiayn {verb}", ANNOUNCED, *words]
    complain = _complain_once if verb == "plan" else _complain  # all jobs of a plan tend to have the same mistake
    with Jobs(COMMANDS[verb].module, complain=complain) as jobs:
        try:
            with mode_known_by(words), checked_when_composed(partial(_check, verb=verb, words=words)):
                hydra.main(config_path=str(store.conf_directory()), config_name=verb, version_base="1.3")(jobs.task)()
        except (*BEFORE_THE_COMMAND, *ASSERTED) as error:
            if isinstance(error, BrokenPipeError) or (jobs.task.was_called and not jobs.are_a_multirun):
                raise  # not the command line's fault
            if isinstance(error, ASSERTED) and not is_asserted(error):
                raise
            raise UserError(explain(error, verb)) from error
        except BrokenExecutor:  # a process of a launcher's pool was killed; the pool then kills the others
            jobs.are_cut_short = True
        except SystemExit as error:  # Hydra after --help and after a flag it cannot follow
            return 0 if error.code in (None, 0) else 2
        jobs.end()
        if not jobs.have_begun and not LOOKING & set(words):
            typed = shlex.join([verb, *words])
            raise UserError(f"aiayn {typed}: no job to run; a swept key has no values: write some out")
        _conclude(verb, jobs)
    return 0


def _check(composed: "DictConfig", *, verb: str, words: Sequence[str]) -> None:
    """Refuse what states keys that are computed; and what is only to be shown, where the command would refuse it.

    Raises:
        UserError: the command would refuse the configuration.
    """
    from aiayn.config.computed import refuse_stated
    from aiayn.config.hydra_composition import without_hydra

    if {"--help", "-h", "--hydra-help"} & {*words}:
        return
    refuse_stated(composed, verb)
    if {"--cfg", "-c"} & {*words}:
        import_module(COMMANDS[verb].module).checked(without_hydra(composed))


def _conclude(verb: str, jobs: "Jobs") -> None:
    """Show what came of all jobs, and count those of a multirun that failed."""
    if jobs.show is not None:
        jobs.show()
    elif verb == "plan" and jobs.results:
        from aiayn.costs.plan import Plan
        from aiayn.reports.plan import print_plan

        print_plan([Plan.read(result) for result in jobs.results])
    elif verb == "train" and jobs.are_a_multirun:
        from aiayn.reports.sweep import print_sweep

        print_sweep(
            [
                replace(outcome.swept, was_refused=outcome.failure is not None and not outcome.is_lost)
                for outcome in jobs.outcomes
                if outcome.swept is not None
            ]
        )
    if verb == "plan" and jobs.failed:  # nothing was tried: it is a mistake, told above
        raise UserError(f"{len(jobs.failed)} of {len(jobs.outcomes)} jobs cannot be planned")
    count = "1 job" if len(jobs.failed) == 1 else f"{len(jobs.failed)} jobs"
    if jobs.are_cut_short:
        why = "a process of the launcher was killed, which ends the others and what was to come"
        raise RunFailedError(f"{count} failed of {len(jobs.outcomes)} begun: {why}; the same command goes on")
    if jobs.failed and jobs.show is None:
        rest = "the same command tries again what failed and leaves the others alone"
        raise RunFailedError(f"{count} failed of {len(jobs.outcomes)}; {rest}")


def _complete(words: list[str]) -> int:
    """Completion is called without a verb: take it from the line that is being completed."""
    if words[1:] not in COMPLETION_REQUESTS:
        raise UserError(f"{' '.join(words)}: state -sc install=bash, or zsh, or fish")
    if not words[1].startswith("query"):
        return _hydra_completion("train", words)
    typed = os.environ.get("COMP_LINE", "").split(" ")
    if len(typed) < 3:
        start = typed[1] if len(typed) > 1 else ""
        return _offer(verb for verb in COMMANDS if verb.startswith(start))
    verb, rest = typed[1], typed[2:]
    if verb not in COMMANDS:
        return 0
    nouns = COMMANDS[verb].nouns
    if nouns and len(rest) == 1:
        return _offer(noun for noun in nouns if noun.startswith(rest[0]))
    group, is_value, start = rest[-1].partition("=")
    if is_value and group == "experiment":  # Hydra would offer only the folders inside the group
        from aiayn.config import store

        return _offer(f"{group}={name}" for name in store.options(group) if name.startswith(start))
    os.environ["COMP_LINE"] = " ".join([typed[0], *(rest[1:] if nouns else rest)])
    return _hydra_completion("train" if verb == "reproduce" else verb, words)


def _offer(choices: Iterable[str]) -> int:
    print(" ".join(choices))  # noqa: T201
    return 0


def _hydra_completion(verb: str, words: list[str]) -> int:
    """Hydra names the program after `sys.argv[0]`, which completion must see as typed."""
    import hydra

    from aiayn.config import store

    store.register()
    sys.argv = ["aiayn", *words]
    hydra.main(config_path=str(store.conf_directory()), config_name=verb, version_base="1.3")(lambda _: None)()
    return 0


@cache
def _complain_once(message: str) -> None:
    _complain(message)


def _complain(message: str) -> None:
    line = " ".join(message.split())
    speaker = f"aiayn: rank {rank}:" if (rank := processes.rank()) else "aiayn:"
    say(f"{speaker} {line}")
