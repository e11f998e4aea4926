"""A search chooses within the stated values, and reads the results of its trials from records."""

import gc
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from example_record import example_record
from hydra._internal.core_plugins.basic_launcher import BasicLauncher
from hydra.core.hydra_config import HydraConfig
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import OmegaConf

from aiayn.config.compose import compose_command
from aiayn.errors import RunFailedError, UserError
from aiayn.evaluation.score import Score
from aiayn.extensions.tuning.search_schema import Objective
from aiayn.runs.record import Record, SplitScores, Status

CommandLine = Callable[..., Any]

STATED = ("optimization.learning_rate_factor=1", "optimization.warmup_steps=10", "model.dropout=0.1")


def test_without_optuna_one_line_says_what_to_install(aiayn: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "aiayn.extensions.tuning.search", raising=False)
    monkeypatch.setitem(sys.modules, "optuna", None)
    said = aiayn("train", "sweeps=search", "logger=none")
    assert (said.code, said.out) == (2, "")
    assert said.err == "aiayn: sweeps=search: optuna is not installed; pip install -e '.[search]' in the checkout\n"


optuna = pytest.importorskip("optuna", reason="the extra aiayn[search] is not installed")

from aiayn.extensions.tuning.search import DIRECTIONS, Search, job_words, open_study, split_words  # noqa: E402

NOW = OmegaConf.create({"a": {"rate": 1.0, "steps": 3}, "b": 0.5, "c": None})


def test_an_interval_is_of_the_kind_that_the_key_holds_and_lists_are_choices() -> None:
    words = ["a.rate=tag(log, interval(1, 10))", "a.steps=interval(1.5, 9)", "model=x", "way=x,y", "c=range(1,4)"]
    fixed, space = split_words(words, NOW)
    assert fixed == ["model=x"]
    assert space == {
        "a.rate": optuna.distributions.FloatDistribution(1.0, 10.0, log=True),
        "a.steps": optuna.distributions.IntDistribution(2, 9),
        "way": optuna.distributions.CategoricalDistribution(["x", "y"]),
        "c": optuna.distributions.CategoricalDistribution(["1", "2", "3"]),
    }


def test_a_key_with_one_value_on_the_command_line_is_not_searched() -> None:
    fixed, space = split_words(["a.rate=interval(0.1, 0.2)", "b=interval(0.1, 0.2)", "a.rate=0.15"], NOW)
    assert (fixed, list(space)) == (["a.rate=0.15"], ["b"])


@given(st.floats(0, 1e6), st.integers(), st.sampled_from(["x,y", "[1,2]"]))
def test_the_value_of_a_run_is_short_and_near_the_chosen_one(rate: float, steps: int, text: str) -> None:
    first, *rest = job_words(["seed=1"], {"rate": rate, "steps": steps, "text": text})
    assert (first, rest[1:]) == ("seed=1", [f"steps={steps}", f"text={text}"])
    written = rest[0].removeprefix("rate=")
    assert float(written) == pytest.approx(rate, rel=5e-4)
    assert len(written) <= len("1.234e-308")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["sweeps=search"], "aiayn prepare sweeps=search: only aiayn train searches; leave it out"),
        (["sweeps=search", "hydra.sweeper.trials=0"], "hydra.sweeper.trials=0: must be at least 1"),
        (["sweeps=search", "hydra.sweeper.seed=-1"], "hydra.sweeper.seed=-1: must be at least 0"),
        (["sweeps=search", *STATED], "nothing to choose"),
        (["sweeps=search", "seed=1,2"], "sweeps=search: seed cannot be searched"),
        (["sweeps=search", "model.dropout=interval(0.3, 0.1)"], "model.dropout=interval(0.3, 0.1): "),
        (["sweeps=search", "model.dropuot=interval(0.1, 0.3)"], "model.dropuot: no such key; did you mean model."),
        (["sweeps=search", "hydra.sweeper.storage=sqlite:////proc/no/x"], "hydra.sweeper.storage=sqlite:////proc/no"),
    ],
)
def test_a_mistake_is_one_line_and_keeps_nothing(
    aiayn: CommandLine, tmp_path: Path, words: list[str], said: str
) -> None:
    answer = aiayn("prepare" if "only aiayn train" in said else "train", *words)
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert said in answer.err
    assert not list(tmp_path.rglob("*.db"))


@pytest.mark.parametrize("scale", ["demo", "nano", "small", "paper"])
def test_the_recipe_lies_within_the_space_at_every_scale(scale: str) -> None:
    composed = compose_command("train", ["sweeps=search", f"scale={scale}"])
    _, space = split_words([f"{key}={value}" for key, value in HydraConfig.get().sweeper.params.items()], composed)
    assert len(space) == 3
    for key, distribution in space.items():
        assert isinstance(distribution, optuna.distributions.IntDistribution | optuna.distributions.FloatDistribution)
        assert distribution.low < OmegaConf.select(composed, key) < distribution.high


def a_record(status: Status, *, ppl: float = 3.0, bleu: float = 20.0) -> Record:
    dev = SplitScores(ppl, Score(bleu, "tok:13a"), Score(50.0, "chrF"), 12, 12, 1.0, "dev.txt")
    return example_record(status, scores={"dev": dev} if status is Status.finished else {})


@pytest.fixture
def searched(tmp_path: Path) -> Callable[..., Search]:
    """A search whose trials have these records; None for one that was refused."""

    def make(*records: Record | None, objective: Objective = Objective.ppl) -> Search:
        fixed, space = split_words(["sweeps=search", "scale=nano", "model.dropout=interval(0.0, 0.4)"], NOW)
        study = optuna.create_study(direction=DIRECTIONS[objective])
        for record in records:
            trial = study.ask(space)
            run = f"table3/base/run{trial.number}"
            study.set_user_attr(str(trial.number), {"run": run, "experiment": "table3/base", "seed": 1})
            if record is not None:
                record.write(tmp_path / run / "run.json")
        return Search(
            study=study,
            fixed=fixed,
            space=space,
            objective=objective,
            runs=tmp_path,
            launcher=BasicLauncher(),
            folder=["--config-dir", "my conf"],
        )

    return make


@pytest.mark.parametrize(("objective", "best"), [(Objective.ppl, 2), (Objective.bleu, 1)])
def test_the_best_trial_is_shown_with_the_command_that_is_its_run(
    searched: Callable[..., Search], capsys: pytest.CaptureFixture[str], objective: Objective, best: int
) -> None:
    records = [
        a_record(Status.failed),
        a_record(Status.finished, ppl=4.0, bleu=30.0),
        a_record(Status.finished, ppl=2.0, bleu=10.0),
        a_record(Status.finished, ppl=math.inf, bleu=0.0),
    ]
    searched(*records, objective=objective).show()
    *_, counts, which, command = capsys.readouterr().out.splitlines()
    assert counts == "3 finished, 1 failed"
    assert which.startswith(f"best: {objective.value.upper()} ")
    assert which.endswith(f"run{best}")
    assert command.startswith("aiayn train --config-dir 'my conf' scale=nano model.dropout=0.")
    assert "sweeps=" not in command


def test_only_ended_trials_are_reported_to_optuna(searched: Callable[..., Search]) -> None:
    trained = [status for status in Status if status is not Status.imported]
    found = searched(*(a_record(status) for status in trained), None)
    found.tell_results()
    found.tell_results()
    states = dict(zip([*trained, None], (trial.state for trial in found.study.get_trials()), strict=True))
    running = optuna.trial.TrialState.RUNNING
    assert states.pop(Status.finished) == optuna.trial.TrialState.COMPLETE
    assert states.pop(Status.failed) == optuna.trial.TrialState.FAIL
    assert set(states.values()) == {running}, "to be resumed"
    with pytest.raises(RunFailedError, match=r"^2 of 5 trials are done; rerun the command to resume the others$"):
        found.show()


def test_a_search_without_a_finished_trial_has_failed(searched: Callable[..., Search]) -> None:
    with pytest.raises(RunFailedError, match=r"^none of 1 trials has finished"):
        searched(a_record(Status.failed)).show()


@pytest.mark.parametrize(
    ("storage", "said"),
    [
        ("redis://here", "Can't load plugin"),
        ("sqlite://", "a study in memory cannot be resumed; name a file"),
        ("nonsense", ""),
    ],
)
def test_a_storage_that_cannot_hold_a_study_is_refused(storage: str, said: str) -> None:
    with pytest.raises(UserError, match=f"^hydra.sweeper.storage={storage}: {said}"):
        open_study(storage, "study", Objective.ppl)


@pytest.mark.skipif(sys.platform != "linux", reason="open files are listed in /proc")
@pytest.mark.parametrize("content", [None, "not a database"])
def test_no_connection_to_the_storage_stays_open(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "search.db"
    if content is not None:
        path.write_text(content)
    gc.disable()  # Without a reference to it, an open connection would be closed at some time.
    try:
        if content is None:
            open_study(f"sqlite:///{path}", "study", Objective.ppl).ask()
        else:
            with pytest.raises(UserError, match=r"^hydra\.sweeper\.storage=sqlite:///.*search\.db: .*not a database"):
                open_study(f"sqlite:///{path}", "study", Objective.ppl)
        opened = {descriptor.resolve() for descriptor in Path("/proc/self/fd").iterdir()}
    finally:
        gc.enable()
    assert path.is_file()
    assert path not in opened
