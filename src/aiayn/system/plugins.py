"""Classes of the user's own, named in the configuration as `my_package.my_module:MyClass`."""

import hashlib
import importlib.util
import inspect
import re
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from aiayn.errors import RunFailedError, UserError, error_line
from aiayn.system import files

NAME = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")

T = TypeVar("T")

_sources: dict[str, str] = {}
"""The files of the classes that this command has made, with their names in the configuration, as in key=name."""


@contextmanager
def refused(doing: str) -> Iterator[None]:
    """Turn what code of others raises, SystemExit and the like included, into a UserError that begins with `doing`."""
    try:
        yield
    except (UserError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise UserError(f"{doing} raised {error_line(error)}") from error


def is_plugin(name: str) -> bool:
    """Whether a value names a class instead of a choice."""
    return NAME.fullmatch(name) is not None


def source_digest(name: str) -> str | None:
    """Sixteen hexadecimal digits of the file that defines a class, which is not run; None: there is no module.

    Raises:
        UserError: a package of the module, which is run, raises something.
    """
    module = name.partition(":")[0]
    with refused(f"{name}: importing its package"):
        try:
            spec = importlib.util.find_spec(module)
        except ModuleNotFoundError as error:
            if not module.startswith(error.name or module):
                raise UserError(no_module(name, key="model", module=error.name)) from error
            spec = None
        except ValueError:
            spec = None
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
    with refused(f"{key}={name}: importing {module}"):
        try:
            kind = getattr(import_module(module), attribute, None)
        except ModuleNotFoundError as error:
            raise UserError(no_module(name, key=key, module=error.name)) from error
    if kind is None:
        raise UserError(f"{key}={name}: {module} has no {attribute}")
    if not (isinstance(kind, type) and issubclass(kind, base)):
        raise UserError(f"{key}={name}: must be a subclass of {base.__module__}.{base.__qualname__}")
    if inspect.isabstract(kind):
        missing = ", ".join(sorted(getattr(kind, "__abstractmethods__", ())))
        raise UserError(f"{key}={name}: does not define {missing}")
    if twice := ", ".join(given.keys() & own.keys()):
        raise UserError(f"{key}={name}: it is given {twice} in any case; leave it out of its arguments")
    with refused(f"{key}={name}: its signature"):
        signature = inspect.signature(kind)
    try:
        signature.bind(**given, **own)
    except TypeError as error:
        takes = ", ".join(signature.parameters)
        raise UserError(f"{key}={name}: {error}; it takes {takes}, and is given {', '.join([*given, *own])}") from None
    note_source(kind, f"{key}={name}")
    with refused(f"{key}={name}: its constructor"):
        return kind(**given, **own)


def note_source(kind: type, name: str) -> None:
    """Note the file of a class that the configuration names, for `failure_text`."""
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    if file is not None:
        _sources[file] = name


def failure_text(error: BaseException) -> str:
    """What a run failed by, in one line; with the class of the configuration in whose code it was raised.

    If it was raised elsewhere, perhaps by a wrong result of a class, the line names the classes that `aiayn check`
    tests.
    """
    if (raised := _raised_by(error)) is not None:
        return raised
    return error_line(error) + (f"; aiayn check tests {', '.join(plugged)}" if (plugged := _plugged()) else "")


def _plugged() -> list[str]:
    return [name for name in _sources.values() if is_plugin(name.partition("=")[2])]


def _raised_by(error: BaseException) -> str | None:
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if (name := _sources.get(frame.filename)) is not None:
            return f"{name}: raised {error_line(error)} ({Path(frame.filename).name}, line {frame.lineno})"
    return None


@contextmanager
def failures_named() -> Iterator[None]:
    """Turn what a class of the configuration raises, and every SystemExit, into a RunFailedError for one command.

    So is what is raised elsewhere, perhaps by a wrong result of a class, in a command that has made one. Other
    exceptions pass, as do those of files and streams, which are none of a class's results.
    """
    _sources.clear()
    try:
        yield
    except (UserError, RunFailedError, KeyboardInterrupt):
        raise
    except BaseException as error:
        is_others = isinstance(error, SystemExit) or _raised_by(error) is not None
        if not is_others and (isinstance(error, OSError) or not _plugged()):
            raise
        raise RunFailedError(failure_text(error)) from error
