"""One line for the errors of Hydra and OmegaConf, with the nearest key or option."""

import dataclasses
import difflib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, get_type_hints

import yaml
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf import OmegaConf
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException

from aiayn.config import store
from aiayn.config.compose import compose_with_hydra
from aiayn.config.computed import key_of
from aiayn.config.data_schema import DATA_TYPES
from aiayn.config.difference import SEARCHPATH
from aiayn.config.identity import flatten
from aiayn.config.model_schema import MODEL_TYPES
from aiayn.config.schema import TOKENIZER_TYPES
from aiayn.config.third_parties import STATED_ELSEWHERE
from aiayn.errors import UserError
from aiayn.sweep.launchers import BASIC_SWEEPER, sweeper_of
from aiayn.sweep.words import further_folders

MISTAKES = (HydraException, OmegaConfBaseException, yaml.YAMLError, ValueError, LookupError, OSError)
"""Raised while Hydra reads the command line, composes, and makes the folder of a run."""

STUMBLES = (AssertionError, AttributeError, TypeError, RecursionError)
"""Also raised while Hydra composes unforeseen words, such as `model=${head_width:0,0}`."""

GLOBAL_GROUPS = ("experiment", "debug", "fidelity", "sweeps")
"""Groups whose files state keys of the whole configuration."""

PREFERRED = ("model.", "optimization.", "decoding.", "data.")
"""Groups searched first for a key that was typed without its group."""


def explain(error: BaseException, verb: str, overrides: Sequence[str]) -> str:
    """One line naming the key, the mistake and the nearest right name, for an error of composing the overrides."""
    for cause in _chain(error):
        match cause:
            case UserError():
                return str(cause)
            case OverrideParseException() if "=" not in cause.override:
                return f"{cause.override or repr('')}: not key=value; aiayn {verb} --help lists the keys"
            case OverrideParseException():
                quoted = "put special characters in two pairs of quotes: 'key=\"a, b\"'"
                return f"{cause.override}: not key=value as Hydra reads it; {quoted}"
            case MissingConfigException(missing_cfg_file=str(file)) if "/" in file:
                return _no_such_option(file, cause.options or (), overrides)
            case ConfigKeyError(full_key=str(key)) | ConfigAttributeError(full_key=str(key)):
                place = "" if _is_stated(key, overrides) else f" ({_first_line(error).partition(':')[0]})"
                return f"{_no_such_key(key, verb, overrides, schema=cause.object_type)}{place}"
            case OmegaConfBaseException(full_key=str(key)) if key:
                return _refused_value(cause, key)
            case yaml.MarkedYAMLError(problem_mark=yaml.Mark() as mark):
                return f"{mark.name}, line {mark.line + 1}: not YAML ({cause.problem}); correct it"
            case OSError(filename=str(file)):
                return f"{file}: {cause.strerror}; choose another folder"
    return _plain(error)


def _plain(error: BaseException) -> str:
    if isinstance(error, STUMBLES):
        why = f"{type(error).__name__} {error}".splitlines()[0].rstrip()
        return f"Hydra cannot compose these words ({why}); see --help"
    lines = str(error).splitlines() or [type(error).__name__]
    return " ".join(lines[: 2 if lines[0].endswith(":") else 1])


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def _is_stated(key: str, overrides: Sequence[str]) -> bool:
    """Whether the command line has a key, or one above it; otherwise a file has it."""
    return any(key_of(word) == key or key.startswith(f"{key_of(word)}.") for word in overrides)


def _refused_value(error: OmegaConfBaseException, key: str) -> str:
    """The answer to a value that does not fit the key's type, in words of ours where OmegaConf's name no remedy."""
    schema = error.object_type
    hint = get_type_hints(schema).get(str(error.key)) if dataclasses.is_dataclass(schema) else None
    value = "null" if error.value is None else error.value
    if hint is bool:
        return f"{key}={value}: must be true or false"
    if dataclasses.is_dataclass(hint):
        names = ", ".join(f"{key}.{name}" for name in get_type_hints(hint))
        return f"{key}={value}: has no value of its own; state {names}"
    return f"{key}: {_first_line(error)}"


def _no_such_field(key: str, schema: Any) -> str:
    """The answer to a key of Hydra's own groups that their schema lacks."""
    parent = _split(key)[0]
    names = [f"{parent}.{name}" for name in get_type_hints(schema) if name != "_target_"]
    return f"{key}: no such key; {_nearest(key, names, otherwise='choose from ' + ', '.join(names))}"


def _no_such_option(file: str, known: Sequence[str], overrides: Sequence[str]) -> str:
    """The answer to a group's option that does not exist, given as <group>/<option>; `known` are those of Hydra."""
    group, _, option = file.rpartition("/") if file.startswith("hydra/") else file.partition("/")
    options = store.options(group, folders=further_folders(overrides)) or list(known)
    everything = f"choose from {', '.join(options)}" if options else f"there is no group {group}"
    return f"{group}={option}: no such option; {_nearest(option, options, otherwise=everything)}"


def _no_such_key(key: str, verb: str, overrides: Sequence[str], schema: Any) -> str:
    """The answer to a key that does not exist; `schema` is the dataclass of the keys beside it, if there is one."""
    group, _, name = key.partition(".")
    if group == "hydra" and dataclasses.is_dataclass(schema):
        return _no_such_field(key, schema)
    if key in GLOBAL_GROUPS:
        option = next((word for word in overrides if key_of(word) == key), key)
        return f"{option}: a file of this group opens with the line `# @package _global_`"
    if group == "trainer" and name in STATED_ELSEWHERE:
        return f"{key}: {STATED_ELSEWHERE[name]}"
    if group == "trainer" and _is_trainer_argument(name):
        return f"{key}: not in conf/trainer; write +{key}=... to pass it to Lightning"
    if _split(key)[0] in ("model.attention_arguments", "model.positions_arguments", "model.arguments"):
        return f"{key}: arguments of your own class are added with a plus sign: +{key}=..."
    if kinds := _kinds_with(key):
        choose = f"choose another with {group}=, or leave it out"
        return f"{key}: a key of {group}.kind={' or '.join(kinds)}, not of the kind chosen; {choose}"
    keys = _keys(verb, overrides)
    parent = _split(key)[0]
    siblings = [last for folder, last in map(_split, keys) if folder and folder == parent and last != "_target_"]
    otherwise = f"it has {', '.join(siblings)}" if siblings else f"aiayn {verb} --help lists them"
    return f"{key}: no such key; {_nearest(key, keys, otherwise=otherwise)}"


def _is_trainer_argument(name: str) -> bool:
    from aiayn.training.session import trainer_arguments  # imports Lightning, which takes seconds

    return name in trainer_arguments()


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
        with suppress(*MISTAKES):  # of these files
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
