"""A run's note says what its row prints, and what the run changes besides."""

import pytest
from hydra.core.hydra_config import HydraConfig

from aiayn.builders.notes import printed_difference
from aiayn.config.compose import compose_command
from aiayn.config.freeze import to_dataclass
from aiayn.config.schema import TrainConfig


def note(*words: str) -> str:
    return printed_difference(to_dataclass(compose_command("train", list(words)), TrainConfig))


PRINTED = {"base": "base", "a_h4": "h=4, d_k=d_v=128", "c_n2": "N=2", "e_learned": "positions=learned"}
TRAINED = {**PRINTED, "a_h4": "h=4, d_k=d_v=32 (paper: h=4, d_k=d_v=128)", "c_n2": "N=1 (paper: N=2)"}


@pytest.mark.parametrize("row", PRINTED)
def test_a_row_says_what_is_trained_and_what_the_paper_prints_where_that_differs(row: str) -> None:
    assert note(f"experiment=table3/{row}", "scale=paper", "seed=3") == PRINTED[row]
    assert note(f"experiment=table3/{row}", "scale=nano", "seed=3") == TRAINED[row]


def test_what_a_run_changes_besides_its_row_is_said() -> None:
    words = ["model.dropout=0.4", "decoding.beam_size=1", "seed=7", "data.sentences=50", "launch.compile=true"]
    assert note("experiment=table3/c_n4", *words) == ("N=1 (paper: N=4); here sentences=50 dropout=0.4 beam_size=1")


def test_many_changes_in_base_are_counted() -> None:
    words = [f"optimization.{key}=7" for key in ("warmup_steps", "source_tokens", "target_tokens", "max_steps")]
    words += [f"model.{key}=2" for key in ("num_layers", "d_model", "d_ff", "num_heads")]
    text = note("experiment=positions/rotary", *words, "tokenizer.vocabulary_size=300", "data.max_length=5")
    assert text.startswith("vocabulary_size=300, d_model=2, d_ff=2, ")
    assert text.endswith(" more")


def test_a_run_of_no_row_is_compared_with_base() -> None:
    config = to_dataclass(compose_command("train", ["model.num_heads=4", "scale=nano"]), TrainConfig)
    config.identity.experiment = "mine"
    assert printed_difference(config) == "h=4", "and the widths that follow"
    config.identity.scale = "my own"  # which cannot be composed here
    assert printed_difference(config) == "as base"


def test_the_command_keeps_what_it_was_composed_from() -> None:
    config = to_dataclass(compose_command("train", ["experiment=table3/big", "scale=nano"]), TrainConfig)
    printed_difference(config)
    assert HydraConfig.get().runtime.choices["experiment"] == "table3/big"
