"""Simulate Table 3: the shares of wrong verdicts where no row differs, and the power for the paper's differences.

Run: python benchmarks/verdicts.py [--tables 4000] [--deviation 0.012] [--sentences 0.0025]
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from aiayn.evaluation.decisions import Design, Hypothesis, Noise
from aiayn.evaluation.significance import Floats, SeedNoise
from aiayn.paper.claims import Claim, Metric, load_claims
from aiayn.paper.tables import load_table3
from aiayn.reports.judgement import POWER_CONFIDENCE


def main() -> None:
    """Print the shares of errors, and the power of each claim."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", type=int, default=4000)
    parser.add_argument("--seeds", type=int, default=4, help="of each row")
    parser.add_argument("--base-seeds", type=int, default=8)
    parser.add_argument("--deviation", type=float, default=0.012, help="between seeds, of log PPL")
    parser.add_argument("--sentences", type=float, default=0.0025, help="standard error by sentences, of log PPL")
    parser.add_argument("--pilots", type=int, default=5, help="of base")
    chosen = parser.parse_args()
    claims = load_claims()
    seeds = [chosen.base_seeds if row.id == "base" else chosen.seeds for row in load_table3().rows]
    bleu = Noise(1.3**2, 0.5**2)  # as measured at nano
    known = [Noise(chosen.deviation**2, chosen.sentences**2), bleu]
    upper = SeedNoise(chosen.deviation**2, 0.0, chosen.pilots - 1, 0.0, 0.0).upper_variance(POWER_CONFIDENCE)
    by_rule = [replace(known[0], seeds=upper), bleu]

    def shares(effect: float | None, noises: Sequence[Noise]) -> tuple[Floats, float]:
        design = _design(claims, seeds, effect)
        found = design.simulate(noises, np.random.default_rng(0), chosen.tables)
        reproduced = [found.supported[:, list(each)].all(axis=-1).mean() for each in design.claims]
        return np.array(reproduced), float(found.contradicted.any(axis=-1).mean())

    none, contradicted = shares(0.0, known)
    alike = [n for n, claim in enumerate(claims) if any(each.within for each in claim.primary)]
    at_margin, _ = shares(None, known)
    print(f"tables with a false contradiction, no row differs: {contradicted:.2%}")
    worst = max(share for n, share in enumerate(none) if n not in alike)
    print(f"a claim falsely reproduced, no row differs, the worst: {worst:.2%}")
    print(f"alike concluded at the margin: {max(at_margin[n] for n in alike):.2%}")
    print(f"power, at the true deviation, and at the upper bound from {chosen.pilots} pilots that show it:")
    (true, _), (bound, _) = shares(1.0, known), shares(1.0, by_rule)
    for claim, one, other in zip(claims, true, bound, strict=True):
        print(f"{claim.id:>20} {one:>5.0%} {other:>5.0%}")


def _design(claims: Sequence[Claim], seeds: Sequence[int], effect: float | None) -> Design:
    """The paper's claims; effects are the paper's times `effect`, or of likeness the margin (None)."""
    places = {row.id: n for n, row in enumerate(load_table3().rows)}
    hypotheses = []
    for each in chain.from_iterable(claim.primary for claim in claims):
        first, second = (places[row] for row in each.rows)
        one = Hypothesis(first, second, each.sign, each.within or 0.0, each.effect, list(Metric).index(each.metric))
        true = one.margin if effect is None else each.effect * effect
        hypotheses.append(replace(one, effect=true))
    numbers = iter(range(len(hypotheses)))
    return Design(hypotheses, [[next(numbers) for _ in claim.primary] for claim in claims], seeds)


if __name__ == "__main__":
    main()
