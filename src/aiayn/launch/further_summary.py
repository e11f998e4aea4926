"""Entries of a run's summary that a package above this one computes, such as the difference to base.

A run may be done by processes of its own, so the command names the function in the environment that they inherit.
"""

import logging
import os
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TypeAlias

from aiayn.errors import UserError
from aiayn.runs.directory import RunDirectory
from aiayn.runs.record import Record

logger = logging.getLogger("aiayn")

VARIABLE = "AIAYN_FURTHER_SUMMARY"
"""The environment variable with the function, as module:name."""

Summarize: TypeAlias = Callable[[RunDirectory, Record, Path], Mapping[str, float | int | str]]
"""From a run's directory, its record with scores, and the folder of runs."""


def add_to_summaries(function: str) -> None:
    """Have a function, a `Summarize` named as module:name, called at the end of this command's runs."""
    os.environ[VARIABLE] = function


def further_summary(directory: RunDirectory, record: Record, runs: Path) -> Mapping[str, float | int | str]:
    """The entries; empty without a function, and where it refuses: the run's own results do not depend on them."""
    module, _, name = os.environ.get(VARIABLE, "").partition(":")
    if not name:
        return {}
    summarize: Summarize = getattr(import_module(module), name)
    try:
        return summarize(directory, record, runs)
    except (UserError, OSError) as error:
        logger.warning("not compared with base: %s", error)
        return {}
