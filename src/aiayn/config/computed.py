"""Keys that are computed and not stated: kinds, the run's identity, Hydra's folders."""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import PurePath
from typing import Any

from hydra.conf import HydraConf
from omegaconf import DictConfig, OmegaConf

from aiayn.config.data_schema import DATA_TYPES, CorpusKind
from aiayn.config.model_kinds import MODEL_TYPES
from aiayn.config.schema import TOKENIZER_TYPES, TrainConfig
from aiayn.config.store import conf_directory
from aiayn.errors import UserError

FOLDERS = ("hydra.run.dir", "hydra.sweep.dir", "hydra.sweep.subdir", "hydra.output_subdir", "hydra.job.chdir")
"""Hydra's output and working directories; runs do not lie there."""

UNUSED = ("hydra.run", "hydra.sweep", "hydra.output_subdir", "hydra.job", "hydra.runtime", "hydra.overrides")
"""Keys of Hydra that have no effect here, or that Hydra fills in itself, with those below them."""

USED = ("hydra.job.env_set", "hydra.job.env_copy")
"""The exceptions below them."""

IDENTITY = {
    "experiment": "it is the name of the experiment chosen",
    "scale": "it is the name of the scale chosen",
    "fidelity": "it is the name of the fidelity profile chosen",
    "sweep": "it is the name of the sweep, or AIAYN_SWEEP",
    "sources": "it is the digests of plugged-in code",
    "typed": "it is the paths as typed, where a frozen configuration has absolute ones",
    "hash": "it is the hash of all settings that can change a result",
    "name": "it follows from experiment, scale, seed and hash; paths.runs chooses the folder",
    "difference": "it is the changes of the run to its experiment",
    "title": "it follows from experiment, difference and seed; WANDB_NAME names the run in W&B",
}
"""The origin of each key of `identity`."""


def check_computed_keys(composed: DictConfig, verb: str, overrides: Sequence[str]) -> None:
    """Refuse overrides of Hydra's folders and of the run's identity, files that state these folders, and null groups.

    `composed` has Hydra's own node; `overrides` are those of the command line, swept ones included.
    """
    for group in ("launcher", "sweeper"):
        chosen = _unresolved(composed, f"hydra.{group}")
        if not isinstance(chosen, dict):
            stated = "null" if chosen is None else chosen
            raise UserError(f"hydra.{group}={stated}: a group of Hydra; state hydra/{group}=<option>, or leave it out")
    for group, option in composed.hydra.runtime.choices.items():
        _check_spelling(group, option)
    swept = _unresolved(composed, "hydra.sweeper").get("params") or {}
    words = [*overrides, *(f"{key}={value}" for key, value in swept.items())]
    for word in words:
        key = key_of(word)
        if _is_below(key, UNUSED) and not _is_below(key, USED):
            raise UserError(f"{word}: {_remedy(key, verb)}")
        if key.startswith("identity.") and "identity" in composed:
            raise UserError(f"{word}: computed, not stated: {IDENTITY.get(key.partition('.')[2], 'leave it out')}")
    for key in FOLDERS:
        if _unresolved(composed, key) != _unresolved(_files_of(verb), key):
            raise UserError(f"{key}={_unresolved(composed, key)}: {_remedy(key, verb)}")


def _check_spelling(group: str, option: Any) -> None:
    """Refuse another spelling of an option, such as table3//base.yaml: the run would have another name."""
    if isinstance(option, str) and option != (normal := re.sub("/+", "/", option).removesuffix(".yaml")):
        raise UserError(f"{group}={option}: its name is {normal}; state {group}={normal}")


def key_of(word: str) -> str:
    """The key, or the group, of an override."""
    return word.partition("=")[0].lstrip("+~")


def _is_below(key: str, roots: tuple[str, ...]) -> bool:
    return any(key == root or key.startswith(f"{root}.") for root in roots)


def _remedy(key: str, verb: str) -> str:
    if not _is_below(key, FOLDERS) and key not in ("hydra.run", "hydra.sweep"):
        return "it has no effect; leave it out"
    if verb == "train":
        return "runs do not lie there; state paths.runs instead"
    return f"aiayn {verb} writes nothing there; leave it out"


def _unresolved(composed: DictConfig, key: str) -> Any:
    group, _, name = key.rpartition(".")
    content = OmegaConf.to_container(OmegaConf.select(composed, group), resolve=False)
    assert isinstance(content, dict)
    return content.get(name)


@cache
def _files_of(verb: str) -> DictConfig:
    """Hydra's defaults and, over them, `hydra` and `identity` of the command's own files."""
    own = OmegaConf.load(conf_directory() / f"{verb}.yaml")
    below = ("train", "base_no_run") if "base_no_run" in OmegaConf.select(own, "defaults") else ("base",)
    files = [*(OmegaConf.load(conf_directory() / f"{name}.yaml") for name in below), own]
    stated = [OmegaConf.masked_copy(file, ["hydra", "identity"]) for file in files if isinstance(file, DictConfig)]
    merged = OmegaConf.merge({"hydra": OmegaConf.to_container(OmegaConf.structured(HydraConf))}, *stated)
    assert isinstance(merged, DictConfig)
    return merged


def check_identity_computed(composed: DictConfig, verb: str) -> None:
    """Refuse an identity that a file states, such as an experiment's."""
    for name, remedy in IDENTITY.items():
        value = _unresolved(composed, f"identity.{name}")
        if value != _unresolved(_files_of(verb), f"identity.{name}"):
            raise UserError(f"identity.{name}={value}: computed, not stated: {remedy}")


def check_computed(config: TrainConfig) -> None:
    """Check that kinds are those of the groups chosen, and that names stay below `paths.runs`."""
    model, data, tokenizer, identity = config.model, config.data, config.tokenizer, config.identity
    if type(model) is not MODEL_TYPES.get(model.kind):
        raise UserError(f"model.kind={model.kind}: the kind follows from the group; state model={model.kind} instead")
    if type(tokenizer) is not TOKENIZER_TYPES[tokenizer.kind]:
        kind = tokenizer.kind
        raise UserError(f"tokenizer.kind={kind}: the kind follows from the group; state tokenizer={kind} instead")
    if type(data) is not DATA_TYPES[data.kind]:
        option = "treebank" if data.kind is CorpusKind.trees else data.kind
        raise UserError(f"data.kind={data.kind}: the kind follows from the group; state data={option} instead")
    for name in ("experiment", "scale", "fidelity"):
        value = str(getattr(identity, name))
        _check_spelling(name, value)
        if PurePath(value).is_absolute() or {".", ".."} & {*value.split("/")}:
            raise UserError(f"{name}={value}: leads out of the group; name a file of it, with --config-dir for yours")
