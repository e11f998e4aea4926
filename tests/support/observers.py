"""Lightning callbacks that tests name by `_target_`: they watch a run, or disturb it."""

import json
import os
import resource
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import torch
from pytorch_lightning import Callback, LightningModule, Trainer
from torch.nn.parallel import DistributedDataParallel

from aiayn.data.batches.collation import TranslationBatch


class BatchRecorder(Callback):
    """Appends (step, sentence numbers) of every micro-batch to a file."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)

    def on_train_batch_start(
        self, trainer: Trainer, pl_module: LightningModule, batch: TranslationBatch, batch_idx: int
    ) -> None:
        with self.path.open("a") as stream:
            stream.write(json.dumps([batch.step, sorted(batch.indices.tolist())]) + "\n")


class RankRecorder(Callback):
    """Each rank writes what it sees, and the gradients that it steps with, below a folder."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)

    def on_train_batch_start(
        self, trainer: Trainer, pl_module: LightningModule, batch: TranslationBatch, batch_idx: int
    ) -> None:
        """One line a micro-batch; one that weighs nothing holds a sentence for form's sake alone."""
        seen = {
            "step": batch.step,
            "epoch": batch.epoch,
            "micro_batch": batch_idx,
            "sentences": batch.indices.tolist() if batch.num_target_tokens else [],
            "tokens": batch.num_target_tokens,
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / f"rank-{trainer.global_rank}.jsonl").open("a") as stream:
            stream.write(json.dumps(seen) + "\n")

    def on_before_optimizer_step(self, trainer: Trainer, pl_module: LightningModule, optimizer: Any) -> None:
        """After accumulating and averaging over ranks."""
        gradients = {name: weight.grad for name, weight in pl_module.named_parameters()}
        torch.save(gradients, self.folder / f"gradients-{trainer.global_step}-{trainer.global_rank}.pt")


class Mover(Callback):
    """Renames a folder in a micro-batch, as somebody does who tidies up while a run is training."""

    def __init__(self, folder: str, to: str, batch: int) -> None:
        self.folder, self.to, self.batch = folder, to, batch

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        if batch_idx == self.batch and trainer.is_global_zero:
            Path(self.folder).rename(self.to)


class SignalBefore(Callback):
    """Before training, a signal whose interrupt may be swallowed, as by a library that catches every exception."""

    def __init__(self, number: int, *, is_swallowed: bool) -> None:
        self.number = number
        self.swallowed = (KeyboardInterrupt,) if is_swallowed else ()

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        with suppress(*self.swallowed):
            signal.raise_signal(self.number)


class BroadcastCounter(Callback):
    """Counts the collective broadcasts between the first micro-batch of training and its end, by rank."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        self.count = 0

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        if batch_idx == 0:
            broadcast = torch.distributed.broadcast

            def counted(*arguments: Any, **options: Any) -> Any:
                self.count += 1
                return broadcast(*arguments, **options)

            torch.distributed.broadcast = counted

    def on_train_batch_end(self, trainer: Trainer, pl_module: LightningModule, *arguments: Any) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / f"rank-{trainer.global_rank}.json").write_text(json.dumps(self.count))


class DataParallelSettings(Callback):
    """Each rank writes the settings of the module in which DDP has wrapped the model."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        wrapped = trainer.model
        assert isinstance(wrapped, DistributedDataParallel)
        names = ("broadcast_buffers", "gradient_as_bucket_view")
        self.folder.mkdir(parents=True, exist_ok=True)
        found = json.dumps({name: getattr(wrapped, name) for name in names})
        (self.folder / f"rank-{trainer.global_rank}.json").write_text(found)


class SignalAt(Callback):
    """Sends this process, the last of its group, a signal in the middle of the micro-batch with a given number."""

    def __init__(self, batch: int, number: int = signal.SIGTERM) -> None:
        self.batch = batch
        self.number = number

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        if batch_idx == self.batch and trainer.global_rank == trainer.world_size - 1:
            os.kill(os.getpid(), self.number)


class WaitsForbidden(Callback):
    """Lets CUDA raise an error where the host waits for it, in the micro-batches from `start` to before `end`."""

    def __init__(self, start: int, end: int) -> None:
        self.start = start
        self.end = end

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        if batch_idx == self.start and torch.cuda.is_available():
            torch.cuda.set_sync_debug_mode("error")

    def on_train_batch_end(self, trainer: Trainer, *arguments: Any) -> None:
        if arguments[-1] == self.end - 1 and torch.cuda.is_available():
            torch.cuda.set_sync_debug_mode("default")


class WaitAt(Callback):
    """Waits, before a given micro-batch, until a file is there."""

    def __init__(self, batch: int, path: str) -> None:
        self.batch = batch
        self.path = Path(path)

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        while batch_idx == self.batch and not self.path.exists():
            time.sleep(0.05)


class KillInValidation(Callback):
    """Kills this process in the validation after a given step."""

    def __init__(self, step: int) -> None:
        self.step = step

    def on_validation_batch_start(self, trainer: Trainer, *arguments: Any) -> None:
        if trainer.global_step == self.step:
            os.kill(os.getpid(), signal.SIGKILL)


class KillWandbAt(Callback):
    """Kills the process that W&B has started for this one, before a given micro-batch. Linux only."""

    def __init__(self, batch: int) -> None:
        self.batch = batch

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        if batch_idx == self.batch:
            (core,) = wandb_processes()
            os.kill(core, signal.SIGKILL)


def wandb_processes() -> list[int]:
    """The running children of this process that are W&B's."""
    children = [child for task in Path("/proc/self/task").iterdir() for child in _told(task / "children").split()]
    names_and_states = {int(child): _told(Path(f"/proc/{child}/stat")) for child in children}
    return [
        child for child, told in names_and_states.items() if "(wandb-core) " in told and "(wandb-core) Z" not in told
    ]


def _told(path: Path) -> str:
    """What the kernel says there, or nothing where the thread or process has just ended."""
    try:
        return path.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


class RequestAt(Callback):
    """Posts to an address before a given micro-batch, on the first rank, and does not care for an answer."""

    def __init__(self, batch: int, url: str) -> None:
        self.batch = batch
        self.url = url

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        if batch_idx == self.batch and trainer.is_global_zero:
            with suppress(OSError):
                urlopen(self.url, data=b"", timeout=30).close()


class ExhaustMemoryAt(Callback):
    """Fills what memory one rank may still have, from a given micro-batch on, until torch is given no more."""

    LEFT = 2**28
    """Bytes that the process may yet allocate."""

    def __init__(self, rank: int, batch: int) -> None:
        self.rank = rank
        self.batch = batch
        self._held: list[torch.Tensor] = []

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        if (trainer.global_rank, batch_idx) == (self.rank, self.batch):
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            limit = pages * resource.getpagesize() + self.LEFT
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        if trainer.global_rank == self.rank and batch_idx >= self.batch:
            self._held.append(torch.empty(self.LEFT // 3, dtype=torch.uint8))


class PoisonAt(Callback):
    """Makes the weights NaN before a given micro-batch."""

    def __init__(self, batch: int) -> None:
        self.batch = batch

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        if batch_idx == self.batch:
            with torch.no_grad():
                next(pl_module.parameters()).fill_(float("nan"))


class PlaceRecorder(Callback):
    """Appends where this process trained, and from when to when, to a file."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.began = time.monotonic()  # one clock for all processes of a machine

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        place = {
            "cores": sorted(os.sched_getaffinity(0)),
            "threads": torch.get_num_threads(),
            "gpus": os.environ["CUDA_VISIBLE_DEVICES"],
            "from": self.began,
            "to": time.monotonic(),
        }
        with self.path.open("a") as stream:
            stream.write(json.dumps(place) + "\n")
