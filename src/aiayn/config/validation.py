"""Rules between the values of a run's configuration, checked before anything is built; ranges: see `values`."""

import json

from aiayn.config.computed import check_computed
from aiayn.config.data_schema import (
    DataConfig,
    GeneratedConfig,
    GrammarDataConfig,
    ParsedDataConfig,
    TextFilesDataConfig,
    TreesDataConfig,
)
from aiayn.config.model_schema import (
    ModelConfig,
    PluginConfig,
    TransformerConfig,
    plugins,
)
from aiayn.config.schema import GivenTokenizerConfig, PieceMarker, TokenizerKind, TrainConfig
from aiayn.config.third_parties import validate_callbacks, validate_trainer, validate_wandb
from aiayn.errors import UserError
from aiayn.system.plugins import is_plugin, no_module, source_digest

FEWEST_ENTRIES = {
    TokenizerKind.byte_pair: 259,
    TokenizerKind.word_piece: 515,
    TokenizerKind.symbols: 5,
    TokenizerKind.given: 5,
}
"""The fewest entries: special tokens and bytes; with symbols, special tokens, a bracket and a word, or a piece."""

FEWEST_BRACKETS = 2
"""Tokens of the smallest tree over several words, besides the words: one pair of brackets."""


def validate(config: TrainConfig) -> None:
    """Check the rules that involve several values; a UserError names the key, the value and the remedy."""
    check_computed(config)
    validate_trainer(config.trainer)
    least, last = config.trainer.get("min_steps"), config.optimization.max_steps
    if least is not None and least > last:
        raise UserError(f"trainer.min_steps={least}: must be at most optimization.max_steps={last}, or null")
    if least is not None and config.optimization.patience is not None:
        raise UserError(f"trainer.min_steps={least}: would train on after optimization.patience; leave one of them out")
    _validate_plugins(config.model)
    validate_sizes(config)
    if config.launch.compile and not isinstance(config.model, TransformerConfig):
        kind = config.model.kind
        raise UserError(f"launch.compile=true: made for model.kind=transformer, not {kind}; leave it out")
    _validate_averaging(config)
    validate_bleu(config)
    validate_data(config.data)
    validate_wandb(config.logger)
    validate_callbacks(config)


def validate_sizes(config: TrainConfig) -> None:
    """Check the sizes of model, sentences and vocabulary, of a loaded configuration, too."""
    config.model.check_sizes()
    _validate_lengths(config)
    validate_constrained(config)
    validate_vocabulary(config)


def validate_model(model: ModelConfig) -> None:
    """Check a model's classes and sizes."""
    _validate_plugins(model)
    model.check_sizes()


def _validate_plugins(model: ModelConfig) -> None:
    """Check the names of classes of the user's own, and that only those have arguments."""
    if isinstance(model, PluginConfig) and not is_plugin(model.target):
        raise UserError(f"model.target={model.target}: name a class as in my_package.my_module:MyModel")
    for key, name in plugins(vars(model)).items():
        if source_digest(name) is None:
            raise UserError(no_module(name, key=key))
    for name in ("attention", "positions") if isinstance(model, TransformerConfig) else ():
        if getattr(model, f"{name}_arguments") and not is_plugin(getattr(model, name)):
            raise UserError(f"model.{name}_arguments: only a class of your own takes them; leave them out")


def _validate_lengths(config: TrainConfig) -> None:
    optimization, model, longest = config.optimization, config.model, config.data.max_length
    budget = min(optimization.source_tokens, optimization.target_tokens, optimization.max_tokens_per_device)
    if longest > budget:
        raise UserError(
            f"data.max_length={longest}: a sentence this long does not fit the smallest of optimization.source_tokens, "
            f"target_tokens and max_tokens_per_device ({budget}): lower it or raise them"
        )
    if model.max_positions < longest:
        raise UserError(
            f"model.max_positions={model.max_positions}: must be at least data.max_length={longest}; raise it, or "
            "lower data.max_length"
        )


def _validate_averaging(config: TrainConfig) -> None:
    """Averaging needs both its keys and checkpoints, and is not for Table 3 (section 6.2)."""
    checkpoints, interval = config.averaging.checkpoints, config.averaging.interval
    if checkpoints == 0:
        if interval is not None:
            raise UserError(f"averaging.interval={interval}: is for averaging.checkpoints above 0; leave it out")
        return
    asked = f"averaging.checkpoints={checkpoints}"
    if config.identity.experiment.startswith("table3/"):
        raise UserError(
            f"{asked}: Table 3 is without checkpoint averaging (section 6.2): state averaging=none, or an experiment "
            f"other than {config.identity.experiment}"
        )
    if interval is None:
        raise UserError(f"averaging.interval=null: must be at least 1 with {asked}, as in averaging=base")
    if not config.trainer.get("enable_checkpointing", True):
        raise UserError(f"{asked}: there is nothing to average with trainer.enable_checkpointing=false")


def validate_constrained(config: TrainConfig) -> None:
    """Check that a constrained search has trees to find and room for their brackets."""
    if not config.decoding.constrained:
        return
    if config.tokenizer.kind is not TokenizerKind.symbols:
        raise UserError(
            f"decoding.constrained=true: requires outputs that are trees, and tokenizer.kind={config.tokenizer.kind} "
            "has no brackets; leave it out, or state tokenizer.kind=symbols with trees as data"
        )
    if (extra := config.decoding.max_extra_length) < FEWEST_BRACKETS:
        raise UserError(
            f"decoding.max_extra_length={extra}: must be at least {FEWEST_BRACKETS} with decoding.constrained=true, "
            "for brackets around the words"
        )


def validate_bleu(config: TrainConfig) -> None:
    """Check that the tokenizer of BLEU is stated for plain text alone."""
    stated = config.decoding.bleu_tokenizer
    if stated is not None and (config.data.pretokenized or isinstance(config.data, ParsedDataConfig)):
        scored = "words are scored as they are" if config.data.pretokenized else "trees are scored by their brackets"
        raise UserError(f"decoding.bleu_tokenizer={stated}: made for plain text, and here {scored}; leave it out")


def validate_vocabulary(config: TrainConfig) -> None:
    """Check that the vocabulary fits its tokenizer and the corpus, and the embedding matrix the vocabulary."""
    kind, size, rows = config.tokenizer.kind, config.tokenizer.vocabulary_size, config.model.vocabulary_rows
    if kind is TokenizerKind.symbols and not isinstance(config.data, ParsedDataConfig):
        raise UserError(
            f"tokenizer.kind=symbols: made for trees, and data.kind={config.data.kind} is text, whose unknown "
            "words would be lost: take tokenizer=byte_pair"
        )
    if isinstance(config.tokenizer, GivenTokenizerConfig):
        _validate_given(config.tokenizer, config.data)
    least = FEWEST_ENTRIES[kind]
    if size < least:
        raise UserError(f"tokenizer.vocabulary_size={size}: must be at least {least} with tokenizer.kind={kind}")
    if rows is not None and rows < least:
        raise UserError(f"model.vocabulary_rows={rows}: must be at least {least} with tokenizer.kind={kind}, or null")


def _validate_given(tokenizer: GivenTokenizerConfig, data: DataConfig) -> None:
    """Check that the corpus is text, and that its words are scored as they are restored."""
    if isinstance(data, ParsedDataConfig):
        raise UserError(
            f"tokenizer.kind=given: made for text, and data.kind={data.kind} has trees: take tokenizer=symbols"
        )
    if tokenizer.marker is PieceMarker.subword_nmt and not data.pretokenized:
        raise UserError(
            "data.pretokenized=false: with tokenizer.marker=subword_nmt text is restored as words separated by spaces, "
            "as before the merges: state data.pretokenized=true, for BLEU_none"
        )


def validate_data(data: DataConfig) -> None:
    """Check the languages of a corpus and that its files are stated."""
    own: dict[str, str] = {}
    if isinstance(data, GeneratedConfig):
        own["source_language"] = "en"
    if isinstance(data, GrammarDataConfig | ParsedDataConfig):
        own["target_language"] = "de" if isinstance(data, GrammarDataConfig) else "brackets"
    for name, language in own.items():
        if getattr(data, name) != language:
            raise UserError(f"data.{name}={getattr(data, name)}: this corpus has {language}; leave it out")
    if isinstance(data, TextFilesDataConfig):
        for split in ("train", "dev", "test"):
            for side in ("source", "target"):
                _validate_files(f"{split}.{side}", getattr(getattr(data, split), side), "a file, a glob, or a list")
    if isinstance(data, TreesDataConfig):
        for part in ("train", "dev", "test", *(["silver"] if data.silver is not None else [])):
            _validate_files(part, getattr(data, part), "a file, a folder, a glob, or a list")


def _validate_files(key: str, named: object, allowed: str) -> None:
    listed = named if isinstance(named, list) else [named]
    if not named or not all(isinstance(file, str) and file for file in listed):
        raise UserError(f"data.{key}={json.dumps(named, default=str)}: state {allowed} of them")
