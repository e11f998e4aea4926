"""A page of sixty runs: twenty rows by three seeds, from the record of a real run, on a real corpus."""

import contextlib
import dataclasses
import json
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import yaml
from browser_pages import opened_page
from playwright.sync_api import Browser, Page

from aiayn.builders.corpus import build_corpus, preparation_settings
from aiayn.commands.front_end import main
from aiayn.config.compose import compose_command
from aiayn.config.freeze import plain, to_dataclass
from aiayn.config.schema import TrainConfig
from aiayn.data.preparation.prepared import PreparedData, prepare
from aiayn.evaluation.bleu import sentence_statistics
from aiayn.evaluation.sentences import SentenceScores, write_sentence_scores
from aiayn.paper.tables import Row, load_table3
from aiayn.reports.comparability import SCALED
from aiayn.runs.attention_maps import AttendedSentence, AttentionMaps, write_attention_maps
from aiayn.runs.record import Record, Status, read_record

RECORD = Path(__file__).parents[2] / "tests" / "support" / "recorded" / "run.json"

SEEDS = (1, 2, 3)

STEPS = 1400

HYPOTHESES = "evaluations/last/dev.hypotheses.txt"

ATTACK = "<script>document.title = 'attacked'</script><img src=x onerror=\"document.title = 'attacked'\">"

TINY = ("data.sentences=60", "data.dev_sentences=24", "data.test_sentences=2", "tokenizer.vocabulary_size=300")


def frozen(row: Row, seed: int, base: TrainConfig) -> str:
    """The configuration of a row: base with the row's changes, scaled."""
    content = plain(base) | {"seed": seed}
    for key, printed in row.changes.items():
        group, name = key.split(".")
        factor = content["scale"][SCALED[key]] if key in SCALED else None
        content[group][name] = printed if factor is None else round(float(printed) * factor)
    return yaml.safe_dump(content)


def write_run(folder: Path, row: Row, config: str, record: Record, data: PreparedData) -> None:
    """Write a run whose curves and scores are a function of its row and seed."""
    quality = float(row.bleu.value or 0.0) + record.seed / 10
    lines = data.split("dev").target_lines()
    hypotheses = [" ".join(line.split()[: 4 + int(place + quality) % 9]) for place, line in enumerate(lines)]
    hypotheses[0] = ATTACK
    statistics = sentence_statistics(hypotheses, lines)
    path = folder / HYPOTHESES
    path.parent.mkdir(parents=True)
    write_sentence_scores(
        path.with_name("dev.sentences.jsonl"),
        (
            SentenceScores(
                len(line) * math.log(float(row.ppl.value or 1.0)), len(line), len(line), tuple(map(int, counts))
            )
            for line, counts in zip(lines, statistics, strict=True)
        ),
    )
    path.write_text("".join(f"{line}\n" for line in hypotheses), encoding="utf-8")
    (folder / "config.yaml").write_text(config, encoding="utf-8")
    with (folder / "metrics.jsonl").open("w") as stream:
        for step in range(1, STEPS + 1):
            row_of_step = {"step": step, "train/loss": 2 + 6 / step + 1 / quality, "train/seconds": step / 5}
            if step % 140 == 0:
                score = quality * step / STEPS
                row_of_step |= {"val/ppl": math.exp(1 + 4 / step**0.5), "val/bleu": score, "val/f1": score}
            stream.write(json.dumps(row_of_step) + "\n")
    record.write(folder / "run.json")


def write_maps(folder: Path) -> None:
    """Attention of two layers and three heads, as sharp as can be."""
    source, target, read = ["A", "dog", "barks", "⟨eos⟩"], ["Ein", "Hund", ATTACK], ["⟨bos⟩", "Ein", "Hund"]
    shapes = ((4, 4), (3, 3), (3, 4))
    encoder, decoder, cross = (np.broadcast_to(np.eye(*shape), (2, 3, *shape)) for shape in shapes)
    sentence = AttendedSentence(1, source, target, read, encoder, decoder, cross)
    maps = AttentionMaps(checkpoint_step=STEPS, units="tokens", sentences=[sentence])
    write_attention_maps(folder / f"step-{STEPS}.json", maps)


@pytest.fixture(scope="session")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of sixty runs of the table, one of them failed, and of a run of one's own."""
    place = tmp_path_factory.mktemp("sweep")
    real = read_record(RECORD)
    base = to_dataclass(compose_command("train", ["experiment=table3/base", "scale=nano", *TINY]), TrainConfig)
    corpus, settings = build_corpus(base.data, cache=place / "cache"), preparation_settings(base)
    data = prepare(corpus, settings=settings, cache=place / "cache")
    dev = dataclasses.replace(real.scores["dev"], sentences=len(data.split("dev")), hypotheses=HYPOTHESES)
    shared = dataclasses.replace(real, scale="nano", data="grammar", data_fingerprint=data.fingerprint, max_steps=STEPS)
    for row in load_table3().rows:
        for seed in SEEDS:
            folder = place / "runs" / "table3" / row.id / f"nano-seed{seed}"
            record = dataclasses.replace(
                shared, experiment=f"table3/{row.id}", seed=seed, steps=STEPS, scores={"dev": dev}
            )
            if (row.id, seed) == ("big", 3):
                message = f"the loss is not finite {ATTACK}"
                record = dataclasses.replace(record, status=Status.failed, message=message, scores={}, steps=70)
            write_run(folder, row, frozen(row, seed, base), record, data)
    row = load_table3().row("base")
    own = dataclasses.replace(shared, experiment="mine", seed=1, steps=STEPS, scores={})
    write_run(place / "runs" / "mine" / "nano-seed1", row, frozen(row, 1, base), own, data)
    write_maps(place / "runs" / "table3" / "base" / "nano-seed1" / "attention")
    return place


@pytest.fixture(scope="session")
def written(sweep: Path) -> Path:
    """The page of these runs, with the whole of plotly.js."""
    with contextlib.chdir(sweep):
        assert main(["report", "page", "paths.cache=cache"]) == 0
    return sweep / "report.html"


@pytest.fixture
def opened(browser: Browser, written: Path) -> Iterator[Page]:
    """The page in a wide window; it must have logged nothing and requested only itself when the test ends."""
    with opened_page(browser, written, width=1280) as page:
        yield page
