"""What a corpus has to state, beyond the types of its keys."""

import json
import math

from aiayn.config.data_schema import (
    DataConfig,
    GrammarDataConfig,
    HubDataConfig,
    ParsedDataConfig,
    SplitSizesConfig,
    TextFilesDataConfig,
    ToyTreesDataConfig,
    TreesDataConfig,
)
from aiayn.errors import UserError


def validate_data(data: DataConfig) -> None:
    """Refuse a corpus without sentences or files, languages that it does not have, and filters that nothing passes.

    Raises:
        UserError: naming the key, the value and what is allowed.
    """
    if data.max_length < 2:
        raise UserError(f"data.max_length={data.max_length}: must be at least 2, a token and the end mark")
    ratio = data.filters.max_ratio
    if ratio is not None and not 1 <= ratio < math.inf:
        raise UserError(f"data.filters.max_ratio={ratio}: must be at least 1, and finite; null: any number")
    _validate_languages(data)
    if isinstance(data, GrammarDataConfig | ToyTreesDataConfig):
        _validate_generated(data)
    if isinstance(data, HubDataConfig):
        _validate_sizes(data.sentences)
    if isinstance(data, TextFilesDataConfig):
        for split in ("train", "dev", "test"):
            for side in ("source", "target"):
                _validate_files(f"{split}.{side}", getattr(getattr(data, split), side), "a file, a glob, or a list")
    if isinstance(data, TreesDataConfig):
        _validate_trees(data)


def _validate_languages(data: DataConfig) -> None:
    """A corpus that is generated has its own languages, and trees have none."""
    languages: dict[str, str] = {}
    if isinstance(data, GrammarDataConfig):
        languages = {"source_language": "en", "target_language": "de"}
    elif isinstance(data, ToyTreesDataConfig):
        languages = {"source_language": "en", "target_language": "brackets"}
    elif isinstance(data, ParsedDataConfig):
        languages = {"target_language": "brackets"}
    for name, language in languages.items():
        if getattr(data, name) != language:
            raise UserError(f"data.{name}={getattr(data, name)}: this corpus has {language}; leave it out")


def _validate_generated(data: GrammarDataConfig | ToyTreesDataConfig) -> None:
    for name in ("sentences", "dev_sentences", "test_sentences"):
        if getattr(data, name) < 1:
            raise UserError(f"data.{name}={getattr(data, name)}: must be at least 1")
    if data.seed < 0:
        raise UserError(f"data.seed={data.seed}: must not be negative")


def _validate_sizes(sizes: SplitSizesConfig) -> None:
    for name, pairs in vars(sizes).items():
        if pairs is not None and pairs < 1:
            raise UserError(f"data.sentences.{name}={pairs}: must be at least 1; null: any number")


def _validate_trees(data: TreesDataConfig) -> None:
    if data.gold_times < 1:
        raise UserError(f"data.gold_times={data.gold_times}: must be at least 1")
    for part in ("train", "dev", "test", "silver"):
        named = getattr(data, part)
        if part != "silver" or named is not None:
            _validate_files(part, named, "a file, a folder, a glob, or a list")


def _validate_files(key: str, named: object, allowed: str) -> None:
    listed = named if isinstance(named, list) else [named]
    if not named or not all(isinstance(file, str) and file for file in listed):
        raise UserError(f"data.{key}={json.dumps(named, default=str)}: state {allowed} of them")
