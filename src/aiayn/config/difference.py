"""The changes of a run to its experiment, and the name that follows, for W&B, sweeps and reports.

The configuration is compared with the same experiment, composed with the same scale, fidelity profile and corpus
without further overrides. Keys that can change a result count, and those of the scale. A key derived from others, such
as d_k from num_heads, is not counted separately.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from functools import cache, lru_cache
from typing import Any

from hydra.core.config_loader import ConfigLoader
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import MISSING, DictConfig, OmegaConf, open_dict, read_write
from omegaconf.errors import OmegaConfBaseException, ValidationError

from aiayn.config.hydra_versions import initialized
from aiayn.config.identity import NEUTRAL_GROUPS, flatten, is_neutral
from aiayn.errors import UserError

SWEEP_VARIABLE = "AIAYN_SWEEP"
"""Environment variable: the name of a multirun, read by conf/train.yaml: overrides are part of recorded commands."""

SWEPT_VARIABLE = "AIAYN_SWEPT"
"""Environment variable: the swept keys of a multirun as typed, separated by spaces."""

PLANNED_SEEDS_VARIABLE = "AIAYN_PLANNED_SEEDS"
"""Environment variable: the seeds that a multirun's command states, separated by spaces; empty for a single run."""

DEFAULTS = ("demo", "paper")
"""The scale and the fidelity profile that names omit."""

CORPUS_NAME = "data.name"
"""Part of a run's name, like the scale, and not one of its changes."""

SEARCHPATH = "hydra.searchpath="
"""Start of the override that adds folders of configuration."""

LONGEST = 64
"""Characters of the changes in a name."""

LONGEST_NAME, LONGEST_GROUP, LONGEST_TAG = 95, 128, 64
"""What W&B takes: its names of artifacts have at most 128 characters and are a run's name and id."""


def run_difference(*, _root_: DictConfig) -> str:
    """The changes of a run, as in "dropout=0.3 positions=learned"; empty if it is exactly its experiment."""
    return shortened(list(_changes(_root_).values()))


def run_title(*, _root_: DictConfig) -> str:
    """The name of a run: its row, scale and corpus, its changes, swept ones first, and its seed."""
    root = _root_
    identity, swept, changes = root.identity, swept_words(root), _changes(root)
    chosen = [name for name in (identity.scale, identity.fidelity) if name not in DEFAULTS]
    if root.data.name != _experiment(root).data.name:
        chosen.append(root.data.name)
    neutral = [word for key, word in swept.items() if is_neutral(key) and not key.startswith("scale")]
    in_order = sorted(changes, key=lambda key: key not in swept)
    words = shortened([*(changes[key] for key in in_order), *neutral])
    return " ".join(filter(None, [row_of(identity.experiment), *chosen, words, f"seed {root.seed}"]))


def swept_words(root: DictConfig) -> dict[str, str]:
    """The swept keys of this job of a multirun and their values, as in {"model.dropout": "dropout=0.3"}.

    The experiment and the seed are omitted: names have them anyway.
    """
    hydra = HydraConfig.get()
    if hydra.mode is not RunMode.MULTIRUN:
        return {}
    swept = {*os.environ.get(SWEPT_VARIABLE, "").split(), *(hydra.sweeper.get("params") or {})}
    found: dict[str, Any] = {}
    for key, _, value in (word.lstrip("+").partition("=") for word in hydra.overrides.task):
        if key in swept and key not in ("experiment", "seed"):
            here = _value(root, key)
            found[key] = value if isinstance(here, dict | None) else here  # a group has only the name of its option
    return in_words(found, _stated(root))


def row_of(experiment: str) -> str:
    """The name of an experiment without its folder."""
    return experiment.partition("/")[2] or experiment


def job_type(row: str, difference: str) -> str:
    """W&B's job type of a run: its row and its changes; runs that differ by seed alone share one."""
    return f"{row} {difference}" if difference else row


def changed(here: DictConfig, there: DictConfig) -> dict[str, Any]:
    """The keys in which `here` differs from `there`, and its values; None for a key that it lacks.

    Values are compared, not expressions. A key that `there` derives from others is omitted if its value follows; a key
    without a value there is not compared.
    """
    own, other, followed = _stated(here), _stated(there), there
    keys = [key for key in {**other, **own} if other.get(key) != MISSING and key != "seed"]
    found: dict[str, Any] = {}
    for key in sorted(keys, key=lambda key: "${" in str(other.get(key))):  # derived ones after what they derive from
        if key in own and key in other and own[key] == other[key] and "${" not in str(own[key]):
            continue
        value = _plain(OmegaConf.select(here, key))
        if (key in own) != (key in other) or value != _value(followed, key):
            found[key] = value
        if key in own and key in found:
            if followed is there:
                followed = deepcopy(there)
            with suppress(ValidationError):  # a key of another kind of model
                OmegaConf.update(followed, key, value, force_add=True)
    return {key: found[key] for key in keys if key in found}


def in_words(changes: Mapping[str, Any], keys: Iterable[str]) -> dict[str, str]:
    """Each change as key=value, with only the last part of the key if no other of `keys` ends with it."""
    ends = Counter(key.rpartition(".")[2] for key in {*keys, *changes})
    short = {key: end if ends[end := key.rpartition(".")[2]] == 1 else key for key in changes}
    return {key: f"{short[key]}={_text(value)}" for key, value in changes.items()}


def cut(text: str, longest: int) -> str:
    """The text in at most so many characters; a checksum of it replaces its end, so that two stay different."""
    return text if len(text) <= longest else f"{text[: longest - 9]}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def tag_of(text: str) -> str:
    """The tag that runs of this corpus, row or scale have in W&B."""
    return cut(text, LONGEST_TAG)


def shortened(words: Sequence[str]) -> str:
    """The words in a line of at most `LONGEST` characters; a checksum of all replaces those that do not fit."""
    text = " ".join(words)
    if len(text) <= LONGEST:
        return text
    ending = f"and more {hashlib.sha256(' '.join(sorted(words)).encode()).hexdigest()[:8]}"
    count = len(words)
    while count and len(" ".join([*words[:count], ending])) > LONGEST:
        count -= 1
    return " ".join([*words[:count], ending])


def _changes(root: DictConfig) -> dict[str, str]:
    """The words of the changes by key, in the order of the configuration."""
    words: list[str] = []
    reference = _experiment(root)
    found = changed(root, reference)
    if any(key.startswith("data.") for key in found):
        words.append(f"data={HydraConfig.get().runtime.choices['data']}")
    kinds: dict[str, Any] = {}
    if (kind := _value(root, "model.kind")) != _value(reference, "model.kind"):  # it has other keys
        kinds["model"] = kind
        words.append(f"model={kind}")
    if words:
        reference = _experiment(root, *words)
        found = changed(root, reference)
    return in_words(kinds | found, {**_stated(root), **_stated(reference)})


def row_configuration(experiment: str, *, scale: str, fidelity: str) -> DictConfig:
    """The configuration of an experiment without further changes, beside that of the command."""
    return _composed(_loader(), (f"experiment={experiment}", f"scale={scale}", f"fidelity={fidelity}"))


def _experiment(root: DictConfig, *words: str) -> DictConfig:
    """The run's experiment at its scale, composed with the words alone; the run itself if it states nothing else."""
    identity, overrides = root.identity, HydraConfig.get().overrides
    chosen = [f"{key}={identity[key]}" for key in ("experiment", "scale", "fidelity")]
    if not words and all(word in chosen or _states_no_change(word) for word in overrides.task):
        return root
    chosen += [word for word in overrides.hydra if word.startswith(SEARCHPATH)]
    return _composed(_loader(), (*chosen, *words))


def _states_no_change(word: str) -> bool:
    """Whether a word sets one key that no name has; an option of a group may set others as well."""
    key = word.lstrip("+~").partition("=")[0]
    is_unnamed = key == "seed" or (is_neutral(key) and not key.startswith("scale"))
    return is_unnamed and key not in HydraConfig.get().runtime.choices


def _loader() -> ConfigLoader:
    """The first loader of this process with the folders of the command's, so that commands share compositions."""
    hydra = GlobalHydra.instance()
    loader = hydra.config_loader() if hydra.is_initialized() else _own_loader()
    return _LOADERS.setdefault(tuple(str(each.path) for each in loader.get_search_path().get_path()), loader)


_LOADERS: dict[tuple[str, ...], ConfigLoader] = {}


@lru_cache(maxsize=8)
def _composed(loader: ConfigLoader, words: tuple[str, ...]) -> DictConfig:
    composed = loader.load_configuration("train", list(words), run_mode=RunMode.RUN)
    with read_write(composed), open_dict(composed):
        del composed["hydra"]  # the command's own is the one that expressions refer to
    return composed


@cache
def _own_loader() -> ConfigLoader:
    with initialized():
        return GlobalHydra.instance().config_loader()


def _stated(config: DictConfig) -> dict[str, Any]:
    """The keys that count and their values, interpolations unresolved."""
    content = OmegaConf.to_container(config, enum_to_str=True)
    assert isinstance(content, dict)
    ignored = {*NEUTRAL_GROUPS, "hydra"} - {"scale"}
    leaves = flatten({str(key): value for key, value in content.items() if key not in ignored})
    return {key: value for key, value in leaves.items() if _is_change(key)}


def _is_change(key: str) -> bool:
    return key.startswith("scale.") or (key != CORPUS_NAME and not is_neutral(key))


def _value(config: DictConfig, key: str) -> Any:
    """The value of a key; `MISSING` if the user has to state it."""
    try:
        return _plain(OmegaConf.select(config, key))
    except (OmegaConfBaseException, UserError):
        return MISSING


def _plain(value: object) -> Any:
    return OmegaConf.to_container(value) if OmegaConf.is_config(value) else getattr(value, "name", value)


def _text(value: object) -> str:
    """A value as written on the command line."""
    if isinstance(value, bool) or value is None:
        return "null" if value is None else str(value).lower()
    return "[" + ",".join(map(_text, value)) + "]" if isinstance(value, list) else str(value)
