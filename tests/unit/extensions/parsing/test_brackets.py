"""Labelled brackets: what EVALB's parameter file asks for on trees counted by hand, and what holds of any trees."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiayn.data.grammar.tree import Tree
from aiayn.evaluation.bracket_counts import BracketScores, SentenceBrackets, total
from aiayn.extensions.parsing.brackets import score_brackets, score_sentences, scores_by_length
from aiayn.extensions.parsing.reading import read_tree

GOLD = "(S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (NP (DT a) (NN man)) (PP (IN with) (NP (DT a) (NN dog))))) (. .))"
"""Seven brackets: S, NP 0-2, VP 2-8, NP 3-8, NP 3-5, PP 5-8, NP 6-8."""


def score(gold: str, predicted: str, *, tags: bool = True) -> BracketScores:
    """Of one sentence."""
    return score_brackets([read_tree(gold)], [read_tree(predicted)], tags=tags)


def brackets(scores: BracketScores) -> tuple[int, int, int]:
    """Brackets that match, of the gold tree, of the predicted one."""
    return scores.matched, scores.gold, scores.predicted


def test_an_attachment_to_the_verb_loses_the_noun_phrase_alone() -> None:
    # "with a dog" moves up to VP: S, NP 0-2, VP, NP 3-5, PP and NP 6-8 are as in gold, its NP 3-8 is in nothing.
    predicted = (
        "(S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (DT a) (NN man)) (PP (IN with) (NP (DT a) (NN dog)))) (. .))"
    )
    scores = score(GOLD, predicted)
    assert brackets(scores) == (6, 7, 6)
    assert scores.precision == 100.0
    assert scores.recall == pytest.approx(100 * 6 / 7)
    assert scores.f1 == pytest.approx(2 * scores.precision * scores.recall / (scores.precision + scores.recall))
    assert (scores.exact, scores.crossing, scores.uncrossed) == (0, 0, 1)


COUNTED = {
    "a label is part of a bracket": ("(S (NP (NN x)) (VP (VB y)))", "(S (NP (NN x)) (NP (VB y)))", (2, 3, 3)),
    # collins.prm deletes TOP alone; S and NP are left.
    "TOP is no bracket": ("(TOP (S (NP (NN x))))", "(S (NP (NN x)))", (2, 2, 2)),
    "a root of another name is a bracket": ("(ROOT (S (NP (NN x))))", "(S (NP (NN x)))", (2, 3, 2)),
    # PRN holds a comma and nothing else; in the prediction it holds "x", too. The gold tree has S and NP.
    "punctuation alone is no bracket": ("(S (PRN (, ,)) (NP (NN x)))", "(S (PRN (, ,) (NP (NN x))))", (2, 2, 3)),
    "function tags and indices do not count": ("(S-TPC-1 (NP-SBJ=2 (NN x)))", "(S (NP (NN x)))", (2, 2, 2)),
    "a particle is an adverb phrase": ("(VP (VB give) (PRT (RP up)))", "(VP (VB give) (ADVP (RP up)))", (2, 2, 2)),
    # As one label they are also one bracket twice: a chain of both matches a chain of either.
    "a chain of both is one label twice": ("(PRT (ADVP (RP up)))", "(ADVP (ADVP (RP up)))", (2, 2, 2)),
    # EVALB goes by spans, not by what is within what.
    "a chain of two labels matches in any order": ("(S (VP (VB go)))", "(VP (S (VB go)))", (2, 2, 2)),
}


@pytest.mark.parametrize(("gold", "predicted", "counts"), COUNTED.values(), ids=[*COUNTED])
def test_brackets_are_counted_by_label_and_span(gold: str, predicted: str, counts: tuple[int, int, int]) -> None:
    assert brackets(score(gold, predicted)) == counts


@pytest.mark.parametrize(
    ("tag", "matched", "words"),
    [
        *((tag, 3, 2) for tag in (",", ":", "``", "''", ".")),
        *((tag, 2, 3) for tag in ("-LRB-", "-RRB-", "HYPH", "$", "#", "SYM")),
    ],
)
def test_brackets_span_words_and_other_marks_and_no_punctuation(tag: str, matched: int, words: int) -> None:
    # The mark after "x" within NP in gold and within S in the prediction: without it, both NP span "x" alone.
    gold, predicted = f"(S (NP (NN x) ({tag} -)) (VP (VB y)))", f"(S (NP (NN x)) ({tag} -) (VP (VB y)))"
    scores = score(gold, predicted)
    assert brackets(scores) == (matched, 3, 3)
    assert (scores.tagged, scores.exact) == (words, int(matched == 3))


def test_traces_and_what_only_holds_traces_are_not_there() -> None:
    # The example of EVALB's documentation: of (SBAR 0 (S *T*-1)) nothing is left.
    gold = "(S (NP (PRP he)) (VP (VBD said) (SBAR (-NONE- 0) (S (-NONE- *T*-1)))) (. .))"
    scores = score(gold, "(S (NP (PRP he)) (VP (VBD said)) (. .))")
    assert brackets(scores) == (3, 3, 3)
    assert scores.errors == 0
    (sentence,) = score_sentences([read_tree(gold)], [read_tree(gold)], tags=True)
    assert sentence.length == 3, "he, said and the stop: traces are no words, punctuation is"


@pytest.mark.parametrize("in_gold", [1, 2, 3])
@pytest.mark.parametrize("in_prediction", [1, 2, 3])
def test_of_a_chain_of_one_label_the_smaller_number_matches(in_gold: int, in_prediction: int) -> None:
    # As EVALB's documentation has it: n in gold, m in the prediction; the rest is missing, or too much.
    gold, predicted = ("(NP " * count + "(NN x)" + ")" * count for count in (in_gold, in_prediction))
    assert brackets(score(gold, predicted)) == (min(in_gold, in_prediction), in_gold, in_prediction)


def test_crossing_brackets_are_those_that_overlap() -> None:
    # Gold has AB within ABC. Of the prediction BC crosses AB, twice since there are two of it; ABC and C cross nothing.
    gold, predicted = "(S (X (A a) (B b)) (C c))", "(S (A a) (Y (Z (B b) (W (C c)))))"
    scores = score(gold, predicted)
    assert (scores.crossing, scores.uncrossed) == (2, 0)
    assert brackets(scores) == (1, 2, 4)


def test_tags_are_compared_where_they_were_predicted() -> None:
    gold, predicted = (
        "(S (NP (DT the) (NN dog)) (VP (VBZ barks)) (. .))",
        "(S (NP (DT the) (NN dog)) (VP (NNS barks)) (. .))",
    )
    assert score(gold, predicted).tagging_accuracy == pytest.approx(100 * 2 / 3), "the stop is no word"
    untagged = "(S (NP (XX the) (XX dog)) (VP (XX barks)) (XX .))"
    scores = score(gold, untagged, tags=False)
    assert scores.tagging_accuracy is None
    assert brackets(scores) == (3, 3, 3), "that the last word is punctuation is known from the gold tree"


def test_other_words_are_an_error_and_count_nowhere_else() -> None:
    for other in ("(S (NP (NN y)))", "(S (NP (NN x) (NN x)))"):
        assert score("(S (NP (NN x)))", other) == BracketScores(sentences=1, errors=1)


def test_a_sentence_of_punctuation_is_skipped() -> None:
    scores = score("(S (. .))", "(X (. .))")
    assert scores == BracketScores(sentences=1, skipped=1)
    assert (scores.valid, scores.f1, scores.exact_match) == (0, 0.0, 0.0)


def test_a_corpus_is_scored_by_its_brackets_and_not_by_its_sentences() -> None:
    # The first sentence matches 7 of 7; the second 1 of 2 in a prediction of 1: P 8/8, R 8/9, and not the mean of F1.
    gold = [read_tree(GOLD), read_tree("(S (NP (NN x)))")]
    scores = score_brackets(gold, [gold[0], read_tree("(S (NN x))")], tags=True)
    assert scores.precision == 100.0
    assert scores.recall == pytest.approx(100 * 8 / 9)
    assert scores.f1 == pytest.approx(100 * 16 / 17)
    assert (scores.exact_match, scores.valid) == (50.0, 2)


def test_as_many_trees_of_both_kinds_are_needed() -> None:
    with pytest.raises(ValueError, match=r"shorter"):
        score_brackets([read_tree(GOLD)], [], tags=True)


def inner(children: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    label = st.sampled_from(["S", "NP", "VP", "PRT", "ADVP", "TOP", "NP-SBJ"])
    return st.builds(lambda name, parts: Tree(name, tuple(parts)), label, st.lists(children, min_size=1, max_size=3))


TAGS = st.sampled_from(["NN", "VB", "-LRB-", ",", ".", "-NONE-"])
TREES = st.recursive(st.builds(lambda tag: Tree(tag, word="w"), TAGS), inner, max_leaves=6)


@st.composite
def two_over_the_same_words(draw: st.DrawFn) -> tuple[Tree, Tree]:
    """A tree, and another one over its words: runs of neighbours put under new labels, again and again."""
    tree = draw(TREES)
    parts = [Tree(tag, word=word) for word, tag in zip(tree.words(), tree.tags(), strict=True)]
    for _ in range(draw(st.integers(0, 5))):
        start = draw(st.integers(0, len(parts) - 1))
        end = draw(st.integers(start + 1, len(parts)))
        parts[start:end] = [Tree(draw(st.sampled_from(["S", "NP", "PRT"])), tuple(parts[start:end]))]
    return tree, Tree("S", tuple(parts))


PAIRS = two_over_the_same_words()


@given(TREES)
def test_a_tree_is_itself(tree: Tree) -> None:
    scores = score_brackets([tree], [tree], tags=True)
    assert scores.errors == scores.crossing == 0
    assert scores.matched == scores.gold == scores.predicted
    assert scores.exact == scores.valid
    assert scores.tagging_accuracy == (100.0 if scores.valid else None)


@given(PAIRS)
def test_precision_is_recall_the_other_way_round(pair: tuple[Tree, Tree]) -> None:
    there, back = (score_brackets([one], [other], tags=True) for one, other in (pair, pair[::-1]))
    assert (there.precision, there.recall, there.f1) == (back.recall, back.precision, back.f1)
    assert (there.exact, there.correct_tags) == (back.exact, back.correct_tags)
    assert there.matched <= min(there.gold, there.predicted)
    assert there.matched + there.crossing <= there.predicted, "what matches crosses nothing"


@settings(max_examples=40)
@given(st.lists(PAIRS, min_size=1, max_size=4).flatmap(lambda pairs: st.tuples(st.just(pairs), st.permutations(pairs))))
def test_parts_add_up_to_the_whole_in_any_order(pairs: tuple[list[tuple[Tree, Tree]], list[tuple[Tree, Tree]]]) -> None:
    in_order, shuffled = pairs
    alone = [score_brackets([gold], [other], tags=True) for gold, other in shuffled]
    gold, predicted = zip(*in_order, strict=True)
    cut = len(alone) // 2
    assert sum(alone[:cut], BracketScores()) + sum(alone[cut:], BracketScores()) == score_brackets(
        gold, predicted, tags=True
    )
    assert total(score_sentences(gold, predicted, tags=True)) == score_brackets(gold, predicted, tags=True)


@given(st.lists(st.integers(1, 60), max_size=40))
def test_every_sentence_is_in_one_range_of_lengths(lengths: list[int]) -> None:
    parts = scores_by_length([SentenceBrackets(length, BracketScores(sentences=1)) for length in lengths])
    assert parts.pop("at most 40", BracketScores()).sentences == sum(length <= 40 for length in lengths)
    assert sum(parts.values(), BracketScores()).sentences == len(lengths)
    for words, scores in parts.items():
        shortest, _, longest = words.partition(" to ")
        assert scores.sentences == sum(int(shortest) <= length <= int(longest or shortest) for length in lengths)


def test_a_chain_deeper_than_the_stack_is_scored() -> None:
    deep = read_tree("(S " * 5000 + "(NN x)" + ")" * 5000)
    assert score_brackets([deep], [deep], tags=True).matched == 5000
