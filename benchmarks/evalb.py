"""Our bracket scores beside EVALB's, sentence by sentence, on gold trees and the same trees disturbed at random.

    python benchmarks/evalb.py EVALB COLLINS.prm GOLD.ptb.gz [--seed 1] [--punctuation]

EVALB is the program of Sekine and Collins; its source and COLLINS.prm are in the wheel of allennlp 0.9.0:
`gcc -std=gnu89 -w -o evalb evalb.c`. With --punctuation tags of punctuation are disturbed, too: where EVALB then gives
a sentence up, ours does not, because it takes the gold tree's.
"""

import argparse
import gzip
import random
import subprocess
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from aiayn.data.grammar.tree import Tree
from aiayn.evaluation.bracket_counts import BracketScores, SentenceBrackets
from aiayn.extensions.parsing.brackets import DELETED, score_sentences
from aiayn.extensions.parsing.reading import read_trees

MOST = 190
"""EVALB has room for 200 brackets and words a sentence, and does not look; disturbed trees may have twice as many."""


def disturbed(tree: Tree, rng: random.Random, tags: Sequence[str], labels: Sequence[str], share: float) -> Tree:
    """The tree with tags and labels changed, constituents dissolved, made, and doubled.

    Args:
        tree: to take from.
        rng: draws.
        tags: to draw from; a word of another tag keeps it.
        labels: to draw from.
        share: how often each is done.
    """
    if tree.word is not None:
        is_changed = tree.label in tags and rng.random() < share
        return Tree(rng.choice(tags), word=tree.word) if is_changed else tree
    children: list[Tree] = []
    for child in tree.children:
        part = disturbed(child, rng, tags, labels, share)
        children += part.children if part.children and rng.random() < share else [part]
    if len(children) > 1 and rng.random() < share:
        start = rng.randrange(len(children))
        end = rng.randint(start + 1, len(children))
        children[start:end] = [Tree(rng.choice(labels), tuple(children[start:end]))]
    whole = Tree(rng.choice(labels) if rng.random() < share else tree.label, tuple(children))
    return Tree(whole.label, (whole,)) if rng.random() < share else whole


def evalb(program: Path, parameters: Path, gold: Sequence[Tree], predicted: Sequence[Tree]) -> list[list[int]]:
    """EVALB's status, matched, gold, predicted and crossing brackets, words and correct tags of each sentence."""
    with tempfile.TemporaryDirectory() as work:
        for name, trees in (("gold", gold), ("predicted", predicted)):
            (Path(work) / name).write_text("".join(f"{tree}\n" for tree in trees), encoding="utf-8")
        command = [str(program.resolve()), "-p", str(parameters.resolve()), "-e", "1000000", "gold", "predicted"]
        said = subprocess.run(command, cwd=work, check=True, capture_output=True, encoding="utf-8").stdout
    table = said.split("=\n")[1]
    rows = [line.split() for line in table.splitlines() if line.split()[:1] != ["="]]
    return [[int(row[column]) for column in (2, 5, 6, 7, 8, 9, 10)] for row in rows if len(row) == 12]


def ours(sentence: SentenceBrackets) -> list[int]:
    """The same of one of ours."""
    scores = sentence.scores
    status = 1 * scores.errors + 2 * scores.skipped
    counts = (scores.matched, scores.gold, scores.predicted, scores.crossing, scores.tagged, scores.correct_tags)
    return [status, *counts]


def main() -> None:
    """Compare, and print how many sentences are equal."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("parameters", type=Path)
    parser.add_argument("gold", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--punctuation", action="store_true")
    chosen = parser.parse_args()
    with gzip.open(chosen.gold, "rt", encoding="utf-8") as lines:
        gold = [tree for tree in read_trees(lines) if max(len(tree.words()), 2 * len([*tree.spans()])) < MOST]
    rng = random.Random(chosen.seed)
    tags = sorted({tag for tree in gold for tag in tree.tags() if chosen.punctuation or tag not in DELETED})
    labels = sorted({span.label for tree in gold for span in tree.spans()} | {"TOP"})
    for share in (0.0, 0.02, 0.1, 0.3):
        predicted = [disturbed(tree, rng, tags, labels, share) for tree in gold]
        own = list(score_sentences(gold, predicted, tags=True))
        theirs = evalb(chosen.program, chosen.parameters, gold, predicted)
        given_up = {number for number, row in enumerate(theirs) if row[0] == 1}
        equal = Counter(
            ours(mine) == other
            for number, (mine, other) in enumerate(zip(own, theirs, strict=True))
            if number not in given_up
        )
        score = sum((sentence.scores for sentence in own), BracketScores())
        print(
            f"disturbed {share:4.0%}: {len(gold)} sentences, {equal[True]} equal, {equal[False]} not, "
            f"{len(given_up)} given up by EVALB; F1 {score.f1:.2f}, theirs {f1(theirs):.2f}, "
            f"exact {score.exact_match:.2f}, tags {score.tagging_accuracy:.2f}, crossing {score.crossing}"
        )


def f1(rows: Sequence[Sequence[int]]) -> float:
    """EVALB's own, of the sentences that it counts."""
    matched, gold, predicted = (sum(row[column] for row in rows if row[0] == 0) for column in (1, 2, 3))
    return 200 * matched / (gold + predicted)


if __name__ == "__main__":
    main()
