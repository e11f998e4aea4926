"""Instantiate third-party objects that the configuration names by `_target_`."""

import pkgutil
import re
from collections.abc import Mapping
from typing import Any

from hydra.errors import InstantiationException
from hydra.utils import instantiate

from aiayn.errors import UserError


def make(node: Mapping[str, Any], *, key: str, **arguments: Any) -> Any:
    """Import and call what `_target_` names.

    Args:
        node: `_target_` and arguments; an argument with its own `_target_` is instantiated first.
        key: the configuration key for error messages.
        arguments: further arguments, which are passed as they are.

    Raises:
        UserError: the target does not exist, or refuses its arguments.
    """
    own = {
        name: make(value, key=f"{key}.{name}") if isinstance(value, Mapping) and "_target_" in value else value
        for name, value in node.items()
    }
    try:
        # Not recursive: an argument may be a whole configuration with a _target_ in it.
        return instantiate({**own, **arguments}, _recursive_=False, _convert_="all")
    except InstantiationException as error:
        locate(node, key=key)
        raise UserError(_refusal(key, own, error.__cause__ or error)) from error


def locate(node: Mapping[str, Any], *, key: str) -> Any:
    """Import and return what `_target_` names.

    Raises:
        UserError: the target does not exist.
    """
    try:
        return pkgutil.resolve_name(str(node["_target_"]))
    except (ImportError, AttributeError, ValueError) as error:
        raise UserError(f"{key}: there is no _target_ {node['_target_']} ({error})") from error


def _refusal(key: str, arguments: Mapping[str, Any], error: BaseException) -> str:
    """One line that names the argument where the error does."""
    text = " ".join(str(error).split()) or type(error).__name__
    unexpected = re.search(r"unexpected keyword argument '(\w+)'", text)
    if unexpected:
        return f"{key}.{unexpected[1]}: {arguments['_target_']} takes no such argument"
    named = {name: value for name, value in arguments.items() if isinstance(value, str) and name != "_target_"}
    for name, value in named.items():
        if repr(value) in text or (value != "auto" and re.search(rf"\b{re.escape(value)}\b", text)):
            return f"{key}.{name}={value}: {text}"
    return f"{key}: {text}"
