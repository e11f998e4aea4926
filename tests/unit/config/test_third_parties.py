"""Arguments that Lightning and W&B would refuse late or not at all are refused by key and value."""

import pytest
from composed_once import validated

from aiayn.config.third_parties import logs_to_wandb, trial_reason
from aiayn.errors import UserError

REFUSED = {
    "trainer.plugins=[a]": "trainer.plugins=['a']: state a list of objects, each with its _target_",
    "trainer.min_steps=99999": "trainer.min_steps=99999: must be at most optimization.max_steps=",
    "trainer.gradient_clip_algorithm=norm": "trainer.gradient_clip_algorithm=norm: state trainer.gradient_clip_val",
    "trainer.min_steps=-5": "trainer.min_steps=-5: must be at least 0, or null",
    "trainer.limit_train_batches=0": "trainer.limit_train_batches=0: must be greater than 0, or null",
    "trainer.log_every_n_steps=x": "trainer.log_every_n_steps=x: must be a whole number",
    "trainer.fast_dev_run=-1": "trainer.fast_dev_run=-1: must be at least 0",
    "trainer.profiler={a: 1}": "trainer.profiler={'a': 1}: an object needs its _target_",
    "+callbacks.mine={_target_: x.ModelCheckpoint, filename: ../../x}": "callbacks.mine.filename=../../x: leads out of",
    "trainer.gradient_clip_val=inf": "trainer.gradient_clip_val=inf: must be a finite number",
    "callbacks.best.monitor=nope": "callbacks.best.monitor=nope: choose from step, epoch, val/ppl, val/bleu",
    "callbacks.best.filename=mine": "callbacks.best.filename=mine: other commands rely on filename=best-",
    "callbacks.best.mode=max": "callbacks.best.mode=max: with monitor=val/ppl it keeps the worst; state min",
    "callbacks.best.monitor=val/bleu": "callbacks.best.mode=min: with monitor=val/bleu it keeps the worst; state max",
    "callbacks.latest.monitor=val/ppl": "callbacks.latest.monitor=val/ppl: other commands rely on monitor=step",
    "callbacks.latest.save_top_k=0": "callbacks.latest.save_top_k=0: no checkpoint would be kept",
    "logger.project=": "logger.project has no value: state it",
    "logger.project=null": "logger.project=null: must be text",
    "logger.entity=''": "logger.entity has no value: state it",
    "logger.mode=sometimes": "logger.mode=sometimes: must be auto or online or",
    "logger.init_timeout=0": "logger.init_timeout=0: must be greater than 0",
    "logger.finish_timeout=True": "logger.finish_timeout=True: must be a number",
    "logger.samples=-1": "logger.samples=-1: must be at least 0",
    "logger.log_model=sometimes": "logger.log_model=sometimes: must be true or false or all",
    "+logger.id=mine": "logger.id: leave it out",
    "+logger.offline=true": "logger.offline: state logger.mode=offline",
    "~trainer._target_": "trainer: has no _target_; state trainer._target_=<class>",
    "trainer._target_=null": "trainer: has no _target_; state trainer._target_=<class>",
    "~logger._target_": "logger: has no _target_; state logger._target_=<class>, or logger=none",
    "logger._target_=null": "logger: has no _target_; state logger._target_=<class>, or logger=none",
    "~callbacks.best._target_": "callbacks.best: has no _target_; state +callbacks.best._target_=<class>",
    "trainer.strategy=ddp_spawn": "trainer.strategy=ddp_spawn: starts processes",
}


@pytest.mark.parametrize("override", REFUSED)
def test_an_argument_is_refused(override: str) -> None:
    with pytest.raises(UserError) as refusal:
        validated(override)
    assert str(refusal.value).startswith(REFUSED[override])
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "overrides",
    [
        ["trainer.max_time=00:01:30:00"],
        ["trainer.max_time={hours: 1}"],
        ["trainer.profiler=simple"],
        ["trainer.deterministic=warn"],
        ["trainer.fast_dev_run=2"],
        ["callbacks.best.monitor=val/bleu", "callbacks.best.mode=max"],
        ["data=toy_trees", "tokenizer=symbols", "callbacks.best.monitor=val/f1", "callbacks.best.mode=max"],
        ["trainer.gradient_clip_val=1.0", "trainer.gradient_clip_algorithm=norm"],
        ["trainer.min_steps=5"],
        ["callbacks.best.monitor=mine", "+callbacks.mine._target_=mine.Callback"],  # it may log the metric
    ],
)
def test_other_arguments_are_left_to_lightning(overrides: list[str]) -> None:
    validated(*overrides)


def test_a_metric_that_is_not_logged_is_not_monitored() -> None:
    with pytest.raises(UserError, match=r"^callbacks\.best\.monitor=val/bleu: choose from step, epoch, val/ppl$"):
        validated("callbacks.best.monitor=val/bleu", "callbacks.best.mode=max", "decoding.validation_sentences=0")


def test_arguments_of_other_trackers_are_not_checked() -> None:
    validated("logger=none", "+logger._target_=mine.Tracker", "+logger.mode=sometimes")


@pytest.mark.parametrize("option", ["none", "wandb"])
@pytest.mark.parametrize("debug", ["none", "one_step", "overfit"])
def test_a_tracker_is_chosen_beside_every_debug_option(debug: str, option: str) -> None:
    assert logs_to_wandb(validated(f"debug={debug}", f"logger={option}").logger) == (option == "wandb")


def test_one_step_is_not_tracked() -> None:
    assert not validated("debug=one_step").logger


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("debug=one_step", "trainer.fast_dev_run=true"),
        ("debug=overfit", "trainer.overfit_batches=10"),
        ("trainer.fast_dev_run=2", "trainer.fast_dev_run=2"),
        ("trainer.limit_train_batches=1", "trainer.limit_train_batches=1"),
        ("trainer.limit_val_batches=0.5", "trainer.limit_val_batches=0.5"),
        ("debug=none", None),
        ("trainer.limit_train_batches=1.0", None),
        ("trainer.overfit_batches=0", None),
        ("trainer.fast_dev_run=0", None),
        ("optimization.max_steps=1", None),
    ],
)
def test_a_run_that_is_shortened_is_a_trial(word: str, expected: str | None) -> None:
    assert trial_reason(validated(word).trainer) == expected
