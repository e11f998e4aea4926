"""Say in one line what Hydra and OmegaConf say in several."""

import difflib
import re
from collections.abc import Iterator
from pathlib import Path
from traceback import walk_tb
from typing import Any

import yaml
from hydra.errors import HydraException, OverrideParseException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from aiayn.config import store
from aiayn.config.third_parties import STATED_ELSEWHERE
from aiayn.errors import UserError

BEFORE_THE_COMMAND = (HydraException, OmegaConfBaseException, yaml.YAMLError, ValueError, LookupError, OSError)
"""What Hydra raises while it reads the command line, composes, and makes the folder of a run."""

ASSERTED = (AssertionError, AttributeError, TypeError, RecursionError)
"""What Hydra and OmegaConf raise besides, on words that their authors did not think of: `model=${head_width:0,0}`."""

PREFERRED = ("model.", "optimization.", "decoding.", "data.")
"""Where a key is looked for first that was typed without its group."""


def explain(error: Exception, verb: str) -> str:
    """One line naming the key, what is wrong, and the nearest right name.

    Args:
        error: what composing raised.
        verb: the command that was composed.
    """
    chain = list(_chain(error))
    for cause in chain:
        if isinstance(cause, UserError):
            return str(cause)
    text = "\n".join(str(cause) for cause in chain)
    return (
        _unknown_key(text, verb)
        or _unknown_option(text)
        or _sweep(text)
        or _unparsable(error)
        or _in_a_file(text, verb)
        or _wrong_type(chain)
        or _not_yaml(chain)
        or _file(chain)
        or _asserted(error)
        or " ".join(text.splitlines()[: 2 if text.partition("\n")[0].endswith(":") else 1])
    )


def is_asserted(error: Exception) -> bool:
    """Whether Hydra or OmegaConf stumbled over the words; the same from code of ours is a defect, not a mistake."""
    if not isinstance(error, ASSERTED):
        return False
    *_, (innermost, _) = walk_tb(error.__traceback__)
    return str(innermost.f_globals.get("__name__", "")).partition(".")[0] in ("hydra", "omegaconf")


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _unknown_key(text: str, verb: str) -> str | None:
    match = re.search(r"Could not override '([^']+)'", text)
    if match is None:
        return None
    inside = re.search(r"^Key '\S+' not in '\w+'\n\s*full_key: (\S+)", text, re.MULTILINE)  # of model={a: 1}, a
    return _no_such_key(inside[1] if inside else match[1], verb)


def _in_a_file(text: str, verb: str) -> str | None:
    """A key that a file of the user's own states, and nobody knows."""
    match = re.search(r"In '([^']+)': .*\nKey '\S+' not in '\w+'\n\s*full_key: (\S+)", text)
    if match is None:
        return None
    file, key = match[1], match[2]
    if "/" in file and key == file.partition("/")[0]:
        return f"{file}.yaml: a file of this group opens with the line `# @package _global_`"
    message = _no_such_key(key, verb)
    if file.startswith("experiment/"):  # the package's own, most likely, and not for the user to mend
        message = message.replace(", or leave it out", ", or take another experiment")
    return f"{message} (in {file}.yaml)"


OTHER_KINDS: tuple[list[str], ...] = (
    [],
    ["data=text_files"],
    ["data=treebank"],
    ["data=toy_trees"],
    ["data=multi30k"],
    ["model=recurrent"],
    ["model=convolutional"],
)
"""Choices under which there are other keys."""


def _no_such_key(key: str, verb: str) -> str:
    group, _, argument = key.partition(".")
    if group == "trainer" and argument in STATED_ELSEWHERE:
        return f"{key}: {STATED_ELSEWHERE[argument]}"
    if group == "trainer" and _is_trainer_argument(argument):
        return f"{key}: not in conf/trainer; write +{key}=... to pass it to Lightning"
    keys = _keys(verb)
    if key in keys:
        return (
            f"{key}: a key of another kind of {group} than the one chosen; choose that with {group}=, or leave it out"
        )
    siblings = [
        last for folder, last in map(_split, keys) if folder and folder == _split(key)[0] and last != "_target_"
    ]
    otherwise = f"it has {', '.join(siblings)}" if siblings else f"aiayn {verb} --help lists them"
    return f"{key}: no such key; {_nearest(key, keys, otherwise=otherwise)}"


def _is_trainer_argument(name: str) -> bool:
    from aiayn.training.session import trainer_arguments  # imports Lightning, which takes seconds

    return name in trainer_arguments()


def _unknown_option(text: str) -> str | None:
    match = re.search(r"Could not (?:find|load) '([^'/]+)/([^']+)'", text)
    if match is None:
        return None
    group, option = match[1], match[2]
    if group == "hydra":  # a group of Hydra's own, most of whose options are not files of ours
        group, _, option = f"{group}/{option}".rpartition("/")
        there = re.search(r"Available options in '[^']+':\n((?:\t.+\n?)+)", text)
        options = there[1].split() if there else []
        return f"{group}={option}: no such option; {_nearest(option, options, otherwise=f'choose from {options}')}"
    searched = [Path(folder) for folder in re.findall(r"path=file://(.+)", text)]  # --config-dir is among them
    options = store.options(group, folders=searched)
    everything = f"choose from {', '.join(options)}" if options else f"there is no group {group}"
    return f"{group}={option}: no such option; {_nearest(option, options, otherwise=everything)}"


def _sweep(text: str) -> str | None:
    match = re.search(r"Ambiguous value for argument '(.*?)'", text)
    return (
        f"{match[1]}: several values need -m (a sweep); as one value write it in brackets or quotes" if match else None
    )


def _unparsable(error: Exception) -> str | None:
    if not isinstance(error, OverrideParseException):
        return None
    return (
        f"{error.override}: not key=value as Hydra reads it; put special characters in two pairs of quotes: "
        "'key=\"a, b\"'"
    )


def _wrong_type(chain: list[BaseException]) -> str | None:
    for cause in chain:
        key = re.search(r"full_key: (\S+)", str(cause))
        if key and isinstance(cause, OmegaConfBaseException):
            return f"{key[1]}: {str(cause).splitlines()[0]}"
    return None


def _not_yaml(chain: list[BaseException]) -> str | None:
    for cause in chain:
        if isinstance(cause, yaml.MarkedYAMLError) and cause.problem_mark is not None:
            where = f"{cause.problem_mark.name}, line {cause.problem_mark.line + 1}"
            return f"{where}: not YAML ({cause.problem}); mend it"
    return None


def _file(chain: list[BaseException]) -> str | None:
    for cause in chain:
        if isinstance(cause, OSError) and cause.filename:
            return f"{cause.filename}: {cause.strerror}; choose another folder"
    return None


def _asserted(error: Exception) -> str | None:
    if not isinstance(error, ASSERTED):
        return None
    said = " ".join(str(error).split()) or type(error).__name__
    return f"Hydra cannot compose these words ({said}); write a group's option by its name, a value without ${{...}}"


def _nearest(name: str, names: list[str], *, otherwise: str) -> str:
    """The name meant: one with the same last part, a neighbour that is spelled alike, or one alike as a whole."""
    folder, last = _split(name)
    same = [other for other in names if _split(other)[1] == last]
    # The group that the paper's symbols live in comes first where several groups have such a key.
    close = sorted(same, key=lambda other: not other.startswith(PREFERRED))
    neighbours = {_split(other)[1]: other for other in names if _split(other)[0] == folder}
    close = close or [neighbours[other] for other in difflib.get_close_matches(last, neighbours, n=1, cutoff=0.6)]
    if not close and not (folder and neighbours):  # where the group is right, no other one is meant
        alike = [other for other in names if bool(_split(other)[0]) == bool(folder)]
        close = difflib.get_close_matches(name, alike, n=1, cutoff=0.7)
    return f"did you mean {close[0]}?" if close else otherwise


def _split(name: str) -> tuple[str, str]:
    """A dotted key or an option in a folder: what stands before its last part, and the last part."""
    parts = re.split(r"[./]", name)
    return ".".join(parts[:-1]), parts[-1]


def _keys(verb: str) -> list[str]:
    """Every key that the command knows, dotted, whichever kind of corpus or model it belongs to, and the groups."""
    from aiayn.config.compose import compose_command
    from aiayn.config.identity import flatten

    found: dict[str, Any] = {}
    for overrides in OTHER_KINDS if verb in ("train", "prepare", "plan") else ([],):
        content = OmegaConf.to_container(compose_command(verb, overrides), resolve=False)
        assert isinstance(content, dict)
        found |= flatten({str(key): value for key, value in content.items()}) | dict.fromkeys(map(str, content))
    return list(found)
