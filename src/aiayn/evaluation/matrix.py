"""The same hypotheses by every definition of BLEU in use, and by other scores; each under its own name.

Between definitions lies more BLEU than between most rows of Table 3, so none is compared with another.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from aiayn.errors import UserError
from aiayn.evaluation import moses
from aiayn.evaluation.bleu import corpus_bleu, corpus_chrf, corpus_ter
from aiayn.evaluation.comet import corpus_comet
from aiayn.evaluation.score import Score

TITLES: Mapping[str, str] = {
    "bleu": "sacreBLEU 13a",
    "bleu_none": "sacreBLEU, words as they came",
    "bleu_lc": "sacreBLEU 13a, lower-cased",
    "bleu_intl": "sacreBLEU intl",
    "bleu_intl_lc": "sacreBLEU intl, lower-cased",
    "multi_bleu": "multi-bleu.perl on Moses' tokens",
    "multi_bleu_none": "multi-bleu.perl, words as they came",
    "multi_bleu_split": "multi-bleu.perl on Moses' tokens, compounds split, quotes normalised",
    "multi_bleu_none_split": "multi-bleu.perl, words as they came, compounds split",
    "bleu_wmt14": "sacreBLEU 13a on wmt14, 2,737 of the sentences",
    "bleu_wmt14_full": "sacreBLEU 13a on wmt14/full",
    "chrf": "chrF2",
    "chrf_pp": "chrF2++",
    "ter": "TER, lower is better",
    "comet": "COMET",
}
"""Titles of the scores in tables, in their order."""


@dataclass(frozen=True)
class Translations:
    """Hypotheses, references and their form."""

    hypotheses: Sequence[str]
    """Detokenised, but for text that came split into words."""
    references: Sequence[str]
    language: str
    """Of both, ISO 639-1."""
    pretokenized: bool = False
    """Whether the text came split into words by spaces: then there is nothing for a tokeniser to do."""
    sources: Sequence[str] | None = None
    """The source sentences, which COMET reads."""


def quick_matrix(text: Translations) -> dict[str, Score]:
    """Every definition of BLEU except the record's own `bleu`; seconds for 3,000 sentences."""
    if not text.pretokenized:
        found = {
            "bleu_lc": corpus_bleu(text.hypotheses, text.references, lowercase=True),
            "bleu_intl": corpus_bleu(text.hypotheses, text.references, tokenize="intl"),
            "bleu_intl_lc": corpus_bleu(text.hypotheses, text.references, tokenize="intl", lowercase=True),
        }
        return found | _on_moses_tokens(text)
    sides = text.hypotheses, text.references
    split = [[moses.compounds_split(line) for line in side] for side in sides]
    return {
        "multi_bleu_none": Score(moses.multi_bleu(*sides), "nrefs:1|case:mixed|tok:none|smooth:none"),
        "multi_bleu_none_split": Score(
            moses.multi_bleu(*split), "nrefs:1|case:mixed|tok:none|split:##AT##-##AT##|smooth:none"
        ),
    }


def _on_moses_tokens(text: Translations) -> dict[str, Score]:
    sides = text.hypotheses, text.references
    plain = [moses.tokenized(side, text.language) for side in sides]
    normalized = [moses.tokenized(moses.quotes_normalized(side), text.language) for side in sides]
    split = [[moses.compounds_split(line) for line in side] for side in normalized]
    tokens, version = f"tok:moses-{text.language}", f"sacremoses:{moses.version()}"
    return {
        "multi_bleu": Score(moses.multi_bleu(*plain), f"nrefs:1|case:mixed|{tokens}|smooth:none|{version}"),
        "multi_bleu_split": Score(
            moses.multi_bleu(*split),
            f"nrefs:1|case:mixed|norm:quotes|{tokens}|split:##AT##-##AT##|smooth:none|{version}",
        ),
    }


def _chrf_pp(text: Translations, _: str) -> Score:
    return corpus_chrf(text.hypotheses, text.references, word_order=2)


def _ter(text: Translations, _: str) -> Score:
    return corpus_ter(text.hypotheses, text.references)


def _comet(text: Translations, model: str) -> Score:
    assert text.sources is not None, "COMET reads the sources"
    return corpus_comet(text.sources, text.hypotheses, text.references, model=model)


SLOW: Mapping[str, Callable[[Translations, str], Score]] = {"chrf_pp": _chrf_pp, "ter": _ter, "comet": _comet}
"""Scores that are computed where they are asked for."""


def refuse_metrics(names: Sequence[str]) -> None:
    """Slow scores are asked for by name.

    Raises:
        UserError: there is none of a name.
    """
    for name in names:
        if name not in SLOW:
            raise UserError(f"metrics={name}: choose from {', '.join(SLOW)}; the others are always there")


def slow_scores(text: Translations, names: Sequence[str], *, comet_model: str) -> dict[str, Score]:
    """The slow scores of these names.

    Args:
        text: to score.
        names: of `SLOW`.
        comet_model: see `aiayn.evaluation.comet`.

    Raises:
        UserError: COMET is asked for and not installed, or has no such model.
    """
    return {name: SLOW[name](text, comet_model) for name in SLOW if name in names}
