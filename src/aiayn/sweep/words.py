"""The words of a command line that make it a multirun."""

import hashlib
import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from hydra.conf import HydraConf
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Glob, Override
from hydra.errors import HydraException
from hydra.types import RunMode

from aiayn.config import store
from aiayn.config.computed import key_of
from aiayn.config.difference import PLANNED_SEEDS_VARIABLE, SEARCHPATH, SWEEP_VARIABLE, SWEPT_VARIABLE
from aiayn.config.identity import is_neutral
from aiayn.errors import UserError
from aiayn.system import files

SEEDS = "seeds"
"""The name of a multirun over seeds alone."""

LONGEST_SWEEP_NAME = 120
"""W&B refuses names of groups beyond 128 characters."""


def write_out_globs(words: Sequence[str]) -> list[str]:
    """Replace each `group=glob(pattern)` by the matching options: Hydra finds only those directly below a group."""
    return [_with_options(word, further_folders(words)) if "glob(" in word else word for word in words]


def further_folders(words: Sequence[str]) -> list[Path]:
    """The folders of configuration that `hydra.searchpath` names."""
    found = [_value(word) for word in words if word.startswith(SEARCHPATH)]
    return [Path(str(path).removeprefix("file://")) for paths in found if isinstance(paths, list) for path in paths]


def folder_words(words: Sequence[str]) -> list[str]:
    """The words for a command line that name the same folders of configuration as Hydra's overrides `words`.

    A folder below the working directory is named relative to it. No other override of Hydra's is among them: they
    change no result, and may hold secrets, such as `hydra.job.env_set`.
    """
    found: list[str] = []
    for word in (word for word in words if word.startswith(SEARCHPATH)):
        folders = further_folders([word])
        is_one = len(folders) == 1 and files.is_dir(folders[0])
        found = ["--config-dir", str(_relative(folders[0]))] if is_one else [word]
    return found


def job_command(verb: str, hydra: HydraConf) -> str:
    """The command line that runs one job, of a multirun too: `hydra.mode=RUN` has a file of sweeps/ start no other."""
    words = list(hydra.overrides.task)
    is_of_file = hydra.mode is RunMode.MULTIRUN and any(key_of(word) == store.SWEEPS for word in words)
    mode = ["hydra.mode=RUN"] if is_of_file else []
    return shlex.join(["aiayn", verb, *folder_words(hydra.overrides.hydra), *words, *mode])


def _relative(folder: Path) -> Path:
    return folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder


def _with_options(word: str, folders: Sequence[Path]) -> str:
    glob, override = _value(word), _parsed(word)
    if override is None or not isinstance(glob, Glob):
        return word
    options = store.options(override.key_or_group, folders=folders)
    if not options:
        return word
    matching = glob.filter(options)
    if not matching:
        raise UserError(f"{word}: matches no option; choose from {', '.join(options)}")
    return f"{override.get_key_element()}={','.join(matching)}"


def name_sweep(words: Sequence[str], *, is_multirun: bool) -> None:
    """Put the swept keys and seeds, and the name of a multirun without a file, into the environment of its jobs.

    The name is made of the words, swept ones first, without seeds and keys that change no result: with one more seed,
    the runs stay in the same group of W&B.

    Args:
        words: the overrides.
        is_multirun: whether -m is stated.
    """
    files = [word for word in words if key_of(word) == store.SWEEPS]
    if len(files) > 1 or any("," in word for word in files):
        raise UserError(f"{' '.join(files)}: one sweep at a time; run one after the other")
    own = [word for word in words if "=" in word and not word.startswith("hydra")]
    swept = [word for word in own if (is_multirun or files) and _is_swept(word)]
    os.environ[SWEPT_VARIABLE] = " ".join(map(key_of, swept))
    os.environ[PLANNED_SEEDS_VARIABLE] = " ".join(
        seed for word in swept if key_of(word) == "seed" for seed in _values(word)
    )
    if files or not is_multirun:  # conf/train.yaml names a sweep after its file
        return
    in_order = sorted(own, key=lambda word: word not in swept)
    keys = {word: key_of(word) for word in in_order}
    named = [word for word, key in keys.items() if key != "seed" and (key.startswith("scale") or not is_neutral(key))]
    name = " ".join(named) or SEEDS
    if len(name) > LONGEST_SWEEP_NAME:
        digest = hashlib.sha256(name.encode()).hexdigest()[:8]
        name = f"{name[: LONGEST_SWEEP_NAME - 12]}... {digest}"
    os.environ.setdefault(SWEEP_VARIABLE, name)


def plan_seeds(hydra: HydraConf) -> None:
    """Put the seeds that a file of sweeps/ states into the environment, unless the command line states some."""
    params = hydra.sweeper.get("params") or {}
    if "seed" in params and not os.environ.get(PLANNED_SEEDS_VARIABLE):
        os.environ[PLANNED_SEEDS_VARIABLE] = " ".join(_values(f"seed={params['seed']}"))


def first_value(override: Override) -> str | None:
    """The override of the first job; None for an interval, a glob, or no values."""
    if not override.is_discrete_sweep() or isinstance(override.value(), Glob):
        return None
    value = next(iter(override.sweep_string_iterator()), None)
    return None if value is None else f"{override.get_key_element()}={value}"


def _is_swept(word: str) -> bool:
    override = _parsed(word)
    return override is not None and override.is_sweep_override()


def _values(word: str) -> list[str]:
    """The values of a swept key; of an interval or a glob none."""
    override = _parsed(word)
    if override is None or not override.is_discrete_sweep() or isinstance(override.value(), Glob):
        return []
    return [str(getattr(value, "text", value)) for value in override.sweep_iterator()]  # some may be quoted


def _value(word: str) -> object:
    override = _parsed(word)
    return None if override is None else override.value()


def _parsed(word: str) -> Override | None:
    """None for a word that Hydra refuses when it composes."""
    try:
        return OverridesParser.create().parse_override(word)
    except HydraException:
        return None
