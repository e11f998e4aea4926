"""A model's outputs as trees over the words of their sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aiayn.extensions.parsing.linearization import CLOSING, OPENING, WORD
from aiayn.extensions.parsing.repair import is_well_formed, repair

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from aiayn.data.grammar.tree import Tree


@dataclass(frozen=True)
class Parses:
    """A tree for each sentence."""

    trees: Sequence[Tree]
    well_formed: int
    """Outputs that were a tree over exactly their words; the others were repaired."""

    @property
    def well_formed_rate(self) -> float:
        """In percent."""
        return 100 * self.well_formed / len(self.trees) if self.trees else 0.0


def parses(sources: Iterable[str], outputs: Iterable[str], *, tags: bool) -> Parses:
    """Read linearised trees.

    Args:
        sources: words separated by spaces, at least one each.
        outputs: one for each, symbols separated by spaces.
        tags: whether outputs have the words' tags; if not, symbols other than brackets are read as `XX`.
    """
    trees: list[Tree] = []
    well_formed = 0
    for source, output in zip(sources, outputs, strict=True):
        words, tokens = split_symbols(source), split_symbols(output)
        symbols = tokens if tags else tuple(map(_without_tag, tokens))
        well_formed += symbols == tokens and is_well_formed(tokens, len(words))
        trees.append(repair(symbols, words))
    return Parses(trees, well_formed)


def _without_tag(token: str) -> str:
    return token if token.startswith((OPENING, CLOSING)) else WORD


def split_symbols(line: str) -> tuple[str, ...]:
    """Words or symbols of a line, separated by spaces only: a word may contain other white space."""
    return tuple(filter(None, line.split(" ")))
