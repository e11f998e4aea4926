"""When a search can be held to trees."""

from aiayn.config.schema import TokenizerKind, TrainConfig
from aiayn.errors import UserError

_BRACKETS = 2
"""Tokens of the smallest tree over several words, beside theirs: one pair of brackets."""


def validate_constrained(config: TrainConfig) -> None:
    """Refuse to hold a search to trees where it knows none, or where none fits.

    Raises:
        UserError: naming the key.
    """
    if not config.decoding.constrained:
        return
    if (kind := config.tokenizer.kind) is not TokenizerKind.symbols:
        raise UserError(
            f"decoding.constrained=true: outputs are held to trees, and tokenizer.kind={kind.name} has no brackets: "
            "leave it out, or take tokenizer.kind=symbols with trees as data"
        )
    if (extra := config.decoding.max_extra_length) < _BRACKETS:
        raise UserError(
            f"decoding.max_extra_length={extra}: with decoding.constrained=true it must be at least {_BRACKETS}, for "
            "brackets around the words"
        )
