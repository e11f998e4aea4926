"""The runs of Table 2's experiments, which of them compare with what, and what the paper's claims become."""

import statistics
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiayn.evaluation.sentences import read_sentence_scores
from aiayn.evaluation.significance import bootstrap, sentence_columns
from aiayn.evaluation.test_sets import SENTENCES_OF_2014
from aiayn.paper.table2_claims import load_table2_claims
from aiayn.paper.table3 import load_table3
from aiayn.reports.scored_runs import ScoredRun, mean_text, refuse_apart, refuse_twins, refuse_unlike, runs_of_table
from aiayn.reports.table3_runs import FOLLOWS_STEPS, SCALED
from aiayn.reports.tables.table2_claims import JudgedTable2Claim, TestedSystem, judge

PREFIX = "table2/"

PAIRS = {"en_de": "EN-DE", "en_fr": "EN-FR"}

ROWS = {"base": "transformer_base", "big": "transformer_big"}
"""Of the table, by the model of the experiment."""

DEFINITIONS = {"en_de": ("multi_bleu_split", "multi_bleu_none_split"), "en_fr": ("multi_bleu", "multi_bleu_none")}
"""What stands beside the paper's numbers, by language pair: tokenised BLEU, and for German compounds split, as the
authors' code has it; the second where text came split into words."""

AVERAGED = frozenset({"averaging.checkpoints", "averaging.interval"})
"""What section 6.1 states for each of the two models."""


@dataclass(frozen=True)
class TestedRun(ScoredRun):
    """One run of an experiment of the table."""

    @property
    def pair(self) -> str:
        """Its languages, as the table's columns are called."""
        return self.record.experiment.removeprefix(PREFIX).partition("_")[2]

    @property
    def row(self) -> str:
        """Its row of the table."""
        return ROWS.get(self.record.experiment.removeprefix(PREFIX).partition("_")[0], "")

    @property
    def is_on_newstest2014(self) -> bool:
        """Whether its test set is that of the paper, as far as names and sizes tell."""
        is_wmt14 = self.record.data == f"wmt14_{self.pair}"
        return is_wmt14 and self.test is not None and self.test.sentences == SENTENCES_OF_2014

    @property
    def is_papers(self) -> bool:
        """Whether it may be held against what is printed: the paper's scale, and newstest2014."""
        return self.is_on_newstest2014 and self.record.scale == "paper"

    @property
    def printed_sizes(self) -> dict[str, Any]:
        """The paper's sizes and steps of its row, by configuration key."""
        table = load_table3()
        settings = table.row(self.record.experiment.removeprefix(PREFIX).partition("_")[0]).settings(table)
        return {key: value for key, value in settings.items() if key in SCALED}


@dataclass(frozen=True)
class Ours:
    """An experiment of the table, all its seeds together."""

    experiment: str
    runs: Sequence[TestedRun]

    @property
    def finished(self) -> list[TestedRun]:
        """Those that count."""
        return [run for run in self.runs if run.test is not None]

    def mean_of(self, of: Callable[[TestedRun], float | None]) -> float | None:
        """A number of the finished runs; None if one does not know it."""
        values = [of(run) for run in self.finished]
        known = [value for value in values if value is not None]
        return statistics.fmean(known) if known and len(known) == len(values) else None

    def mean(self, of: Callable[[TestedRun], float | None], shown: Callable[[float], str]) -> str:
        """A number of the finished runs, with its standard deviation where there are several; empty if not known."""
        return mean_text([of(run) for run in self.finished], shown)


@dataclass(frozen=True)
class Table2Report:
    """All that is shown."""

    ours: Sequence[Ours]
    """In the table's order, English-German first."""
    claims: Sequence[JudgedTable2Claim]
    """The paper's conclusions from the table."""

    @property
    def runs(self) -> list[TestedRun]:
        """All runs, finished or not."""
        return [run for each in self.ours for run in each.runs]

    def of(self, row: str, pair: str) -> Ours | None:
        """Ours of a row and a language pair."""
        return next((each for each in self.ours if (each.runs[0].row, each.runs[0].pair) == (row, pair)), None)


def read_table2(runs: Path, *, scale: str | None, data: str | None, resamples: int, seed: int) -> Table2Report:
    """The runs of the table's experiments below a folder.

    Args:
        runs: the folder.
        scale: only runs of this scale.
        data: only runs on this corpus, by name or by the first digits of its fingerprint.
        resamples: of the bootstrap.
        seed: of the bootstrap.

    Raises:
        UserError: runs of one column do not compare, or a file cannot be read.
    """
    order = [f"{PREFIX}{model}_{pair}" for pair in PAIRS for model in ROWS]
    found: dict[str, list[TestedRun]] = {}
    for entry, record in runs_of_table(runs, order, scale=scale, data=data):
        found.setdefault(record.experiment, []).append(TestedRun(entry, record))
    ours = [Ours(name, sorted(found[name], key=lambda run: run.record.seed)) for name in order if name in found]
    for pair in PAIRS:
        of_pair = [run for each in ours for run in each.finished if run.pair == pair]
        refuse_apart(of_pair)
        refuse_unlike(of_pair, _free)
        refuse_twins(of_pair)
    tested = [system for pair in PAIRS for system in _tested(ours, pair, resamples=resamples, seed=seed)]
    return Table2Report(ours, [judge(claim, tested) for claim in load_table2_claims()])


def _tested(ours: Sequence[Ours], pair: str, *, resamples: int, seed: int) -> Iterator[TestedSystem]:
    """What the finished runs of a language pair say of their experiments."""
    finished = [each for each in ours if each.finished and each.finished[0].pair == pair]
    if not finished:
        return
    systems = [[_sentences(run) for run in each.finished] for each in finished]
    measured = bootstrap(systems, resamples=resamples, seed=seed)
    for place, each in enumerate(finished):
        yield TestedSystem(
            row=each.finished[0].row,
            pair=pair,
            measured=measured.bleu,
            place=place,
            bleu=each.mean_of(in_the_papers_definition),
            flops=each.mean_of(papers_flops),
            is_papers=all(run.is_papers for run in each.finished),
        )


def _free(run: ScoredRun, first: ScoredRun) -> Collection[str]:
    """The keys in which two runs of a column may differ: base and big in what the paper prints as different."""
    if run.record.experiment == first.record.experiment:
        return ()
    return AVERAGED | FOLLOWS_STEPS | load_table3().row("big").changes.keys()


def _sentences(run: TestedRun) -> Any:
    assert run.test is not None, "only finished runs are compared"
    path = run.entry.directory.path / run.test.hypotheses
    return sentence_columns(read_sentence_scores(path.with_name("test.sentences.jsonl")))


def in_the_papers_definition(run: TestedRun) -> float | None:
    """BLEU as the paper's column has it."""
    scores = {} if run.test is None else run.test.by_definition
    return next((scores[name].score for name in DEFINITIONS[run.pair] if name in scores), None)


def papers_flops(run: TestedRun) -> float | None:
    """Training cost as the paper counts it; None where the device is not known."""
    return run.record.account.total.paper_flops
