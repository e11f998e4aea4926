"""The schema of the group `data`: one dataclass for each kind of corpus. No field has a default; see `schema`."""

from dataclasses import dataclass
from enum import Enum
from typing import Any

from omegaconf import MISSING


class CorpusKind(Enum):
    """Where sentence pairs come from."""

    grammar = "grammar"
    text_files = "text_files"
    hub = "hub"
    trees = "trees"
    toy_trees = "toy_trees"


@dataclass
class FiltersConfig:
    """What is asked of training pairs beside sides that are neither empty nor too long; what is dropped is counted."""

    max_ratio: float | None = MISSING
    """Sub-words of the longer side for each of the shorter, at most; null: any number."""
    language: bool = MISSING
    """Drop pairs with a side that reads like another language, by function words (en, de, fr)."""
    duplicates: bool = MISSING
    """Drop pairs that were there before, byte for byte."""
    contaminated: bool = MISSING
    """Drop pairs with a sentence of dev or test, case and punctuation aside; they are counted in any case."""


@dataclass
class DataConfig:
    """A corpus of sentence pairs; each kind adds its own fields."""

    kind: CorpusKind = MISSING
    """Which reader serves it."""
    name: str = MISSING
    """What the records and tables call this corpus; another name is another run."""
    source_language: str = MISSING
    """ISO 639-1 code of the source side."""
    target_language: str = MISSING
    """ISO 639-1 code of the target side."""
    max_length: int = MISSING
    """Longest training sentence in tokens, end mark included, on either side; longer pairs are counted and dropped."""
    pretokenized: bool = MISSING
    """Whether the text is split into words by spaces already (Moses): cut there alone, and BLEU has tok:none."""
    filters: FiltersConfig = MISSING
    """What else is asked of training pairs."""


@dataclass
class GrammarDataConfig(DataConfig):
    """The embedded corpus, generated from a grammar."""

    sentences: int = MISSING
    """Training pairs."""
    dev_sentences: int = MISSING
    """Development pairs."""
    test_sentences: int = MISSING
    """Test pairs."""
    seed: int = MISSING
    """Seed of the generator; another seed is another corpus."""


@dataclass
class SplitFilesConfig:
    """The aligned files of one split."""

    source: Any = MISSING
    """A path, a glob or a list of them; plain or gzip, one sentence a line."""
    target: Any = MISSING
    """The same for the other side, line by line."""


@dataclass
class TextFilesDataConfig(DataConfig):
    """Aligned text files on disk."""

    train: SplitFilesConfig = MISSING
    """Training pairs."""
    dev: SplitFilesConfig = MISSING
    """Development pairs."""
    test: SplitFilesConfig = MISSING
    """Test pairs."""


@dataclass
class SplitNamesConfig:
    """What a data set of the hub calls the three splits."""

    train: str = MISSING
    """Name of the training split."""
    dev: str = MISSING
    """Name of the development split."""
    test: str = MISSING
    """Name of the test split."""


@dataclass
class SplitSizesConfig:
    """How many pairs each split has to have, so that another data set of the same name is noticed."""

    train: int | None = MISSING
    """Training pairs; null: any number."""
    dev: int | None = MISSING
    """Development pairs; null: any number."""
    test: int | None = MISSING
    """Test pairs; null: any number."""


@dataclass
class HubDataConfig(DataConfig):
    """A data set of the Hugging Face hub, or a local folder of the same shape."""

    path: str = MISSING
    """Repository on the hub, or a folder."""
    subset: str | None = MISSING
    """Configuration name inside the data set."""
    revision: str | None = MISSING
    """Commit or tag of the data set; null: the newest."""
    splits: SplitNamesConfig = MISSING
    """Its names of the splits, or parts of them such as train[:1%]."""
    sentences: SplitSizesConfig = MISSING
    """Pairs expected in each. Does not change results."""
    streaming: bool = MISSING
    """Read it as it comes, several times over, and store no text; the prepared files are the same."""


@dataclass
class ParsedDataConfig(DataConfig):
    """Sentences and their constituency trees (section 6.3): words are the source, linearised trees the target."""

    tags: bool = MISSING
    """Write a word's tag into the target; false: XX for every word, as Vinyals et al. (2015) do."""


@dataclass
class TreesDataConfig(ParsedDataConfig):
    """Trees in Penn brackets on disk, plain or gzip."""

    path: str | None = MISSING
    """The folder that the names below are of; null: they are paths themselves."""
    train: Any = MISSING
    """A file, a folder (with all its trees), a glob, or a list of them; less what dev and test name."""
    dev: Any = MISSING
    """The same to develop on."""
    test: Any = MISSING
    """The same to test on."""
    silver: Any = MISSING
    """The same with trees of a parser, to be trained on as well (semi-supervised); null: none."""
    gold_times: int = MISSING
    """How often the trees of train are there, beside silver ones, each of which is there once."""


@dataclass
class ToyTreesDataConfig(ParsedDataConfig):
    """Trees of the English side of the embedded corpus, from its grammar."""

    sentences: int = MISSING
    """Training trees."""
    dev_sentences: int = MISSING
    """Development trees."""
    test_sentences: int = MISSING
    """Test trees."""
    seed: int = MISSING
    """Seed of the generator; another seed is another corpus."""


def is_parsing(data: DataConfig) -> bool:
    """Whether the targets are trees, which are scored by their brackets, and not translations."""
    return isinstance(data, ParsedDataConfig)


DATA_TYPES: dict[CorpusKind, type[DataConfig]] = {
    CorpusKind.grammar: GrammarDataConfig,
    CorpusKind.text_files: TextFilesDataConfig,
    CorpusKind.hub: HubDataConfig,
    CorpusKind.trees: TreesDataConfig,
    CorpusKind.toy_trees: ToyTreesDataConfig,
}
"""The fields of each kind of corpus."""
