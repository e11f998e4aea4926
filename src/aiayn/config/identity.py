"""Run identity: the hash of everything in a configuration that can change a result."""

import enum
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from aiayn.config.history import BEFORE

NEUTRAL_GROUPS = frozenset({"paths", "logger", "launch", "callbacks", "identity", "scale", "force", "hardware", "cost"})
"""Groups that never change a result; the scale acts only through the values that it scales."""

NEUTRAL_KEYS = frozenset(
    {
        "optimization.max_tokens_per_device",
        "optimization.checkpoint_interval",
        "decoding.batch_tokens",
        "decoding.validation_sentences",
        "data.sentences.train",  # of a hub's data set: what is expected; the grammar's data.sentences is in the hash
        "data.sentences.dev",
        "data.sentences.test",
        "data.streaming",
        "trainer._target_",
        "trainer.accelerator",
        "trainer.strategy",
        "trainer.devices",
        "trainer.num_nodes",
        "trainer.log_every_n_steps",
        "trainer.enable_checkpointing",
        "trainer.enable_progress_bar",
        "trainer.enable_model_summary",
        "trainer.num_sanity_val_steps",
        "trainer.profiler",
        "trainer.plugins",
    }
)
"""Keys inside the other groups that never change a result."""


def configuration_hash(content: Mapping[str, Any], *, fidelity: str) -> str:
    """Eight hexadecimal digits that two runs share exactly when their results may be compared as one run.

    Args:
        content: the resolved configuration as plain containers.
        fidelity: the name of the fidelity profile.
    """
    text = json.dumps({"fidelity": fidelity, **result_leaves(content)}, sort_keys=True, default=_plain)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def result_leaves(content: Mapping[str, Any]) -> dict[str, Any]:
    """Everything in a configuration that can change a result, by dotted key; the fidelity profile's name aside.

    A key is left out where it says what all runs did before there was the key: old runs stay the same runs.
    """
    return {key: value for key, value in stated_leaves(content).items() if not _is_as_before(key, value)}


def stated_leaves(content: Mapping[str, Any]) -> dict[str, Any]:
    """The same with nothing left out: keys that are younger than the configuration say what it did without them."""
    leaves = {key: value for key, value in flatten(content).items() if not is_neutral(key)}
    kind = leaves.get("model.kind", BEFORE["model.kind"])
    of_a_transformer = (kind.name if isinstance(kind, enum.Enum) else kind) == BEFORE["model.kind"]
    for key, value in BEFORE.items():
        if not is_neutral(key) and (of_a_transformer or not key.startswith("model.")):
            leaves.setdefault(key, value)
    return leaves


def is_neutral(key: str) -> bool:
    """Whether a dotted key never changes a result."""
    return key.split(".", 1)[0] in NEUTRAL_GROUPS or key in NEUTRAL_KEYS


def _is_as_before(key: str, value: object) -> bool:
    return key in BEFORE and (value.name if isinstance(value, enum.Enum) else value) == BEFORE[key]


def flatten(content: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings as one mapping with dotted keys; empty mappings stay as values."""
    leaves: dict[str, Any] = {}
    for key, value in content.items():
        path = f"{prefix}{key}"
        if isinstance(value, Mapping) and value:
            leaves.update(flatten(value, f"{path}."))
        else:
            leaves[path] = value
    return leaves


def _plain(value: object) -> str:
    if isinstance(value, enum.Enum):
        return value.name
    raise TypeError(f"{value!r} cannot be part of a run's identity")
