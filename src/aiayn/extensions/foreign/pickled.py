"""Pickled checkpoints of other programs, read without running any of their code."""

import pickle
import warnings
from pathlib import Path
from typing import Any, Self

import torch

from aiayn.errors import UserError
from aiayn.system.torch_internals import refused_class
from aiayn.training.checkpoint_io import UNREADABLE

OLD_CLASSES = (
    "argparse.Namespace",
    "fairseq.meters.AverageMeter",
    "fairseq.meters.TimeMeter",
    "fairseq.meters.StopwatchMeter",
)
"""Classes in fairseq's files up to 2020, which are not zip archives: the arguments, and meters of training."""

PREFIXES = ("argparse.Namespace", "builtins.", "collections.defaultdict", "fairseq.", "numpy.", "omegaconf.", "typing.")
"""Names of classes and functions in its later files: configurations, metrics and scalars."""

NAMED = "name a .pt of fairseq's trainer, or the folder of a Marian model of transformers"

DAMAGED = f"cannot be read (cut off, damaged, or another program's); copy it again, or {NAMED}"


class StandIn:
    """Replaces an object of any of these classes: it holds the same data and has no behaviour."""

    arguments: tuple[Any, ...]
    """Arguments of the class's constructor; for an enumeration, its value."""

    def __new__(cls, *arguments: Any) -> Self:
        """Keep the arguments."""
        self = super().__new__(cls)
        self.arguments = arguments
        return self

    def __init__(self, *arguments: Any) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        """Keep the attributes."""
        if isinstance(state, dict):
            self.__dict__.update(state)


def read_pickled(path: Path) -> dict[str, Any]:
    """The content of a file that `torch.save` wrote, with `StandIn`s for objects of fairseq and OmegaConf.

    Raises:
        UserError: the file cannot be read, or holds objects of other classes.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # torch warns before reading fails
            names = {*OLD_CLASSES, *_later_names(path)}
            with torch.serialization.safe_globals([(StandIn, name) for name in sorted(names)]):
                content = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise UserError(f"checkpoint={path}: no such file; {NAMED}") from None
    except pickle.UnpicklingError as error:
        if not (reason := refused_class(error)):
            raise UserError(f"checkpoint={path}: {DAMAGED}") from None
        raise UserError(
            f"checkpoint={path}: holds more than tensors, plain values and fairseq's settings ({reason}), and is not "
            f"loaded; {NAMED}"
        ) from None
    except OSError as error:
        raise UserError(f"checkpoint={path}: cannot be read ({error.strerror or error})") from None
    except UNREADABLE:
        raise UserError(f"checkpoint={path}: {DAMAGED}") from None
    if not isinstance(content, dict):
        raise UserError(f"checkpoint={path}: not a checkpoint (no dictionary); {NAMED}")
    return content


def _later_names(path: Path) -> list[str]:
    """The names in an archive that `StandIn` may replace; empty for a file of the old form."""
    with path.open("rb") as stream:
        if stream.read(2) != b"PK":
            return []
    names = torch.serialization.get_unsafe_globals_in_checkpoint(path)
    return [name for name in names if name.startswith(PREFIXES)]


def plain(value: Any) -> Any:
    """Plain dictionaries, lists and values instead of stand-ins; OmegaConf's nodes become their content."""
    if isinstance(value, StandIn):
        state = {name: each for name, each in vars(value).items() if name != "arguments"}
        for key in ("_content", "_val"):
            if key in state:
                return plain(state[key])
        if not state and value.arguments:
            return plain(value.arguments[0])
        return plain(state)
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value
