"""A run's configuration and record without private parts: folders, trackers, callbacks, secrets.

Absolute paths become the names of their files. Trackers and callbacks are left out whole: their arguments are open, and
nothing that uses a trained model reads them.
"""

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from aiayn.config.secrets import NAMES, is_secret
from aiayn.errors import UserError

UNSTATED_GROUPS = ("logger", "callbacks", "paths", "hydra")
"""Groups whose words are left out of a published command."""

OPTIONS_WITH_VALUE = ("--config-dir", "--config-path", "-cd", "-cp")

SECRET_TEXT = re.compile(
    rf"(?i:token|{NAMES})[\"']?\s*[:=]\s*[\"']?(?=[\w+/-]*\d)[\w+/-]{{8,}}"
    r"|\bhf_[A-Za-z0-9]{20,}|\bgh[pousr]_[A-Za-z0-9]{20,}|\bAKIA[0-9A-Z]{16}\b|://[^/\s:@]+:[^/\s@]+@"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----"
)
"""In any text: a value with a digit under the name of a secret, or a token, address or key of a known form."""

HOME = re.compile(r"(?:/home/|/Users/|[A-Za-z]:\\+Users\\+)[\w.-]+|/root/[\w.-]+")
"""The beginning of a path in a user's home, on any system."""

PATH = re.compile(r"(?:file:|(?<![\w./~-])(?!(?<=:)//))(?:~|\.\.?(?=/)|/)[^\s,;:'\"(){}\[\]]+")
"""A path from the root, the home folder or the working directory inside other text."""

SHORTEST_SECRET = 12
"""Characters; shorter values occur by chance."""

CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")
"""User name and password of an address."""


def public_config(content: Mapping[str, Any]) -> dict[str, Any]:
    """A frozen configuration to publish; it is read back as the original is."""
    public: dict[str, Any] = _public(content)
    trainer = {key: value for key, value in public.get("trainer", {}).items() if not isinstance(value, dict | list)}
    return {**without_folders(public), "callbacks": {}, "trainer": trainer}


def without_folders(content: Mapping[str, Any]) -> dict[str, Any]:
    """A frozen configuration without its folders and tracker, and with the same hash."""
    return {**content, "logger": {}, "paths": {"runs": "runs", "cache": "cache"}}


def public_record(content: Mapping[str, Any]) -> dict[str, Any]:
    """A record to publish, from its JSON."""
    public: dict[str, Any] = _public({**content, "command": ""})
    return {**public, "command": public_command(str(content["command"]))}


def public_command(command: str) -> str:
    """A command line without words on folders, trackers and callbacks, and with the names of files."""
    words: list[str] = []
    skips = False
    for word in shlex.split(command):
        key, equals, value = word.partition("=")
        group = key.lstrip("+~").partition("/")[0].partition(".")[0]
        is_private = skips or key in OPTIONS_WITH_VALUE or group in UNSTATED_GROUPS or is_secret(key)
        skips = not skips and not equals and key in OPTIONS_WITH_VALUE
        if not is_private:
            words.append(f"{_text(key)}{equals}{_text(value)}")
    return shlex.join(words)


def _public(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {_text(str(key)): _public(each) for key, each in value.items() if not is_secret(str(key))}
    if isinstance(value, list | tuple):
        return [_public(each) for each in value]
    return _text(value) if isinstance(value, str) else value


def _text(text: str) -> str:
    """A text with the names of files for their paths, and addresses without credentials."""
    if text.startswith(("/", "~", "../", "file:")):  # the path may hold spaces
        return PurePosixPath(text).name
    return CREDENTIALS.sub("", PATH.sub(lambda found: PurePosixPath(found[0]).name, text))


def find_secrets(text: str) -> Iterator[str]:
    """The secrets of this environment, the texts like a secret, and the paths of home folders in a text, in words.

    Nothing writes those on purpose; a user may have typed them where no rule expects them.
    """
    for name, value in os.environ.items():
        if re.search("KEY|TOKEN|SECRET|PASSWORD", name) and len(value) >= SHORTEST_SECRET and value in text:
            yield f"the value of {name}"
    home = os.path.expanduser("~")  # noqa: PTH111 (Path.home() raises where it is unknown)
    if home not in ("/", "~") and f"{home}/" in text:
        yield "the path of your home folder"
    if found := SECRET_TEXT.search(text):
        yield f"a text like a secret ({found[0][:12]}...)"
    if found := HOME.search(text):
        yield f"a path of a user's home ({found[0]})"


def check_public(folder: Path, names: tuple[str, ...]) -> None:
    """Refuse to publish files with secrets or paths of home folders."""
    for name in names:
        check_public_text(name, (folder / name).read_text(encoding="utf-8"))


def check_public_text(name: str, text: str) -> None:
    """Refuse to publish a text, which messages call `name`, with secrets or paths of home folders."""
    for leak in find_secrets(text):
        raise UserError(f"{name}: would contain {leak}; not published: remove it from the run's files first")
