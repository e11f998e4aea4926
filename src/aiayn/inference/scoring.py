"""Score a model on splits: hypotheses to disk first, then the numbers made from these files."""

import dataclasses
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import filelock
import numpy as np
import torch
from numpy.typing import NDArray

from aiayn.data.corpora.corpus import SPLITS, Split
from aiayn.data.lines import one_line
from aiayn.data.preparation.prepared import PreparedData
from aiayn.data.preparation.prepared_split import PreparedSplit
from aiayn.errors import UserError
from aiayn.evaluation.perplexity import perplexity
from aiayn.evaluation.sentences import SentenceScores, write_sentence_scores
from aiayn.inference.engines import SearchEngine, torch_engine
from aiayn.inference.n_best import n_best_line
from aiayn.inference.quality import quality_of
from aiayn.runs import provenance
from aiayn.runs.directory import RunDirectory, average_name
from aiayn.runs.evaluations import SCORES, read_scores
from aiayn.runs.record import RecordedSearch, SplitScores, json_text
from aiayn.system import files
from aiayn.system.progress import Bar
from aiayn.system.resource_errors import memory_errors_explained
from aiayn.training.process_group import ALONE, ProcessGroup
from aiayn.training.scoring import AnyModel, Search, sentence_likelihoods

logger = logging.getLogger("aiayn")


def scored_splits(names: Sequence[str] | str) -> list[Split]:
    """The splits that a user named, one of them or a list.

    Raises:
        UserError: one of them cannot be scored.
    """
    allowed: list[Split] = [split for split in SPLITS if split != "train"]
    names = [names] if isinstance(names, str) else names
    if not names:
        raise UserError(f"splits=[]: choose from {', '.join(allowed)}, as in splits=[test]")
    for name in names:
        if name not in allowed:
            raise UserError(f"splits={name}: choose from {', '.join(allowed)}")
    return [split for split in allowed if split in names]


def score_splits(
    model: AnyModel,
    data: PreparedData,
    search: Search,
    directory: RunDirectory,
    *,
    splits: Sequence[Split],
    checkpoint_step: int,
    averaged_steps: tuple[int, ...] = (),
    device: torch.device,
    limit: int | None = None,
    group: ProcessGroup = ALONE,
    engine: SearchEngine | None = None,
    n_best: int | None = None,
) -> dict[str, SplitScores]:
    """Decode and score, writing everything under the run's `evaluations`.

    Ranks share the decoding; the first one writes and scores, and only it returns scores.

    Args:
        model: with the checkpoint's weights.
        data: the prepared corpus.
        search: how to decode.
        directory: the run's folder.
        splits: what to score.
        checkpoint_step: for the names of the files and the record.
        averaged_steps: of the checkpoints whose mean the weights are; none for a single checkpoint.
        device: where to compute.
        limit: score only this many sentences of each split, the first ones.
        group: the ranks that share the decoding, each with the same weights.
        engine: what decodes with these weights and this search; by default the model itself.
        n_best: write so many hypotheses of each sentence with their scores, too.
    """
    checkpoint = average_name(averaged_steps) if averaged_steps else f"step-{checkpoint_step:07d}"
    folder = directory.evaluations / f"{checkpoint}{_of_search(search, limit)}{f'-{engine.name}' if engine else ''}"
    model.eval().to(device)
    engine = engine or torch_engine(model, data.tokenizer, search, device=device)
    job = _Job(model, data, search, engine, folder, device, limit, group, n_best)
    scores: dict[str, SplitScores] = {}
    for split in splits:
        started = time.perf_counter()
        with memory_errors_explained("decoding.batch_tokens or decoding.beam_size"):
            likelihoods, decoded = _likelihoods_and_hypotheses(job, split)
        if not group.is_leader:
            continue
        hypotheses = _written_and_read(job, split, decoded)
        result = _scores(
            job, split, likelihoods, hypotheses, run=directory, checkpoint_step=checkpoint_step, started=started
        )
        commit, dirty = provenance.code_version()
        result = dataclasses.replace(result, averaged_steps=averaged_steps, commit=commit, dirty=dirty)
        scores[split] = result
        quality = f"{result.quality_name} {result.quality.score:.2f}"
        logger.info("%s: %s, PPL %.2f on %d sentences", split, quality, result.ppl, result.sentences)
    if not group.is_leader:
        return {}
    with filelock.FileLock(folder / ".lock"):  # two evaluations may add their splits at the same time
        path = folder / SCORES
        content = _earlier_scores(path) | {split: dataclasses.asdict(result) for split, result in scores.items()}
        files.write_text(path, json_text(content))
    return scores


def _earlier_scores(path: Path) -> dict[str, Any]:
    """What earlier evaluations of these weights by this search found, by split; a damaged file is replaced."""
    if not path.is_file():
        return {}
    try:
        return {split: dataclasses.asdict(scores) for split, scores in read_scores(path).items()}
    except UserError as error:
        logger.warning("%s; the file is replaced, with the splits that were just scored", error)
        return {}


def _of_search(search: Search, limit: int | None) -> str:
    """What a search adds to the name of an evaluation's folder."""
    parts = [f"-beam{search.beam_size}", f"-alpha{search.length_penalty_alpha:g}", f"-extra{search.max_extra_length}"]
    if search.ends_among == "beam":
        parts.append("-ends-beam")
    if search.constrained:
        parts.append("-constrained")
    if limit:
        parts.append(f"-first{limit}")
    return "".join(parts)


@dataclass(frozen=True)
class _Job:
    """What scoring each split needs."""

    model: AnyModel
    data: PreparedData
    search: Search
    engine: SearchEngine
    folder: Path
    device: torch.device
    limit: int | None
    group: ProcessGroup
    n_best: int | None

    def split(self, name: Split) -> PreparedSplit:
        return self.data.split(name, limit=self.limit)


Likelihoods: TypeAlias = tuple[NDArray[np.float64], NDArray[np.int64]]
"""Negative log-likelihood and tokens of each sentence."""


def _likelihoods_and_hypotheses(job: _Job, split: Split) -> tuple[Likelihoods, list[str]]:
    """What the model makes of a split, on all ranks together."""
    prepared, tokenizer = job.split(split), job.data.tokenizer
    with Bar(f"score {split}", total=len(prepared), unit=" sentences") as bar:
        likelihoods = sentence_likelihoods(
            job.model,
            prepared,
            tokens=job.search.batch_tokens,
            bos_id=tokenizer.bos_id,
            device=job.device,
            advance=bar.advance,
            group=job.group,
        )
    with Bar(f"decode {split}", total=len(prepared), unit=" sentences") as bar:
        found = job.engine.find(prepared.source, n_best=job.n_best or 1, advance=bar.advance, group=job.group)
    if job.n_best is not None and job.group.is_leader:
        listed = enumerate(zip(prepared.source_lines(), found, strict=True), start=1)
        lines = (n_best_line(number, source, hypotheses, tokenizer) for number, (source, hypotheses) in listed)
        files.write_text(job.folder / f"{split}.n_best.jsonl", "".join(f"{line}\n" for line in lines))
    return likelihoods, tokenizer.decode_batch(best.tokens for best, *_ in found)


def _written_and_read(job: _Job, split: Split, decoded: list[str]) -> list[str]:
    """The hypotheses as they were read back from their file, since scores are made from files."""
    path = _hypotheses_path(job, split)
    files.write_text(path, "".join(f"{one_line(line)}\n" for line in decoded))
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def _hypotheses_path(job: _Job, split: Split) -> Path:
    return job.folder / f"{split}.hypotheses.txt"


def _scores(
    job: _Job,
    split: Split,
    likelihoods: Likelihoods,
    hypotheses: list[str],
    *,
    run: RunDirectory,
    checkpoint_step: int,
    started: float,
) -> SplitScores:
    """The scores of a split, after those of each sentence were written."""
    prepared = job.split(split)
    quality = quality_of(job.data, prepared, hypotheses, trees=job.folder / f"{split}.trees")
    rows = zip(*likelihoods, prepared.source.lengths, quality.sentences, strict=True)
    write_sentence_scores(
        job.folder / f"{split}.sentences.jsonl",
        [
            SentenceScores(float(nll), int(tokens), counts, source_tokens=int(source_tokens), brackets=found)
            for nll, tokens, source_tokens, (counts, found) in rows
        ],
    )
    return SplitScores(
        ppl=perplexity(*likelihoods),
        bleu=quality.bleu,
        chrf=quality.chrf,
        sentences=len(hypotheses),
        checkpoint_step=checkpoint_step,
        seconds=time.perf_counter() - started,
        hypotheses=str(_hypotheses_path(job, split).relative_to(run.path)),
        engine=job.engine.name,
        matrix=quality.matrix,
        brackets=quality.brackets,
        search=_recorded(job.search),
    )


def _recorded(search: Search) -> RecordedSearch:
    return RecordedSearch(
        beam_size=search.beam_size,
        length_penalty_alpha=search.length_penalty_alpha,
        max_extra_length=search.max_extra_length,
        ends_among=search.ends_among,
        constrained=search.constrained,
    )
