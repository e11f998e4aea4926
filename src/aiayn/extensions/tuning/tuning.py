"""Choose beam size and length penalty on the development set, with one search per beam size for all alphas."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np
import torch
from numpy.typing import NDArray

from aiayn.builders.corpus import bleu_tokenizer_of
from aiayn.config.data_schema import ParsedDataConfig
from aiayn.config.schema import BeamSearchConfig
from aiayn.config.values import check_values
from aiayn.data.batches.sentences import Sentences
from aiayn.data.vocabulary import AnyTokenizer
from aiayn.decoding.reranking import reranked
from aiayn.decoding.step import Hypothesis
from aiayn.errors import UserError
from aiayn.evaluation.bleu import bleu_from_statistics, corpus_bleu, sentence_statistics
from aiayn.evaluation.paired import PairedTest, paired_test
from aiayn.evaluation.significance import bleu_scores
from aiayn.extensions.tuning.result import DecodingSetting, EvaluatedSetting, Searched, Tuning, best_tried
from aiayn.extensions.tuning.schema import TuneConfig
from aiayn.inference.evaluation import training_data
from aiayn.inference.opened_runs import open_all, usable_device
from aiayn.paper.recipe import load_recipe
from aiayn.runs.directory import named_runs
from aiayn.system.progress import Bar
from aiayn.training.scoring import AnyModel, best_texts, search_all


def tune_decoding(request: TuneConfig, *, beam_sizes: Sequence[int], alphas: Sequence[float]) -> Tuning:
    """Rank every beam size and alpha, then search with the best setting and with the paper's."""
    runs = open_all(
        request.run,
        checkpoint=request.checkpoint,
        launch=request.launch,
        trust=request.trust,
        decoding=request.decoding,
    )
    for beam_size, alpha in product(beam_sizes, alphas):
        check_values(replace(runs.config.decoding, beam_size=beam_size, length_penalty_alpha=alpha), "decoding.")
    if isinstance(runs.config.data, ParsedDataConfig):
        raise UserError(
            f"run={runs.first.directory.path}: it parses, and tune compares BLEU; name a run that translates"
        )
    tokenize = bleu_tokenizer_of(runs.config)
    device, data = usable_device(request.device), training_data(runs)
    model = runs.model(vocabulary_size=data.tokenizer.vocabulary_size, device=device)
    split = data.split("dev", limit=runs.config.decoding.limit_sentences)
    decoder = _Decoder(model, split.source, data.tokenizer, runs.config.decoding, device)
    scorer = _Scorer(data.references(split), tokenize)
    ranked: dict[DecodingSetting, list[str]] = {}
    for beam_size in beam_sizes:
        ranked |= decoder.by_alpha(beam_size, alphas)
    tried = [scorer.tried(setting, outputs) for setting, outputs in ranked.items()]
    chosen, papers = best_tried(tried).setting, paper_setting()
    found = {setting: decoder.outputs(setting) for setting in dict.fromkeys([chosen, papers])}
    return Tuning(
        runs=named_runs(request.run),
        checkpoint=request.checkpoint,
        steps=[run.step for run in runs.members],
        overrides=[
            f"decoding.{key}={value}"
            for key, value in vars(request.decoding).items()
            if key in ("length_penalty", "max_extra_length", "eos_within", "bleu_tokenizer") and value is not None
        ],
        data=runs.first.record.data,
        fingerprint=data.fingerprint,
        sentences=len(split),
        tried=tried,
        best=scorer.searched(chosen, found[chosen], ranked.get(chosen)),
        paper=scorer.searched(papers, found[papers], ranked.get(papers)),
        difference=scorer.difference(found[chosen], found[papers], resamples=request.resamples, seed=request.seed),
    )


def paper_setting() -> DecodingSetting:
    """Beam 4 and alpha 0.6 (section 6.1); the run's own length penalty is kept."""
    stated = {item.key: item.value for item in load_recipe().settings}
    return DecodingSetting(int(stated["decoding.beam_size"]), float(stated["decoding.length_penalty_alpha"]))


@dataclass(frozen=True)
class _Decoder:
    """Searches over one split."""

    model: AnyModel
    sources: Sentences
    tokenizer: AnyTokenizer
    search: BeamSearchConfig
    """Beam size and alpha are replaced by those tried."""
    device: torch.device

    def outputs(self, setting: DecodingSetting) -> list[str]:
        """The best output of each sentence, searched with this setting."""
        found = self._search(setting, f"beam {setting.beam_size}, alpha {setting.alpha:g}")
        return best_texts(found, self.tokenizer)

    def by_alpha(self, beam_size: int, alphas: Sequence[float]) -> dict[DecodingSetting, list[str]]:
        """The best outputs for every alpha, reranked from one search."""
        widest = DecodingSetting(beam_size, max(alphas))
        pools = self._search(widest, f"beam {beam_size}, all alphas", of_each_length=True)
        penalty = self.search.length_penalty
        return {
            DecodingSetting(beam_size, alpha): best_texts(
                [reranked(pool, alpha=alpha, kind=penalty.value) for pool in pools], self.tokenizer
            )
            for alpha in alphas
        }

    def _search(self, setting: DecodingSetting, title: str, *, of_each_length: bool = False) -> list[list[Hypothesis]]:
        search = replace(self.search, beam_size=setting.beam_size, length_penalty_alpha=setting.alpha)
        with Bar(title, total=len(self.sources.lengths), unit=" sentences") as bar:
            return search_all(
                self.model,
                self.sources,
                self.tokenizer,
                search,
                device=self.device,
                of_each_length=of_each_length,
                advance=bar.advance,
            )


@dataclass(frozen=True)
class _Scorer:
    """Scores outputs against references, each distinct output of a sentence once."""

    references: Sequence[str]
    tokenize: str
    known: dict[tuple[int, str], NDArray[np.int64]] = field(default_factory=dict)
    """Rows of `sentence_statistics`, by sentence number and output."""

    def tried(self, setting: DecodingSetting, outputs: Sequence[str]) -> EvaluatedSetting:
        """The scores of a setting's outputs."""
        statistics = self._statistics(outputs)
        return EvaluatedSetting(setting, bleu_from_statistics(statistics), _length_ratio(statistics))

    def searched(self, setting: DecodingSetting, outputs: Sequence[str], ranked: Sequence[str] | None) -> Searched:
        """The scores of a setting's own search, and how many outputs differ from those by reranking."""
        bleu = corpus_bleu(outputs, self.references, tokenize=self.tokenize)
        others = None if ranked is None else sum(a != b for a, b in zip(outputs, ranked, strict=True))
        length_ratio = _length_ratio(self._statistics(outputs))
        return Searched(setting, bleu, length_ratio, others)

    def difference(self, first: Sequence[str], second: Sequence[str], *, resamples: int, seed: int) -> PairedTest:
        """BLEU of the first outputs minus that of the second."""
        # The first two columns, likelihood and tokens, are independent of the search.
        one, other = (
            np.column_stack([np.ones((len(outputs), 2)), self._statistics(outputs)]) for outputs in (first, second)
        )
        return paired_test(one, other, bleu_scores, resamples=resamples, seed=seed)

    def _statistics(self, outputs: Sequence[str]) -> NDArray[np.int64]:
        new = [key for key in enumerate(outputs) if key not in self.known]
        if new:
            references = [self.references[number] for number, _ in new]
            rows = sentence_statistics([text for _, text in new], references, tokenize=self.tokenize)
            self.known.update(zip(new, rows, strict=True))
        return np.array([self.known[key] for key in enumerate(outputs)])


def _length_ratio(statistics: NDArray[np.int64]) -> float:
    """Words of the hypotheses / words of the references."""
    hypothesis, reference = statistics[:, :2].sum(axis=0).tolist()
    return float(hypothesis / max(1, reference))
