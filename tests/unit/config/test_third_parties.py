"""What Lightning and W&B would answer in riddles, or after the corpus is prepared, is refused by key and value."""

import pytest

from aiayn.config.compose import compose_command
from aiayn.errors import UserError
from aiayn.sweep.jobs import checked

REFUSED = {
    "trainer.plugins=[a]": "trainer.plugins=['a']: state a list of objects, each with its _target_",
    "trainer.max_time=-1": "trainer.max_time=-1: state days:hours:minutes:seconds, as in 00:01:30:00 and more",
    "trainer.max_time=00:00:00:00": "trainer.max_time=00:00:00:00: state days:hours:minutes:seconds",
    "trainer.max_time={minutes: 0}": "trainer.max_time={'minutes': 0}: state days:hours:minutes:seconds",
    "trainer.min_steps=99999": "trainer.min_steps=99999: must be at most optimization.max_steps=",
    "trainer.gradient_clip_algorithm=norm": "trainer.gradient_clip_algorithm=norm: state trainer.gradient_clip_val",
    "+trainer.sync_batchnorm=true": "trainer.sync_batchnorm: leave it out",
    "trainer.max_time={hours: -1}": "trainer.max_time={'hours': -1}: state days:hours:minutes:seconds",
    "trainer.min_steps=-5": "trainer.min_steps=-5: must be a number of steps, at least 0, or null",
    "trainer.limit_train_batches=0": "trainer.limit_train_batches=0: must be a number of batches",
    "trainer.log_every_n_steps=x": "trainer.log_every_n_steps=x: must be a number of steps",
    "trainer.log_every_n_steps=null": "trainer.log_every_n_steps=None: must be a number of steps",
    "trainer.num_nodes=0": "trainer.num_nodes=0: must be a number of hosts, at least 1",
    "trainer.deterministic=x": "trainer.deterministic=x: must be true, false, warn or null",
    "trainer.profiler=3": "trainer.profiler=3: must be the name of one of Lightning's",
    "trainer._target_=3": "trainer._target_=3: must be the name of a class",
    "trainer.gradient_clip_val=inf": "trainer.gradient_clip_val=inf: must be at least 0",
    "callbacks.best.monitor=nope": "callbacks.best.monitor=nope: choose from step, epoch, val/ppl, val/bleu",
    "callbacks.best.filename=mine": "callbacks.best.filename=mine: other commands rely on filename=best-",
    "callbacks.best.mode=max": "callbacks.best.mode=max: with monitor=val/ppl it keeps the worst; state min",
    "callbacks.best.monitor=val/bleu": "callbacks.best.mode=min: with monitor=val/bleu it keeps the worst; state max",
    "callbacks.latest.monitor=val/ppl": "callbacks.latest.monitor=val/ppl: other commands rely on monitor=step",
    "callbacks.latest.monitor=null": "callbacks.latest.monitor=None: other commands rely on monitor=step",
    "callbacks.latest.save_top_k=0": "callbacks.latest.save_top_k=0: no checkpoint would be kept",
    "averaging.interval=3": "averaging.interval=3: is for averaging.checkpoints above 0",
    "+callbacks.best.dirpath=elsewhere": "callbacks.best.dirpath: leave it out, checkpoints lie in the run directory",
    "callbacks.latest.save_top_k=1.5": "callbacks.latest.save_top_k=1.5: must be a whole number",
    "logger.project=": "logger.project=: state a name of 1 to 128 characters",
    "logger.project=a/b": "logger.project=a/b: state a name of 1 to 128 characters",
    "logger.entity=''": "logger.entity=: state a user or team",
    "logger._target_=3": "logger._target_=3: state the name of a class",
}


@pytest.mark.parametrize("override", REFUSED)
def test_a_value_that_makes_no_sense_is_refused(override: str) -> None:
    with pytest.raises(UserError) as refusal:
        checked("train", compose_command("train", [override]))
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
        ["callbacks.best.monitor=mine", "+callbacks.mine._target_=mine.Callback"],  # which may log it
    ],
)
def test_what_lightning_takes_is_left_to_it(overrides: list[str]) -> None:
    checked("train", compose_command("train", overrides))


def test_a_metric_that_is_not_measured_is_not_waited_for() -> None:
    with pytest.raises(UserError, match=r"^callbacks\.best\.monitor=val/bleu: choose from step, epoch, val/ppl$"):
        checked(
            "train",
            compose_command(
                "train",
                ["callbacks.best.monitor=val/bleu", "callbacks.best.mode=max", "decoding.validation_sentences=0"],
            ),
        )
