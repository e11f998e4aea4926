"""Trees as sequences of tokens, as Vinyals et al. (2015, "Grammar as a Foreign Language") write them.

`(S (NP (NNS dogs)) (VP (VBP bark)))` is `(S (NP XX )NP (VP XX )VP )S`: a closing bracket repeats the label, words are
left out, and one symbol stands for any tag. Those authors found that not predicting tags, which F1 does not score, gave
them about one point of it.
"""

from collections.abc import Sequence

from aiayn.trees.tree import Tree

OPENING = "("
"""What the token that opens a constituent begins with; its label follows."""
CLOSING = ")"
"""What the token that closes a constituent begins with; its label follows."""
WORD = "XX"
"""The token of a word whose tag is left out."""


def linearize(tree: Tree, *, tags: bool) -> tuple[str, ...]:
    """The tokens of the tree from left to right; none is empty or holds a space.

    Args:
        tree: any tree.
        tags: write the tag of each word, and not `XX`.
    """
    return tuple(_token(node, opens, tags=tags) for node, opens in tree.walk())


def delinearize(tokens: Sequence[str], words: Sequence[str]) -> Tree:
    """The tree that has these tokens and words; where a token is `XX`, so is the word's tag.

    Raises:
        ValueError: the tokens are not those of one tree over as many words.
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
