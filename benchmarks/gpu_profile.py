"""The profile of a run's training steps: shares of time, launches, synchronisations, and the busy share of a GPU."""

import json
import re
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from pytorch_lightning import Callback, LightningModule, Trainer
from torch.autograd import DeviceType  # type: ignore[attr-defined]  # torch does not list it
from torch.profiler import ProfilerActivity, profile, record_function

from aiayn.data.batches.collation import TranslationBatch
from aiayn.system import files

REST = "element-wise, copies"

PARTS = {
    REST: r"^triton_(?!tem)",  # fused by the compiler; their names have those of the operations, products too
    "attention": r"flash|fmha|attention|attn",
    "products": r"gem[mv]|cutlass|nvjet|xmma|cublas|split_?k|mkldnn|(?:^|::)\w*mm$|linear|matmul|triton_tem",
    "optimizer": r"adam|multi_tensor|foreach",
}
"""Parts of a step by what the names of their operations and kernels contain: the first that fits, else the rest."""

LAUNCH = r"cu(?:da)?Launch\w*Kernel\w*"
SYNCHRONISATION = r"cuda(?:Stream|Device|Event)Synchronize\w*|cu(?:Stream|Ctx|Event)Synchronize\w*|cudaMemcpy"
COPY_TO_HOST = r"Memcpy DtoH.*"

WINDOW = "recorded steps"
"""The annotation around them in the profile."""

ROWS = 20
"""Operations in the table."""


class Span(NamedTuple):
    """A call on the CPU, or a kernel or copy on the GPU; times in microseconds."""

    name: str
    on_gpu: bool
    start: float
    end: float


def shares(times: Iterable[tuple[str, float]]) -> dict[str, float]:
    """The share of each part of a step, from the names and times of operations that do not overlap."""
    sums = dict.fromkeys(PARTS, 0.0)
    for name, time in times:
        part = next((part for part, pattern in PARTS.items() if re.search(pattern, name, re.IGNORECASE)), REST)
        sums[part] += time
    total = sum(sums.values())
    return {part: round(time / total, 3) for part, time in sums.items() if time}


def gpu_figures(spans: Sequence[Span], *, start: float, end: float, steps: int) -> dict[str, float]:
    """Counts per step of the calls that begin between two times, and the share of it in which the GPU works."""
    calls = [span.name for span in spans if not span.on_gpu and start <= span.start < end]
    kernels = [span for span in spans if span.on_gpu and span.end > start and span.start < end]
    counts = {
        "launches a step": sum(bool(re.fullmatch(LAUNCH, name)) for name in calls),
        "host synchronisations a step": sum(bool(re.fullmatch(SYNCHRONISATION, name)) for name in calls),
        "copies to the host a step": sum(bool(re.fullmatch(COPY_TO_HOST, span.name)) for span in kernels),
    }
    busy, reached = 0.0, start
    for kernel in sorted(kernels, key=lambda each: each.start):
        busy += max(0.0, min(kernel.end, end) - max(kernel.start, reached))
        reached = max(reached, kernel.end)
    return {name: round(count / steps, 2) for name, count in counts.items()} | {
        "GPU busy": round(busy / (end - start), 3)
    }


class ProfiledSteps(Callback):
    """Records the optimizer steps `first` to `last` of a run whose steps are one batch each.

    Figures and the table of operations are written to `path` as JSON. The profiler keeps about 5 kB for each of some
    10,000 events a step, so a few dozen steps are recorded and not hundreds.
    """

    def __init__(self, path: str, first: int, last: int) -> None:
        self._path = Path(path)
        self._first, self._last = first, last
        self._recording = ExitStack()
        self._profile: profile | None = None

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, *_: Any, **__: Any) -> None:
        """Start to record."""
        if trainer.global_step == self._first - 1:
            on_gpu = [ProfilerActivity.CUDA] if pl_module.device.type == "cuda" else []
            self._profile = self._recording.enter_context(profile(activities=[ProfilerActivity.CPU, *on_gpu]))
            self._recording.enter_context(record_function(WINDOW))

    def on_train_batch_end(self, trainer: Trainer, *_: Any, **__: Any) -> None:
        """Stop, and write."""
        if self._profile is not None and trainer.global_step == self._last:
            self._recording.close()
            found = _figures(self._profile, steps=self._last - self._first + 1)
            self._profile = None
            files.write_text(self._path, json.dumps(found))


def _figures(recorded: profile, *, steps: int) -> dict[str, Any]:
    untyped: Any = recorded
    events = untyped.events()
    (window,) = (each for each in events if each.name == WINDOW and each.device_type == DeviceType.CPU)
    start, end = window.time_range.start, window.time_range.end
    spans = [
        Span(each.name, each.device_type != DeviceType.CPU, each.time_range.start, each.time_range.end)
        for each in events
        if not each.is_user_annotation
    ]
    averages = untyped.key_averages()
    averages[:] = [each for each in averages if not each.is_user_annotation]  # they contain the others
    kernels = [span for span in spans if span.on_gpu]
    if kernels:
        found = shares((span.name, span.end - span.start) for span in kernels)
        found |= gpu_figures(spans, start=start, end=end, steps=steps)
    else:
        found = shares((each.key, each.self_cpu_time_total) for each in averages)
    order = f"self_{'device' if kernels else 'cpu'}_time_total"
    table = averages.table(sort_by=order, row_limit=ROWS, max_name_column_width=50)
    lines = "\n".join(line.rstrip() for line in table.strip().splitlines())
    return {
        "steps recorded": steps,
        "ms a step": round((end - start) / steps / 1000, 2),
        **found,
        "operations": f"```text\n{lines}\n```",
    }


class ShapeCounter(Callback):
    """Writes the number of different shapes among a run's training batches to `path`."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._shapes: set[tuple[int, ...]] = set()

    def on_train_batch_start(
        self, trainer: Trainer, pl_module: LightningModule, batch: TranslationBatch, *_: Any, **__: Any
    ) -> None:
        """Note tokens, sentences and longest sentence of both sides."""
        del trainer, pl_module
        sides = ((len(side.ids), side.layout.sentences, side.layout.longest) for side in batch[:2])
        self._shapes.add(tuple(size for side in sides for size in side))

    def on_train_end(self, *_: Any, **__: Any) -> None:
        """Write."""
        files.write_text(self._path, str(len(self._shapes)))
