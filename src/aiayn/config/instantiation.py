"""Instantiate third-party objects that the configuration names by `_target_`."""

import pkgutil
from collections.abc import Mapping
from typing import Any

import hydra.utils
from hydra.errors import InstantiationException

from aiayn.errors import UserError


def instantiate(node: Mapping[str, Any], *, key: str, **arguments: Any) -> Any:
    """Import and call the object that `_target_` names, after arguments with a `_target_` of their own.

    Errors name `key`.

    Raises:
        UserError: the target does not exist, or refuses its arguments.
    """
    own = {
        name: instantiate(value, key=f"{key}.{name}") if isinstance(value, Mapping) and "_target_" in value else value
        for name, value in node.items()
    }
    try:
        # Not recursive: further down, as in a whole configuration, a _target_ may be plain data.
        return hydra.utils.instantiate({**own, **arguments}, _recursive_=False, _convert_="all")
    except InstantiationException as error:
        locate(node, key=key)
        raise UserError(_refusal(key, own, error.__cause__ or error)) from error


def locate(node: Mapping[str, Any], *, key: str) -> Any:
    """Import and return the object that `_target_` names; UserError if it does not exist."""
    try:
        return pkgutil.resolve_name(str(node["_target_"]))
    except (ImportError, AttributeError, ValueError) as error:
        raise UserError(f"{key}: there is no _target_ {node['_target_']} ({error})") from error


def _refusal(key: str, arguments: Mapping[str, Any], error: BaseException) -> str:
    """The error in one line, with the argument whose name or text value it quotes."""
    text = " ".join(str(error).split()) or type(error).__name__
    for name, value in arguments.items():
        if f"unexpected keyword argument '{name}'" in text:
            return f"{key}.{name}: {arguments['_target_']} takes no such argument"
        if isinstance(value, str) and name != "_target_" and repr(value) in text:
            return f"{key}.{name}={value}: {text}"
    return f"{key}: {text}"
