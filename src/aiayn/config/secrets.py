"""Keys that look like those of secrets: no configuration may have one, since configurations are written to files."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from aiayn.errors import UserError

if TYPE_CHECKING:
    from omegaconf import DictConfig

NAMES = (
    r"secrets?|pass[_-]?(?:w(?:or)?ds?|phrases?)|authorization|bearer|credentials?"
    r"|(?:api|private|secret|access|wandb)[_-]?keys?"
)

SECRET = re.compile(rf"(?i:(?:^|[_-])token$|(?:{NAMES})$)")
"""The end of a segment of a key: not that of `tokenizer`, `source_tokens`, `author`, or `key`."""

CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
"""Between the words of a segment such as `secretKey` or `HFToken`."""

SEGMENTS = re.compile(r"[./@:]|(?<=\w)\[|\]")

VARIABLES = {"logger": "WANDB_API_KEY", "data": "HF_TOKEN"}
"""The variables that hold the secrets of a group of the configuration."""

ENVIRONMENT = "hydra.job.env_set"


def is_secret(key: str) -> bool:
    """Whether a segment of a dotted key is the name of a secret, such as `api_key`, `MY_TOKEN` or `token`."""
    return any(SECRET.search(CAMEL.sub("_", segment)) for segment in SEGMENTS.split(key))


def check_words(words: Sequence[str]) -> None:
    """Refuse overrides of keys that look like those of secrets, in values of swept keys too.

    Raises:
        UserError: there is one; the line names the key without its value.
    """
    for word in words:
        _refuse_first(_keys_of(word))


def check_composed(composed: "DictConfig") -> None:
    """Refuse a configuration with such a key, which then stands in a file; errors as for `check_words`."""
    from omegaconf import OmegaConf

    _refuse_first(_keys(OmegaConf.to_container(composed, resolve=False)))


def _refuse_first(keys: Iterator[str]) -> None:
    for key in keys:
        if is_secret(key):
            raise UserError(
                f"{key}: looks like a secret, which would be kept in files: leave it out, and {_remedy(key)}"
            )


def _remedy(key: str) -> str:
    if key.startswith(f"{ENVIRONMENT}."):
        return f"set the environment variable {key.removeprefix(f'{ENVIRONMENT}.')} before the command; jobs inherit it"
    variable = VARIABLES.get(key.partition(".")[0])
    if variable is not None:
        return f"set the environment variable {variable}"
    name = re.sub(r"\W", "_", re.split(r"[.@]", key)[-1]).upper()
    return f"let the code that needs it read an environment variable, such as {name}"


def _keys_of(word: str) -> Iterator[str]:
    """The keys that an override states: its own, and those inside its value."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.core.override_parser.types import ChoiceSweep
    from hydra.errors import HydraException

    key = word.partition("=")[0].lstrip("+~")
    yield key
    try:
        value: Any = OverridesParser.create().parse_override(word).value()
    except HydraException:  # composing refuses the word
        return
    choices = value.list if isinstance(value, ChoiceSweep) else [value]
    for choice in choices:
        yield from _keys(choice, f"{key}.")


def _keys(value: Any, prefix: str = "") -> Iterator[str]:
    """The dotted keys inside a value."""
    if isinstance(value, Mapping):
        for name, entry in value.items():
            yield f"{prefix}{name}"
            yield from _keys(entry, f"{prefix}{name}.")
    elif isinstance(value, list | tuple):
        for entry in value:
            yield from _keys(entry, prefix)
