"""Score a model on splits: hypotheses are written to disk first, and scores computed from these files."""

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

from aiayn.config.schema import BeamSearchConfig
from aiayn.data.corpora.corpus import SPLITS, Split
from aiayn.data.preparation.prepared import PreparedData
from aiayn.data.preparation.split_files import PreparedSplit
from aiayn.data.vocabulary import start_id
from aiayn.decoding.step import Hypothesis
from aiayn.errors import UserError
from aiayn.evaluation.bleu import doubt
from aiayn.evaluation.perplexity import perplexity
from aiayn.evaluation.sentences import SentenceScores, write_sentence_scores
from aiayn.evaluation.tokenization import AS_GIVEN, DEFAULT
from aiayn.inference.n_best import n_best_line
from aiayn.inference.quality import quality_of
from aiayn.runs import provenance
from aiayn.runs.directory import RunDirectory, average_name
from aiayn.runs.evaluations import SCORES, read_scores
from aiayn.runs.record import RecordedSearch, SplitScores, json_text
from aiayn.system import files
from aiayn.system.progress import Bar
from aiayn.training.process_group import ALONE, ProcessGroup
from aiayn.training.scoring import AnyModel, best_texts, search_all, sentence_likelihoods

logger = logging.getLogger("aiayn")

Likelihoods: TypeAlias = tuple[NDArray[np.float64], NDArray[np.int64]]
"""Negative log-likelihood and number of tokens of each sentence."""


def parse_splits(names: Sequence[str] | str) -> list[Split]:
    """The splits that a user named, one or a list."""
    allowed: list[Split] = [split for split in SPLITS if split != "train"]
    names = [names] if isinstance(names, str) else names
    if not names:
        raise UserError(f"splits=[]: choose from {', '.join(allowed)}, as in splits=[test]")
    for name in names:
        if name not in allowed:
            raise UserError(f"splits={name}: choose from {', '.join(allowed)}")
    return [split for split in allowed if split in names]


@dataclass(frozen=True)
class Scorer:
    """Decodes and scores splits with the weights of one checkpoint; all files go under the run's `evaluations`.

    Ranks share the decoding. Only the first one writes and scores.
    """

    model: AnyModel
    data: PreparedData
    search: BeamSearchConfig
    directory: RunDirectory
    device: torch.device
    bleu_tokenizer: str
    """By sacreBLEU's name."""
    step: int
    """Of the checkpoint."""
    averaged_steps: tuple[int, ...] = ()
    """Of the averaged checkpoints; empty for a single checkpoint."""
    limit: int | None = None
    """Score only the first sentences of each split, this many."""
    group: ProcessGroup = ALONE
    ensemble: str | None = None
    """Name of the ensemble, if the model is one."""
    n_best: int | None = None
    """Also write this many hypotheses of each sentence with their scores."""

    def score(self, splits: Sequence[Split]) -> dict[str, SplitScores]:
        """The scores of each split, also added to those on disk; empty on ranks other than the first."""
        self.model.eval().to(self.device)
        scores: dict[str, SplitScores] = {}
        for name in splits:
            started = time.perf_counter()
            split = self.data.split(name, limit=self.limit)
            likelihoods, found = self._decode(split, name)
            if self.group.is_leader:
                files.require_folder(self.directory.path)
                path = self._write_hypotheses(split, name, found)
                scores[name] = result = self._score_file(path, split, likelihoods, found, started=started)
                shown = f"{result.quality_name} {result.quality.score:.2f}"
                limit = f"; {result.limit_remark}" if result.limit_remark else ""
                logger.info("%s: %s, PPL %.2f on %d sentences%s", name, shown, result.ppl, result.sentences, limit)
                if remark := doubt(result.bleu, result.chrf):
                    logger.warning("%s: %s", name, remark)
        if scores:
            _add_scores(self.folder, scores)
        return scores

    @property
    def folder(self) -> Path:
        """The folder of this checkpoint and search."""
        checkpoint = average_name(self.averaged_steps) if self.averaged_steps else f"step-{self.step:07d}"
        search = self.search
        parts = [
            checkpoint,
            f"beam{search.beam_size}",
            f"alpha{search.length_penalty_alpha:g}",
            f"extra{search.max_extra_length}",
            "power-penalty" if search.length_penalty == "power" else None,
            "ends-beam" if search.eos_within == "beam" else None,
            "constrained" if search.constrained else None,
            None if self.bleu_tokenizer in (AS_GIVEN, DEFAULT) else self.bleu_tokenizer,
            f"first{self.limit}" if self.limit else None,
            self.ensemble,
        ]
        return self.directory.evaluations / "-".join(filter(None, parts))

    def _decode(self, split: PreparedSplit, name: Split) -> tuple[Likelihoods, list[list[Hypothesis]]]:
        """Likelihoods of the references and the hypotheses found, computed by all ranks together."""
        tokenizer, total = self.data.tokenizer, len(split)
        with Bar(f"score {name}", total=total, unit=" sentences") as bar:
            likelihoods = sentence_likelihoods(
                self.model,
                split,
                tokens=self.search.batch_tokens,
                start_id=start_id(tokenizer, self.model.target_start),
                device=self.device,
                advance=bar.advance,
                group=self.group,
            )
        with Bar(f"decode {name}", total=total, unit=" sentences") as bar:
            found = search_all(
                self.model,
                split.source,
                tokenizer,
                self.search,
                device=self.device,
                n_best=self.n_best or 1,
                advance=bar.advance,
                group=self.group,
            )
        return likelihoods, found

    def _write_hypotheses(self, split: PreparedSplit, name: Split, found: list[list[Hypothesis]]) -> Path:
        """Write the best hypotheses, a line each, and the n-best lists if requested; returns the first file."""
        tokenizer = self.data.tokenizer
        if self.n_best is not None:
            pairs = enumerate(zip(split.source_lines(), found, strict=True), start=1)
            lines = (n_best_line(number, source, hypotheses, tokenizer) for number, (source, hypotheses) in pairs)
            files.write_text(self.folder / f"{name}.n_best.jsonl", "".join(f"{line}\n" for line in lines))
        path = self.folder / f"{name}.hypotheses.txt"
        files.write_text(path, "".join(f"{text}\n" for text in best_texts(found, tokenizer)))
        return path

    def _score_file(
        self,
        path: Path,
        split: PreparedSplit,
        likelihoods: Likelihoods,
        found: list[list[Hypothesis]],
        *,
        started: float,
    ) -> SplitScores:
        """Score the hypotheses in a file, and write the scores of each sentence beside it."""
        hypotheses = path.read_text(encoding="utf-8").split("\n")[:-1]
        name = path.name.partition(".")[0]
        quality = quality_of(
            self.data,
            split,
            hypotheses,
            bleu_tokenizer=self.bleu_tokenizer,
            trees=self.folder / f"{name}.trees",
        )
        rows = zip(*likelihoods, split.source.lengths, quality.sentences, strict=True)
        write_sentence_scores(
            self.folder / f"{name}.sentences.jsonl",
            [
                SentenceScores(float(nll), int(tokens), int(source_tokens), counts, brackets)
                for nll, tokens, source_tokens, (counts, brackets) in rows
            ],
        )
        code = provenance.code_version()
        settings = {field.name: getattr(self.search, field.name) for field in dataclasses.fields(RecordedSearch)}
        return SplitScores(
            ppl=perplexity(*likelihoods),
            bleu=quality.bleu,
            chrf=quality.chrf,
            matrix=quality.matrix,
            brackets=quality.brackets,
            sentences=len(split),
            checkpoint_step=self.step,
            averaged_steps=self.averaged_steps,
            seconds=time.perf_counter() - started,
            hypotheses=str(path.relative_to(self.directory.path)),
            engine=self.ensemble or "torch",
            search=RecordedSearch(**settings),
            cut_short=sum(not best.finished for best, *_ in found),
            commit=code.commit,
            dirty=code.dirty,
            patch=code.patch,
        )


def _add_scores(folder: Path, scores: dict[str, SplitScores]) -> None:
    """Add splits to the scores of an evaluation; a damaged file is replaced."""
    path = folder / SCORES
    with filelock.FileLock(folder / ".lock"):  # two evaluations may add their splits at the same time
        earlier: dict[str, Any] = {}
        if files.is_file(path):
            try:
                earlier = {split: dataclasses.asdict(scores) for split, scores in read_scores(path).items()}
            except UserError as error:
                logger.warning("%s; the file is replaced, with the splits that were just scored", error)
        content = earlier | {split: dataclasses.asdict(result) for split, result in scores.items()}
        files.write_text(path, json_text(content))
