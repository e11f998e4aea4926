"""The first day with a GPU: every experiment on it, its agreement with the CPU, and its speed.

    make gpu                                  # all stages, on cuda
    make gpu STAGES="agreement speed"
    PYTHONPATH=src:benchmarks python benchmarks/gpu.py --device cpu --tiny --output /tmp/gpu

Each measurement is written to `<output>/gpu.json` as soon as it is made, and is not made again; `--again` forgets those
of the stages named. `<output>/gpu-<stage>.md` shows them. The program needs the packages of pyproject.toml, and neither
an installed aiayn nor a network.
"""

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from aiayn.builders.models import build_model
from aiayn.commands.front_end import main as aiayn
from aiayn.config import store
from aiayn.config.compose import compose_command
from aiayn.config.freeze import to_dataclass
from aiayn.config.schema import TrainConfig
from aiayn.flat_tokens import FlatTokens
from aiayn.runs import provenance
from aiayn.runs.record import read_record
from aiayn.system import files
from aiayn.training.loss import output_losses

Figures = dict[str, Any]
Measurement = tuple[str, Callable[[], Figures]]

SHORT = (
    "scale=nano",
    "data.sentences=400",
    "data.dev_sentences=8",
    "data.test_sentences=8",
    "tokenizer.vocabulary_size=400",
    "optimization.max_steps=2",
    "optimization.validation_interval=2",
    "decoding.max_extra_length=5",
    "logger=none",
)
"""Words of a run of seconds."""

NEED_FILES = ("table2/", "table4/")
"""Experiments on corpora that are not part of the project."""

COMPILED = ("table3/base", "table3/a_h1", "table3/e_learned", "positions/rotary", "structure/pre_norm")

AGREEING = ("table3/base", "table3/b_dk16", "attention/additive", "attention/restricted", "positions/rotary")

SPEED_MODES = {
    "fp32": ("trainer.precision=32-true",),
    "tf32": ("trainer.precision=32-true", "launch.tf32=true"),
    "bf16": ("trainer.precision=bf16-mixed",),
    "bf16 compiled": ("trainer.precision=bf16-mixed", "launch.compile=true"),
}


@dataclass(frozen=True)
class Bench:
    """The settings of all stages."""

    device: str
    is_tiny: bool
    work: Path

    @property
    def trainer(self) -> list[str]:
        """Words that choose the device."""
        return [f"trainer.accelerator={'cuda' if self.device == 'cuda' else 'cpu'}", "trainer.devices=1"]

    def train(self, name: str, words: Sequence[str]) -> Figures:
        """Run `aiayn train` in this process; its seconds, speed and memory, or its failure."""
        runs = self.work / "runs" / name.replace("/", "-").replace(" ", "-")
        if self.device == "cuda":
            torch.cuda.reset_peak_memory_stats()
        began = time.perf_counter()
        code = aiayn(["train", *words, *self.trainer, f"paths.runs={runs}", f"paths.cache={self.work / 'cache'}"])
        figures: Figures = {"exit code": code, "seconds": round(time.perf_counter() - began, 1)}
        for path in runs.rglob("run.json"):
            figures |= {"loss": _losses(path.parent)[-1:], "test ppl": _perplexity(path)}
        if self.device == "cuda":
            figures["GiB"] = round(torch.cuda.max_memory_allocated() / 2**30, 2)
        return figures

    def experiments(self) -> Iterator[Measurement]:
        """Every experiment trains, is validated and decoded."""
        chosen = ("table3/base", "baselines/luong") if self.is_tiny else store.options("experiment")
        for name in chosen:
            if not name.startswith(NEED_FILES):
                yield name, partial(self.train, name, [f"experiment={name}", *SHORT])

    def compiled(self) -> Iterator[Measurement]:
        """Some of them as compiled models."""
        for name in COMPILED[: 1 if self.is_tiny else None]:
            words = [f"experiment={name}", *SHORT, "launch.compile=true"]
            yield name, partial(self.train, f"compiled {name}", words)

    def agreement(self) -> Iterator[Measurement]:
        """Loss and gradients in single precision: this device beside the CPU."""
        for name in AGREEING[: 1 if self.is_tiny else None]:
            yield name, partial(_agreement, name, self.device)

    def speed(self) -> Iterator[Measurement]:
        """Base and big on batches of unequal sentences, by the real command."""
        corpus = _corpus(self.work, sentences=400 if self.is_tiny else 60_000)
        size = ["scale=nano"] if self.is_tiny else ["scale=paper", "tokenizer.vocabulary_size=32000"]
        tokens, steps = (300, 4) if self.is_tiny else (25_000, 400)
        shape = [
            *size,
            *corpus,
            f"optimization.source_tokens={tokens}",
            f"optimization.target_tokens={tokens}",
            f"optimization.max_tokens_per_device={tokens}",
            f"optimization.max_steps={steps}",
            f"optimization.validation_interval={steps}",
            f"trainer.log_every_n_steps={max(1, steps // 8)}",
            "decoding.limit_sentences=8",
            "decoding.validation_sentences=0",
            "logger=none",
        ]
        for row in ("base",) if self.is_tiny else ("base", "big"):
            for mode, words in SPEED_MODES.items():
                if self.device == "cuda" or mode == "fp32":
                    name = f"{row} {mode}"
                    all_words = [f"experiment=table3/{row}", *shape, *words]
                    yield name, partial(self._speed, name, all_words)

    def _speed(self, name: str, words: Sequence[str]) -> Figures:
        figures = self.train(name, words)
        for path in (self.work / "runs").rglob("run.json"):
            if name.replace(" ", "-") in path.parts:
                rows = [json.loads(line) for line in (path.parent / "metrics.jsonl").read_text().splitlines()]
                speeds = sorted(row["train/tokens_per_second"] for row in rows if "train/tokens_per_second" in row)
                mfu = read_record(path).account.total.mfu
                figures |= {
                    "tokens/s, median window": round(speeds[len(speeds) // 2]),
                    "MFU": None if mfu is None else round(mfu, 3),
                }
        return figures

    def decoding(self) -> Iterator[Measurement]:
        """The search of a run of `speed`, by the real command."""
        for folder in sorted((self.work / "runs").glob("base-*")):
            for path in folder.rglob("run.json"):
                yield folder.name, partial(self._decode, path.parent)

    def _decode(self, run: Path) -> Figures:
        began = time.perf_counter()
        words = [f"run={run}", "decoding.beam_size=4", f"decoding.limit_sentences={8 if self.is_tiny else 2000}"]
        code = aiayn(["evaluate", *words])
        return {"exit code": code, "seconds": round(time.perf_counter() - began, 1)}


STAGES = ("experiments", "compiled", "agreement", "speed", "decoding")


def _losses(run: Path) -> list[float]:
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [round(row["train/loss"], 4) for row in rows if "train/loss" in row]


def _perplexity(record: Path) -> float | None:
    scores = read_record(record).scores.get("test")
    return None if scores is None else round(scores.ppl, 2)


def _agreement(experiment: str, device: str) -> Figures:
    """The largest differences of loss and gradients, relative to the largest value of each gradient."""
    words = [f"experiment={experiment}", "scale=small", "model.dropout=0", "logger=none"]
    config = to_dataclass(compose_command("train", words), TrainConfig)
    model = build_model(config, vocabulary_size=4000).train()
    draw = random.Random(1)
    source, target = (
        FlatTokens.of([[draw.randrange(3, 4000) for _ in range(draw.randint(5, 40))] for _ in range(24)])
        for _ in range(2)
    )
    found = []
    for place in ("cpu", device):
        model.to(place)
        states = model.states(source.to(place), target.to(place))
        loss = output_losses(states, model.output_weight, target.ids.to(place), label_smoothing=0.1).smoothed
        gradients = torch.autograd.grad(loss, list(model.parameters()))
        found.append((float(loss.detach()), [each.cpu() for each in gradients]))
    (loss_here, here), (loss_there, there) = found
    worst = max(
        float((own - other).abs().max() / own.abs().max().clamp(min=1e-12))
        for own, other in zip(here, there, strict=True)
    )
    return {"loss, relative": abs(loss_there - loss_here) / loss_here, "gradients, relative": worst}


def _corpus(work: Path, *, sentences: int) -> list[str]:
    """Files of made-up words whose lengths are spread as news are; the words that name them."""
    draw = random.Random(1)
    lexicon = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(2, 9))) for _ in range(30_000)]
    words = []
    for split, count in (("train", sentences), ("dev", 200), ("test", 200)):
        lengths = [max(3, min(90, round(draw.gammavariate(4, 6)))) for _ in range(count)]
        for side, language in (("source", "en"), ("target", "de")):
            path = work / f"{split}.{language}"
            if not path.is_file():
                lines = (" ".join(draw.choices(lexicon, k=length)) for length in lengths)
                files.write_text(path, "".join(f"{line}\n" for line in lines))
            words.append(f"data.{split}.{side}={path}")
    return ["data=text_files", "data.name=made_up", *words]


def page(stage: str, found: dict[str, Figures], device: str) -> str:
    """The measurements of a stage as Markdown."""
    columns = list(dict.fromkeys(name for figures in found.values() for name in figures))
    lines = [f"| {stage} | {' | '.join(columns)} |", f"| --- |{' ---: |' * len(columns)}"]
    for name, figures in found.items():
        cells = ("" if figures.get(column) is None else _shown(figures[column]) for column in columns)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    commit, dirty = provenance.code_version()
    about = f"Commit {commit}{' with changes' if dirty else ''}; {device}; torch {torch.__version__}."
    return f"# GPU: {stage}\n\nWritten by `make gpu STAGES={stage}`. {about}\n\n" + "\n".join(lines) + "\n"


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_shown, value))
    return f"{value:.3g}" if isinstance(value, float) and abs(value) < 1 else f"{value:,}" if value else str(value)


def main(words: Sequence[str]) -> int:
    """Make the measurements that are missing; 1 if one failed."""
    parser = argparse.ArgumentParser(description="Measure on a GPU what the project promises of one.")
    parser.add_argument("stages", nargs="*", default=STAGES, metavar="stage", help=f"of {', '.join(STAGES)}")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--tiny", action="store_true", help="sizes of a test")
    parser.add_argument("--again", action="store_true", help="forget earlier measurements of these stages")
    parser.add_argument("--output", type=Path, default=Path(__file__).parents[1] / "docs" / "results")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "aiayn-gpu")
    given = parser.parse_args(words)
    unknown = sorted({*given.stages} - {*STAGES})
    if unknown or (given.device == "cuda" and not torch.cuda.is_available()):
        parser.error(f"no such stage: {unknown[0]}" if unknown else "no CUDA device is here: take --device cpu --tiny")
    given.work.mkdir(parents=True, exist_ok=True)
    given.output.mkdir(parents=True, exist_ok=True)
    bench, store_path = Bench(given.device, given.tiny, given.work), given.output / "gpu.json"
    kept: dict[str, dict[str, Figures]] = json.loads(store_path.read_text()) if store_path.is_file() else {}
    device = torch.cuda.get_device_name() if given.device == "cuda" else f"CPU, {os.cpu_count()} cores"
    failed = 0
    for stage in given.stages:
        found = kept.setdefault(stage, {})
        if given.again:
            found.clear()
        for name, measure in getattr(bench, stage)():
            if name not in found:
                print(f"{stage}: {name}", file=sys.stderr, flush=True)
                found[name] = measure()
                files.write_text(store_path, json.dumps(kept, indent=1) + "\n")
                files.write_text(given.output / f"gpu-{stage}.md", page(stage, found, device))
            failed += bool(found[name].get("exit code"))
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
