"""The model card of a published run, from its record: metadata of the Hugging Face hub, then Markdown.

Scores are in the hub's format `model-index`. Its newer `.eval_results` are for benchmarks registered on the hub, which
the corpora here are not.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aiayn.config.data_schema import HubDataConfig
from aiayn.config.schema import TrainConfig
from aiayn.evaluation.paired import score_interval
from aiayn.evaluation.significance import Floats, bleu_scores, perplexities, sentence_columns
from aiayn.inference.opened_runs import OpenedRun
from aiayn.paper.claims import Metric
from aiayn.reports.beside_base import beside_base
from aiayn.reports.claim_grids import DECIMALS
from aiayn.reports.comparison import BASE
from aiayn.reports.formats import markdown_table
from aiayn.reports.grid import Grid
from aiayn.reports.numbers import counted, effect_text
from aiayn.reports.run import facts
from aiayn.reports.studies import closed_runs
from aiayn.runs.evaluations import Evaluation
from aiayn.runs.record import Record, SplitScores
from aiayn.runs.search import name_below
from aiayn.system import files

RESAMPLES, SEED = 2000, 1
"""Of the intervals."""

LANGUAGE = re.compile("[a-z]{2,3}")
"""Codes that the hub accepts."""

COSTS = ("device-hours", "training time", "evaluation time", "FLOPs", "machine")
TRAINING = ("tokens", "precision", "seed", "config hash", "commit", "versions")
"""Facts of a run that the sections show."""


@dataclass(frozen=True)
class CardScore:
    """One score of one split."""

    split: str
    name: str
    """As in tables: PPL, BLEU, chrF, F1, ..."""
    value: float
    interval: tuple[float, float] | None
    """95%, over sentences; None where a sentence has no counts of its own."""
    signature: str
    """Empty for perplexity."""
    sentences: int


def model_card(run: OpenedRun, record: Record, *, runs: Path, repository: str | None) -> str:
    """The text of README.md.

    Args:
        run: the run and the checkpoint.
        record: as it is published, with the scores of that checkpoint.
        runs: the folder whose runs the model is compared with.
        repository: its name on the hub; None: not stated.
    """
    scores = list(card_scores(run, record))
    sections = [
        f"---\n{_metadata(run.config, record, scores)}\n---",
        f"# {_title(record)}",
        "A model from a reproduction of [Attention Is All You Need](https://arxiv.org/abs/1706.03762), trained and "
        f"published by aiayn: experiment `{record.experiment}`, scale `{record.scale}`, checkpoint "
        f"`{run.checkpoint_name}`. "
        "Every number below is from the run's record, `run.json`.",
        _usage(run.config, "hub:" + repository if repository else "<this folder>"),
        "## Scores",
        *_scores(scores),
        "## Difference to base",
        _beside_base(run, record, runs),
        "## Data",
        _bullets(_data(run.config, record)),
        "## Training",
        f"```\n{record.command}\n```",
        _bullets(f"{name}: {value}" for name, value in facts(record).items() if name in TRAINING and value),
        "## Cost",
        _bullets(_cost(record)),
        "## Limits",
        _bullets(_limits(run.config, record)),
        "## Files",
        "`model.safetensors` has the weights, `tokenizer.json` the vocabulary, `config.yaml` the configuration that "
        "builds the model, `run.json` the record, and `evaluations/` the decoded sentences and the scores of each. "
        "Absolute paths, trackers and callbacks of the original run are left out.",
    ]
    return "\n\n".join(sections) + "\n"


def _title(record: Record) -> str:
    return f"{record.title}, scale {record.scale}, seed {record.seed}"


def card_scores(run: OpenedRun, record: Record) -> Iterator[CardScore]:
    """Every score of the record, with intervals computed from the scores of the sentences."""
    for split, scores in record.scores.items():
        rows = Evaluation(run.directory, record, record.scores, str(run.directory.path)).sentences(split)
        if scores.brackets is None:
            columns = sentence_columns(rows)
        else:
            brackets = [row.brackets.scores for row in rows if row.brackets is not None]
            counts = [(each.matched, each.gold + each.predicted) for each in brackets]
            nll = [(row.nll, row.tokens) for row in rows]
            columns = np.hstack([np.array(nll, dtype=np.float64), np.array(counts, dtype=np.float64)])
        yield _score(
            split, scores, "PPL", scores.ppl, score_interval(columns, perplexities, resamples=RESAMPLES, seed=SEED)
        )
        quality = bleu_scores if scores.brackets is None else _f1
        interval = score_interval(columns, quality, resamples=RESAMPLES, seed=SEED)
        for name, score in scores.shown.items():
            found = interval if name == scores.quality_name else None
            yield _score(split, scores, name, score.score, found, score.signature)


def _score(
    split: str, scores: SplitScores, name: str, value: float, interval: tuple[float, float] | None, signature: str = ""
) -> CardScore:
    return CardScore(split, name, value, interval, signature, scores.sentences)


def _f1(sums: Floats) -> Floats:
    """F1 in percent of summed columns: NLL, tokens, matched brackets, brackets of both trees."""
    return 200 * sums[..., 2] / np.maximum(sums[..., 3], 1)


def _metadata(config: TrainConfig, record: Record, scores: Sequence[CardScore]) -> str:
    """YAML that the hub reads."""
    from huggingface_hub import EvalResult, ModelCardData

    data, is_translation = config.data, not any(each.brackets for each in record.scores.values())
    languages = [each for each in (data.source_language, data.target_language) if LANGUAGE.fullmatch(each)]
    on_hub = isinstance(data, HubDataConfig) and re.fullmatch(r"[\w.-]+(/[\w.-]+)?", data.path) is not None
    task = ("translation", "Translation") if is_translation else ("text-generation", "Constituency parsing")
    results = [
        EvalResult(
            task_type=task[0],
            task_name=task[1],
            dataset_type=data.path if isinstance(data, HubDataConfig) and on_hub else record.data,
            dataset_name=f"{record.data} ({each.split})",
            dataset_split=each.split,
            dataset_args={"fingerprint": record.data_fingerprint},
            metric_type="perplexity" if each.name == "PPL" else each.name.lower().replace(" ", "_"),
            metric_name=each.name,
            metric_value=each.value,
            metric_args={"signature": each.signature} if each.signature else None,
        )
        for each in scores
    ]
    card = ModelCardData(
        language=list(dict.fromkeys(languages)) or None,
        library_name="aiayn",
        pipeline_tag=task[0] if is_translation else None,
        tags=["transformer", "attention-is-all-you-need", record.data, f"scale-{record.scale}"],
        datasets=[data.path] if isinstance(data, HubDataConfig) and on_hub else None,
        metrics=sorted({result.metric_type for result in results}) or None,
        model_name=_title(record) if results else None,
        eval_results=results or None,
    )
    text: str = card.to_yaml()
    return text.strip()


def _usage(config: TrainConfig, name: str) -> str:
    verb, line = ("parse", "words of a sentence") if config.tokenizer.kind.name == "symbols" else ("translate", "text")
    commands = f"```\naiayn {verb} run={name} < input.txt\naiayn evaluate run={name}\n```"
    return f"## Use\n\nWith aiayn and its extra `hub` installed; one line of {line} gives one line:\n\n{commands}"


def _scores(scores: Sequence[CardScore]) -> Iterator[str]:
    if not scores:
        yield "This checkpoint was not evaluated."
        return
    lines = tuple(
        (each.split, each.name, f"{each.value:.2f}", _interval_text(each), f"{each.sentences:,}") for each in scores
    )
    yield markdown_table(Grid("", ("<split", "<score", "value", "<95% interval", "sentences"), (lines,)))
    yield (
        f"Intervals are over the choice of sentences (bootstrap, {RESAMPLES:,} draws), for these weights; other seeds "
        "differ by more. Perplexity is per token of this model's own vocabulary."
    )
    signatures = dict.fromkeys((each.name, each.signature) for each in scores if each.signature)
    yield _bullets(f"{name}: `{signature}`" for name, signature in signatures)


def _interval_text(score: CardScore) -> str:
    return "" if score.interval is None else "{:.2f} to {:.2f}".format(*score.interval)


def _beside_base(run: OpenedRun, record: Record, runs: Path) -> str:
    """The difference to base and the verdict, or why there is none."""
    if record.experiment == BASE and not record.difference:
        return "This is a run of base, which the rows of Table 3 are compared with."
    if not record.scores or record.scores != run.record.scores:
        return "Not compared: the record's scores are of another checkpoint."
    if not files.is_dir(runs):
        return "Not compared: no other runs were there when it was published."
    study = closed_runs(runs).get(name_below(runs, run.directory.path) or "")
    if study is not None:
        return f"Not compared: it is part of the pre-registered study {study}, which is not complete."
    found = beside_base(run.directory, run.record, runs)
    if found is None:
        return "Not compared: there was no finished run of base on the same data at the same scale and budget."
    texts = [f"{metric.compared}: {effect_text(found.effects[metric], DECIMALS[metric])}" for metric in Metric]
    verdict = found.verdict or "none, since no interval is known: neither has two seeds"
    return _bullets(
        (
            f"this system minus base on the development set, with 95% intervals: {'; '.join(texts)}",
            f"seeds: {len(found.seeds)} of this system, {len(found.base_seeds)} of base",
            *([f"budgets: {found.budgets}"] if found.budgets else []),
            f"verdict by log PPL: {verdict}",
        )
    )


def _data(config: TrainConfig, record: Record) -> Iterator[str]:
    yield f"corpus: {record.data}, {config.data.source_language} to {config.data.target_language}"
    yield f"fingerprint (SHA-256): `{record.data_fingerprint}`"
    yield f"pairs: {record.data_summary()}"
    yield f"vocabulary: {record.vocabulary_rows:,} entries ({config.tokenizer.kind.name}), shared by both sides"


def _cost(record: Record) -> Iterator[str]:
    known, total = facts(record), record.account.total
    yield from (f"{name}: {known[name]}" for name in COSTS if known[name])
    energy = {"GPUs": total.gpu_kwh, "processors": total.processor_kwh}
    measured = [f"{value:.3f} kWh by {name}" for name, value in energy.items() if value is not None]
    yield f"energy: {', '.join(measured) or 'not measured'}"
    if total.price is not None:
        yield f"price: {total.price:.2f} {total.currency}"


def _limits(config: TrainConfig, record: Record) -> Iterator[str]:
    """Limits that follow from the settings."""
    if record.scale != "paper":
        scale = config.scale
        yield (
            f"scale {record.scale}: {scale.width:g} of the paper's width, {scale.depth:g} of its depth, "
            f"{scale.steps:g} of its training steps; the paper's numbers are of larger models on other data"
        )
    train = (record.data_counts.get("train") or {}).get("pairs", 0)
    yield f"trained on {counted(train, 'pair')} of {record.data} alone; text of other kinds was not seen"
    if config.data.kind.name in ("grammar", "toy_trees"):
        yield f"{record.data} is generated by a grammar: the model was trained on its words and sentences only"
    yield f"one seed ({record.seed}): another seed gives other weights and scores"
    yield f"training sentences had at most {config.data.max_length} tokens; longer ones are extrapolation"
    if config.identity.sources:
        modules = ", ".join(f"`{source}`" for source in config.identity.sources.split())
        yield f"needs classes of its authors, which are not in this folder: {modules}"
    if record.fidelity != "paper":
        yield f"fidelity profile `{record.fidelity}`, which is not the paper's recipe"
    yield "not examined for biases or safety; no licence is stated"


def _bullets(lines: Iterator[str] | Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
