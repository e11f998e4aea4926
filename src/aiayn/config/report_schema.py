"""The schema of the commands that show runs beside each other. No field has a default; see `schema`."""

from dataclasses import dataclass
from typing import Any

from omegaconf import MISSING

from aiayn.config.schema import CachePathConfig, PathsConfig, RunsPathConfig


@dataclass
class OnlyConfig:
    """Which runs a table is made of; null does not choose, and runs that do not compare are refused."""

    scale: str | None = MISSING
    """Of this scale."""
    data: str | None = MISSING
    """On this corpus: its data.name, or the first digits of its fingerprint."""
    like: str | None = MISSING
    """A run directory, best of the base row; runs that do not compare with it are left out of table3."""


@dataclass
class OnlyComparedConfig(OnlyConfig):
    """The same, and what not all reports choose by."""

    sweep: Any = MISSING
    """Of these sweeps: a pattern, or a list of names (of files, or AIAYN_SWEEP); null: of all."""
    experiment: Any = MISSING
    """Of these experiments: a pattern as in table3/c_*, or a list of them; null: of all."""


@dataclass
class ReportConfig:
    """`aiayn report <noun>`."""

    noun: str = MISSING
    """comparison, configuration, cost, fidelity, matrix, page, paper, parameters, run, sharpness, table1, 2, 3 or 4."""
    run: str | None = MISSING
    """A run directory, for the report of a run; for its matrix also a folder below its evaluations/."""
    table: int | None = MISSING
    """Which of the paper's tables, 1 to 4, for the report of the paper; null: all."""
    output: str | None = MISSING
    """A Markdown file to write, for a table also .tex, .csv or .json, for the page .html; null: to the terminal."""
    watch: bool = MISSING
    """Keep the page up to date while runs go on, until Ctrl-C."""
    plotly_bundle: str | None = MISSING
    """A file of plotly.js for the page, such as plotly-basic.min.js; null: the whole of it, which is larger."""
    only: OnlyComparedConfig = MISSING
    """Which of the runs below paths.runs a table is made of."""
    profiles: Any = MISSING
    """Which fidelity profiles to set side by side, a list; null: all."""
    against: str | None = MISSING
    """The run that a comparison takes differences to; null: one of table3/base, if there is any."""
    metrics: Any = MISSING
    """What a matrix has besides all definitions of BLEU, one or a list: chrf_pp, ter, comet; each takes its time."""
    comet_model: str = MISSING
    """What COMET scores with: a name on the Hugging Face hub, or the file of a checkpoint."""
    sentences: int = MISSING
    """How many sentence pairs of the development set each model reads for sharpness."""
    device: str = MISSING
    """Where models compute for sharpness: auto (a GPU if there is one), cpu, cuda or cuda:<n>."""
    resamples: int = MISSING
    """Draws of the sentences behind each interval."""
    seed: int = MISSING
    """What these draws derive from, and in table1 weights and inputs."""
    paths: PathsConfig = MISSING
    """Folders."""


@dataclass
class DashboardConfig:
    """`aiayn dashboard`."""

    project: str | None = MISSING
    """The project of W&B that the runs are in; null: the one that they were configured with."""
    entity: str | None = MISSING
    """The user or team that it belongs to; null: as the runs were configured, else your account's default."""
    dry_run: bool = MISSING
    """Ask and send nothing; show what would be sent, as JSON."""
    output: str | None = MISSING
    """With dry_run: a folder for report.json and workspace.json; null prints them."""
    only: OnlyConfig = MISSING
    """Which of the runs below paths.runs the table is made of."""
    resamples: int = MISSING
    """Draws of the sentences behind each interval."""
    seed: int = MISSING
    """What these draws derive from."""
    paths: RunsPathConfig = MISSING
    """Folders."""


@dataclass
class CompareConfig:
    """`aiayn compare`."""

    run: str = MISSING
    """A run directory, or a folder below its evaluations/."""
    against: str = MISSING
    """Another one, on the same data; differences are the first minus this one."""
    split: str = MISSING
    """dev or test."""
    examples: int = MISSING
    """How many sentences to show of those on which either is ahead most."""
    output: str | None = MISSING
    """A .md or .json file to write; null: to the terminal."""
    resamples: int = MISSING
    """Draws of the bootstrap, and exchanges of the randomisation; no p-value falls below 1 / (resamples + 1)."""
    seed: int = MISSING
    """What both derive from."""
    paths: CachePathConfig = MISSING
    """Folders; paths.cache may hold the corpus, whose sentences are then shown."""
