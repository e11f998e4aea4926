"""Trees of every shape for Hypothesis."""

from hypothesis import strategies as st

from aiayn.data.grammar.tree import Tree

SPACE = " \t\n\r\f\v\x1c\x1d\x1e\x85\u2028\u2029"
TEXT = st.text(st.characters(codec="utf-8", exclude_characters=f"(){SPACE}"), min_size=1, max_size=6)
SPECIAL = st.sampled_from(["⟨pad⟩", "⟨bos⟩", "⟨eos⟩", "⟨unk⟩", "⟨unk-LC⟩", "</s>", "<unk>", "\xa0", "\0"])
WORDS = st.sampled_from(["dog", "-LRB-", "-RRB-", "1/2", "\\/", "it's", "a\xa0b", "XX", "0", "*T*-1"]) | SPECIAL | TEXT
TAGS = st.sampled_from(["NN", "VBZ", ",", "``", "-LRB-", "PRP$", "XX"]) | SPECIAL | TEXT
LABELS = st.sampled_from(["S", "NP", "NP-SBJ", "VP", "", "S=2", "ADJP|PRN", "-"]) | SPECIAL | TEXT

_PRETERMINALS = st.builds(lambda tag, word: Tree(tag, word=word), TAGS, WORDS)
_BUSHES = st.recursive(
    _PRETERMINALS,
    lambda trees: st.builds(Tree, LABELS, st.lists(trees, min_size=1, max_size=4).map(tuple)),
    max_leaves=12,
)


def chain(tree: Tree, label: str, depth: int) -> Tree:
    """The tree below as many unary nodes."""
    for _ in range(depth):
        tree = Tree(label, (tree,))
    return tree


TREES = _BUSHES | st.builds(chain, _BUSHES, LABELS, st.integers(1, 5))
