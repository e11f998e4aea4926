"""Shell completion: `aiayn -sc install=bash` prints a function for the shell, which asks `aiayn -sc query=bash`.

The choices are those of the schema, of conf/, and of the refusals: whatever is offered is a value that works.
"""

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from aiayn.commands.choices import Line, file_names
from aiayn.commands.reproduce import OF_THE_REPORT
from aiayn.commands.words import FLAGS
from aiayn.errors import UserError, error_line
from aiayn.registry import Command

INSTALL = {
    "bash": r"""
_aiayn() {
  COMPREPLY=()
  local word
  while IFS= read -r word; do COMPREPLY+=("$word"); done < <(
    COMP_LINE=$COMP_LINE COMP_POINT=$COMP_POINT COMP_WORD=$2 "${1/#\~\//$HOME/}" -sc query=bash 2> /dev/null)
}
complete -o nospace -F _aiayn aiayn
""",
    "zsh": r"""
_aiayn() {
  local -a found=("${(@f)$(COMP_LINE="${(j: :)words[1,CURRENT-1]} $PREFIX" ${~words[1]} -sc query=zsh 2> /dev/null)}")
  compadd -S '' -- ${(M)found:#*[=/.]}
  compadd -- ${found:#(|*[=/.])}
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
compdef _aiayn aiayn
""",
    "fish": r"""
complete -c aiayn -f -a '(COMP_LINE=(commandline -cp | string collect) aiayn -sc query=fish 2> /dev/null)'
""",
}
"""The shells, and what each evaluates."""

UNINSTALL = {
    "bash": "complete -r aiayn; unset -f _aiayn",
    "zsh": "compdef -d aiayn; unfunction _aiayn",
    "fish": "complete -e -c aiayn",
}

GOES_ON = ("=", ".", "/")
"""The ends of words that the user has to continue."""

PLAIN = re.compile(r"[\w@%+:./=,\[-]+", re.ASCII)
"""A word that neither a shell nor Hydra reads as anything else; others are not offered."""

VALUE = re.compile(r"[\w@%+:./-]+", re.ASCII)
"""A value that Hydra reads as one text."""

FLAGS_WITH_VALUES: dict[str, list[str]] = {
    name: settings.get("choices", []) for names, settings in FLAGS.items() for name in names if "action" not in settings
}

FOLDER_FLAGS = ("--config-dir", "-cd")


def complete(words: Sequence[str], commands: Mapping[str, Command]) -> int:
    """Answer `-sc install=<shell>`, `uninstall` or `query`; the line to complete is in the environment, COMP_LINE."""
    request, _, shell = words[-1].partition("=")
    if len(words) != 2 or shell not in INSTALL or request not in ("install", "uninstall", "query"):
        raise UserError(f"{' '.join(words)}: state -sc install=bash, or zsh, or fish")
    if request != "query":
        print({"install": INSTALL, "uninstall": UNINSTALL}[request][shell].strip())  # noqa: T201
        return 0
    line, point = os.environ.get("COMP_LINE", ""), os.environ.get("COMP_POINT", "")
    line = line[: int(point)] if point.isdecimal() else line
    try:
        found = completions(line, commands)
    except Exception as error:  # not even the defaults compose: shells show nothing, and whoever calls this one line
        raise UserError(f"{' '.join(words)}: {error_line(error)}") from error
    for word in _as_bash_inserts(found, line) if shell == "bash" else found:
        print(word)  # noqa: T201
    return 0


def completions(line: str, commands: Mapping[str, Command]) -> list[str]:
    """What the last word of a command line may be, sorted: whole words, or such that end in one of `GOES_ON`."""
    (*before, word), _ = _split(line)
    found = _offered(before[1:], word, commands)
    return sorted({each for each in found if each.startswith(word) and PLAIN.fullmatch(each)})


def _split(line: str) -> tuple[list[str], str]:
    """The words of an unfinished line as its program would get them, the last one perhaps empty; and its open quote."""
    for quote in ("", '"', "'"):
        with suppress(ValueError):
            *words, last = shlex.split(f"{line}|{quote}")
            return [*words, last[:-1]], quote
    return [""], ""


def _as_bash_inserts(found: Iterable[str], line: str) -> Iterator[str]:
    """Without what bash keeps of the word, such as `scale=`; with a space behind, unless the word goes on."""
    (*_, word), quote = _split(line)
    typed = os.environ.get("COMP_WORD", word).lstrip("'\"")
    kept = len(word) - len(typed) if word.endswith(typed) else 0
    for each in found:
        yield each[kept:] + ("" if each.endswith(GOES_ON) or quote else " ")


def _offered(before: Sequence[str], word: str, commands: Mapping[str, Command]) -> Iterable[str]:
    """Words that may follow others, of which the first is the verb; not all begin with what is typed of the word."""
    if not before:
        return [*commands, *(["--help", "--version"] if word.startswith("-") else [])]
    verb, *rest = before
    last = rest[-1] if rest else ""
    if verb not in commands:
        return []
    if last in FOLDER_FLAGS:
        return file_names(word)
    if last in FLAGS_WITH_VALUES:
        return FLAGS_WITH_VALUES[last]
    flag, sign, value = word.partition("=")
    if sign and flag in FOLDER_FLAGS:
        return [f"{flag}={each}" for each in file_names(value)]
    if sign and flag in FLAGS_WITH_VALUES:
        return [f"{flag}={each}" for each in FLAGS_WITH_VALUES[flag]]
    if word.startswith("-"):
        return [name for names in FLAGS for name in names] if verb != "reproduce" else ["--help"]
    overrides, folder = _without_flags(rest)
    command = commands[verb]
    noun = next((each for each in overrides if "=" not in each), "") if command.nouns else ""
    if command.nouns and noun not in command.nouns:
        return command.nouns
    line = Line(verb, noun, overrides, folder, has_json=command.has_json)
    if verb != "reproduce":
        return _keys_or_values([line], word)
    runs = replace(line, verb="train", noun="", without=("sweeps",), has_json=True)
    return _keys_or_values([runs, replace(line, verb="report")], word)


def _without_flags(words: Sequence[str]) -> tuple[list[str], Path | None]:
    """The overrides, and the folder of --config-dir."""
    overrides, folder = [], None
    for last, word in pairwise(["", *words]):
        flag, sign, value = word.partition("=")
        if last in FOLDER_FLAGS:
            folder = Path(word).expanduser()
        elif flag in FOLDER_FLAGS and sign:
            folder = Path(value).expanduser()
        elif last not in FLAGS_WITH_VALUES and not word.startswith("-"):
            overrides.append(word)
    return overrides, folder


def _keys_or_values(lines: Sequence[Line], word: str) -> Iterable[str]:
    """What may follow; of two lines, the second one takes the keys in `OF_THE_REPORT`, and the first one all others."""

    def line_of(key: str) -> Line:
        return lines[-1 if key in OF_THE_REPORT else 0]

    if "=" not in word:
        known = [key for line in lines for key in line.known_keys() if line_of(key) is line]
        return [_up_to_the_next_dot(key, len(word)) for key in known]
    key, _, value = word.partition("=")
    start = value[: max(value.rfind(","), value.rfind("[")) + 1]  # the values before, of a sweep or a list
    values = line_of(key).values(key, value.removeprefix(start), in_list=start.startswith("["))
    others = re.split(r"[,\[]", start)
    return [f"{key}={start}{each}" for each in values if each not in others and VALUE.fullmatch(each)]


def _up_to_the_next_dot(key: str, typed: int) -> str:
    """A key cut after the first dot behind so many letters, as shells offer one folder after the other."""
    dot = key.find(".", typed)
    return f"{key}=" if dot < 0 else key[: dot + 1]
