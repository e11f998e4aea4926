"""The words of a command line that make it a multirun."""

import hashlib
import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from aiayn.config import store
from aiayn.config.difference import SWEPT_VARIABLE
from aiayn.config.identity import is_neutral
from aiayn.errors import UserError

SWEEP_VARIABLE = "AIAYN_SWEEP"
"""Read by conf/train.yaml; an override would be shown with every job, and be part of every recorded command."""

SEEDS = "seeds"
"""The name of a multirun over seeds alone, as that of sweeps/seeds.yaml."""

LONGEST_SWEEP_NAME = 120
"""W&B refuses names of groups beyond 128 characters."""


def sweep_words(words: Sequence[str]) -> list[str]:
    """The words with their globs written out, and the multirun's name in the environment.

    Raises:
        UserError: a glob matches nothing, or several files of sweeps/ are named.
    """
    words = _with_options_for_globs(words)
    files = [word for word in words if word.partition("=")[0].lstrip("+") == store.SWEEPS]
    if len(files) > 1 or any("," in word for word in files):
        raise UserError(f"{' '.join(files)}: one sweep at a time; run one after the other")
    _announce_sweep(words, has_file=bool(files))
    return words


def _with_options_for_globs(words: Sequence[str]) -> list[str]:
    """Write out what `group=glob(pattern)` stands for.

    Hydra itself finds only options directly below a group, not those in its folders, and where it finds none it does
    nothing and calls that a success.
    """
    folders = [Path(folder) for flag, folder in pairwise(words) if flag in ("--config-dir", "-cd")]
    return [_with_options(word, folders) if "glob(" in word else word for word in words]


def _with_options(word: str, folders: Sequence[Path]) -> str:
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.core.override_parser.types import Glob
    from hydra.errors import HydraException

    try:
        override = OverridesParser.create().parse_override(word)
    except HydraException:  # Hydra says what is wrong with it
        return word
    glob: object = override.value()
    there = store.options(override.key_or_group, folders=folders)
    if not isinstance(glob, Glob) or not there:
        return word
    matching = glob.filter(there)
    if not matching:
        raise UserError(f"{word}: matches no option; choose from {', '.join(there)}")
    return f"{override.get_key_element()}={','.join(matching)}"


def _announce_sweep(words: Sequence[str], *, has_file: bool) -> None:
    """Put what is swept, and the name of a typed multirun, into the environment of its jobs.

    The name is what was typed, swept words first. The seed and what changes no result are left out: the same multirun
    with one more seed has the same name, and its runs the same group in W&B.
    """
    is_multirun = has_file or bool({"-m", "--multirun"} & set(words))
    overrides = [word for word in words if "=" in word and not word.startswith(("-", "hydra"))]
    swept = [word for word in overrides if is_multirun and _is_swept(word)]
    os.environ[SWEPT_VARIABLE] = " ".join(map(_key, swept))
    if has_file or not is_multirun:  # conf/train.yaml names a sweep after its file
        return
    in_order = sorted(overrides, key=lambda word: word not in swept)
    named = [word for word in in_order if _key(word) != "seed" and not _changes_nothing(word)]
    name = " ".join(named) or SEEDS
    if len(name) > LONGEST_SWEEP_NAME:
        digest = hashlib.sha256(name.encode()).hexdigest()[:8]
        name = f"{name[: LONGEST_SWEEP_NAME - 12]}... {digest}"
    os.environ.setdefault(SWEEP_VARIABLE, name)


def _is_swept(word: str) -> bool:
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    try:
        return bool(OverridesParser.create().parse_override(word).is_sweep_override())
    except HydraException:  # Hydra says what is wrong with it
        return False


def _changes_nothing(word: str) -> bool:
    """Whether a word changes no result, and is no choice of a scale."""
    return is_neutral(_key(word)) and not _key(word).startswith("scale")


def _key(word: str) -> str:
    return word.partition("=")[0].lstrip("+~")
