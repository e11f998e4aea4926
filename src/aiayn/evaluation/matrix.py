"""The same hypotheses by every definition of BLEU in use, and by other scores; no two definitions compare."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version

from aiayn.errors import UserError
from aiayn.evaluation import moses
from aiayn.evaluation.bleu import check_tokenizer, corpus_bleu, corpus_chrf, corpus_ter
from aiayn.evaluation.comet import corpus_comet
from aiayn.evaluation.score import Score
from aiayn.evaluation.tokenization import DEFAULT, bleu_tokenizer, characters_apart, is_by_character, tokenizer_of

NEAREST_TO_THE_PAPER: Mapping[str, tuple[str, str]] = {
    "en_de": ("multi_bleu_split", "multi_bleu_none_split"),
    "en_fr": ("multi_bleu", "multi_bleu_none"),
}
"""The definition that compares with the paper's numbers, by language pair: tokenised, and for German with compounds
split, as in the authors' code; the second of each is for text that was given as words."""

TITLES: Mapping[str, str] = {
    "bleu": "sacreBLEU 13a",
    "bleu_none": "sacreBLEU, words as given",
    "bleu_detokenized": "sacreBLEU 13a on detokenised words of both sides",
    "bleu_lc": "sacreBLEU 13a, lower-cased",
    "bleu_intl": "sacreBLEU intl",
    "bleu_intl_lc": "sacreBLEU intl, lower-cased",
    "multi_bleu": "multi-bleu.perl on Moses' tokens",
    "multi_bleu_none": "multi-bleu.perl, words as given",
    "multi_bleu_split": "multi-bleu.perl on Moses' tokens, compounds split, quotes normalised",
    "multi_bleu_none_split": "multi-bleu.perl, words as given, compounds split",
    "bleu_wmt14": "sacreBLEU 13a on wmt14, 2,737 of the sentences",
    "bleu_wmt14_full": "sacreBLEU 13a on wmt14/full",
    "chrf": "chrF2",
    "chrf_pp": "chrF2++",
    "ter": "TER, lower is better",
    "comet": "COMET",
}
"""Titles of the scores in tables, in their order, for languages that separate words by spaces."""


def title(name: str, score: Score) -> str:
    """Return the title of a score with the tokenizer, or the characters, that its signature states."""
    tokenizer = tokenizer_of(score.signature)
    if name in ("multi_bleu", "chrf_pp", "ter") and is_by_character(tokenizer):
        return "multi-bleu.perl on characters" if name == "multi_bleu" else f"{TITLES[name]}, of characters"
    return TITLES[name].replace(f"sacreBLEU {DEFAULT}", f"sacreBLEU {tokenizer}")


@dataclass(frozen=True)
class Translations:
    """Hypotheses, references and their form."""

    hypotheses: Sequence[str]
    """Detokenised, unless the text came split into words."""
    references: Sequence[str]
    language: str
    """Of both, ISO 639-1."""
    pretokenized: bool = False
    """Whether spaces already split the text into words."""
    sources: Sequence[str] = ()
    """The source sentences, for COMET."""
    stated: str | None = None
    """The tokenizer of BLEU that the user states; None: by the language."""

    @property
    def tokenize(self) -> str:
        """The tokenizer of BLEU."""
        return bleu_tokenizer(self.language, pretokenized=self.pretokenized, stated=self.stated)


def quick_matrix(text: Translations) -> dict[str, Score]:
    """Every definition of BLEU except the record's own `bleu`; seconds for 3,000 sentences."""
    sides, case = (text.hypotheses, text.references), "nrefs:1|case:mixed"
    if text.pretokenized:
        split = [[moses.compounds_split(line) for line in side] for side in sides]
        tokens = "tok:none"
        return {
            **_detokenized(text),
            "multi_bleu_none": Score(moses.multi_bleu(*sides), f"{case}|{tokens}|smooth:none"),
            "multi_bleu_none_split": Score(
                moses.multi_bleu(*split), f"{case}|{tokens}|split:##AT##-##AT##|smooth:none"
            ),
        }
    lower_case = corpus_bleu(*sides, tokenize=text.tokenize, lowercase=True)
    if is_by_character(text.tokenize):  # a sentence would be one word for the international tokenizer and for Moses
        characters = moses.multi_bleu(*map(characters_apart, sides))
        return {"bleu_lc": lower_case, "multi_bleu": Score(characters, f"{case}|tok:char|smooth:none")}
    plain = [moses.tokenized(side, text.language) for side in sides]
    normalized = [moses.tokenized(moses.quotes_normalized(side), text.language) for side in sides]
    split = [[moses.compounds_split(line) for line in side] for side in normalized]
    tokens, end = f"tok:moses-{text.language}", f"smooth:none|sacremoses:{version('sacremoses')}"
    return {
        "bleu_lc": lower_case,
        "bleu_intl": corpus_bleu(*sides, tokenize="intl"),
        "bleu_intl_lc": corpus_bleu(*sides, tokenize="intl", lowercase=True),
        "multi_bleu": Score(moses.multi_bleu(*plain), f"{case}|{tokens}|{end}"),
        "multi_bleu_split": Score(moses.multi_bleu(*split), f"{case}|norm:quotes|{tokens}|split:##AT##-##AT##|{end}"),
    }


def _detokenized(text: Translations) -> dict[str, Score]:
    """BLEU of words whose text Moses restores; empty if the tokenizer of their language is not installed."""
    tokenize = bleu_tokenizer(text.language)
    try:
        check_tokenizer(tokenize)
    except UserError:  # the run's own score, of the words as they are, does not need it
        return {}
    sides = (moses.detokenized(side, text.language) for side in (text.hypotheses, text.references))
    score = corpus_bleu(*sides, tokenize=tokenize)
    signature = f"{score.signature}|detok:moses-{text.language}|sacremoses:{version('sacremoses')}"
    return {"bleu_detokenized": Score(score.score, signature)}


SLOW: Mapping[str, Callable[[Translations, str], Score]] = {
    "chrf_pp": lambda text, _: corpus_chrf(text.hypotheses, text.references, word_order=2, tokenize=text.tokenize),
    "ter": lambda text, _: corpus_ter(text.hypotheses, text.references, tokenize=text.tokenize),
    "comet": lambda text, model: corpus_comet(text.sources, text.hypotheses, text.references, model=model),
}
"""Scores that are computed on request; the second argument is COMET's model."""


def slow_scores(text: Translations, names: Sequence[str], *, comet_model: str) -> dict[str, Score]:
    """The scores of these names in `SLOW`.

    Raises:
        UserError: COMET is not installed, or has no such model.
    """
    return {name: SLOW[name](text, comet_model) for name in SLOW if name in names}
