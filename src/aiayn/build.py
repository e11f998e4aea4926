"""From typed configuration to objects: the only place where the two meet."""

import math
from pathlib import Path

import torch

from aiayn.config.data_schema import DataConfig, GrammarDataConfig, HubDataConfig, SplitFilesConfig, TextFilesDataConfig
from aiayn.config.errors import UserError
from aiayn.config.freeze import plain
from aiayn.config.schema import DecodingConfig, Positions, TrainConfig
from aiayn.data.corpus import SPLITS, Corpus, Split
from aiayn.data.grammar import GrammarCorpus
from aiayn.data.hub import HubCorpus
from aiayn.data.prepared import PreparationSettings, PreparedData
from aiayn.data.text_files import SplitFiles, TextFilesCorpus
from aiayn.models.architecture import Architecture
from aiayn.models.transformer import Transformer
from aiayn.runs.directory import RunDirectory
from aiayn.training.data_module import TranslationDataModule
from aiayn.training.module import AdamSettings, TranslationModule
from aiayn.training.scoring import Search
from aiayn.training.session import Budget, TrainingSession
from aiayn.training.wandb_tracker import RunDescription

FAST_DEV_SENTENCES = 8
"""What a fast_dev_run decodes of each split, unless decoding.limit_sentences says otherwise."""


def build_corpus(config: DataConfig, *, cache: Path) -> Corpus:
    """The corpus that the configuration names."""
    if isinstance(config, GrammarDataConfig):
        return GrammarCorpus(
            sentences=config.sentences,
            dev_sentences=config.dev_sentences,
            test_sentences=config.test_sentences,
            seed=config.seed,
        )
    if isinstance(config, TextFilesDataConfig):
        splits: dict[Split, SplitFilesConfig] = {"train": config.train, "dev": config.dev, "test": config.test}
        return TextFilesCorpus(
            files={name: SplitFiles(source=split.source, target=split.target) for name, split in splits.items()},
            source_language=config.source_language,
            target_language=config.target_language,
            cache_directory=cache / "corpora",
        )
    assert isinstance(config, HubDataConfig)
    return HubCorpus(
        path=config.path,
        subset=config.subset,
        revision=config.revision,
        source_language=config.source_language,
        target_language=config.target_language,
        splits={"train": config.splits.train, "dev": config.splits.dev, "test": config.splits.test},
        sentences={"train": config.sentences.train, "dev": config.sentences.dev, "test": config.sentences.test},
        scratch_directory=cache / "corpora",
    )


def preparation_settings(config: TrainConfig) -> PreparationSettings:
    """How the corpus is tokenised."""
    return PreparationSettings(
        vocabulary_size=config.tokenizer.vocabulary_size,
        max_length=config.data.max_length,
        tokenizer=config.tokenizer.kind.value,
        pretokenized=config.data.pretokenized,
    )


def build_model(config: TrainConfig, *, vocabulary_size: int) -> Transformer:
    """The model, its weights drawn from `seed`.

    Args:
        config: the run's configuration.
        vocabulary_size: entries of the vocabulary.
    """
    model = config.model
    rows = vocabulary_size if model.vocabulary_rows is None else model.vocabulary_rows
    if rows < vocabulary_size:
        raise UserError(
            f"model.vocabulary_rows={rows}: the vocabulary has {vocabulary_size} entries; state at least that"
        )
    torch.manual_seed(config.seed)
    architecture = Architecture(
        d_model=model.d_model,
        d_ff=model.d_ff,
        num_layers=model.num_layers,
        num_heads=model.num_heads,
        d_k=model.d_k,
        d_v=model.d_v,
        dropout=model.dropout,
        positions=model.positions.value,
        norm=model.norm.value,
        projection_bias=model.projection_bias,
        layer_norm_epsilon=model.layer_norm_epsilon,
        max_positions=model.max_positions,
    )
    return Transformer(architecture, vocabulary_size=rows)


def build_module(config: TrainConfig, model: Transformer, *, data_fingerprint: str) -> TranslationModule:
    """The model with its recipe."""
    recipe = config.optimization
    return TranslationModule(
        model=model,
        d_model=config.model.d_model,
        label_smoothing=recipe.label_smoothing,
        warmup_steps=recipe.warmup_steps,
        learning_rate_factor=recipe.learning_rate_factor,
        adam=AdamSettings(beta1=recipe.adam_beta1, beta2=recipe.adam_beta2, epsilon=recipe.adam_epsilon),
        seed=config.seed,
        divergence_factor=recipe.divergence_factor,
        log_interval=max(1, int(config.trainer["log_every_n_steps"])),
        provenance={"config_hash": config.identity.hash, "data_fingerprint": data_fingerprint},
    )


def build_search(config: DecodingConfig) -> Search:
    """The search at the end of training."""
    return Search(
        beam_size=config.beam_size,
        length_penalty_alpha=config.length_penalty_alpha,
        max_extra_length=config.max_extra_length,
        batch_tokens=config.batch_tokens,
    )


def describe(config: TrainConfig, *, run_id: str) -> RunDescription:
    """What a dashboard shows of the run."""
    table, _, row = config.identity.experiment.partition("/")
    row = row or table
    return RunDescription(
        run_id=run_id,
        name=f"{row} {config.identity.scale} seed {config.seed}",
        group=config.identity.sweep or table,
        job_type=row,
        tags=(config.identity.fidelity, table, row, config.identity.scale, config.data.name),
        config=plain(config),
    )


def scored_sentences(config: TrainConfig) -> int | None:
    """How many sentences of a split are decoded and scored at the end; None: all."""
    if config.decoding.limit_sentences is None and config.trainer.get("fast_dev_run"):
        return FAST_DEV_SENTENCES
    return config.decoding.limit_sentences


def refuse_beyond_positions(config: TrainConfig, data: PreparedData) -> None:
    """Refuse, before training, sentences that the learned positions would end before.

    Raises:
        UserError: naming the split, its longest sentence and what to raise.
    """
    if config.model.positions is not Positions.learned:
        return
    for split in SPLITS[1:]:
        prepared = data.split(split)
        source, target = (int(side.lengths.max()) for side in (prepared.source, prepared.target))
        needed = max(source + config.decoding.max_extra_length, target)
        if needed > config.model.max_positions:
            raise UserError(
                f"model.max_positions={config.model.max_positions}: the {split} split has sentences of up to {source} "
                f"source and {target} target tokens, and outputs may be decoding.max_extra_length="
                f"{config.decoding.max_extra_length} longer than their input: raise it to {needed} or more"
            )


def scoring_device(config: TrainConfig) -> torch.device:
    """Where a trained model is scored: on the kind of device that it was trained on."""
    on_gpu = config.trainer.get("accelerator") in ("auto", "gpu", "cuda") and torch.cuda.is_available()
    return torch.device("cuda" if on_gpu else "cpu")


def accumulation(config: TrainConfig, *, world_size: int) -> int:
    """Micro-batches a rank makes for one optimizer step, so that each fits the device's budget."""
    tokens = max(config.optimization.source_tokens, config.optimization.target_tokens)
    return max(1, math.ceil(tokens / (config.optimization.max_tokens_per_device * world_size)))


def build_session(config: TrainConfig, directory: RunDirectory, *, world_size: int) -> TrainingSession:
    """The trainer of one go; steps, accumulation and validation follow from `optimization`.

    Args:
        config: the run's configuration.
        directory: where checkpoints go.
        world_size: processes in all.

    Raises:
        UserError: Lightning refuses an argument or a callback.
    """
    settings = dict(config.trainer)
    if settings["precision"] == "auto":
        settings["precision"] = "bf16-mixed" if scoring_device(config).type == "cuda" else "32-true"
    return TrainingSession(
        settings,
        callbacks=config.callbacks,
        budget=Budget(
            max_steps=config.optimization.max_steps,
            accumulation=accumulation(config, world_size=world_size),
            validation_interval=config.optimization.validation_interval,
        ),
        checkpoints=directory.checkpoints,
        world_size=world_size,
        timeout_seconds=config.launch.timeout_seconds,
    )


def build_batches(config: TrainConfig, data: PreparedData) -> TranslationDataModule:
    """The run's batches."""
    return TranslationDataModule(
        data,
        source_tokens=config.optimization.source_tokens,
        target_tokens=config.optimization.target_tokens,
        evaluation_tokens=config.decoding.batch_tokens,
        seed=config.seed,
    )
