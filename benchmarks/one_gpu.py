"""One GPU: target tokens a second of base and big in bf16 with dropout, their share of the peak, and a search.

    python benchmarks/one_gpu.py

Where there is no GPU it says so and measures nothing.
"""

import dataclasses
import sys
import time
from statistics import median
from typing import Any

import torch

from aiayn.builders.architecture import architecture_of
from aiayn.builders.models import build_model
from aiayn.builders.training import build_module
from aiayn.models.architecture import Architecture
from results import Mark, Row, tables
from searchers import Ids, endless_model
from texts import BASE, Workload
from token_batches import random_batch, random_sentences

BIG = dataclasses.replace(BASE, title="big", overrides=("experiment=table3/big",))
MARKS = {"base": 600_000.0, "big": 300_000.0}
TARGET_TOKENS, LENGTH, STEPS, WARM_UP = 24_576, 32, 20, 5
GEMM_SIZE = 8192
SENTENCES = 3_000


def measure(*, quick: bool = False) -> list[Row]:
    """The rows of both tables."""
    if quick or not torch.cuda.is_available():
        return [Row("One GPU", "aiayn", note="not measured: there is no CUDA device here")]
    peak = _gemm()
    rows = [Row("Training, one GPU, bf16", "matrix products", peak / 1e12, "TFLOP/s")]
    for workload in (BASE, BIG):
        rows += _training(dataclasses.replace(workload, text="generated"), peak)
    return [*rows, _decoding()]


def _gemm() -> float:
    """The speed of large square products in bf16, FLOP/s."""
    left, right = (torch.rand(GEMM_SIZE, GEMM_SIZE, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    seconds = [_seconds(lambda: torch.mm(left, right)) for _ in range(WARM_UP + STEPS)]
    return 2.0 * GEMM_SIZE**3 / median(seconds[WARM_UP:])


def _training(workload: Workload, peak: float) -> list[Row]:
    from pytorch_lightning import Trainer

    config = workload.config()
    module = build_module(config, build_model(config, vocabulary_size=workload.vocabulary_size), data_fingerprint="")
    module.trainer = Trainer(accelerator="gpu", devices=1, logger=False, enable_checkpointing=False)
    module.cuda().train()
    module.on_train_start()
    optimizer: Any = module.configure_optimizers()["optimizer"]
    sentences = TARGET_TOKENS // LENGTH
    batch = random_batch(sentences=sentences, length=LENGTH, vocabulary_size=workload.vocabulary_size).to("cuda")

    def step() -> None:
        optimizer.zero_grad()
        module.on_train_batch_start(batch, 0)
        with torch.autocast("cuda", torch.bfloat16):
            loss = module.training_step(batch)
        torch.autograd.backward(loss)
        optimizer.step()

    seconds = median([_seconds(step) for _ in range(WARM_UP + STEPS)][WARM_UP:])
    flops = workload.cost().training_flops(source_tokens=TARGET_TOKENS, target_tokens=TARGET_TOKENS)
    mark = Mark(MARKS[workload.title], "value")
    return [
        Row(
            "Training, one GPU, bf16",
            workload.title,
            TARGET_TOKENS / seconds,
            "target tokens/s",
            rounds=STEPS,
            mark=mark,
            note=f"{flops / seconds / peak:.0%} of the products' speed",
        )
    ]


def _decoding() -> Row:
    from aiayn.config.schema import BeamSearchConfig, EosWithin
    from aiayn.training.scoring import search_all

    architecture = architecture_of(BASE.config().model)
    assert isinstance(architecture, Architecture)
    model = endless_model(architecture, vocabulary_size=BASE.vocabulary_size).cuda()
    texts = random_sentences(sentences=SENTENCES, length=LENGTH, vocabulary_size=BASE.vocabulary_size)
    search = BeamSearchConfig(
        beam_size=4,
        length_penalty_alpha=0.6,
        max_extra_length=0,
        batch_tokens=16_384,
        eos_within=EosWithin.candidates,
        constrained=False,
    )
    ids: Any = Ids(BASE.vocabulary_size)
    seconds = [_seconds(lambda: search_all(model, texts, ids, search, device=torch.device("cuda"))) for _ in range(2)]
    title = f"Decoding, one GPU, base, beam 4, {SENTENCES:,} sentences of {LENGTH} tokens"
    return Row(title, "aiayn", seconds[-1], "s", mark=Mark(10.0, "value", "at most"))


def _seconds(action: Any) -> float:
    torch.cuda.synchronize()
    began = time.perf_counter()
    action()
    torch.cuda.synchronize()
    return time.perf_counter() - began


if __name__ == "__main__":
    print(tables(measure(quick="--quick" in sys.argv[1:])))
