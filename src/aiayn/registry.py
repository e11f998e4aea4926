"""What extensions add to the core, as plain tables, which are read at start-up without a tensor library.

An extension is a folder of `aiayn.extensions`, whose module `extension` holds `EXTENSION`. The core finds it there, and
imports nothing else of it by name: the tables name modules, functions and classes as `module:name`, imported when used.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from aiayn.errors import UserError

EXTENSIONS = "aiayn.extensions"

Value = TypeVar("Value")


class Command(NamedTuple):
    """A verb of the command line."""

    summary: str
    nouns: tuple[str, ...] = ()
    """One of them must follow the verb."""
    has_json: bool = False
    """Whether it prints tables, and so takes format=json."""
    module: str = ""
    """The module with `main(config)`, and perhaps `check(config)`; the core's are `aiayn.commands.<verb>`."""
    schema: str = ""
    """The dataclass of its configuration, `module:name`; the core's are listed in `aiayn.config.store`."""
    after: str = ""
    """The verb that it follows in the list of all."""
    finish: str = ""
    """The function of the results of all jobs, of the number of jobs that failed and of all, `module:name`: it prints
    one table. Without one each job prints its own."""
    needs: Mapping[str, str] = MappingProxyType({})
    """Keys that are read only if another has a value, and the other."""
    has_output_folder: bool = False
    """Whether `output` is a folder that it writes besides what it prints."""
    paths: tuple[str, ...] = ()
    """Keys whose values are files or folders, for completion, besides those of the core."""


class Report(NamedTuple):
    """A noun of `aiayn report`, and the arguments that it takes besides `paths` and `output`."""

    run: str
    """The function of the configuration and of the output's path or None, `module:name`."""
    keys: tuple[str, ...] = ()
    chooses_by: tuple[str, ...] = ()
    """The keys below `only` that the report takes."""
    writes: tuple[str, ...] = (".md",)
    """The suffixes that `output` may have."""
    paths: tuple[str, ...] = ()
    """Keys whose values are files or folders, as for a command."""


class Launcher(NamedTuple):
    """An option of hydra/launcher, whose values conf/hydra/<name>_launcher.yaml holds."""

    plugin: str
    """The name of its class in `hydra_plugins.aiayn_launchers`, which is made of this entry."""
    schema: str
    """The dataclass of its settings, `module:name`."""
    scheduler: str
    """The function of the composed configuration that returns the scheduler, `module:name`."""
    package: str
    """Needed besides the project's own, and installed by the extra of the launcher's name."""
    outlives_the_command: bool = False
    """Whether the jobs go on when the command has ended."""


class Sweeper(NamedTuple):
    """An option of hydra/sweeper: it chooses the jobs of a multirun."""

    plugin: str
    """The name of its class in `hydra_plugins.aiayn_sweepers`, which is made of this entry."""
    schema: str
    """The dataclass of its settings, `module:name`."""
    run: str
    """The function that runs the jobs, `module:name`: of configuration, overrides, `loader` and `launcher`."""
    sweep: str
    """A file of sweeps/ that chooses it."""
    jobs: str = ""
    """The function of the settings that returns the number of jobs, `module:name`; without one they state `trials`."""
    package: str = ""
    """Needed besides the project's own, and installed by the extra of the sweeper's name."""


class Model(NamedTuple):
    """A kind of model, an option of the group `model`; both are named as `module:name`."""

    schema: str
    """The dataclass of its settings, a subclass of `ModelConfig`."""
    model: str
    """The class, of these settings by their names and `vocabulary_size`; it may leave out some of every model's."""


class Plans(NamedTuple):
    """What tells the costs of a run before it begins; each is a function, `module:name`."""

    plan_run: str
    """Of the configuration and the `overrides`: the plan of a run, an `aiayn.runs.plan.Plan`."""
    print_costs: str
    """Prints a table of plans: of the plans, the words of each line, and how often each plan counts."""
    remarks: str
    """Of plans: their assumptions, and costs that are not included, in lines."""


class Task(NamedTuple):
    """A task besides translation; each is a function, `module:name`."""

    quality: str
    """Of the data, a split, the outputs and a file for what they are: their `Quality` (`aiayn.inference.quality`)."""
    metric: str
    """The name that the score of a validation is logged under, as in val/f1."""
    validation_score: str
    """Of the data, sources, gold trees and outputs: a score of 0 to 100."""


class Tokenizer(NamedTuple):
    """A kind of tokenizer; both are named as `module:name`."""

    tokenizer: str
    """The class, a `WholePieceTokenizer`."""
    constraint: str
    """The function of model, tokenizer, search and device that returns the rules of a constrained search."""


@dataclass(frozen=True)
class Extension:
    """What one folder adds."""

    commands: Mapping[str, Command] = field(default_factory=dict)
    reports: Mapping[str, Report] = field(default_factory=dict)
    contents: Mapping[str, str] = field(default_factory=dict)
    """Subclasses of `aiayn.reports.content.Content`, `module:name`, by the names of their JSON documents."""
    models: Mapping[str, Model] = field(default_factory=dict)
    corpora: Mapping[str, str] = field(default_factory=dict)
    """Functions of a corpus's configuration that return the corpus, `module:name`, by the kind of the corpus."""
    tokenizers: Mapping[str, Tokenizer] = field(default_factory=dict)
    tasks: Mapping[str, Task] = field(default_factory=dict)
    launchers: Mapping[str, Launcher] = field(default_factory=dict)
    sweepers: Mapping[str, Sweeper] = field(default_factory=dict)
    functions: Mapping[str, str] = field(default_factory=dict)
    """Functions of the Python API, `module:name`, by the names that they have as `aiayn.<name>`."""
    plans: Plans | None = None
    studies: str = ""
    """The module with what plans of runs say about them: the functions that `aiayn.reports.studies` calls."""
    publications: str = ""
    """The module with `publish(config, report)` and `published_runs(config, word)`, for reports with evidence."""
    runs_elsewhere: Mapping[str, str] = field(default_factory=dict)
    """Functions of a name and of the key that states it, `module:name`, which return the folder of a run that is
    elsewhere; by the first letters of such names, which no path has."""
    values: tuple[str, ...] = ()
    """Its files and folders below conf/, which go when it is deleted."""
    sweeps: tuple[str, ...] = ()
    """Its files in sweeps/, which go too."""


@cache
def extensions() -> Mapping[str, Extension]:
    """The extensions by the names of their folders."""
    found = sorted(each.name for each in iter_modules(import_module(EXTENSIONS).__path__))
    return {name: import_module(f"{EXTENSIONS}.{name}.extension").EXTENSION for name in found}


def added_commands() -> dict[str, Command]:
    """The verbs of all extensions."""
    return {verb: command for each in extensions().values() for verb, command in each.commands.items()}


def added_reports() -> dict[str, Report]:
    """The reports of all extensions."""
    return {noun: report for each in extensions().values() for noun, report in each.reports.items()}


def added_models() -> dict[str, Model]:
    """The kinds of model of all extensions."""
    return {kind: model for each in extensions().values() for kind, model in each.models.items()}


def added_corpora() -> dict[str, str]:
    """The kinds of corpus of all extensions."""
    return {kind: corpus for each in extensions().values() for kind, corpus in each.corpora.items()}


def added_tokenizers() -> dict[str, Tokenizer]:
    """The kinds of tokenizer of all extensions."""
    return {kind: tokenizer for each in extensions().values() for kind, tokenizer in each.tokenizers.items()}


def added_task(name: str) -> Task | None:
    """The task of this name of an extension, None for translation; UserError without the extension."""
    tasks = {name: task for each in extensions().values() for name, task in each.tasks.items()}
    if name == "translation" or name in tasks:
        return tasks.get(name)
    raise UserError(f"task {name}: no folder of aiayn/extensions adds it; restore the one that was deleted")


def added_launchers() -> dict[str, Launcher]:
    """The launchers of all extensions."""
    return {name: launcher for each in extensions().values() for name, launcher in each.launchers.items()}


def added_sweepers() -> dict[str, Sweeper]:
    """The sweepers of all extensions."""
    return {name: sweeper for each in extensions().values() for name, sweeper in each.sweepers.items()}


def added_functions() -> dict[str, str]:
    """The functions of the Python API of all extensions."""
    return {name: function for each in extensions().values() for name, function in each.functions.items()}


def plans() -> Plans:
    """The functions that plan costs; only a command of the same extension asks for them."""
    return next(each.plans for each in extensions().values() if each.plans)


def studies_module() -> Any:
    """The module that knows the plans of runs; None without such an extension."""
    return _first_module(each.studies for each in extensions().values())


def publications_module() -> Any:
    """The module that publishes reports; None without such an extension."""
    return _first_module(each.publications for each in extensions().values())


def _first_module(names: Iterable[str]) -> Any:
    return next((import_module(name) for name in names if name), None)


def run_elsewhere(name: str) -> str | None:
    """The function that fetches the run of this name, `module:name`; None for a path."""
    starts = {start: fetch for each in extensions().values() for start, fetch in each.runs_elsewhere.items()}
    return next((fetch for start, fetch in starts.items() if name.startswith(start)), None)


def with_added(core: Mapping[str, Value], added: Mapping[str, Value]) -> dict[str, Value]:
    """What each verb has; those of extensions stand after the verb that they name, or at the end."""
    commands, left, verbs = added_commands(), [*added], [*core]
    while left:
        verb = next((verb for verb in left if commands[verb].after in verbs), left[0])
        place = verbs.index(commands[verb].after) + 1 if commands[verb].after in verbs else len(verbs)
        while place < len(verbs) and verbs[place] in added and commands[verbs[place]].after == commands[verb].after:
            place += 1  # after those that follow the same verb and were placed before
        verbs.insert(place, verb)
        left.remove(verb)
    return {verb: added[verb] if verb in added else core[verb] for verb in verbs}


def named(name: str) -> Any:
    """Import what a table names as `module:name`."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)
