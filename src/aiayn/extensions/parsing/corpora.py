"""Corpora of trees from their configuration."""

from aiayn.builders.corpus import sizes_of
from aiayn.config.data_schema import ToyTreesDataConfig, TreesDataConfig
from aiayn.extensions.parsing.toy_trees import ToyTreesCorpus
from aiayn.extensions.parsing.treebank import TreebankCorpus


def toy_trees(config: ToyTreesDataConfig) -> ToyTreesCorpus:
    """The embedded treebank."""
    return ToyTreesCorpus(**sizes_of(config), tags=config.tags)


def treebank(config: TreesDataConfig) -> TreebankCorpus:
    """A treebank in files."""
    return TreebankCorpus(
        files={"train": config.train, "dev": config.dev, "test": config.test, "silver": config.silver},
        folder=config.path,
        tags=config.tags,
        gold_copies=config.gold_copies,
        language=config.source_language,
    )
