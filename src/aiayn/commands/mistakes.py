"""Say in one line what Hydra and OmegaConf say in several."""

import difflib
import re
from collections.abc import Iterator

from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from aiayn.config import store
from aiayn.config.errors import UserError
from aiayn.config.validation import STATED_ELSEWHERE

BEFORE_THE_COMMAND = (HydraException, OmegaConfBaseException, ValueError, LookupError, OSError)
"""What Hydra raises while it reads the command line, composes, and makes the folder of a run."""

PREFERRED = ("model.", "optimization.", "decoding.", "data.")
"""Where a key is looked for first that was typed without its group."""


def explain(error: Exception, verb: str) -> str:
    """One line naming the key, what is wrong, and the nearest right name.

    Args:
        error: what composing raised.
        verb: the command that was composed.
    """
    chain = list(_chain(error))
    for cause in chain:
        if isinstance(cause, UserError):
            return str(cause)
    text = "\n".join(str(cause) for cause in chain)
    return (
        _unknown_key(text, verb)
        or _unknown_option(text)
        or _sweep(text)
        or _unparsable(text, type(error).__name__)
        or _wrong_type(chain)
        or _file(chain)
        or text.splitlines()[0]
    )


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _unknown_key(text: str, verb: str) -> str | None:
    match = re.search(r"Could not override '([^']+)'", text)
    if match is None:
        return None
    key = match[1]
    group, _, argument = key.partition(".")
    if group == "trainer" and argument in STATED_ELSEWHERE:
        return f"{key}: state {STATED_ELSEWHERE[argument]} instead"
    return f"{key}: no such key; {_nearest(key, _keys(verb), otherwise=f'aiayn {verb} --help lists them')}"


def _unknown_option(text: str) -> str | None:
    match = re.search(r"Could not (?:find|load) '([^'/]+)/([^']+)'", text)
    if match is None:
        return None
    group, option = match[1], match[2]
    options = store.options(group)
    everything = f"choose from {', '.join(options)}" if options else f"there is no group {group}"
    return f"{group}={option}: no such option; {_nearest(option, options, otherwise=everything)}"


def _sweep(text: str) -> str | None:
    match = re.search(r"Ambiguous value for argument '(.*?)'", text)
    return (
        f"{match[1]}: several values need -m (a sweep); as one value write it in brackets or quotes" if match else None
    )


def _unparsable(text: str, kind: str) -> str | None:
    if kind != "OverrideParseException":
        return None
    shown = text.splitlines()[0].removeprefix("LexerNoViableAltException: ").strip()
    return f"{shown}: not key=value as Hydra reads it; put special characters in two pairs of quotes: 'key=\"a, b\"'"


def _wrong_type(chain: list[BaseException]) -> str | None:
    for cause in chain:
        key = re.search(r"full_key: (\S+)", str(cause))
        if key and isinstance(cause, OmegaConfBaseException):
            return f"{key[1]}: {str(cause).splitlines()[0]}"
    return None


def _file(chain: list[BaseException]) -> str | None:
    for cause in chain:
        if isinstance(cause, OSError) and cause.filename:
            return f"{cause.filename}: {cause.strerror}; choose another folder"
    return None


def _nearest(name: str, names: list[str], *, otherwise: str) -> str:
    """The name meant: one with the same last part, or one that is spelled alike."""
    last = re.split(r"[./]", name)[-1]
    same = [other for other in names if re.split(r"[./]", other)[-1] == last]
    # The group that the paper's symbols live in comes first where several groups have such a key.
    close = sorted(same, key=lambda other: not other.startswith(PREFERRED))
    close = close or difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    return f"did you mean {close[0]}?" if close else otherwise


def _keys(verb: str) -> list[str]:
    """Every key of the command's default configuration, dotted, groups included."""
    from aiayn.config.compose import compose_command
    from aiayn.config.identity import flatten

    content = OmegaConf.to_container(compose_command(verb), resolve=False)
    assert isinstance(content, dict)
    return [*flatten({str(key): value for key, value in content.items()}), *map(str, content)]
