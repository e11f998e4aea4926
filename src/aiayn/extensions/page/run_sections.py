"""The page's section for each run: facts, changes, scores, sample translations, attention maps."""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from aiayn.extensions.page.content import RunContent
from aiayn.extensions.page.markup import (
    Html,
    chip,
    data_block,
    facts_list,
    filtered,
    heading,
    joined,
    number,
    table,
    tag,
)
from aiayn.extensions.page.run_data import RANKS, Sample
from aiayn.reports.numbers import counted
from aiayn.reports.run import facts
from aiayn.reports.status import scores_of, steps_of
from aiayn.runs.record import Record


def run_sections(runs: Sequence[RunContent]) -> Html:
    """All runs, closed; a link to one opens it."""
    return joined(map(_run, runs))


def _run(run: RunContent) -> Html:
    state = run.entry.state
    scores = " · ".join(f"{name} {score}" for name, score in scores_of(run.entry).items()) or steps_of(run.entry)
    summary = tag(
        "summary",
        tag("span", chip(run.group), run.row, class_="name"),
        tag("span", f"seed {run.record.seed}" if run.record else "", class_="seed"),
        tag("span", state.value, class_=f"state {state}"),
        tag("span", scores, class_="scores"),
    )
    body = tag("div", *_body(run), class_="run-body")
    words = filtered(run.group, f"{run.title} {run.folder} {state}")
    return tag("details", summary, body, class_="run", id=run.anchor, **words)


def _body(run: RunContent) -> Iterator[Html]:
    record, state = run.record, run.entry.state
    if run.entry.message:
        message = tag("strong", state.value), f": {run.entry.message}"
        yield tag("p", *message, class_=f"message {state}", role="note")
    for note in run.notes:
        yield tag("p", note, class_="note")
    if record is None:
        return
    yield tag("pre", record.command, class_="command")
    known = facts_list({"folder": run.folder, **facts(record), "status": ""})
    yield tag("div", _section("Record", known), tag("div", _changes(run), _scores(record)), class_="columns")
    if run.samples:
        yield tag("h4", f"Samples, by sentence {run.samples[0].score_name}")
        yield tag("div", *_samples(run.samples), class_="samples")
    if run.attention is not None:
        yield _attention(f"{run.anchor}-attention", run.attention)


def _section(title: str, *content: Html) -> Html:
    return tag("section", tag("h4", title), *content)


def _changes(run: RunContent) -> Html:
    if run.changes:
        rows = (
            tag("tr", tag("th", key, scope="row"), tag("td", base), tag("td", tag("b", own)))
            for key, (base, own) in run.changes.items()
        )
        content = table("Changes against base", [map(heading, ("<key", "<base", "<here"))], rows, class_="keys")
    else:
        words = f"As {run.compared_with}, but for the seed."
        if run.compared_with is None:
            words = "No run of base at this scale and on this corpus to compare with."
        elif run.compared_with == run.folder:
            words = "This is that run."
        content = tag("p", words, class_="note")
    return _section("Configuration, against base", content)


def _scores(record: Record) -> Html | None:
    if not record.scores:
        return None
    any_split = next(iter(record.scores.values()))
    rows = (
        tag(
            "tr",
            tag("th", split, scope="row"),
            number(f"{result.ppl:.3f}"),
            *(number(f"{score.score:.2f}") for score in result.shown.values()),
            number(f"{result.sentences:,}"),
            number(result.checkpoint),
        )
        for split, result in record.scores.items()
    )
    signatures = facts_list({name: tag("code", score.signature) for name, score in any_split.shown.items()})
    headings = ("<split", "PPL", *any_split.shown, "sentences", "step")
    return _section("Scores", table("Scores", [map(heading, headings)], rows), signatures)


def _samples(samples: Sequence[Sample]) -> Iterator[Html]:
    for rank in RANKS:
        if of_rank := [_sample(sample) for sample in samples if sample.rank == rank]:
            yield tag("section", tag("h5", rank), *of_rank)


def _sample(sample: Sample) -> Html:
    score = tag("dt", f"{sample.score:.1f}", title=f"sentence {sample.score_name}")
    hypothesis = tag("dd", marked(sample.hypothesis, sample.reference, by_character=sample.is_by_character))
    return tag(
        "dl",
        tag("div", tag("dt", f"source {sample.number:,}"), tag("dd", sample.source)),
        tag("div", tag("dt", "reference"), tag("dd", sample.reference)),
        tag("div", score, hypothesis, class_="hypothesis"),
        class_="sample",
    )


def marked(hypothesis: str, reference: str, *, by_character: bool = False) -> Html:
    """A hypothesis with the words, or characters, marked that the reference does not have there."""
    words, others = (list(line) if by_character else line.split() for line in (hypothesis, reference))
    space = "" if by_character else " "
    blocks = difflib.SequenceMatcher(None, words, others, autojunk=False).get_opcodes()
    texts = ((kind, space.join(words[start:end])) for kind, start, end, _, _ in blocks)
    return joined((text if kind == "equal" else tag("mark", text) for kind, text in texts if text), space)


def _attention(anchor: str, maps: Mapping[str, Any]) -> Html:
    omitted = f" {counted(maps['omitted'], 'more sentence')} in the run's folder." if maps["omitted"] else ""
    rows = "each row is one position, with the positions that it attends to"
    words = f"Weights after {maps['step']:,} steps: {rows}.{omitted}"
    place = tag("div", class_="attention", data_attention=anchor)
    return _section("Attention", tag("p", words, class_="note"), place, data_block(maps, id=anchor))
