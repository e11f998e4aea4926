"""The corpus of an evaluation, found in a cache by its fingerprint."""

from pathlib import Path

from aiayn.config.freeze import frozen_content
from aiayn.data.preparation.prepared import PreparedData, find_prepared
from aiayn.runs.evaluations import Evaluation


def corpus_of(evaluation: Evaluation, cache: Path) -> PreparedData | None:
    """The prepared corpus of a run from a cache, or else from that of the run; None if neither holds all of it."""
    fingerprint = evaluation.record.data_fingerprint
    if fingerprint is None:
        return None
    paths = frozen_content(evaluation.directory.config).get("paths") or {}
    return find_prepared(cache, fingerprint) or find_prepared(Path(paths.get("cache", "cache")), fingerprint)
