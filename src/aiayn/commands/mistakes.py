"""One line for whatever is raised while a command line is composed, with the word at fault and the nearest key."""

import dataclasses
import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

from hydra.errors import HydraException, InstantiationException, MissingConfigException, OverrideParseException
from omegaconf import OmegaConf
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException

from aiayn.config import store
from aiayn.config.compose import compose_with_hydra
from aiayn.config.computed import key_of
from aiayn.config.data_schema import DATA_TYPES
from aiayn.config.difference import SEARCHPATH
from aiayn.config.identity import flatten
from aiayn.config.model_kinds import MODEL_TYPES
from aiayn.config.schema import TOKENIZER_TYPES
from aiayn.config.values import alternatives, choices
from aiayn.errors import UserError, error_line
from aiayn.sweep.launchers import BASIC_SWEEPER, sweeper_of
from aiayn.sweep.words import further_folders
from aiayn.system import files

PREFERRED = ("model.", "optimization.", "decoding.", "data.")
"""Groups searched first for a key that was typed without its group."""


def explain(error: BaseException, verb: str, words: Sequence[str], attempt: Callable[[Sequence[str]], Any]) -> str:
    """One line naming key, value and file, the mistake and the nearest right name, for an error of `attempt(words)`.

    The word at fault is found by leaving each out in turn: the attempt then ends in another way.
    """
    known = next(filter(None, (_recognised(cause, verb, words) for cause in _chain(error))), None)
    if known is not None and (known.key is None or _is_stated(known.key, words)):
        return known.text
    text = next(filter(None, map(_text, _chain(error))), type(error).__name__) if known is None else known.text
    found = _word_at_fault(error, words, attempt)
    if found is None:
        return text if known else f"{text.rstrip('.')}; aiayn {verb} --help lists groups and keys"
    file = _file_of(found, words)
    return (text if known and file else f"{found}: {text}") + (f" ({file})" if file else "")


class _Answer(NamedTuple):
    """A line for an error; with the key, or the option, that the mistake is in if a file may have made it."""

    text: str
    key: str | None = None


def _recognised(error: BaseException, verb: str, words: Sequence[str]) -> _Answer | None:
    match error:
        case UserError():
            return _Answer(str(error))
        case OverrideParseException() if "=" not in error.override:
            return _Answer(f"{error.override or repr('')}: not key=value; aiayn {verb} --help lists the keys")
        case OverrideParseException():
            quoted = "put special characters in two pairs of quotes: 'key=\"a, b\"'"
            return _Answer(f"{error.override}: not key=value as Hydra reads it; {quoted}")
        case MissingConfigException(missing_cfg_file=str(file)) if "/" in file:
            return _Answer(_no_such_option(file, error.options or (), words), "=".join(_option(file)))
        case ConfigKeyError(full_key=str(key)) | ConfigAttributeError(full_key=str(key)) if key:
            return _Answer(_no_such_key(key, verb, words, schema=error.object_type), key)
        case OmegaConfBaseException(full_key=str(key)) if key:
            return _Answer(_refused_value(error, key), key)
        case OSError(filename=str(file)):
            return _Answer(f"{file}: {error.strerror}; choose another folder")
    return None


def _word_at_fault(error: BaseException, words: Sequence[str], attempt: Callable[[Sequence[str]], Any]) -> str | None:
    """The first word without which the attempt does not end with the same error; None: there is none."""

    def is_same(others: Sequence[str]) -> bool:
        try:
            attempt(others)
        except Exception as other:
            return _text(other) == _text(error)
        return False

    if not is_same(words):
        return None
    chosen = [word for word in words if not word.startswith(SEARCHPATH)]
    return next((word for word in chosen if not is_same([other for other in words if other is not word])), None)


def _file_of(word: str, words: Sequence[str]) -> Path | None:
    """The file of a word that chooses an option in a folder of the user's own."""
    option = Path(key_of(word), f"{word.partition('=')[2]}.yaml")
    return next((folder / option for folder in further_folders(words) if files.is_file(folder / option)), None)


def _text(error: BaseException) -> str:
    """The error in one line; of Hydra's and OmegaConf's messages the first line, or two."""
    if isinstance(error, InstantiationException) and error.__cause__ is not None:
        return _text(error.__cause__)
    if isinstance(error, RecursionError):
        return "refers to itself"
    if not isinstance(error, HydraException | OmegaConfBaseException):
        return error_line(error)
    lines = str(error).splitlines() or [""]
    return " ".join(lines[: 2 if lines[0].endswith(":") else 1])


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _is_stated(key: str, words: Sequence[str]) -> bool:
    """Whether the command line has a key, one above or below it, or an option; otherwise a file has it."""
    stated = [key_of(word) for word in words]
    return key in words or any(f"{key}.".startswith(f"{own}.") or own.startswith(f"{key}.") for own in stated)


def _refused_value(error: OmegaConfBaseException, key: str) -> str:
    """The answer to a value that does not fit the key's type, in words of ours where OmegaConf's name no remedy."""
    schema = error.object_type
    hint = get_type_hints(schema).get(str(error.key)) if dataclasses.is_dataclass(schema) else None
    value = "null" if error.value is None else error.value
    if hint is bool:
        return f"{key}={value}: must be true or false"
    if any(isinstance(each, type) and issubclass(each, Enum) for each in alternatives(hint)):
        return f"{key}={value}: choose from {', '.join(choices(hint))}"
    if str in alternatives(hint):
        quotes = "" if isinstance(error.value, list | dict | None) else "; put it in quotes"
        return f"{key}={value}: must be text{quotes}"
    if dataclasses.is_dataclass(hint):
        names = ", ".join(f"{key}.{name}" for name in get_type_hints(hint))
        return f"{key}={value}: has no value of its own; state {names}"
    return f"{key}: {_text(error)}"


def _no_such_field(key: str, schema: Any) -> str:
    """The answer to a key of Hydra's own groups that their schema lacks."""
    parent = _split(key)[0]
    names = [f"{parent}.{name}" for name in get_type_hints(schema) if name != "_target_"]
    return f"{key}: no such key; {_nearest(key, names, otherwise='choose from ' + ', '.join(names))}"


def _option(file: str) -> tuple[str, str]:
    """The group and the option of a file below conf/."""
    group, _, option = file.rpartition("/") if file.startswith("hydra/") else file.partition("/")
    return group, option


def _no_such_option(file: str, known: Sequence[str], overrides: Sequence[str]) -> str:
    """The answer to a group's option that does not exist, given as <group>/<option>; `known` are those of Hydra."""
    group, option = _option(file)
    options = store.options(group, folders=further_folders(overrides)) or list(known)
    everything = f"choose from {', '.join(options)}" if options else f"there is no group {group}"
    return f"{group}={option}: no such option; {_nearest(option, options, otherwise=everything)}"


def _no_such_key(key: str, verb: str, overrides: Sequence[str], schema: Any) -> str:
    """The answer to a key that does not exist; `schema` is the dataclass of the keys beside it, if there is one."""
    group = key.partition(".")[0]
    if group == "hydra" and dataclasses.is_dataclass(schema):
        return _no_such_field(key, schema)
    if key in store.GLOBAL_GROUPS:
        option = next((word for word in overrides if key_of(word) == key), key)
        return f"{option}: a file of this group opens with the line `# @package _global_`"
    if kinds := _kinds_with(key):
        choose = f"choose another with {group}=, or leave it out"
        return f"{key}: a key of {group}.kind={' or '.join(kinds)}, not of the kind chosen; {choose}"
    keys = _keys(verb, overrides)
    parent = _split(key)[0]
    siblings = [last for folder, last in map(_split, keys) if folder and folder == parent and last != "_target_"]
    otherwise = f"it has {', '.join(siblings)}" if siblings else f"aiayn {verb} --help lists them"
    if "." in key and not dataclasses.is_dataclass(schema):
        otherwise = f"{otherwise}; +{key}=... adds it" if siblings else f"+{key}=... adds it"
        keys = keys if siblings else []
    return f"{key}: no such key; {_nearest(key, keys, otherwise=otherwise)}"


def _kinds_with(key: str) -> list[str]:
    """The kinds of data, models or tokenizers that have a key."""
    group, _, name = key.partition(".")
    types: dict[str, Mapping[Any, type]] = {"data": DATA_TYPES, "model": MODEL_TYPES, "tokenizer": TOKENIZER_TYPES}
    return [str(kind) for kind, schema in types.get(group, {}).items() if name in get_type_hints(schema)]


def _keys(verb: str, overrides: Sequence[str]) -> list[str]:
    """Every key of the command with the options chosen, dotted, and the groups."""
    composed = compose_with_hydra(verb)
    groups = [word for word in overrides if key_of(word) in composed.hydra.runtime.choices and "," not in word]
    if groups:
        folders = [word for word in overrides if word.startswith(SEARCHPATH)]
        with suppress(Exception):  # a mistake of these files
            composed = compose_with_hydra(verb, [*folders, *groups])
    content = OmegaConf.to_container(composed, resolve=False)
    assert isinstance(content, dict)
    own = {str(key): value for key, value in content.items() if key != "hydra"}
    found = [*flatten(own), *own]
    if sweeper_of(composed.hydra) != BASIC_SWEEPER:
        sweeper = content["hydra"]["sweeper"]
        found += [*(f"hydra.sweeper.{name}" for name in sweeper), *flatten(sweeper, "hydra.sweeper.")]
    return found


def _nearest(name: str, names: Sequence[str], *, otherwise: str) -> str:
    """The name meant: one with the same last part, or the only one that begins with it, or a similar one."""
    folder, last = _split(name)
    same = [other for other in names if _split(other)[1] == last]
    close = sorted(same, key=lambda other: (not other.endswith(f".{name}"), not other.startswith(PREFERRED)))
    neighbours = {_split(other)[1]: other for other in names if _split(other)[0] == folder}
    begun = [other for other in names if other.startswith(name)]
    close = close or (begun if len(begun) == 1 else [])
    close = close or [neighbours[other] for other in difflib.get_close_matches(last, neighbours, n=1, cutoff=0.6)]
    if not close and not (folder and neighbours):  # where the group is right, no other one is meant
        alike = [other for other in names if bool(_split(other)[0]) == bool(folder)]
        close = difflib.get_close_matches(name, alike, n=1, cutoff=0.7)
    return f"did you mean {close[0]}?" if close else otherwise


def _split(name: str) -> tuple[str, str]:
    """A dotted key, or an option in a folder, without its last part, and the last part."""
    folder, _, last = name.replace("/", ".").rpartition(".")
    return folder, last
