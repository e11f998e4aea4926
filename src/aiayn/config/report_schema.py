"""The schema of the commands that compare runs. No field has a default; see `schema`."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Protocol

from omegaconf import MISSING

from aiayn.config.command_schema import Resamples, ScoredSplit, TrustConfig
from aiayn.config.schema import CachePathConfig, PathsConfig, RunsPathConfig
from aiayn.config.values import (
    Count,
    Name,
    OneOrList,
    Seed,
    TextsOrNull,
    WholeNumber,
    text,
    text_or_null,
    true_or_false,
)


@dataclass
class OnlyConfig:
    """The runs of a table; null selects all, and runs that are not comparable are refused."""

    scale: str | None = text_or_null()
    """Runs of this scale."""
    data: str | None = text_or_null()
    """Runs on this corpus: its data.name, or the first digits of its fingerprint."""
    like: str | None = text_or_null()
    """A run directory, preferably of the base row; table3 leaves out runs that are not comparable with it."""


@dataclass
class OnlyComparedConfig(OnlyConfig):
    """Further selections, which not all reports have."""

    sweep: TextsOrNull = MISSING
    """Runs of these sweeps: a pattern, or a list of names (of files, or AIAYN_SWEEP); null: of all."""
    experiment: TextsOrNull = MISSING
    """Runs of these experiments: a pattern as in table3/c_*, or a list of them; null: of all."""


class SlowMetric(StrEnum):
    """A metric that is computed on request."""

    chrf_pp = "chrf_pp"
    ter = "ter"
    comet = "comet"


class TableChoice(Protocol):
    """What chooses the runs of Table 3."""

    @property
    def study(self) -> str | None:
        """A pre-registered study."""

    @property
    def only(self) -> OnlyConfig:
        """The runs below `paths.runs`."""

    @property
    def paths(self) -> RunsPathConfig:
        """Folders."""


@dataclass
class ReportConfig(TrustConfig):
    """`aiayn report <noun>`."""

    noun: str = text()
    """The report; `aiayn report --help` lists them."""
    run: str | None = text_or_null()
    """A run directory, for the report of a run; for its matrix also a folder below its evaluations/."""
    study: str | None = text_or_null()
    """A pre-registered study, by the name of its file in sweeps/: its hypotheses, or its runs in Table 3."""
    table: int | None = MISSING
    """Number of the paper's table, 1 to 4, for the report of the paper; null: all."""
    output: str | None = text_or_null()
    """The file to write, in the format of its suffix: .md; for some .json, .tex, .csv; page: .html. null: print."""
    publish: str | None = text_or_null()
    """A folder to write, with the report as a page and the data to recompute it; null: none."""
    published: str | None = text_or_null()
    """A folder that publish= has written, to read instead of paths.runs; also written as from=; null: none."""
    wandb: bool = true_or_false()
    """Also write each run's difference to base, and the verdict, into its summary in W&B."""
    watch: bool = true_or_false()
    """Update the page while runs train, until Ctrl-C."""
    plotly_bundle: str | None = text_or_null()
    """A file of plotly.js for the page, such as plotly-basic.min.js; null: the full bundle, which is larger."""
    only: OnlyComparedConfig = MISSING
    """The runs below paths.runs that a table uses."""
    profiles: TextsOrNull = MISSING
    """Fidelity profiles to compare, a list; null: all."""
    against: str | None = text_or_null()
    """The reference run of a comparison; null: the run of table3/base with the fewest changes, if there is one."""
    metrics: Annotated[Any, OneOrList(str, is_optional=True), Name(SlowMetric)] = MISSING
    """Metrics of a matrix besides all definitions of BLEU, one or a list: chrf_pp, ter, comet."""
    comet_model: str = text()
    """Model of COMET: a name on the Hugging Face hub, or the file of a checkpoint."""
    sentences: Count = MISSING
    """Sentence pairs of the development set that each model reads for sharpness."""
    device: str = text()
    """The device of models for sharpness: auto (a GPU if available), cpu, cuda or cuda:<n>."""
    seed: Seed = MISSING
    """Seed of the weights and inputs of table1."""
    paths: PathsConfig = MISSING
    """Folders."""


@dataclass
class CompareConfig:
    """`aiayn compare`."""

    run: str = text()
    """A run directory, or a folder below its evaluations/."""
    against: str = text()
    """Another one, on the same data; differences are the first minus this one."""
    split: ScoredSplit = MISSING
    """dev or test."""
    examples: WholeNumber = MISSING
    """Sentences to show for each run, those with the largest differences."""
    output: str | None = text_or_null()
    """A .md or .json file to write; null: to the terminal."""
    resamples: Resamples = MISSING
    """Samples of the bootstrap and of the randomisation test; the smallest p-value is 1 / (resamples + 1)."""
    seed: Seed = MISSING
    """Seed of both."""
    paths: CachePathConfig = MISSING
    """Folders; if paths.cache holds the corpus, its sentences are shown."""
