"""Run identity: the hash of everything in a configuration that can change a result."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

NEUTRAL_GROUPS = frozenset({"paths", "logger", "launch", "callbacks", "identity", "scale", "force", "hardware", "cost"})
"""Groups that are not part of a run's identity; the scale acts through the values that it scales.

`launch.compile` and `launch.tf32` change sums and dropout masks as another device would: such runs count as the same.
"""

NEUTRAL_KEYS = frozenset(
    {
        "optimization.max_tokens_per_device",
        "optimization.checkpoint_interval",
        "decoding.batch_tokens",
        "decoding.validation_sentences",
        "data.sentences.train",  # expected pairs of a hub's data set; the grammar's data.sentences is in the hash
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

LATER_KEYS: Mapping[str, Any] = {"decoding.bleu_tokenizer": None, "identity.typed": {}}
"""Keys that configurations of earlier runs lack, with the value that they then have; it is not in the hash.

A key that is added to the schema and can change a result belongs here, with a value that leaves results as they were:
otherwise every run's hash would change, and finished runs would be trained again.
"""

EARLIER_KEYS: Mapping[str, Any] = {"launch.static_shapes": False}
"""Keys that only configurations of earlier runs have, with the value under which a run is the same without the key.

All are neutral, so these runs keep their hashes. A configuration with another value is refused.
"""


def configuration_hash(content: Mapping[str, Any], *, fidelity: str, sources: str = "") -> str:
    """Eight hexadecimal digits of the resolved configuration, shared exactly by the attempts of one run.

    `sources` has the digests of the user's own classes; empty: there are none.
    """
    code = {"sources": sources} if sources else {}
    text = json.dumps({"fidelity": fidelity, **result_leaves(content), **code}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


OWN_SOURCES = "identity.sources"
"""The setting of a run with a class of the user's own: the digests of its files."""


def run_settings(content: Mapping[str, Any], *, fidelity: str) -> dict[str, Any]:
    """Everything in a run's configuration that can change a result, except the seed, by dotted key."""
    leaves = {"fidelity": fidelity, **result_leaves(content)}
    if sources := (content.get("identity") or {}).get("sources"):
        leaves[OWN_SOURCES] = sources
    return {key: value for key, value in leaves.items() if key != "seed"}


def result_leaves(content: Mapping[str, Any]) -> dict[str, Any]:
    """Everything in a configuration that can change a result, by dotted key, without the fidelity profile's name.

    Paths are as typed, also in a frozen configuration: its identity does not depend on the working directory.
    """
    typed = (content.get("identity") or {}).get("typed") or {}
    return {
        key: value
        for key, value in {**flatten(content), **typed}.items()
        if not is_neutral(key) and not (key in LATER_KEYS and value == LATER_KEYS[key])
    }


def is_neutral(key: str) -> bool:
    """Whether a dotted key never changes a result."""
    return key.split(".", 1)[0] in NEUTRAL_GROUPS or key in NEUTRAL_KEYS


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
