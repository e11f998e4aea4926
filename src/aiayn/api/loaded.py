"""A run's model in memory, for one use after another."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from aiayn.config.command_schema import AttentionUnits, TranslateConfig
from aiayn.errors import UserError
from aiayn.inference.opened_runs import open_all
from aiayn.inference.pair_scoring import PairScore, PairScorer
from aiayn.inference.sentence_attention import AttentionReader, Line
from aiayn.inference.translation import Translator
from aiayn.models.kernels.matmul import packed
from aiayn.models.transformer import Transformer
from aiayn.runs.attention_maps import AttendedSentence
from aiayn.runs.directory import RunDirectory
from aiayn.runs.model_settings import transformer_of


@dataclass(frozen=True)
class LoadedModel:
    """A model, its tokenizer and its search."""

    directory: RunDirectory
    translator: Translator

    @classmethod
    def of(cls, request: TranslateConfig) -> Self:
        """Load the model as `aiayn translate` does; UserError if run, checkpoint or a setting cannot be used."""
        runs = open_all(
            request.run,
            checkpoint=request.checkpoint,
            launch=request.launch,
            trust=request.trust,
            decoding=request.decoding,
        )
        return cls(runs.first.directory, Translator.from_runs(runs, request))

    def translate(self, lines: Sequence[str]) -> list[str]:
        """Return the best hypothesis of each line; empty for a blank line."""
        with packed(self.translator.model):
            return [self.translator.text(found) for found in self.translator.translate(lines)]

    def score(self, sources: Sequence[str], targets: Sequence[str]) -> list[PairScore]:
        """Return the likelihood of each target."""
        if len(sources) != len(targets):
            raise UserError(f"sources, targets: have {len(sources)} and {len(targets)} lines; state as many of each")
        own = self.translator
        scorer = PairScorer(own.model, own.tokenizer, own.search.batch_tokens, own.device, own.max_length)
        return scorer.score(list(zip(sources, targets, strict=True)))

    def attention(self, source: str, target: str | None, units: str) -> AttendedSentence:
        """Return the weights of one sentence pair; the model translates the source if there is no target."""
        transformer_of(self.directory)
        assert isinstance(self.translator.model, Transformer)
        if not source.strip():
            raise UserError(f"source={source!r}: has no words; state a sentence")
        if units not in [*AttentionUnits]:
            raise UserError(f"units={units}: choose from {', '.join(AttentionUnits)}")
        reader = AttentionReader(self.translator.model, self.translator, AttentionUnits(units))
        found = reader.read([Line(1, source, target)])
        if not found:
            longest = self.translator.max_length - 1
            raise UserError(f"source, target: one has more than {longest} tokens (model.max_positions); shorten it")
        return found[0]
