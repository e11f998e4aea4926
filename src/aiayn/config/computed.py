"""Keys that follow from others, and are shown but not stated: kinds, the run's identity, Hydra's folders."""

from collections.abc import Sequence
from functools import cache
from pathlib import PurePath
from typing import Any

from hydra.conf import HydraConf
from omegaconf import DictConfig, OmegaConf

from aiayn.config.data_schema import DATA_TYPES, CorpusKind, DataConfig
from aiayn.config.model_schema import MODEL_TYPES, ModelConfig
from aiayn.config.schema import IdentityConfig, TrainConfig
from aiayn.config.store import conf_directory
from aiayn.errors import UserError

FOLDERS = ("hydra.run.dir", "hydra.sweep.dir", "hydra.sweep.subdir", "hydra.output_subdir", "hydra.job.chdir")
"""Where Hydra would write or stand; results do not follow."""

HYDRAS_OWN = ("hydra.run", "hydra.sweep", "hydra.output_subdir", "hydra.job", "hydra.runtime", "hydra.overrides")
"""Keys of Hydra that nothing here heeds, or that Hydra fills in itself, with those below them."""

HEEDED = ("hydra.job.env_set", "hydra.job.env_copy")
"""Those below them that Hydra itself follows."""

FROM_GROUPS = {
    "experiment": "it is the name of the experiment chosen",
    "scale": "it is the name of the scale chosen",
    "fidelity": "it is the name of the fidelity profile chosen",
    "sweep": "it is the name of the sweep, or AIAYN_SWEEP",
    "hash": "it is the hash of what can change a result",
    "name": "it follows from experiment, scale, seed and hash; paths.runs chooses the folder",
    "difference": "it is what the run changes in its experiment",
    "title": "it follows from experiment, difference and seed; WANDB_NAME names the run in W&B",
}
"""What each key of `identity` is."""

LONGEST_SWEEP = 128
"""Characters of a group's name in W&B, at most."""


def refuse_stated(composed: DictConfig, verb: str, overrides: Sequence[str]) -> None:
    """Refuse words and files that state what Hydra's folders or the run's identity are.

    Args:
        composed: as Hydra composed it, its own node included.
        verb: the command.
        overrides: of the command line, swept ones included.

    Raises:
        UserError: naming the key and what to state instead.
    """
    swept = _unresolved(composed, "hydra.sweeper").get("params") or {}
    words = [*overrides, *(f"{key}={value}" for key, value in swept.items())]
    stated = {word.partition("=")[0].lstrip("+~"): word for word in words}
    for key, word in stated.items():
        if _is_hydras_own(key):
            raise UserError(f"{word}: {_instead(key, verb)}")
        if key.startswith("identity.") and "identity" in composed:
            raise UserError(f"{word}: computed, not stated: {FROM_GROUPS.get(key.partition('.')[2], 'leave it out')}")
    for key in FOLDERS:
        if _unresolved(composed, key) != _unresolved(_files_of(verb), key):
            raise UserError(f"{key}={_unresolved(composed, key)}: {_instead(key, verb)}")


def _is_hydras_own(key: str) -> bool:
    return _is_below(key, HYDRAS_OWN) and not _is_below(key, HEEDED)


def _is_below(key: str, roots: tuple[str, ...]) -> bool:
    return any(key == root or key.startswith(f"{root}.") for root in roots)


def _instead(key: str, verb: str) -> str:
    if not _is_below(key, FOLDERS) and key not in ("hydra.run", "hydra.sweep"):
        return "nothing follows it; leave it out"
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
    """What the command's own files state of Hydra and of the identity, over what Hydra has by itself."""
    names = ["train", verb] if verb in ("prepare", "plan") else ["base", verb]
    files = [OmegaConf.load(conf_directory() / f"{name}.yaml") for name in names]
    stated = [OmegaConf.masked_copy(file, ["hydra", "identity"]) for file in files if isinstance(file, DictConfig)]
    merged = OmegaConf.merge({"hydra": OmegaConf.to_container(OmegaConf.structured(HydraConf))}, *stated)
    assert isinstance(merged, DictConfig)
    return merged


def refuse_stated_identity(composed: DictConfig, verb: str) -> None:
    """Refuse an identity that some file states, as an experiment's may.

    Args:
        composed: a job of `aiayn train`, or of a command with the same keys.
        verb: the command.

    Raises:
        UserError: naming the key.
    """
    for name, remedy in FROM_GROUPS.items():
        value = _unresolved(composed, f"identity.{name}")
        if value != _unresolved(_files_of(verb), f"identity.{name}"):
            raise UserError(f"identity.{name}={value}: computed, not stated: {remedy}")


def check_computed(config: TrainConfig) -> None:
    """Refuse kinds other than those of the groups chosen, and names that lead out of `paths.runs`.

    Raises:
        UserError: naming the key and what to state instead.
    """
    _check_model(config.model)
    _check_data(config.data)
    _check_names(config.identity)


def _check_model(model: ModelConfig) -> None:
    if type(model) is not MODEL_TYPES[model.kind]:
        kind = model.kind.name
        raise UserError(f"model.kind={kind}: the kind follows from the group; state model={kind} instead")


def _check_data(data: DataConfig) -> None:
    if type(data) is not DATA_TYPES[data.kind]:
        option = {CorpusKind.trees: "treebank"}.get(data.kind, data.kind.name)
        raise UserError(f"data.kind={data.kind.name}: the kind follows from the group; state data={option} instead")


def _check_names(identity: IdentityConfig) -> None:
    for name in ("experiment", "scale", "fidelity"):
        value = str(getattr(identity, name))
        if PurePath(value).is_absolute() or {".", ".."} & {*value.split("/")}:
            raise UserError(f"{name}={value}: leads out of the group; name a file of it, with --config-dir for yours")
    if identity.sweep and len(identity.sweep) > LONGEST_SWEEP:
        raise UserError(
            f"AIAYN_SWEEP={identity.sweep[:20]}...: has {len(identity.sweep)} characters, more than {LONGEST_SWEEP}; "
            "state a shorter name"
        )
