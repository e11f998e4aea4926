"""Keys that are younger than some runs: what those runs did before they could be asked."""

from collections.abc import Mapping
from typing import Any, Final

BEFORE: Final[Mapping[str, Any]] = {
    "decoding.ends_among": "candidates",
    "decoding.constrained": False,
    "model.kind": "transformer",
    "model.attention": "scaled_dot",
    "model.neighbourhood": 16,
    "model.normalization": "layer",
    "model.residual": True,
    "model.attention_dropout": 0.0,
    "model.activation_dropout": 0.0,
    "model.tied_embeddings": True,
    "model.reads_bos": True,
    "optimization.smooths": "all",
    "averaging.checkpoints": 0,
    "averaging.interval": None,
    "decoding.validation_sentences": 0,
    "launch.jobs_per_device": 1,
    "launch.cores_per_job": None,
    "launch.compile": False,
    "launch.fork_jobs": False,
    "cost.price_per_device_hour": None,
    "cost.currency": "USD",
    "cost.probe_seconds": 0.0,
    "launch.preparation_processes": 1,
    "data.filters.max_ratio": None,
    "data.filters.language": False,
    "data.filters.duplicates": False,
    "data.filters.contaminated": False,
    "data.streaming": False,
    "identity.difference": "",
    "identity.title": "",
}
"""By dotted key, as YAML has it. A run with this value is the run that it was before there was the key."""
