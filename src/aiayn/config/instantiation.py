"""Instantiate third-party objects that the configuration names by `_target_`."""

import pkgutil
import re
from collections.abc import Mapping
from typing import Any

from hydra.errors import InstantiationException

from aiayn.config.hydra_versions import create
from aiayn.errors import UserError, error_line


def instantiate(node: Mapping[str, Any], *, key: str, **arguments: Any) -> Any:
    """Import and call the object that `_target_` names, after arguments with a `_target_` of their own.

    Errors name `key`.

    Raises:
        UserError: the target does not exist, refuses its arguments, or is given one that `arguments` has.
    """
    for name in node.keys() & arguments.keys():
        raise UserError(f"{key}.{name}: follows from other keys of the configuration; leave it out")
    own = {
        name: instantiate(value, key=f"{key}.{name}") if isinstance(value, Mapping) and "_target_" in value else value
        for name, value in node.items()
    }
    try:
        return create(own, **arguments)
    except (UserError, KeyboardInterrupt):
        raise
    except BaseException as error:  # Hydra 1.3 wraps what a target raises in an InstantiationException
        locate(node, key=key)
        cause = error.__cause__ if isinstance(error, InstantiationException) else error
        raise UserError(_refusal(key, own, cause or error)) from error


def locate(node: Mapping[str, Any], *, key: str) -> Any:
    """Import and return the object that `_target_` names; UserError if it does not exist."""
    try:
        return pkgutil.resolve_name(str(node["_target_"]))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise UserError(f"{key}: there is no _target_ {node['_target_']} ({error_line(error)})") from error


def _refusal(key: str, arguments: Mapping[str, Any], error: BaseException) -> str:
    """The error in one line, with the argument whose name or text value it quotes."""
    text = error_line(error)
    for name in arguments:
        if f"unexpected keyword argument '{name}'" in text:
            return f"{key}.{name}: {arguments['_target_']} takes no such argument"
    quoted = [name for name in arguments if name != "_target_" and _quotes(text, arguments[name])]
    return f"{key}.{quoted[0]}={arguments[quoted[0]]}: {text}" if len(quoted) == 1 else f"{key}: {text}"


def _quotes(text: str, value: object) -> bool:
    """Whether a message holds a value, and not as a part of a word."""
    return not isinstance(value, bool | None) and re.search(rf"(?<!\w){re.escape(repr(value))}(?!\w)", text) is not None
