"""Pickled checkpoints of other programs, read without running any of their code."""

import pickle
import warnings
from pathlib import Path
from typing import Any, Self

import torch

from aiayn.errors import UserError
from aiayn.training.checkpoint_io import UNREADABLE

OLD_CLASSES = (
    "argparse.Namespace",
    "fairseq.meters.AverageMeter",
    "fairseq.meters.TimeMeter",
    "fairseq.meters.StopwatchMeter",
)
"""Classes in fairseq's files up to 2020, which are no archives: the arguments, and meters of training."""

PREFIXES = ("argparse.Namespace", "builtins.", "collections.defaultdict", "fairseq.", "numpy.", "omegaconf.", "typing.")
"""Names of classes and functions in its later files: configurations, metrics and scalars."""


class StandIn:
    """An object in the place of any of these classes: it holds the same data and does nothing."""

    arguments: tuple[Any, ...]
    """Of the class's constructor: of an enumeration, its value."""

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
            warnings.simplefilter("error")  # torch warns before it fails to read
            names = {*OLD_CLASSES, *_later_names(path)}
            with torch.serialization.safe_globals([(StandIn, name) for name in sorted(names)]):
                content = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise UserError(f"checkpoint={path}: no such file") from None
    except pickle.UnpicklingError as error:
        reason = str(error).partition("GLOBAL ")[2].partition(" ")[0]
        raise UserError(
            f"checkpoint={path}: holds more than tensors, plain values and fairseq's settings"
            f"{f' ({reason})' if reason else ''}, and is not loaded"
        ) from None
    except OSError as error:
        raise UserError(f"checkpoint={path}: cannot be read ({error.strerror or error})") from None
    except UNREADABLE:
        raise UserError(f"checkpoint={path}: cannot be read (cut off, damaged, or another program's)") from None
    if not isinstance(content, dict):
        raise UserError(f"checkpoint={path}: not a checkpoint (no dictionary)")
    return content


def _later_names(path: Path) -> list[str]:
    """The names in an archive that may be stood in for; none of a file of the old form."""
    with path.open("rb") as stream:
        if stream.read(2) != b"PK":
            return []
    names = torch.serialization.get_unsafe_globals_in_checkpoint(path)
    return [name for name in names if name.startswith(PREFIXES)]


def plain(value: Any) -> Any:
    """Dictionaries, lists and values in the place of stand-ins: of OmegaConf's nodes, their content."""
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
