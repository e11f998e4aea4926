"""What a run changes in its experiment is decided by its configuration, and its name tells it from others."""

import pytest
from hydra.core.hydra_config import HydraConfig
from hypothesis import given
from hypothesis import strategies as st

from aiayn.config.compose import compose_command
from aiayn.config.difference import LONGEST, in_words, shortened
from aiayn.config.freeze import to_dataclass
from aiayn.config.schema import IdentityConfig, TrainConfig


def identity(*words: str) -> IdentityConfig:
    return to_dataclass(compose_command("train", list(words)), TrainConfig).identity


@pytest.mark.parametrize(
    ("words", "difference", "title"),
    [
        ("", "", "base seed 1"),
        ("experiment=table3/big scale=nano seed=3", "", "big nano seed 3"),
        ("experiment=positions/rotary data=multi30k", "", "rotary multi30k seed 1"),
        ("fidelity=fairseq", "", "base fairseq seed 1"),
        ("fidelity=fairseq seed=2 paths.runs=elsewhere force=true", "", "base fairseq seed 2"),
        ("seed=2 data.name=mine", "", "base mine seed 2"),
        ("model.dropout=0.3", "dropout=0.3", "base dropout=0.3 seed 1"),
        ("scale=nano optimization.max_steps=200", "max_steps=200", "base nano max_steps=200 seed 1"),
        ("data.sentences=50 data.seed=3", "sentences=50 data.seed=3", "base sentences=50 data.seed=3 seed 1"),
        ("+trainer.own=[1,a]", "own=[1,a]", "base own=[1,a] seed 1"),
        ("~trainer.inference_mode", "inference_mode=null", "base inference_mode=null seed 1"),
        ("decoding=greedy", "beam_size=1", "base beam_size=1 seed 1"),
        ("model=recurrent model.cell=lstm", "model=recurrent cell=lstm", "base model=recurrent cell=lstm seed 1"),
        ("scale=nano scale.width=0.5", "width=0.5", "base nano width=0.5 seed 1"),
    ],
)
def test_a_run_is_named_by_what_it_changes(words: str, difference: str, title: str) -> None:
    found = identity(*words.split())
    assert (found.difference, found.title) == (difference, title)


@pytest.mark.parametrize(
    ("words", "difference"),
    [
        ("model.num_heads=4", "num_heads=4"),  # and so d_k and d_v
        ("scale=nano model.num_heads=4 model.d_k=32 optimization.validation_interval=140", "num_heads=4"),
        ("scale=nano model.num_heads=4 model.d_k=${scaled:64}", "num_heads=4 d_k=16"),
        ("scale=nano model.num_heads=4 model.d_k=16 model.d_v=16", "num_heads=4 d_k=16 d_v=16"),
        ("model.dropout=0.1 model.d_k=16 optimization.label_smoothing=0.1", ""),  # as it is anyway
        ("launch.compile=true trainer.devices=2 paths.runs=elsewhere logger=none", ""),  # no result changes
    ],
)
def test_what_decides_is_the_configuration(words: str, difference: str) -> None:
    assert identity(*words.split()).difference == difference


def test_a_corpus_of_ones_own_is_no_difference_and_what_is_changed_in_it_is() -> None:
    files = [f"data.{split}.{side}=file" for split in ("train", "dev", "test") for side in ("source", "target")]
    found = identity("data=text_files", *files, "data.name=mine", "data.max_length=16")
    assert (found.difference, found.title) == ("max_length=16", "base mine max_length=16 seed 1")


def test_the_command_keeps_what_it_was_composed_from() -> None:
    identity("experiment=table3/big", "model.dropout=0.4")
    assert HydraConfig.get().runtime.choices["experiment"] == "table3/big"


def test_a_key_is_short_where_no_other_ends_so() -> None:
    keys = ["model.dropout", "data.seed", "seed", "data.name"]
    assert list(in_words({"model.dropout": 0.5, "data.seed": None}, keys).values()) == ["dropout=0.5", "data.seed=null"]


@given(st.lists(st.text(min_size=1, max_size=30), max_size=20, unique=True))
def test_long_differences_are_cut_and_stay_their_own(words: list[str]) -> None:
    text = shortened(words)
    assert len(text) <= LONGEST
    assert shortened([*words, "x" * LONGEST]) != text
    assert text == " ".join(words) or "and more " in text
