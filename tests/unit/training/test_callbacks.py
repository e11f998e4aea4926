"""The first signal asks a run to stop, the second one does what it did before, and then all is as it was."""

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytorch_lightning import LightningModule, Trainer

from aiayn.training.callbacks import SIGNALS, StopOnSignal


@pytest.fixture
def trainer(tmp_path: Path) -> Trainer:
    return Trainer(
        accelerator="cpu",
        default_root_dir=tmp_path,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )


@pytest.fixture
def reached() -> Iterator[list[int]]:
    """Numbers of the signals that reach the handlers from before the run."""
    numbers: list[int] = []
    before = {number: signal.signal(number, lambda number, _: numbers.append(number)) for number in SIGNALS}
    yield numbers
    for number, handler in before.items():
        signal.signal(number, handler)


def send(number: signal.Signals) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("first", SIGNALS)
@pytest.mark.parametrize("second", SIGNALS)
def test_the_second_signal_reaches_the_previous_handler(
    trainer: Trainer, reached: list[int], first: signal.Signals, second: signal.Signals
) -> None:
    stop = StopOnSignal()
    stop.on_train_start(trainer, LightningModule())
    send(first)
    assert reached == []
    assert not trainer.should_stop, "the step is not done yet"
    send(second)
    assert reached == [second]
    stop.on_train_batch_end(trainer)
    assert stop.received is first
    assert trainer.should_stop


@pytest.mark.parametrize("second", SIGNALS)
def test_where_others_send_signals_too_only_the_first_counts(
    trainer: Trainer, reached: list[int], second: signal.Signals
) -> None:
    stop = StopOnSignal(is_patient=True)
    stop.on_train_start(trainer, LightningModule())
    send(signal.SIGUSR1)
    send(second)
    stop.on_train_batch_end(trainer)
    assert stop.received is signal.SIGUSR1
    assert reached == []
    stop.on_train_end(trainer, LightningModule())
    send(second)
    assert reached == [], "the last checkpoint is still to be written"


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("interrupted", [False, True])
def test_after_the_run_the_signals_belong_to_others_again(
    trainer: Trainer, reached: list[int], number: signal.Signals, interrupted: bool
) -> None:
    before = [signal.getsignal(each) for each in SIGNALS]
    stop = StopOnSignal()
    stop.on_train_start(trainer, LightningModule())
    assert [signal.getsignal(each) for each in SIGNALS] != before
    if interrupted:
        send(number)
    stop.on_train_end(trainer, LightningModule())
    stop.on_train_end(trainer, LightningModule())
    assert [signal.getsignal(each) for each in SIGNALS] == before
    send(number)
    assert reached == [number]


def test_without_a_signal_a_run_goes_on(trainer: Trainer) -> None:
    stop = StopOnSignal()
    stop.on_train_batch_end(trainer)
    assert stop.received is None
    assert not trainer.should_stop


def test_outside_the_main_thread_no_signal_is_taken(trainer: Trainer) -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    stop = StopOnSignal()
    thread = threading.Thread(target=stop.on_train_start, args=(trainer, LightningModule()))
    thread.start()
    thread.join()
    assert [signal.getsignal(number) for number in SIGNALS] == before
