"""The first signal stops a run, the second reaches the previous handler, and the handlers are restored."""

import os
import signal
import threading
from collections.abc import Iterator

import pytest
from pytorch_lightning import LightningModule, Trainer

from aiayn.system.signals import INTERRUPTING
from aiayn.training.callbacks import StopOnSignal


@pytest.fixture
def reached() -> Iterator[list[int]]:
    """Numbers of the signals that reach the handlers from before the run."""
    numbers: list[int] = []
    before = {number: signal.signal(number, lambda number, _: numbers.append(number)) for number in INTERRUPTING}
    yield numbers
    for number, handler in before.items():
        signal.signal(number, handler)


def send(number: signal.Signals) -> None:
    os.kill(os.getpid(), number)


def end_step(stop: StopOnSignal, trainer: Trainer) -> None:
    stop.on_train_batch_end(trainer, LightningModule(), None, None, trainer.accumulate_grad_batches - 1)


@pytest.mark.parametrize("first", INTERRUPTING)
@pytest.mark.parametrize("second", INTERRUPTING)
def test_the_second_signal_reaches_the_previous_handler(
    trainer: Trainer, reached: list[int], first: signal.Signals, second: signal.Signals
) -> None:
    stop = StopOnSignal(validation_interval=1)
    stop.on_train_start(trainer, LightningModule())
    send(first)
    assert reached == []
    assert not trainer.should_stop, "the step is not done yet"
    send(second)
    assert reached == [second]
    end_step(stop, trainer)
    assert stop.received is first
    assert trainer.should_stop


@pytest.mark.parametrize("second", INTERRUPTING)
def test_a_patient_run_ignores_further_signals(trainer: Trainer, reached: list[int], second: signal.Signals) -> None:
    stop = StopOnSignal(validation_interval=1, is_patient=True)
    stop.on_train_start(trainer, LightningModule())
    send(signal.SIGUSR1)
    send(second)
    end_step(stop, trainer)
    assert stop.received is signal.SIGUSR1
    assert reached == []
    stop.on_train_end(trainer, LightningModule())
    send(second)
    assert reached == [], "the last checkpoint is still to be written"


@pytest.mark.parametrize("number", INTERRUPTING)
@pytest.mark.parametrize("interrupted", [False, True])
def test_handlers_are_restored_after_the_run(
    trainer: Trainer, reached: list[int], number: signal.Signals, interrupted: bool
) -> None:
    before = [signal.getsignal(each) for each in INTERRUPTING]
    stop = StopOnSignal(validation_interval=1)
    stop.on_train_start(trainer, LightningModule())
    assert [signal.getsignal(each) for each in INTERRUPTING] != before
    if interrupted:
        send(number)
    stop.on_train_end(trainer, LightningModule())
    stop.on_train_end(trainer, LightningModule())
    assert [signal.getsignal(each) for each in INTERRUPTING] == before
    send(number)
    assert reached == [number]


def test_without_a_signal_a_run_does_not_stop(trainer: Trainer) -> None:
    stop = StopOnSignal(validation_interval=1)
    end_step(stop, trainer)
    assert stop.received is None
    assert not trainer.should_stop


def test_outside_the_main_thread_no_handler_is_set(trainer: Trainer) -> None:
    before = [signal.getsignal(number) for number in INTERRUPTING]
    stop = StopOnSignal(validation_interval=1)
    thread = threading.Thread(target=stop.on_train_start, args=(trainer, LightningModule()))
    thread.start()
    thread.join()
    assert [signal.getsignal(number) for number in INTERRUPTING] == before
