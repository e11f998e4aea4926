"""The stages of `make gpu` and their measurements; `gpu.py` keeps and shows the figures."""

import json
import os
import random
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import torch

from aiayn.commands.front_end import main as aiayn
from aiayn.config import store
from aiayn.errors import RunFailedError
from aiayn.runs.record import Record, Status, read_record
from aiayn.system import files
from gpu_measures import agreement, forget, product_flops, search
from gpu_table3 import rows_side_by_side
from texts import data_words

Figures = dict[str, Any]
Measurement = tuple[str, Callable[[], Figures]]

SHORT = (
    "scale=nano",
    "data.sentences=400",
    "data.dev_sentences=8",
    "data.test_sentences=8",
    "tokenizer.vocabulary_size=600",
    "optimization.max_steps=2",
    "optimization.validation_interval=2",
    "decoding.max_extra_length=5",
    "logger=none",
)
"""Words of a run of seconds."""

ONE_LAYER = ("model.num_layers=1", "model.d_model=32", "model.d_ff=64")
"""Words of a test's model, which is compiled soon."""

EMBEDDED = {"table2/base_en_fr": "grammar", "table2/big_en_fr": "grammar", "table4/wsj_only": "toy_trees"}
"""The data, part of the project, of experiments that have no corpus at `scale=nano`."""

NEED_FILES = ("table4/semi_supervised",)
"""It differs from `table4/wsj_only` in its data alone."""

COMPILED_FIRST = ("table3/base", "table3/a_h1", "table3/e_learned", "positions/rotary", "structure/pre_norm")

AGREEING = ("table3/base", "table3/b_dk16", "attention/additive", "attention/restricted", "positions/rotary")

TOKENS, VOCABULARY = 25_000, 37_000
"""Of a batch on each side, and rows of the embedding matrix; as in the paper (section 5.1)."""

PRODUCT = 8192
"""Rows and columns of the matrices whose product is the measured peak."""


class Mode(NamedTuple):
    """A way to train the same model."""

    words: tuple[str, ...]
    steps: int
    """The last quarter is measured."""


BF16 = "trainer.precision=bf16-mixed"
MODES = {
    "bf16": Mode((BF16,), 320),
    "tf32": Mode(("trainer.precision=32-true", "launch.tf32=true"), 80),
    "fp32": Mode(("trainer.precision=32-true",), 80),
    "bf16 compiled": Mode((BF16, "launch.compile=true"), 320),
}
"""In the order in which they are measured. After 240 of 320 steps, over 200 shapes of batches have been seen."""

PROFILED = (261, 290)
"""Steps of 300 that the profiler records, between two lines of the log: a line waits for the GPU."""

SEARCHED, WMT_LONGEST = 3_000, 90


@dataclass(frozen=True)
class Bench:
    """The settings of all stages; `work` is the folder of runs and prepared corpora."""

    device: str
    """cuda or cpu."""
    is_tiny: bool
    work: Path

    def measurements(self, stage: str) -> dict[str, Callable[[], Figures]]:
        """The measurements of a stage by name."""
        stages: Mapping[str, Callable[[], Iterator[Measurement]]] = {
            "experiments": self.experiments,
            "compiled": self.compiled,
            "agreement": self.agreement,
            "speed": self.speed,
            "profile": self.profile,
            "decoding": self.decoding,
            "table3": self.table3,
        }
        return dict(stages[stage]())

    @property
    def trainer(self) -> list[str]:
        """Words that choose the device."""
        return [f"trainer.accelerator={self.device}", "trainer.devices=1"]

    def train(self, name: str, words: Sequence[str]) -> tuple[Record, Path, Figures]:
        """Run `aiayn train` in this process; the record, the run directory, and seconds, scores and memory.

        Raises:
            RunFailedError: the run failed or was refused.
            KeyboardInterrupt: it was interrupted.
        """
        runs = self.work / "runs" / name.replace("/", "-").replace(" ", "-")
        shutil.rmtree(runs, ignore_errors=True)
        forget(self.device)
        began = time.perf_counter()
        code = aiayn(["train", *words, *self.trainer, f"paths.runs={runs}", f"paths.cache={self.work / 'cache'}"])
        seconds = time.perf_counter() - began
        path = next(runs.rglob("run.json"), None)
        record = None if path is None else read_record(path)
        if record is not None and record.status is Status.interrupted:
            raise KeyboardInterrupt
        if code or record is None or path is None:
            reason = record.message if record is not None else f"aiayn train: exit code {code}, its reason is above"
            raise RunFailedError(str(reason))
        losses = [row["train/loss"] for row in _metrics(path.parent) if "train/loss" in row]
        figures: Figures = {
            "seconds": round(seconds, 1),
            "loss": round(losses[-1], 4),
            "test ppl": round(record.scores["test"].ppl, 2),
        }
        if self.device == "cuda":
            figures["peak GiB"] = round(torch.cuda.max_memory_allocated() / 2**30, 2)
        return record, path.parent, figures

    def experiments(self) -> Iterator[Measurement]:
        """Every experiment trains two steps, is validated and decoded."""
        names = ("table3/base", "baselines/luong") if self.is_tiny else store.options("experiment")
        for name in names:
            if name not in NEED_FILES:
                yield name, partial(self._short, name)

    def compiled(self) -> Iterator[Measurement]:
        """The same as compiled models, the least alike first."""
        others = [name for name in store.options("experiment") if not name.startswith(("baselines/", *NEED_FILES))]
        for name in dict.fromkeys(COMPILED_FIRST[:1] if self.is_tiny else (*COMPILED_FIRST, *others)):
            yield name, partial(self._short, name, "launch.compile=true")

    def _short(self, experiment: str, *more: str) -> Figures:
        data = [f"data={EMBEDDED[experiment]}"] if experiment in EMBEDDED else []
        words = [f"experiment={experiment}", *SHORT, *data, *more, *(ONE_LAYER if self.is_tiny and more else ())]
        return self.train(" ".join(("short", experiment, *(["compiled"] if more else []))), words)[-1]

    def agreement(self) -> Iterator[Measurement]:
        """Loss and gradients: this device beside the CPU in single precision, its two kinds of attention in bf16."""
        size = ("scale=nano", "model.num_layers=1") if self.is_tiny else ("scale=small",)
        for name in AGREEING[: 1 if self.is_tiny else None]:
            yield name, partial(agreement, (f"experiment={name}", *size), self.device)

    def speed(self) -> Iterator[Measurement]:
        """Base and big in every mode, by the real command."""
        for mode in ("fp32", "bf16 compiled") if self.is_tiny else MODES:
            for row in ("base",) if self.is_tiny else ("base", "big"):
                yield f"{row} {mode}", partial(self.speed_of, row, mode)

    def speed_of(self, row: str, mode: str) -> Figures:
        """Train a row of Table 3 on batches with lengths as WMT's; the figures of its last steps."""
        name, steps = f"{row} {mode}", 8 if self.is_tiny else MODES[mode].steps
        counted = self.work / f"shapes-{name.replace(' ', '-')}"
        text = self.speed_text()
        counter = f"+callbacks.shapes={{_target_: gpu_profile.ShapeCounter, path: '{counted}'}}"
        words = [*self.large_run(row, text, steps), f"trainer.log_every_n_steps={steps // 16 or 1}", counter]
        peak = product_flops(self.device, PRODUCT if not self.is_tiny else 64)
        record, run, figures = self.train(f"speed {name}", [*words, *MODES[mode].words])
        speeds = [line["train/tokens_per_second"] for line in _metrics(run) if "train/loss" in line]
        speed = median(speeds[-(len(speeds) // 4) :])
        assert record.account is not None
        (attempt,) = record.account.attempts
        trained = attempt.source_tokens + attempt.target_tokens
        return {
            "tokens/s": round(speed),
            "target tokens/s": round(speed * attempt.target_tokens / trained),
            "MFU": round(speed * attempt.flops / trained / peak, 3),
            "TFLOP/s of bf16 products": float(f"{peak / 1e12:.3g}"),
            "shapes": int(counted.read_text()),
            **figures,
        }

    def speed_text(self) -> list[str]:
        """The words that name the text of all runs that measure speed."""
        return made_up_text(self.work, sentences=400 if self.is_tiny else 120_000)

    def large_run(self, row: str, text: Sequence[str], steps: int) -> list[str]:
        """The words of a run with the paper's sizes and batches, whose end takes little time."""
        tokens = 300 if self.is_tiny else TOKENS
        large = ("scale=paper", f"tokenizer.vocabulary_size={VOCABULARY}", f"model.vocabulary_rows={VOCABULARY}")
        return [
            f"experiment=table3/{row}",
            *(("scale=nano", *ONE_LAYER) if self.is_tiny else large),
            *text,
            f"optimization.source_tokens={tokens}",
            f"optimization.target_tokens={tokens}",
            f"optimization.max_tokens_per_device={tokens}",
            f"optimization.max_steps={steps}",
            f"optimization.validation_interval={steps}",
            "trainer.enable_checkpointing=false",
            "decoding.limit_sentences=8",
            "decoding.validation_sentences=0",
            "logger=none",
        ]

    def profile(self) -> Iterator[Measurement]:
        """Base in bf16 on real text where AIAYN_DATA names it."""
        yield "base bf16", self._profile

    def _profile(self) -> Figures:
        (first, last), steps = ((2, 3), 4) if self.is_tiny else (PROFILED, 300)
        path = self.work / "profile.json"
        has_text = "AIAYN_DATA" in os.environ and not self.is_tiny
        text = data_words("news") if has_text else made_up_text(self.work, sentences=400 if self.is_tiny else 120_000)
        recorder = f"{{_target_: gpu_profile.ProfiledSteps, path: '{path}', first: {first}, last: {last}}}"
        self.train("profile", [*self.large_run("base", text, steps), BF16, f"+callbacks.profile={recorder}"])
        found: Figures = json.loads(path.read_text())
        return {"text": "news" if has_text else "made up", "batches": steps, **found}

    def decoding(self) -> Iterator[Measurement]:
        """Searches of a model of base's size whose sentences never end early."""
        for beam in (4,) if self.is_tiny else (4, 1):
            yield f"beam {beam}", partial(self.search, beam)

    def search(self, beam: int) -> Figures:
        """Decode with the default size of batches."""
        if self.is_tiny:
            return search(self.trainer, self.device, scale="nano", vocabulary_size=400, lengths=[5] * 8, beam=beam)
        lengths = wmt_lengths(random.Random(1), SEARCHED)
        return search(self.trainer, self.device, scale="paper", vocabulary_size=VOCABULARY, lengths=lengths, beam=beam)

    def table3(self) -> Iterator[Measurement]:
        """The rows of Table 3 at `scale=small` on Multi30k, or on sentences of the grammar without AIAYN_DATA."""
        text = SHORT if self.is_tiny else ("scale=small", *data_words("multi30k"), "logger=none")
        rows = 2 if self.is_tiny else None
        words = [*text, *self.trainer]
        yield "table3", partial(rows_side_by_side, words, self.device, work=self.work, rows=rows)


def made_up_text(work: Path, *, sentences: int) -> list[str]:
    """Files of made-up words with as many in a sentence as WMT has; the words that name them."""
    draw = random.Random(1)
    lexicon = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(2, 9))) for _ in range(30_000)]
    words = []
    for split, count in (("train", sentences), ("dev", 200), ("test", 200)):
        sources = wmt_lengths(draw, count)
        targets = [max(1, min(WMT_LONGEST, round(length * draw.gauss(1, 0.15)))) for length in sources]
        for side, lengths in (("source", sources), ("target", targets)):
            path = work / f"{sentences}-{split}.{side}"
            if not path.is_file():
                lines = (" ".join(draw.choices(lexicon, k=length)) for length in lengths)
                files.write_text(path, "".join(f"{line}\n" for line in lines))
            words.append(f"data.{split}.{side}={path}")
    return ["data=text_files", "data.name=made_up", *words]


def wmt_lengths(draw: random.Random, count: int) -> list[int]:
    """Words of sentences, spread about as WMT's are: 24 in the mean."""
    return [max(3, min(WMT_LONGEST, round(draw.gammavariate(4, 6)))) for _ in range(count)]


def _metrics(run: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
