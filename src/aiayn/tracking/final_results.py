"""The final results of a run for its trackers: scores, sample translations, the best checkpoint."""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence

from aiayn.data.preparation.prepared import PreparedData
from aiayn.evaluation.samples import representative_sample
from aiayn.evaluation.sentences import read_sentence_scores, sentence_quality
from aiayn.runs.directory import RunDirectory
from aiayn.runs.record import Record, SplitScores
from aiayn.tracking.tracker import Tracker


def log_final_results(
    trackers: Sequence[Tracker],
    record: Record,
    directory: RunDirectory,
    data: PreparedData,
    *,
    table_rows: int,
    further: Callable[[], Mapping[str, float | int | str]] = dict,
) -> None:
    """Send the results of a scored run to its trackers, with `table_rows` sample translations of test.

    `further` computes entries of the summary beside the run's own results; it is called if there is a tracker.
    """
    if not trackers:
        return
    beside = further()
    test = record.scores["test"]
    columns = ("source", "reference", "hypothesis", "sentence_bleu" if test.brackets is None else "sentence_f1")
    rows = sample_rows(directory, data, test, count=table_rows) if table_rows else []
    for tracker in trackers:
        tracker.log_summary({**summary(record), **beside})
        if rows:
            tracker.log_table("samples", columns, rows, step=record.steps)
        if directory.steps("best"):
            step, path = directory.checkpoint("best")
            ppl = directory.validation_perplexities().get(step, math.inf)
            tracker.upload_checkpoint(path, step=step, ppl=ppl if math.isfinite(ppl) else None)


def summary(record: Record) -> dict[str, float | int | None]:
    """Scores and costs of a run, by the names that trackers show."""
    numbers: dict[str, float | int | None] = {"parameters": record.parameters}
    for split, result in record.scores.items():
        scores = {name: signed.score for name, signed in result.by_definition.items()}
        numbers |= {f"{split}/{name}": score for name, score in {**scores, "ppl": result.ppl}.items()}
    if record.cost is not None:
        costs = dataclasses.asdict(record.cost.total)
        numbers |= {f"cost/{name}": cost for name, cost in costs.items() if isinstance(cost, int | float)}
    return numbers


def sample_rows(
    directory: RunDirectory, data: PreparedData, scores: SplitScores, *, count: int
) -> list[tuple[str, str, str, float]]:
    """Source, reference, hypothesis and score of at most `count` sentences of test, the worst first.

    The worst, median and best by sentence BLEU or F1, and others that are the same for every run on these data.
    """
    path = directory.path / scores.hypotheses
    hypotheses = path.read_text(encoding="utf-8").split("\n")[:-1]
    rows = read_sentence_scores(path.with_name("test.sentences.jsonl"))
    values = [sentence_quality(row) for row in rows]
    test = data.split("test", limit=scores.sentences)
    sources, references = test.source_lines(), data.references(test)
    return [(sources[i], references[i], hypotheses[i], values[i]) for i in representative_sample(values, count)]
