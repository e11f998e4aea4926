"""What trackers are told of a whole run at its end."""

from aiayn.runs.record import Record


def summary(record: Record) -> dict[str, float | int | None]:
    """The numbers that stand for a run as a whole, by the names that trackers show."""
    numbers: dict[str, float | int | None] = {"parameters": record.parameters}
    for split, result in record.scores.items():
        scores = {result.bleu_name: result.bleu.score, "ppl": result.ppl, "chrf": result.chrf.score}
        numbers |= {f"{split}/{name.lower()}": score for name, score in scores.items()}
    return numbers
