"""The page's section for each run: facts, changes, scores, sample translations, attention maps."""

import difflib
from collections.abc import Iterator, Sequence

from aiayn.reports.page.attention_maps import PackedMaps
from aiayn.reports.page.cells import chip, filtered, heading, number, scroller
from aiayn.reports.page.content import RunContent
from aiayn.reports.page.figures import attention_data
from aiayn.reports.page.markup import Html, data_block, joined, tag
from aiayn.reports.page.samples import Kind, Sample
from aiayn.reports.run import facts
from aiayn.reports.status import scores_of, steps_of
from aiayn.runs.ledger import State
from aiayn.runs.record import Record

TITLES = {Kind.worst: "The worst", Kind.median: "In the middle", Kind.best: "The best"}


def run_sections(runs: Sequence[RunContent]) -> Html:
    """All runs, closed; a link to one opens it."""
    return joined(map(_run, runs))


def _run(run: RunContent) -> Html:
    scores = scores_of(run.entry)
    parts = (
        tag("span", chip(run.group), run.row, class_="name"),
        tag("span", "" if run.record is None else f"seed {run.record.seed}", class_="seed"),
        tag("span", run.entry.state.value, class_=f"state {run.entry.state}"),
        tag(
            "span",
            " · ".join(f"{name} {score}" for name, score in scores.items()) or steps_of(run.entry),
            class_="scores",
        ),
    )
    body = tag("div", *_body(run), class_="run-body")
    words = f"{run.title} {run.folder} {run.entry.state}"
    return tag("details", tag("summary", *parts), body, class_="run", id=run.anchor, **filtered(run.group, words))


def _body(run: RunContent) -> Iterator[Html]:
    record, message = run.record, run.entry.message
    if message and run.entry.state is not State.finished:
        yield tag(
            "p", tag("strong", run.entry.state.value), f": {message}", class_=f"message {run.entry.state}", role="note"
        )
    for note in run.notes:
        yield tag("p", note, class_="note")
    if record is None:
        return
    yield tag("pre", record.command, class_="command")
    yield tag("div", _facts(run, record), tag("div", _changes(run), _scores(record)), class_="columns")
    if run.samples:
        yield tag("h4", f"Samples, by sentence {run.samples[0].score_name}")
        yield tag("div", *_samples(run.samples), class_="samples")
    if run.attention is not None:
        yield _attention(run, run.attention)


def _facts(run: RunContent, record: Record) -> Html:
    known = {"folder": run.folder, **{name: value for name, value in facts(record).items() if value}}
    known.pop("status")
    rows = (tag("div", tag("dt", name), tag("dd", value)) for name, value in known.items())
    return tag("section", tag("h4", "Record"), tag("dl", *rows, class_="facts"))


def _changes(run: RunContent) -> Html:
    title = tag("h4", "Configuration, against base")
    if run.compared_with is None:
        return tag(
            "section",
            title,
            tag("p", "No run of base at this scale and on this corpus to compare with.", class_="note"),
        )
    if not run.changes:
        words = "This is that run." if run.compared_with == run.folder else f"As {run.compared_with}, but for the seed."
        return tag("section", title, tag("p", words, class_="note"))
    rows = (
        tag("tr", tag("th", each.key, scope="row"), tag("td", each.base), tag("td", tag("b", each.here)))
        for each in run.changes
    )
    head = tag("tr", *map(heading, ("<key", "<base", "<here")))
    return tag(
        "section",
        title,
        scroller(tag("table", tag("thead", head), tag("tbody", *rows), class_="keys"), "Changes against base"),
    )


def _scores(record: Record) -> Html | None:
    if not record.scores:
        return None
    any_split = next(iter(record.scores.values()))
    head = tag("tr", *map(heading, ("<split", "PPL", *any_split.shown, "sentences", "step")))
    rows = [
        tag(
            "tr",
            tag("th", split, scope="row"),
            number(f"{result.ppl:.3f}", None),
            *(number(f"{score.score:.2f}", None) for score in result.shown.values()),
            number(f"{result.sentences:,}", None),
            number(result.checkpoint, None),
        )
        for split, result in record.scores.items()
    ]
    signatures = (
        tag("div", tag("dt", name), tag("dd", tag("code", score.signature))) for name, score in any_split.shown.items()
    )
    return tag(
        "section",
        tag("h4", "Scores"),
        scroller(tag("table", tag("thead", head), tag("tbody", *rows)), "Scores"),
        tag("dl", *signatures, class_="facts"),
    )


def _samples(samples: Sequence[Sample]) -> Iterator[Html]:
    for kind in Kind:
        of_kind = [sample for sample in samples if sample.kind is kind]
        if of_kind:
            yield tag("section", tag("h5", TITLES[kind]), *map(_sample, of_kind))


def _sample(sample: Sample) -> Html:
    return tag(
        "dl",
        tag("div", tag("dt", f"source {sample.number:,}"), tag("dd", sample.source)),
        tag("div", tag("dt", "reference"), tag("dd", sample.reference)),
        tag(
            "div",
            tag("dt", f"{sample.score:.1f}", title=f"sentence {sample.score_name}"),
            tag("dd", marked(sample.hypothesis, sample.reference)),
            class_="hypothesis",
        ),
        class_="sample",
    )


def marked(hypothesis: str, reference: str) -> Html:
    """A hypothesis with the words marked that the reference does not have there."""
    words, others = hypothesis.split(), reference.split()
    parts: list[Html | str] = []
    for kind, start, end, _, _ in difflib.SequenceMatcher(None, words, others, autojunk=False).get_opcodes():
        text = " ".join(words[start:end])
        if text:
            parts.append(text if kind == "equal" else tag("mark", text))
    return joined(parts, " ")


def _attention(run: RunContent, maps: PackedMaps) -> Html:
    omitted = f" {maps.omitted} more sentences are in the run's folder." if maps.omitted else ""
    note = tag(
        "p",
        f"Weights after {maps.step:,} steps: each row is one position, and what it attends to.{omitted}",
        class_="note",
    )
    place = tag("div", class_="attention", data_attention=f"{run.anchor}-attention")
    return tag(
        "section", tag("h4", "Attention"), note, place, data_block(attention_data(maps), id=f"{run.anchor}-attention")
    )
