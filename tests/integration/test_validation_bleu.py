"""`val/bleu` is the run's own search on dev at every validation; nothing else about the run depends on it."""

from pathlib import Path
from typing import Any

import pytest
from commands import Finished, Train
from run_files import assert_same_end, metrics, only_run

from aiayn.runs.record import read_record


def validations(run: Path) -> list[dict[str, Any]]:
    return [row for row in metrics(run) if "val/ppl" in row]


@pytest.mark.parametrize(("pretokenized", "steps"), [(False, 100), (True, 6)])
def test_of_all_of_dev_the_last_one_is_the_score_of_the_run(
    train: Train, tmp_path: Path, pretokenized: bool, steps: int
) -> None:
    length = (f"optimization.max_steps={steps}", f"optimization.validation_interval={steps // 2}")
    search = ("decoding.validation_sentences=100", "optimization.learning_rate_factor=0.3")
    assert train(*length, *search, f"data.pretokenized={pretokenized}") == 0
    run = only_run(tmp_path / "runs")
    name = "val/bleu_none" if pretokenized else "val/bleu"
    rows = validations(run)
    assert [row["step"] for row in rows] == [steps // 2, steps]
    assert all(set(row) == {"step", "val/ppl", name} for row in rows)
    assert pretokenized or rows[-1][name] > 0  # else 0 would be compared with 0
    assert rows[-1][name] == read_record(run / "run.json").scores["dev"].quality.score


@pytest.mark.slow
def test_a_run_ends_bit_for_bit_the_same_with_and_without_it(finished: Finished) -> None:
    """In the same folder, too: the number of sentences is no part of a run's identity."""
    without, with_it = finished("decoding.validation_sentences=0"), finished()
    assert without.relative_to(without.parents[2]) == with_it.relative_to(with_it.parents[2])
    assert_same_end(with_it, without, but="val/bleu")
    assert all("val/bleu" in row for row in validations(with_it))
    assert not any("val/bleu" in row for row in validations(without))


@pytest.mark.slow
def test_weights_that_are_no_numbers_fail_the_run_as_before(
    train: Train, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    poisoned = "+callbacks.poison={_target_: observers.PoisonAt, batch: 3}"
    assert train(poisoned, "trainer.log_every_n_steps=11", "optimization.validation_interval=5") == 1
    assert "the training loss is nan at step 11" in capsys.readouterr().err
    assert [(row["step"], row["val/ppl"]) for row in validations(only_run(tmp_path / "runs"))] == [
        (5, None),
        (10, None),
    ]
