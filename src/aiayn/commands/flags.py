"""Hydra's own flags, which may stand anywhere among the words of a command line."""

from collections import deque
from collections.abc import Sequence

from aiayn.errors import UserError

FLAGS = {"--help", "-h", "--hydra-help", "--version", "--resolve", "--run", "-r", "--multirun", "-m"}
FLAGS_WITH_VALUE = {"--cfg", "-c", "--package", "-p", "--config-dir", "-cd", "--config-name", "-cn", "--config-path"}
FLAGS_WITH_VALUE |= {"-cp", "--shell-completion", "-sc", "--experimental-rerun"}
"""Hydra's own flags."""

INFO = ("all", "config", "defaults", "defaults-tree", "plugins", "searchpath")
"""What may follow --info; all is also meant where nothing follows."""


def ordered(words: Sequence[str]) -> list[str]:
    """Overrides first, flags after them: Hydra refuses overrides on both sides of a flag."""
    overrides, flags = [], []
    rest = deque(words)
    while rest:
        word = rest.popleft()
        name = word.split("=", 1)[0]
        if "=" in word and not name.lstrip("+~").partition("@")[0]:
            raise UserError(f"{word}: a value without a key; write key=value without spaces around the =")
        if not word.startswith("-"):
            overrides.append(word)
        elif name in FLAGS:
            flags.append(word)
        elif name in ("--info", "-i"):
            flags += ["--info", *_info(word, rest)]
        elif name in FLAGS_WITH_VALUE:
            value = (rest.popleft() if rest else "") if name == word else word.partition("=")[2]
            if name in ("--cfg", "-c") and value not in ("job", "hydra", "all"):
                raise UserError(f"{name}: state job, hydra or all, as in --cfg job")
            if not value:
                raise UserError(f"{name}: has no value; state it, as in {name} <value>")
            flags += [name, value]
        else:
            raise UserError(f"{name}: no such flag; an override has no dashes, as in key=value; see --help")
    if {"-p", "--package"} & {*flags} and not {"-c", "--cfg"} & {*flags}:
        raise UserError("--package: chooses what --cfg shows; state --cfg job as well")
    return [*overrides, *flags]


def _info(word: str, rest: deque[str]) -> list[str]:
    """What follows --info, taken from the words after it.

    Raises:
        UserError: Hydra has no such information.
    """
    if "=" in word:
        rest.appendleft(word.partition("=")[2])
    if not rest or ("=" not in word and ("=" in rest[0] or rest[0].startswith("-"))):
        return []
    if (asked := rest.popleft()) not in INFO:
        raise UserError(f"--info {asked}: choose from {', '.join(INFO)}")
    return [asked]
