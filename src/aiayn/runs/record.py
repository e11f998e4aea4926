"""The record of a run, `run.json`: its settings, state and results."""

import dataclasses
import datetime
import json
import math
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from aiayn.config.schema import TrainConfig
from aiayn.config.third_parties import trial_reason
from aiayn.data.corpora.corpus import SPLITS
from aiayn.errors import UserError
from aiayn.evaluation.score import Score
from aiayn.evaluation.tokenization import DEFAULT, tokenizer_of
from aiayn.runs.cost import RunCost
from aiayn.runs.directory import RunDirectory
from aiayn.runs.hardware import Hardware
from aiayn.runs.provenance import DISTRIBUTION, Code, Origin
from aiayn.system import files
from aiayn.system.documents import NullIsInfinity, parse_as, parse_json

SCHEMA_VERSION = 3
"""Increased whenever a field changes its meaning or is removed."""


class Status(StrEnum):
    """The state of a run."""

    running = "running"
    finished = "finished"
    failed = "failed"
    interrupted = "interrupted"
    imported = "imported"
    """A model of another library, which was not trained here."""


@dataclass(frozen=True)
class RecordedBrackets:
    """Labelled brackets of parse trees beside the gold ones, as EVALB counts them; in percent."""

    f1: float
    """F1 of labelled brackets."""
    precision: float
    """Precision of labelled brackets."""
    recall: float
    """Recall of labelled brackets."""
    exact_match: float
    """The share of sentences with every bracket right."""
    tagging_accuracy: float | None
    """The share of words with the right tag; None where the model writes no tags."""
    well_formed: float
    """The share of outputs that were a tree over exactly their words; the others were repaired."""
    signature: str
    """How brackets are counted."""

    @property
    def shown(self) -> dict[str, Score]:
        """By the headings of tables."""
        scores = {
            "F1": self.f1,
            "precision": self.precision,
            "recall": self.recall,
            "exact match": self.exact_match,
            "tagging accuracy": self.tagging_accuracy,
            "well-formed": self.well_formed,
        }
        return {name: Score(score, self.signature) for name, score in scores.items() if score is not None}


@dataclass(frozen=True)
class RecordedSearch:
    """The settings of a search that can change what it finds; see `conf/decoding`."""

    beam_size: int
    """Hypotheses kept at a step."""
    length_penalty: str
    """Name of the length penalty."""
    length_penalty_alpha: float
    """Strength of the length penalty."""
    max_extra_length: int
    """The most tokens of an output beyond those of its source."""
    eos_within: str
    """Which continuations of a step may end; see `conf/decoding`."""
    constrained: bool
    """Whether only trees over exactly the words of the sentence were searched."""


@dataclass(frozen=True)
class SplitScores:
    """The scores of one split: BLEU and chrF of translations, `brackets` of parse trees."""

    ppl: Annotated[float, NullIsInfinity]
    """exp of the mean unsmoothed negative log-likelihood per token, end marks included."""
    bleu: Score | None
    """sacreBLEU; on detokenised text unless the data came split into words."""
    chrf: Score | None
    """chrF on the same text."""
    sentences: int
    """Sentences scored."""
    checkpoint_step: int
    """Optimizer step of the checkpoint scored, of a mean the last one."""
    seconds: float
    """Wall time of scoring and decoding."""
    hypotheses: str
    """The decoded sentences, relative to the run directory."""
    engine: str = "torch"
    """torch: a single model; ensemble<n>-<key>: an ensemble of n."""
    averaged_steps: tuple[int, ...] = ()
    """Steps of the checkpoints whose mean was scored, ascending."""
    matrix: dict[str, Score] = field(default_factory=dict)
    """The same hypotheses by other definitions, by the names of `aiayn.evaluation.matrix.TITLES`."""
    brackets: RecordedBrackets | None = None
    """Scores of parse trees; None for translations."""
    search: RecordedSearch | None = None
    """Settings of the search; None if unknown."""
    cut_short: int | None = None
    """Outputs that reached their limit, source tokens + `search.max_extra_length`; None: not counted."""
    commit: str | None = None
    """Commit of the code that scored; None outside a checkout."""
    dirty: bool | None = None
    """Whether that code had uncommitted changes; None outside a checkout."""
    patch: str | None = None
    """Digest of that code's uncommitted changes."""

    def __post_init__(self) -> None:
        if not files.is_inside(self.hypotheses):
            raise ValueError(f"hypotheses={self.hypotheses!r} is no path inside the run directory")
        if self.brackets is None and (self.bleu is None or self.chrf is None):
            raise ValueError("has neither bleu and chrf nor brackets")

    @property
    def code(self) -> Code:
        """The code that scored."""
        return Code(self.commit, self.dirty, self.patch)

    @property
    def limit_remark(self) -> str | None:
        """A remark on outputs that reached their limit; None if there are none."""
        if not self.cut_short or self.search is None:
            return None
        verb = "output reaches" if self.cut_short == 1 else "outputs reach"
        return (
            f"{self.cut_short:,} {verb} the limit of source tokens + {self.search.max_extra_length} "
            "(decoding.max_extra_length)"
        )

    @property
    def checkpoint(self) -> str:
        """The step of the scored weights, as in "1,400", or "1,400, mean of 5"."""
        count = len(self.averaged_steps)
        return f"{self.checkpoint_step:,}{f', mean of {count}' if count else ''}"

    @property
    def origin(self) -> str:
        """The checkpoint, and the ensemble that it is part of if there is one."""
        return self.checkpoint if self.engine == "torch" else f"{self.checkpoint}, {self.engine}"

    @property
    def bleu_name(self) -> str:
        """BLEU, or BLEU_none where sacreBLEU did not tokenise: the two do not compare and share no column."""
        return "BLEU_none" if self.bleu is not None and "tok:none" in self.bleu.signature.split("|") else "BLEU"

    @property
    def bleu_tokenizer(self) -> str | None:
        """The tokenizer of BLEU by sacreBLEU's name; None where it is that of WMT, or there is no BLEU."""
        name = DEFAULT if self.bleu is None else tokenizer_of(self.bleu.signature)
        return None if name == DEFAULT else name

    @property
    def shown(self) -> dict[str, Score]:
        """The scores in tables, by heading: BLEU and chrF of translations, F1 and its parts of trees."""
        if self.brackets is not None:
            return self.brackets.shown
        assert self.bleu is not None
        assert self.chrf is not None
        return {self.bleu_name: self.bleu, "chrF": self.chrf}

    @property
    def quality_name(self) -> str:
        """The heading of `quality`: F1, BLEU or BLEU_none."""
        return next(iter(self.shown))

    @property
    def quality(self) -> Score:
        """The score that stands for all that was decoded."""
        return self.shown[self.quality_name]

    @property
    def by_definition(self) -> dict[str, Score]:
        """BLEU, the scores of the matrix and chrF; for trees the scores shown; by name."""
        first, *others = ((re.sub(r"[ -]", "_", name.lower()), score) for name, score in self.shown.items())
        return dict([first, *self.matrix.items(), *others])


@dataclass(frozen=True)
class ImportedFrom:
    """The checkpoint of another library that a run directory was made from."""

    library: str
    """fairseq or marian."""
    file: str
    """The file of its weights, as a path at that time."""
    sha256: str
    """Hexadecimal checksum of that file."""


@dataclass
class Record:
    """The record of one run."""

    schema_version: int
    """Version of the record."""
    run_id: str
    """The run's id, also of the W&B run, which `wandb agent` may have chosen."""
    name: str
    """Folder below the runs folder."""
    experiment: str
    """The experiment, as in table3/base."""
    scale: str
    """The scale."""
    fidelity: str
    """The fidelity profile."""
    seed: int
    """The seed."""
    command: str
    """The command as the user typed it; of a multirun that of this job alone."""
    config_hash: str
    """Run identity: the hash of everything in the configuration that can change a result."""
    data: str
    """The corpus's name."""
    status: Status
    """The state of the run, as it was last written."""
    difference: str = ""
    """The run's changes to its experiment, as in dropout=0.3; may be empty."""
    trial: str | None = None
    """The setting that makes the run a trial instead of a result, as in trainer.fast_dev_run=true."""
    message: str | None = None
    """Why the run failed, stopped, or ended before its last step."""
    data_fingerprint: str | None = None
    """Checksum of the prepared corpus."""
    data_counts: dict[str, dict[str, int]] = field(default_factory=dict)
    """Numbers of pairs kept and dropped, and of tokens, by split."""
    versions: dict[str, str] = field(default_factory=dict)
    """Versions, by name, of the packages that can change a result."""
    commit: str | None = None
    """Commit of the checkout; None outside one."""
    dirty: bool | None = None
    """Whether the checkout had uncommitted changes below src/, conf/ or sweeps/."""
    patch: str | None = None
    """Digest of these changes, which are in source-<digest>.patch."""
    packages: str | None = None
    """Digest of the installed packages, which are in packages-<digest>.txt."""
    earlier: list[Origin] = field(default_factory=list)
    """Origins of earlier attempts that have trained; the last attempt's is `origin`."""
    repeats: int = 0
    """The number of times that the run was trained anew after it had finished (force=true)."""
    hardware: Hardware = field(default_factory=Hardware)
    """The machine of the last attempt; empty before training."""
    precision: str | None = None
    """Precision as trained, in Lightning's notation, such as 32-true or bf16-mixed."""
    tf32: bool | None = None
    """Whether products in single precision were TensorFloat-32."""
    parameters: int | None = None
    """Trainable parameters, tied ones once."""
    vocabulary_rows: int | None = None
    """Rows of the embedding matrix."""
    steps: int = 0
    """Optimizer steps done."""
    max_steps: int | None = None
    """Optimizer steps planned; None before training."""
    tokens: int = 0
    """Source and target tokens trained on, pads excluded, end marks included."""
    seconds: float = 0.0
    """Wall time of training over all attempts, validation included, preparation and evaluation excluded."""
    tokens_per_second: float | None = None
    """Speed of training; None before training."""
    flops: float | None = None
    """Training FLOPs: 6 per matrix weight and token that it meets; attention's products are not counted."""
    started: str | None = None
    """First start, UTC, ISO 8601."""
    ended: str | None = None
    """Last end, UTC, ISO 8601."""
    scores: dict[str, SplitScores] = field(default_factory=dict)
    """The scores by split: dev, test."""
    cost: RunCost | None = None
    """The account of the run; None before training."""
    imported: ImportedFrom | None = None
    """The checkpoint of another library; None for a run that was trained here."""

    def __post_init__(self) -> None:
        for key in ("name", "patch", "packages"):
            if (value := getattr(self, key)) is not None and not files.is_inside(value):
                raise ValueError(f"{key}={value!r} leads out of the folder of runs")
        if unknown := self.scores.keys() - {*SPLITS}:  # files are named after them
            raise ValueError(f"scores of {min(unknown)!r}, which is none of {', '.join(SPLITS)}")

    @property
    def title(self) -> str:
        """The experiment with the run's changes to it, as in "table3/base dropout=0.3"."""
        return f"{self.experiment} {self.difference}".rstrip()

    @property
    def account(self) -> RunCost:
        """`cost`, or an empty account if training never began."""
        return self.cost or RunCost.of(())

    @property
    def provenance(self) -> dict[str, str | None]:
        """The identity that every checkpoint of the run carries."""
        return {"config_hash": self.config_hash, "data_fingerprint": self.data_fingerprint}

    @property
    def origin(self) -> Origin:
        """Code, packages and precision of the last attempt."""
        version = self.versions.get(DISTRIBUTION) if self.commit is None else None
        return Origin(self.commit, self.dirty, self.patch, self.packages, self.precision, self.tf32, version)

    @property
    def has_begun(self) -> bool:
        """Whether training was reached: the configuration and the data were accepted."""
        return bool(self.hardware)

    def steps_done(self) -> str:
        """The optimizer steps, with the planned number if some are missing, as in "15 of 3,000"."""
        is_short = self.max_steps is not None and self.steps < self.max_steps
        return f"{self.steps:,}" + (f" of {self.max_steps:,}" if is_short else "")

    def data_summary(self) -> str:
        """The numbers of pairs kept and dropped in each split, in one line."""
        parts = []
        for split, counts in self.data_counts.items():
            part = [f"{split} {counts['pairs']:,} {'pair' if counts['pairs'] == 1 else 'pairs'}"]
            for kind, number in counts.items():
                if kind.startswith("dropped_") and number:
                    part.append(f"{number:,} {kind.removeprefix('dropped_').replace('_', ' ')} dropped")
            if counts.get("contaminated"):
                part.append(f"{counts['contaminated']:,} with a sentence of dev or test")
            parts.append(", ".join(part))
        return "; ".join(parts)

    def write(self, path: Path) -> None:
        """Write the record atomically."""
        files.write_text(path, json_text(dataclasses.asdict(self)))


def new_record(config: TrainConfig, *, command: str, status: Status) -> Record:
    """The record of a run that begins now, with an id of its own; `command` as the user typed it."""
    return Record(
        schema_version=SCHEMA_VERSION,
        run_id=secrets.token_hex(4),
        name=config.identity.name,
        experiment=config.identity.experiment,
        scale=config.identity.scale,
        fidelity=config.identity.fidelity,
        seed=config.seed,
        command=command,
        config_hash=config.identity.hash,
        data=config.data.name,
        status=status,
        difference=config.identity.difference,
        trial=trial_reason(config.trainer),
        started=utc_now(),
    )


def json_text(content: Mapping[str, Any]) -> str:
    """Indented JSON; a number that JSON cannot express (infinity, NaN) is written as null."""
    return json.dumps(_finite(content), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read_record(path: Path) -> Record:
    """Read a record; UserError if the file is missing, damaged, or of another version."""
    try:
        text = files.read_text(path)
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; is {path.parent} a run directory?") from None
    content = parse_json(text, str(path))
    version = content.get("schema_version") if isinstance(content, dict) else SCHEMA_VERSION
    if version != SCHEMA_VERSION:
        raise UserError(
            f"{path}: schema_version={version}: this aiayn reads version {SCHEMA_VERSION}; check out its commit"
        )
    record = parse_as(Record, text, str(path))
    record.cost = record.cost and RunCost.of(record.cost.attempts)
    return record


def utc_now() -> str:
    """The time in ISO 8601, to the second."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def is_finished(directory: RunDirectory) -> bool:
    """Whether a run has been done to its end."""
    return files.is_file(directory.record) and read_record(directory.record).status is Status.finished


def check_translations(scores: SplitScores, *, place: str) -> None:
    """Refuse parse trees where translations are scored or compared; `place` names the run."""
    if scores.brackets is not None:
        raise UserError(f"{place}: its outputs are trees, scored by {scores.quality_name}; name a translation's run")
