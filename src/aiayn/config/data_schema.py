"""The schema of the group `data`: one dataclass for each kind of corpus. No field has a default; see `schema`."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from omegaconf import MISSING

from aiayn.config.values import LARGEST, Count, Range, Seed, TextsOrNull, text, text_or_null, true_or_false


class CorpusKind(StrEnum):
    """Source of the sentence pairs."""

    grammar = "grammar"
    text_files = "text_files"
    hub = "hub"
    trees = "trees"
    toy_trees = "toy_trees"


@dataclass
class FiltersConfig:
    """Filters of training pairs, beside empty and too long sides; dropped pairs are counted."""

    max_ratio: Annotated[float, Range(1)] | None = MISSING
    """Most sub-words of the longer side per sub-word of the shorter; null: any number."""
    language: bool = true_or_false()
    """Drop pairs with a side in another language, judged by function words (en, de, fr)."""
    duplicates: bool = true_or_false()
    """Drop repetitions of a pair, compared byte for byte."""
    contaminated: bool = true_or_false()
    """Drop pairs with a sentence of dev or test, ignoring case and punctuation; they are counted in any case."""


@dataclass
class DataConfig:
    """A corpus of sentence pairs; each kind adds its own fields."""

    kind: CorpusKind = MISSING
    """The reader of the corpus."""
    name: str = text()
    """Name of the corpus in records and tables; another name is another run."""
    source_language: str = text()
    """ISO 639-1 code of the source side."""
    target_language: str = text()
    """ISO 639-1 code of the target side."""
    max_length: Annotated[int, Range(2, LARGEST)] = MISSING
    """Longest training sentence in tokens, end mark included, on either side; longer pairs are counted and dropped."""
    pretokenized: bool = true_or_false()
    """Whether spaces already split the text into words (Moses): no other splits, and BLEU has tok:none."""
    filters: FiltersConfig = MISSING
    """Filters of training pairs."""


@dataclass
class GeneratedConfig:
    """Sizes of a corpus generated from the grammar."""

    sentences: Count = MISSING
    """Training pairs, or trees."""
    dev_sentences: Count = MISSING
    """Development pairs, or trees."""
    test_sentences: Count = MISSING
    """Test pairs, or trees."""
    seed: Seed = MISSING
    """Seed of the generator; another seed is another corpus."""


@dataclass
class GrammarDataConfig(GeneratedConfig, DataConfig):
    """The embedded corpus of sentence pairs."""


@dataclass
class SplitFilesConfig:
    """The aligned files of one split."""

    source: TextsOrNull = MISSING
    """A path, a glob or a list of them; plain, gzip, bzip2 or xz, one sentence a line."""
    target: TextsOrNull = MISSING
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
    """Names of the three splits in a data set of the hub."""

    train: str = text()
    """Name of the training split."""
    dev: str = text()
    """Name of the development split."""
    test: str = text()
    """Name of the test split."""


@dataclass
class SplitSizesConfig:
    """Expected pairs of each split, so that another data set of the same name is noticed."""

    train: Count | None = MISSING
    """Training pairs; null: any number."""
    dev: Count | None = MISSING
    """Development pairs; null: any number."""
    test: Count | None = MISSING
    """Test pairs; null: any number."""


@dataclass
class HubDataConfig(DataConfig):
    """A data set of the Hugging Face hub, or a local folder of the same shape."""

    path: str = text()
    """Repository on the hub, or a folder."""
    subset: str | None = text_or_null()
    """Configuration name inside the data set."""
    revision: str | None = text_or_null()
    """Commit or tag of the data set; null: the newest."""
    splits: SplitNamesConfig = MISSING
    """Its names of the splits, or parts of them such as train[:1%]."""
    sentences: SplitSizesConfig = MISSING
    """Pairs expected in each. Does not change results."""
    streaming: bool = true_or_false()
    """Read it as a stream, several times, and store no text; the prepared files are the same."""


@dataclass
class ParsedDataConfig(DataConfig):
    """Sentences and their constituency trees (section 6.3): words are the source, linearised trees the target."""

    tags: bool = true_or_false()
    """Write a word's tag into the target; false: XX for every word, as Vinyals et al. (2015) do."""


@dataclass
class TreesDataConfig(ParsedDataConfig):
    """Trees in Penn brackets on disk; files are plain, gzip, bzip2 or xz."""

    path: str | None = text_or_null()
    """The folder of the names below; null: these are paths."""
    train: TextsOrNull = MISSING
    """A file, a folder (with all its trees), a glob, or a list of them; files of dev and test are left out."""
    dev: TextsOrNull = MISSING
    """The same for the development set."""
    test: TextsOrNull = MISSING
    """The same for the test set."""
    silver: TextsOrNull = MISSING
    """The same for trees of a parser, added to the training set (semi-supervised); null: none."""
    gold_copies: Count = MISSING
    """Copies of each tree of train in the training set; silver trees are in it once."""


@dataclass
class ToyTreesDataConfig(GeneratedConfig, ParsedDataConfig):
    """Trees of the English side of the embedded corpus."""


DATA_TYPES: dict[CorpusKind, type[DataConfig]] = {
    CorpusKind.grammar: GrammarDataConfig,
    CorpusKind.text_files: TextFilesDataConfig,
    CorpusKind.hub: HubDataConfig,
    CorpusKind.trees: TreesDataConfig,
    CorpusKind.toy_trees: ToyTreesDataConfig,
}
