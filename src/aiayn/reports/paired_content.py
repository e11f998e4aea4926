"""The document of two runs on the same sentences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from aiayn.data.corpora.corpus import Split
from aiayn.evaluation.paired import PairedTest
from aiayn.reports.code_versions import CodeContent
from aiayn.reports.content import Content
from aiayn.system.documents import NullIsInfinity


@dataclass(frozen=True)
class Bucket:
    """Some of the sentences; pairs are of both runs."""

    label: str
    """The sentences in words, as in "1 to 9"."""
    sentences: int
    """Number of sentences."""
    ppl: tuple[Annotated[float, NullIsInfinity], Annotated[float, NullIsInfinity]]
    """Perplexity of both runs."""
    bleu: tuple[float, float]
    """BLEU of both runs."""
    wins: int
    """Sentences on which the first run has the higher sentence BLEU."""
    losses: int
    """Sentences on which the second run has the higher sentence BLEU."""


@dataclass(frozen=True)
class WordClass:
    """Words of the references, by their frequency in training."""

    label: str
    """Occurrences in training, as in "1 to 9"."""
    words: int
    """Occurrences in the references."""
    found: tuple[int, int]
    """Occurrences in the hypothesis of their sentence, by both runs."""


@dataclass(frozen=True)
class Example:
    """One sentence."""

    number: int
    """Its line in the split, from 1."""
    source: str
    """The source sentence."""
    reference: str
    """The reference."""
    hypotheses: tuple[str, str]
    """The hypotheses of both runs."""
    bleu: tuple[float, float]
    """Sentence BLEU of both runs, 0 to 100."""


@dataclass(frozen=True)
class PairedRun:
    """One of the two runs."""

    run: str
    """Run directory, or a folder of its evaluations."""
    experiment: str
    """The experiment."""
    seed: int
    """The seed."""


@dataclass(frozen=True)
class PairedRuns:
    """The two runs."""

    a: PairedRun
    """The first."""
    b: PairedRun
    """The second."""


@dataclass(frozen=True)
class CompareContent(Content):
    """Two runs on the same sentences: aiayn compare."""

    schema: ClassVar = "compare/1"

    runs: PairedRuns
    """The runs."""
    code: tuple[CodeContent, ...]
    """The versions of the code that made the runs."""
    split: Split
    """The split."""
    tests: Mapping[str, PairedTest]
    """The tests by score."""
    signatures: Mapping[str, str]
    """The signatures by score."""
    wins: int
    """Sentences on which the first run has the higher sentence BLEU."""
    losses: int
    """Sentences on which the second run has the higher sentence BLEU."""
    ties: int
    """Sentences on which both have the same sentence BLEU."""
    unit: Literal["word", "character"]
    """What the tables of words count: words, or characters in a language without spaces."""
    by_length: Sequence[Bucket]
    """The sentences by source length."""
    by_rarest_word: Sequence[Bucket]
    """The sentences by how often training has the rarest word of the reference."""
    words: Sequence[WordClass]
    """Words that the hypotheses have, by occurrences in training."""
    largest_wins: Sequence[Example]
    """The sentences on which the first run is ahead most."""
    largest_losses: Sequence[Example]
    """The sentences on which the second run is ahead most."""
    notes: Sequence[str]
    """Remarks."""
