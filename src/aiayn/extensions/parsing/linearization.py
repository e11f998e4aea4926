"""Trees as sequences of tokens, as in Vinyals et al. (2015, "Grammar as a Foreign Language").

`(S (NP (NNS dogs)) (VP (VBP bark)))` is `(S (NP XX )NP (VP XX )VP )S`: closing brackets repeat the label, words are
omitted, and XX replaces any tag. Not predicting tags, which F1 ignores, gave the authors about one point of F1.
"""

from collections.abc import Sequence

from aiayn.data.grammar.tree import Tree

OPENING = "("
"""Prefix of the token that opens a constituent, before its label."""
CLOSING = ")"
"""Prefix of the token that closes a constituent, before its label."""
WORD = "XX"
"""Token of a word without its tag."""


def linearize(tree: Tree, *, tags: bool) -> tuple[str, ...]:
    """Return the tokens of a tree, none of which is empty or contains a space; `tags` keeps tags instead of `XX`."""
    return tuple(_token(node, opens, tags=tags) for node, opens in tree.walk())


def delinearize(tokens: Sequence[str], words: Sequence[str]) -> Tree:
    """Return the tree of the tokens and words; a token `XX` gives a tag `XX`.

    Raises:
        ValueError: The tokens are not those of one tree over these words.
    """
    unfinished: list[tuple[str, list[Tree]]] = [("", [])]
    num_words = 0
    for token in tokens:
        if token.startswith(OPENING):
            unfinished.append((token.removeprefix(OPENING), []))
            continue
        if token.startswith(CLOSING):
            label, children = unfinished.pop()
            if not unfinished or token != CLOSING + label:
                raise ValueError(f"{token!r} closes no constituent that is open")
            tree = Tree(label, tuple(children))
        elif num_words == len(words):
            raise ValueError(f"{token!r} would be word {num_words + 1} of {len(words)}")
        else:
            tree = Tree(token, word=words[num_words])
            num_words += 1
        unfinished[-1][1].append(tree)
    if len(unfinished) > 1:
        raise ValueError(f"'{OPENING}{unfinished[-1][0]}' is never closed")
    if num_words < len(words):
        raise ValueError(f"{num_words} words where there are {len(words)}")
    if len(trees := unfinished[0][1]) != 1:
        raise ValueError(f"{len(trees)} trees where there must be one")
    return trees[0]


def _token(node: Tree, opens: bool, *, tags: bool) -> str:
    if node.word is not None:
        return node.label if tags else WORD
    return (OPENING if opens else CLOSING) + node.label
