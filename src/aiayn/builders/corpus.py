"""The corpus of a run and the sentences to score; no tensor library is imported."""

from dataclasses import fields
from pathlib import Path

from aiayn.config.data_schema import (
    DataConfig,
    GeneratedConfig,
    GrammarDataConfig,
    HubDataConfig,
    SplitFilesConfig,
    TextFilesDataConfig,
)
from aiayn.config.schema import GivenTokenizerConfig, TrainConfig
from aiayn.data.corpora.corpus import HELD_OUT, Corpus, Split
from aiayn.data.corpora.hub import HubCorpus
from aiayn.data.corpora.hub_data_set import HubDataSet
from aiayn.data.corpora.text_files import SplitFiles, TextFilesCorpus
from aiayn.data.grammar.corpora import GrammarCorpus
from aiayn.data.preparation.filters import Filters
from aiayn.data.preparation.prepared import PreparationSettings, PreparedData
from aiayn.data.vocabulary import GivenPieces
from aiayn.errors import UserError
from aiayn.evaluation.bleu import check_tokenizer
from aiayn.evaluation.tokenization import bleu_tokenizer
from aiayn.registry import added_corpora, named

FAST_DEV_SENTENCES = 8
"""Sentences of each split that a fast_dev_run decodes, unless decoding.limit_sentences is stated."""


def build_corpus(config: DataConfig, *, cache: Path) -> Corpus:
    """The corpus that the configuration names."""
    if isinstance(config, GrammarDataConfig):
        return GrammarCorpus(**sizes_of(config))
    if isinstance(config, TextFilesDataConfig):
        splits: dict[Split, SplitFilesConfig] = {"train": config.train, "dev": config.dev, "test": config.test}
        return TextFilesCorpus(
            files={name: SplitFiles(source=split.source, target=split.target) for name, split in splits.items()},
            source_language=config.source_language,
            target_language=config.target_language,
        )
    if builder := added_corpora().get(config.kind.value):
        corpus: Corpus = named(builder)(config)
        return corpus
    if not isinstance(config, HubDataConfig):
        kind = config.kind.value
        raise UserError(f"data.kind={kind}: no folder of aiayn/extensions adds it; restore the one that was deleted")
    return HubCorpus(
        HubDataSet(
            path=config.path,
            subset=config.subset,
            revision=config.revision,
            scratch_directory=cache / "corpora",
        ),
        source_language=config.source_language,
        target_language=config.target_language,
        splits={"train": config.splits.train, "dev": config.splits.dev, "test": config.splits.test},
        sentences={"train": config.sentences.train, "dev": config.sentences.dev, "test": config.sentences.test},
        streaming=config.streaming,
    )


def sizes_of(config: GeneratedConfig) -> dict[str, int]:
    """The sizes and the seed of a generated corpus."""
    return {field.name: getattr(config, field.name) for field in fields(GeneratedConfig)}


def preparation_settings(config: TrainConfig) -> PreparationSettings:
    """Tokenizer and filters of the corpus."""
    given = None
    if isinstance(config.tokenizer, GivenTokenizerConfig):
        file = config.tokenizer.vocabulary
        given = GivenPieces(config.tokenizer.marker.value, None if file is None else Path(file).expanduser())
    return PreparationSettings(
        vocabulary_size=config.tokenizer.vocabulary_size,
        max_length=config.data.max_length,
        tokenizer=config.tokenizer.kind.value,
        pretokenized=config.data.pretokenized,
        filters=Filters(**vars(config.data.filters)),
        given=given,
    )


def scored_sentences(config: TrainConfig) -> int | None:
    """Sentences of a split to decode and score at the end; None: all."""
    if config.decoding.limit_sentences is None and config.trainer.get("fast_dev_run"):
        return FAST_DEV_SENTENCES
    return config.decoding.limit_sentences


def bleu_tokenizer_of(config: TrainConfig) -> str:
    """The tokenizer of BLEU, by sacreBLEU's name; UserError if it is not installed."""
    data, stated = config.data, config.decoding.bleu_tokenizer
    found = bleu_tokenizer(data.target_language, pretokenized=data.pretokenized, stated=stated and stated.value)
    check_tokenizer(found)
    return found


def validation_sentences(config: TrainConfig) -> int:
    """Sentences of dev that every validation decodes; 0: none."""
    wanted = config.decoding.validation_sentences
    return min(wanted, FAST_DEV_SENTENCES) if config.trainer.get("fast_dev_run") else wanted


def check_lengths_fit_positions(config: TrainConfig, data: PreparedData) -> None:
    """Refuse, before training, sentences longer than the learned positions."""
    if not config.model.has_learned_positions:
        return
    for split in HELD_OUT:
        prepared = data.split(split)
        source, target = (int(side.lengths.max()) for side in (prepared.source, prepared.target))
        needed = max(source + config.decoding.max_extra_length, target)
        if needed > config.model.max_positions:
            raise UserError(
                f"model.max_positions={config.model.max_positions}: the {split} split has sentences of up to {source} "
                f"source and {target} target tokens, and outputs may be decoding.max_extra_length="
                f"{config.decoding.max_extra_length} longer than their input: raise it to {needed} or more"
            )
