"""`metrics.jsonl`: one JSON object for every log line, by optimizer step."""

import json
import math
from pathlib import Path
from typing import Any

from pytorch_lightning.loggers import Logger
from pytorch_lightning.utilities import rank_zero_only

from aiayn.errors import UserError
from aiayn.runs.directory import metric_row
from aiayn.system import files


class MetricsLog(Logger):
    """Appends metrics to a file, whose lines after `start_step` are dropped first: a resumed run logs them again."""

    def __init__(self, path: Path, *, start_step: int = 0) -> None:
        super().__init__()
        self.path = path
        self._drop_after(start_step)

    @property
    def name(self) -> str:
        """Required by Lightning."""
        return "metrics"

    @property
    def version(self) -> int:
        """Required by Lightning."""
        return 0

    @rank_zero_only
    def _drop_after(self, step: int) -> None:
        if not files.exists(self.path):
            return
        with files.reading(self.path):
            text = self.path.read_text(encoding="utf-8", errors="replace")  # lines of other bytes are dropped, too
        kept = [f"{line}\n" for line in text.splitlines() if 0 <= self._step(line) <= step]
        if "".join(kept) != text:
            files.write_text(self.path, "".join(kept))

    def _step(self, line: str) -> int:
        """The step of a line; -1 for one that is not of numbers, as the incomplete last line of a killed run."""
        try:
            return metric_row(line, str(self.path))[0]
        except UserError:
            return -1

    @rank_zero_only
    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        """Append one line, or raise WriteError; infinity and NaN, which JSON lacks, are written as null."""
        row = {key: value if math.isfinite(value) else None for key, value in metrics.items() if key != "epoch"}
        with files.writing(self.path), self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps({"step": step, **row}) + "\n")

    @rank_zero_only
    def log_hyperparams(self, *arguments: Any, **keywords: Any) -> None:
        """Nothing to do: the frozen configuration lies beside this file."""
