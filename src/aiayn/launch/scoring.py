"""Score a model on splits: hypotheses to disk first, then the numbers made from these files."""

import dataclasses
import json
import logging
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import torch
from tqdm import tqdm

from aiayn import files
from aiayn.config.errors import UserError
from aiayn.data.corpus import SPLITS, Split
from aiayn.data.prepared import PreparedData
from aiayn.evaluation.bleu import corpus_bleu, corpus_chrf, sentence_statistics
from aiayn.evaluation.perplexity import perplexity
from aiayn.evaluation.sentences import SentenceScores, write_sentence_scores
from aiayn.models.transformer import Transformer
from aiayn.runs.directory import RunDirectory
from aiayn.runs.record import SignedScore, SplitScores
from aiayn.training.scoring import Search, sentence_likelihoods, translate_split

logger = logging.getLogger("aiayn")


def scored_splits(names: Sequence[str]) -> list[Split]:
    """The splits that a user named.

    Raises:
        UserError: one of them cannot be scored.
    """
    allowed: list[Split] = [split for split in SPLITS if split != "train"]
    if not names:
        raise UserError(f"splits=[]: choose from {', '.join(allowed)}, as in splits=[test]")
    for name in names:
        if name not in allowed:
            raise UserError(f"splits={name}: choose from {', '.join(allowed)}")
    return [split for split in allowed if split in names]


def score_splits(
    model: Transformer,
    data: PreparedData,
    search: Search,
    directory: RunDirectory,
    *,
    splits: Sequence[Split],
    checkpoint_step: int,
    device: torch.device,
) -> dict[str, SplitScores]:
    """Decode and score, writing everything under the run's `evaluations`.

    Args:
        model: with the checkpoint's weights.
        data: the prepared corpus.
        search: how to decode.
        directory: the run's folder.
        splits: what to score.
        checkpoint_step: for the names of the files and the record.
        device: where to compute.
    """
    folder = directory.evaluations / (
        f"step-{checkpoint_step:07d}-beam{search.beam_size}-alpha{search.length_penalty_alpha:g}"
        f"-extra{search.max_extra_length}"
    )
    was_training = model.training
    model.eval().to(device)
    scores: dict[str, SplitScores] = {}
    for split in splits:
        scores[split] = _score_split(model, data, search, folder, directory, split, checkpoint_step, device)
        result = scores[split]
        logger.info("%s: BLEU %.2f, PPL %.2f on %d sentences", split, result.bleu.score, result.ppl, result.sentences)
    model.train(was_training)
    path = folder / "scores.json"
    earlier = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    content = earlier | {split: dataclasses.asdict(result) for split, result in scores.items()}
    files.write_text(path, json.dumps(content, indent=2) + "\n")
    return scores


def _score_split(
    model: Transformer,
    data: PreparedData,
    search: Search,
    folder: Path,
    directory: RunDirectory,
    split: Split,
    checkpoint_step: int,
    device: torch.device,
) -> SplitScores:
    started = time.perf_counter()
    prepared = data.split(split)
    nll, tokens = sentence_likelihoods(
        model, prepared, tokens=search.batch_tokens, bos_id=data.tokenizer.bos_id, device=device
    )
    with tqdm(
        total=len(prepared),
        desc=f"decode {split}",
        unit="sentence",
        file=sys.stderr,
        leave=False,
        disable=not sys.stderr.isatty(),
    ) as bar:
        decoded = translate_split(model, prepared, data.tokenizer, search, device=device, advance=bar.update)
    path = folder / f"{split}.hypotheses.txt"
    files.write_text(path, "".join(f"{' '.join(line.splitlines())}\n" for line in decoded))
    hypotheses = path.read_text(encoding="utf-8").split("\n")[:-1]
    references = prepared.target_lines()
    bleu, chrf = corpus_bleu(hypotheses, references), corpus_chrf(hypotheses, references)
    statistics = sentence_statistics(hypotheses, references)
    write_sentence_scores(
        folder / f"{split}.sentences.jsonl",
        [
            SentenceScores(nll=float(nll[i]), tokens=int(tokens[i]), bleu_statistics=tuple(statistics[i].tolist()))
            for i in range(len(prepared))
        ],
    )
    return SplitScores(
        ppl=perplexity(nll, tokens),
        bleu=SignedScore(bleu.score, bleu.signature),
        chrf=SignedScore(chrf.score, chrf.signature),
        sentences=len(prepared),
        checkpoint_step=checkpoint_step,
        seconds=time.perf_counter() - started,
        hypotheses=str(path.relative_to(directory.path)),
    )
