"""A prepared corpus, a model and a trainer, small enough for every test."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from pytorch_lightning import Trainer
from tiny import ARCHITECTURE

from aiayn.builders.models import create_transformer
from aiayn.config.model_schema import TransformerConfig
from aiayn.data.grammar.corpora import GrammarCorpus
from aiayn.data.preparation.prepared import PreparationSettings, PreparedData, prepare
from aiayn.models.transformer import Transformer


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> PreparedData:
    corpus = GrammarCorpus(sentences=150, dev_sentences=13, test_sentences=5, seed=1)
    settings = PreparationSettings(vocabulary_size=320, max_length=80)
    return prepare(corpus, settings=settings, cache=tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def architecture() -> TransformerConfig:
    return replace(ARCHITECTURE, dropout=0.1, max_positions=128)


@pytest.fixture(scope="session")
def model(prepared: PreparedData, architecture: TransformerConfig) -> Transformer:
    """In evaluation mode, with weights that disagree with each other more than fresh ones do."""
    torch.manual_seed(3)
    model = create_transformer(architecture, rows=prepared.tokenizer.vocabulary_size)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2.0)
    return model.eval()


@pytest.fixture
def trainer(tmp_path: Path) -> Trainer:
    return Trainer(
        accelerator="cpu",
        max_steps=6,
        accumulate_grad_batches=2,
        default_root_dir=tmp_path,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
