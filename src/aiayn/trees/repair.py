"""Trees out of whatever tokens a model has written, over exactly the words of its input.

What is read from left to right is believed, and no more is changed than a tree asks for:

- A closing bracket closes the innermost constituent of its label, and those inside it that lack theirs. Where no
  constituent of its label is open it is dropped.
- The outermost constituent ends with the sentence: what would close it sooner closes what is inside it.
- Once every word has its place, what follows is dropped, symbols of further words too, and all that is open is closed.
  Words that have no symbol become `XX` in the innermost constituent that is open at the end.
- A constituent without a word is dropped, and so is what could be no token of a tree.
- Where words come before the first bracket, there would be several trees: they hang under `TOP`, which is not scored.

So tokens that are well formed give the tree that they stand for, and repairing what was repaired changes nothing.
"""

import re
from collections.abc import Sequence

from aiayn.trees.linearization import CLOSING, OPENING, WORD, delinearize
from aiayn.trees.normalization import ROOT
from aiayn.trees.tree import TEXT, Tree

_TOKEN = re.compile(rf"[()]{TEXT}*|{TEXT}+")


def is_well_formed(tokens: Sequence[str], num_words: int) -> bool:
    """Whether the tokens are those of one tree over so many words."""
    try:
        delinearize(tokens, [WORD] * num_words)
    except ValueError:
        return False
    return True


def repair(tokens: Sequence[str], words: Sequence[str]) -> Tree:
    """A tree over exactly the words, whatever the tokens are; that of the tokens where they are well formed.

    Raises:
        ValueError: no words, or one that no tree can hold; see `Tree`.
    """
    tree = _Unfinished(words)
    for token in tokens:
        if not tree.missing:
            break
        if not _TOKEN.fullmatch(token):
            continue
        if token.startswith(OPENING):
            tree.open(token.removeprefix(OPENING))
        elif token.startswith(CLOSING):
            tree.close(token.removeprefix(CLOSING))
        else:
            tree.place_word(token)
    return tree.finish()


class _Unfinished:
    """A tree from left to right, as far as it is known."""

    def __init__(self, words: Sequence[str]) -> None:
        if not words:
            raise ValueError("there is no tree over no words")
        self.missing = list(reversed(words))
        """The words that have no place yet, the next one last."""
        self._open: list[tuple[str, list[Tree]]] = [
            (ROOT, [])
        ]  # the first takes the tree, or the trees, that come of it

    def open(self, label: str) -> None:
        self._open.append((label, []))

    def close(self, label: str) -> None:
        """Close the innermost constituent of this label with those inside it; the outermost, only if it is empty."""
        depth = max((depth for depth, (other, _) in enumerate(self._open) if depth and other == label), default=0)
        if depth:
            self._close_above(max(depth, 2))
            if depth == 1 and not self._open[1][1]:
                self._open.pop()

    def place_word(self, tag: str) -> None:
        self._open[-1][1].append(Tree(tag, word=self.missing.pop()))

    def finish(self) -> Tree:
        while self.missing:
            self.place_word(WORD)
        self._close_above(1)
        _, trees = self._open[0]
        return trees[0] if len(trees) == 1 else Tree(ROOT, tuple(trees))

    def _close_above(self, depth: int) -> None:
        """Close what is open at this depth and deeper."""
        while len(self._open) > depth:
            label, children = self._open.pop()
            if children:
                self._open[-1][1].append(Tree(label, tuple(children)))
