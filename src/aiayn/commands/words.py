"""The words after a verb: its noun, overrides, and flags, which may stand anywhere."""

import argparse
import difflib
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from aiayn.errors import UserError
from aiayn.registry import added_commands
from aiayn.system import files
from aiayn.system.output_format import Format

HOME = re.compile(r"^([^=]+=['\"]?)~(?=/)")
"""The start of an override whose value is a path below ~: shells expand it only at the start of a word."""


HOME_OF = re.compile(r"^[^=]+=(['\"]?)(?P<path>~[^'\"]*)\1$")
"""An override whose value begins with ~, or ~ and a user's name."""


ONCE = ("experiment", "scale", "seed", "run", "against", "record", "checkpoint", "output")
"""Keys that say what is to be done. Of any other key the last value counts, so that a script may add to a command."""

NEEDED = {"status": {"interval": "watch"}}
"""Keys of the core's verbs that are read only if another has a value, and the other; extensions state their own."""

UNSTATED = ("", "null", "none", "~", "false", "no", "off", "n")
"""Values of a key that leave it unset, in lower case."""


FLAGS: dict[tuple[str, ...], dict[str, Any]] = {
    **{names: {"action": "store_true"} for names in (("--help", "-h"), ("--hydra-help",), ("--resolve",))},
    ("--multirun", "-m"): {"action": "store_true"},
    ("--cfg", "-c"): {"choices": ["job", "hydra", "all"]},
    ("--package", "-p"): {},
    ("--config-dir", "-cd"): {},
    ("--info", "-i"): {
        "nargs": "?",
        "const": "all",
        "choices": ["all", "config", "defaults", "defaults-tree", "plugins", "searchpath"],
    },
}
"""The flags of every verb but `reproduce`, and what `argparse` is told of each."""


class Words(argparse.Namespace):
    """A command line without its verb."""

    overrides: list[str]
    help: bool
    hydra_help: bool
    resolve: bool
    multirun: bool
    cfg: str | None
    package: str | None
    info: str | None
    format: Format = Format.text

    @property
    def is_only_shown(self) -> bool:
        """Whether no job is to run."""
        return bool(self.cfg or self.info or self.hydra_help)

    def hydra_arguments(self) -> list[str]:
        """As Hydra's own parser takes them: overrides on one side of the flags."""
        if self.hydra_help:  # of Hydra alone, without the keys of a command
            return ["--hydra-help"]
        flags, shown = [], {"cfg": self.cfg, "package": self.package}
        if self.cfg == "hydra" and self.resolve:  # its values refer to the keys of the command
            shown = {"cfg": "all", "package": ".".join(filter(None, ["hydra", self.package]))}
        for name, value in {"resolve": self.resolve, "multirun": self.multirun, **shown, "info": self.info}.items():
            if value:
                flags += [f"--{name}", *([] if value is True else [value])]
        return [*self.overrides, *flags]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message}; see --help")


def parse_words(verb: str, words: Sequence[str], nouns: Sequence[str], *, has_json: bool = False) -> Words:
    """Parse the words after a verb; if it takes nouns, the first bare word must be one of them.

    A value that begins with ~/ is a path in the home folder. `format=` is taken off where the verb has JSON: it is a
    key of no configuration, so it changes no run's identity.
    """
    for word in words:
        if not files.is_utf8(word):
            raise UserError(f"{word!r}: is not UTF-8; rename the file or folder, or work in the folder that has it")
    parser = _Parser(prog=f"aiayn {verb}", add_help=False, allow_abbrev=False)
    parser.add_argument("overrides", nargs="*")
    for names, settings in FLAGS.items():
        parser.add_argument(*names, **settings)
    parsed, unknown = parser.parse_known_intermixed_args(words, Words())
    if unknown:
        raise UserError(f"{unknown[0]}: no such flag; an override has no dashes, as in key=value; see --help")
    if parsed.package and not parsed.cfg:
        raise UserError("--package: chooses what --cfg shows; state --cfg job as well")
    if nouns and not parsed.help:
        parsed.overrides = _with_noun(verb, [_field(word) for word in parsed.overrides], nouns)
    parsed.overrides = [_at_home(word) for word in parsed.overrides]
    if has_json:
        added = added_commands().get(verb)
        has_folder = added is not None and added.has_output_folder
        parsed.format, parsed.overrides = split_format(parsed.overrides, has_folder=has_folder)
    refuse_ignored(verb, parsed.overrides)
    if parsed.config_dir is not None:
        parsed.overrides.append(searchpath(_folder(parsed.config_dir)))
    return parsed


def searchpath(folder: Path) -> str:
    """The override that has Hydra search a folder, too."""
    return f"hydra.searchpath=['file://{folder.absolute()}']"


def _at_home(word: str) -> str:
    """A word with the home folder in place of ~; UserError if its value begins with ~ and an unknown user."""
    home = os.path.expanduser("~")  # noqa: PTH111 (Path.home() raises where it is unknown)
    word = HOME.sub(lambda start: start[1] + home, word)
    if (found := HOME_OF.match(word)) and os.path.expanduser(found["path"]) == found["path"]:  # noqa: PTH111
        raise UserError(f"{word}: there is no home folder {found['path'].split('/')[0]}; state the path in full")
    return word


def _folder(stated: str) -> Path:
    """The folder that --config-dir names; UserError if there is none, or it cannot be read."""
    if not stated:
        raise UserError("--config-dir '': names no folder; state one, or leave the flag out")
    folder = Path(stated)
    if not files.is_dir(folder, key="--config-dir"):
        raise UserError(f"--config-dir {folder}: no such folder; correct the path")
    files.listed(folder)  # refuses a folder that cannot be read, of which Hydra says nothing
    check_own_values(folder)
    return folder


def check_own_values(folder: Path) -> None:
    """Refuse a file of the user's own that Hydra would not read, since one of the same name is found before it."""
    from aiayn.config.store import ALIASES, conf_directory

    conf = conf_directory()
    for known in sorted(conf.rglob("*.yaml")):
        own = folder / known.relative_to(conf)
        if files.is_file(own) and files.read_text(own) != files.read_text(known):
            raise UserError(f"{own}: is not read, since {known} is found before it; rename it")
    for alias, name in ALIASES.items():
        own = folder / "experiment" / f"{alias}.yaml"
        if files.is_file(own):
            raise UserError(f"{own}: is not read, since {alias} is another name of {name}; rename it")


def refuse_ignored(verb: str, overrides: Iterable[str]) -> None:
    """Refuse words that would have no effect beside the others; UserError names them and the remedy."""
    stated: dict[str, str] = {}
    for key, sign, value in (word.partition("=") for word in overrides):
        if sign and key in ONCE and stated.get(key, value) != value:
            both = f"{key}={stated[key]} {key}={value}"
            raise UserError(
                f"{both}: of a key stated twice the first would be ignored; state one, or several runs by -m"
            )
        stated[key] = value
    has = {key for key, value in stated.items() if value.lower() not in UNSTATED}
    added = added_commands().get(verb)
    for key, other in (NEEDED.get(verb, {}) if added is None else added.needs).items():
        if key in stated and other not in has:
            raise UserError(f"{key}={stated[key]}: is read with {other}=... alone; state that too, or leave it out")


def _field(word: str) -> str:
    """A word with the name of the configuration's field: Python reserves the name `from`."""
    return f"published={word.removeprefix('from=')}" if word.startswith("from=") else word


def _with_noun(verb: str, overrides: list[str], nouns: Sequence[str]) -> list[str]:
    """Turn the noun, the first bare word, into an override."""
    first = overrides[0] if overrides else ""
    if first and "=" not in first:
        if first not in nouns:
            raise UserError(f"{verb} {first}: {unknown_word_remedy(first, nouns)}")
        return [f"noun={first}", *overrides[1:]]
    if not any(word.startswith("noun=") for word in overrides):
        raise UserError(f"{verb}: state a {verb}; choose from {', '.join(nouns)}")
    return overrides


def unknown_word_remedy(word: str, names: Iterable[str]) -> str:
    """The remedy for an unknown word: the nearest of some names, or all of them if none is near."""
    known = [*names]
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f"did you mean {near[0]}?" if near else f"choose from {', '.join(known)}"


SAME_OUTPUT = ("output=", "publish=", "watch=true", "noun=page")
"""Starts of words that contradict format=json on standard output."""


def split_format(overrides: Sequence[str], *, has_folder: bool = False) -> tuple[Format, list[str]]:
    """The format of standard output, and the other words; `has_folder`: output= is a folder, and not the result."""
    stated = [word for word in overrides if word.startswith("format=")]
    others = [word for word in overrides if word not in stated]
    if not stated:
        return Format.text, others
    value = stated[-1].partition("=")[2]
    if value not in list(Format):
        raise UserError(f"format={value}: choose from {', '.join(Format)}")
    for word in others if value == Format.json else ():
        if word.startswith(SAME_OUTPUT) and word != "output=null" and not (has_folder and word.startswith("output=")):
            shown = word.replace("noun=", "report ", 1)
            raise UserError(f"format=json: prints one document, and {shown} does not; leave one of them out")
    return Format(value), others
