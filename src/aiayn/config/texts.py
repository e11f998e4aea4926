"""Texts of the command line as written: Hydra reads `2026_11_28` and `1e3` as numbers, and `no` in a file is false.

The schema's texts take no other values, so what Hydra reads as a number or a truth value is put in quotes before, and
is refused where that cannot be done, as in a file.
"""

import dataclasses
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, get_type_hints

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.overrides_visitor import HydraOverrideVisitor
from hydra.core.override_parser.types import Override, ParsedElementType, Quote, QuotedString, Transformer
from hydra.errors import HydraException
from hydra.grammar.gen.OverrideLexer import CommonTokenStream, InputStream, OverrideLexer  # type: ignore[attr-defined]
from hydra.grammar.gen.OverrideParser import OverrideParser

from aiayn.config.data_schema import DATA_TYPES, DataConfig
from aiayn.config.model_kinds import MODEL_TYPES
from aiayn.config.model_schema import ModelConfig
from aiayn.config.schema import TOKENIZER_TYPES, TokenizerConfig
from aiayn.config.store import COMMANDS
from aiayn.config.sweep_schema import LAUNCHERS, SWEEPERS
from aiayn.config.values import alternatives, is_text
from aiayn.errors import UserError

AGENT = "WANDB_SWEEP_ID"
"""Environment variable of the processes that `wandb agent` starts."""

KINDS: Mapping[type, Sequence[type]] = {
    DataConfig: [*DATA_TYPES.values()],
    ModelConfig: [*MODEL_TYPES.values()],
    TokenizerConfig: [*TOKENIZER_TYPES.values()],
}
"""The classes that a field of the schema may hold instead of its own."""


@cache
def text_keys(verb: str) -> frozenset[str]:
    """The dotted keys of a command whose values are texts, or lists of them, with any kinds of data and models."""
    launchers = (key for schema in LAUNCHERS.values() for key in _text_keys(schema, "hydra.launcher."))
    sweepers = (key for schema in SWEEPERS.values() for key in _text_keys(schema, "hydra.sweeper."))
    return frozenset([*_text_keys(COMMANDS[verb]), *launchers, *sweepers])


def _text_keys(schema: type, prefix: str = "") -> Iterator[str]:
    classes = (each for each in schema.__mro__ if dataclasses.is_dataclass(each))
    for each in classes:  # a plan's `data: Any` is a corpus in its base class
        for name, hint in get_type_hints(each, include_extras=True).items():
            for part in alternatives(hint):
                if is_text(part):
                    yield prefix + name
                for kind in KINDS.get(
                    part, [part] if isinstance(part, type) and dataclasses.is_dataclass(part) else []
                ):
                    yield from _text_keys(kind, f"{prefix}{name}.")


def as_written(verb: str, words: Sequence[str]) -> list[str]:
    """The overrides with numbers and truth values of text keys in quotes; below `wandb agent` `None` is null.

    Words that Hydra refuses are left as they are.

    Raises:
        UserError: the value of a text is a function of Hydra's, whose result may be another text.
    """
    return [_word_as_written(verb, word) for word in map(_of_agent, words)]


def check_swept_texts(verb: str, params: Mapping[str, Any]) -> None:
    """Refuse `hydra.sweeper.params` of a file in which Hydra reads a text as a number.

    The file may have been read as another number already, as 2026_11_28 is, so it is not put in quotes here.
    """
    for key, value in params.items():
        word = f"{key}={value}"
        if (written := _word_as_written(verb, word)) != word:
            quoted = written.partition("=")[2]
            raise UserError(f'hydra.sweeper.params: {key}: {value}: must be text; put it in quotes twice: "{quoted}"')


def _of_agent(word: str) -> str:
    """W&B writes Python's values."""
    key, _, value = word.partition("=")
    return f"{key}=null" if AGENT in os.environ and value == "None" else word


def _word_as_written(verb: str, word: str) -> str:
    key = word.partition("=")[0].lstrip("+~")
    if "=" not in word or key not in text_keys(verb):
        return word
    try:
        plain = OverridesParser.create().parse_override(word)
    except HydraException:
        return word
    written = _parsed(word)
    if written == plain and not plain.is_range_sweep():
        return _with_spaces(word, plain)
    if written.is_sweep_override() and not written.is_discrete_sweep():
        return word
    if (spaced := _with_spaces(word, written)) != word:
        return spaced
    is_swept = written.is_sweep_override()  # choice(...) would lose the quotes of its texts
    values = ",".join(_texts(written)) if is_swept else written.get_value_element_as_str()
    if AGENT in os.environ and (found := {"True", "False"} & {*values.replace("'", "").split(",")}):
        raise UserError(f"{word}: W&B passes {found.pop()} for a yes or no of its file; put the text in quotes there")
    return f"{written.get_key_element()}={values}"


def _with_spaces(word: str, parsed: Override) -> str:
    """A word whose text begins or ends with spaces, which Hydra would remove, in quotes."""
    stated = parsed.get_value_string()
    inner = stated.strip()
    if stated == inner or not isinstance(text := parsed.value(), str) or inner.startswith(("'", '"')):
        return word
    before, _, after = stated.partition(inner) if inner else (stated, "", "")
    quoted = QuotedString(before + text + after, Quote.single)
    return f"{parsed.get_key_element()}={quoted.with_quotes()}"


def _texts(swept: Override) -> Iterator[str]:
    return map(Transformer.str, swept.sweep_iterator(_quoted))


def _quoted(value: ParsedElementType) -> ParsedElementType:
    """A text or a number in quotes."""
    return QuotedString(str(value), Quote.single) if isinstance(value, str | int | float) else value


def _parsed(word: str) -> Override:
    parser: Any = OverrideParser(CommonTokenStream(OverrideLexer(InputStream(word))))
    override = _AsWritten(word).visit(parser.override())
    assert isinstance(override, Override)
    override.input_line = word
    return override


class _AsWritten(HydraOverrideVisitor):
    """Reads numbers and truth values as quoted texts."""

    def __init__(self, word: str) -> None:
        super().__init__(OverridesParser.create().functions)
        self._word = word

    def visitPrimitive(self, ctx: Any) -> Any:  # noqa: N802
        """A number or a truth value as its text."""
        value: ParsedElementType = super().visitPrimitive(ctx)
        is_other = isinstance(value, bool | int | float)
        return QuotedString(ctx.getText().strip(), Quote.single) if is_other else value

    def visitFunction(self, ctx: Any) -> Any:  # noqa: N802
        """A choice of texts; a range or the like as Hydra reads it."""
        name = ctx.getChild(0).getText()
        if name in ("int", "float", "str", "bool"):
            text = ctx.getText()
            raise UserError(f"{self._word}: {text} is a function of Hydra's; state its value, or {text!r} in quotes")
        if name == "choice":
            return super().visitFunction(ctx)
        return HydraOverrideVisitor(self.functions).visitFunction(ctx)
