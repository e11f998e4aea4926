"""A run's note says what its row prints, and what the run changes besides."""

import pytest

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
    assert note(f"experiment=table3/{row}", "scale=paper") == PRINTED[row]
    assert note(f"experiment=table3/{row}", "scale=nano", "seed=3") == TRAINED[row]


def test_what_a_run_changes_besides_its_row_is_said() -> None:
    words = ["model.dropout=0.4", "decoding.beam_size=1", "seed=7", "data.sentences=50", "launch.compile=true"]
    assert note("experiment=table3/c_n4", *words) == ("N=1 (paper: N=4); here sentences=50 dropout=0.4 beam_size=1")


def test_a_run_of_no_row_says_its_changes_to_its_experiment() -> None:
    assert note("experiment=positions/rotary", "model.dropout=0.4") == "dropout=0.4"
