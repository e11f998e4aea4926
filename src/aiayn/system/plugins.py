"""Classes of the user's own, named in the configuration as `my_package.my_module:MyClass`."""

import hashlib
import importlib.util
import inspect
import re
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from aiayn.errors import UserError
from aiayn.system import files

NAME = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")

T = TypeVar("T")


def is_plugin(name: str) -> bool:
    """Whether a value names a class instead of a choice."""
    return NAME.fullmatch(name) is not None


def source_digest(name: str) -> str | None:
    """Sixteen hexadecimal digits of the file that defines a class, which is not run; None: there is no module.

    Raises:
        UserError: a package of the module, which is run, raises something.
    """
    module = name.partition(":")[0]
    try:
        spec = importlib.util.find_spec(module)
    except (ModuleNotFoundError, ValueError) as error:
        if isinstance(error, ModuleNotFoundError) and not module.startswith(error.name or module):
            raise UserError(no_module(name, key="model", module=error.name)) from error
        spec = None
    except Exception as error:
        raise UserError(f"{name}: importing its package raised {_error_text(error)}") from error
    if spec is None or spec.origin is None or not files.is_file(Path(spec.origin)):
        return None
    return hashlib.sha256(Path(spec.origin).read_bytes()).hexdigest()[:16]


def no_module(name: str, *, key: str, module: str | None = None) -> str:
    """The message for a class whose module, or one that it imports, does not exist."""
    missing = module or name.partition(":")[0]
    return f"{key}={name}: there is no module {missing}; name its folder in PYTHONPATH, or install it"


def create(name: str, *, key: str, base: type[T], given: Mapping[str, Any], own: Mapping[str, Any]) -> T:
    """Import a class and call it.

    Args:
        name: as `my_package.my_module:MyClass`.
        key: of the configuration, for errors; `<key>_arguments` holds `own`.
        base: its required base class.
        given: keyword arguments of every such class.
        own: keyword arguments of this one.

    Raises:
        UserError: it does not exist, is of another kind, or refuses its arguments.
    """
    module, _, attribute = name.partition(":")
    try:
        imported = import_module(module)
    except ModuleNotFoundError as error:
        raise UserError(no_module(name, key=key, module=error.name)) from error
    except Exception as error:
        raise UserError(f"{key}={name}: importing {module} raised {_error_text(error)}") from error
    kind = getattr(imported, attribute, None)
    if kind is None:
        raise UserError(f"{key}={name}: {module} has no {attribute}")
    if not (isinstance(kind, type) and issubclass(kind, base)):
        raise UserError(f"{key}={name}: must be a subclass of {base.__module__}.{base.__qualname__}")
    if inspect.isabstract(kind):
        missing = ", ".join(sorted(getattr(kind, "__abstractmethods__", ())))
        raise UserError(f"{key}={name}: does not define {missing}")
    if twice := ", ".join(given.keys() & own.keys()):
        raise UserError(f"{key}={name}: it is given {twice} in any case; leave it out of its arguments")
    try:
        inspect.signature(kind).bind(**given, **own)
    except TypeError as error:
        takes = ", ".join(inspect.signature(kind).parameters)
        raise UserError(f"{key}={name}: {error}; it takes {takes}, and is given {', '.join([*given, *own])}") from None
    try:
        return kind(**given, **own)
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"{key}={name}: its constructor raised {_error_text(error)}") from error


def _error_text(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
