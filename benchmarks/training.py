"""How fast a step of training is: tokens a second against peers and the machine's matrix products, and its memory.

AIAYN_DATA=... python benchmarks/training.py [--rounds 5] [--without-peers] [--only base]
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

import peers
from contest import Answer, Contender, contest, ratios, spread
from results import Mark, Row, tables
from texts import BASE, SMALL, TINY, Workload, settings
from token_batches import read_batches

OURS, REFERENCE = "aiayn", "torch.nn.Transformer"
CEILINGS = {"torch": "products by torch.mm", "aiayn": "products by the faster library"}
"""How fast square matrices are multiplied: as torch does, which our steps exceed, and as they do."""
PEERS = {"fairseq": "fairseq", "Hugging Face Marian": "marian", "x-transformers": "x_transformers"}


class Contest(NamedTuple):
    """One table."""

    workload: Workload
    threads: int
    """Times are wall times where there are several, processor times where there is one."""
    rounds: int
    mark: float | None
    """The ratio to reach."""
    share: float | None = None
    """Of the ceiling, to reach."""
    gigabytes: float | None = None
    """The most memory to take."""
    with_peers: bool = False


CONTESTS = (
    Contest(BASE, 2, 5, 2.0, share=0.85, gigabytes=2.8, with_peers=True),
    Contest(BASE, 1, 3, None),
    Contest(SMALL, 2, 9, 2.0, with_peers=True),
)


def measure(contests: Sequence[Contest] = CONTESTS, *, quick: bool = False) -> list[Row]:
    """The rows of all tables; the quick ones are of a model that is too small to tell anything."""
    if quick:
        contests = [Contest(TINY, 1, 2, None)]
    rows = []
    for each in contests:
        with tempfile.TemporaryDirectory() as work:
            rows += _measure(each, Path(work))
    return rows


def contenders(*, with_peers: bool) -> list[Contender]:
    """Who takes part, ourselves first."""
    own = [
        *(Contender(name, "trainers:gemm", settings={"library": key}) for key, name in CEILINGS.items()),
        Contender(OURS, "trainers:aiayn", settings={"keep_memory": True}),
        Contender(f"{OURS}, bf16-mixed", "trainers:aiayn", settings={"keep_memory": True, "is_half": True}),
        Contender(f"{OURS}, allocator as it is", "trainers:aiayn", settings={"keep_memory": False}),
        Contender(REFERENCE, "trainers:plain_torch"),
    ]
    if with_peers:
        python = peers.python()
        own += [Contender(name, f"peer_trainers:{maker}", python) for name, maker in PEERS.items()]
    return own


def _measure(each: Contest, work: Path) -> list[Row]:
    warm_up, cpu = 1, each.threads == 1
    given = settings(each.workload, work, batches=each.rounds + warm_up)
    answers, failed = contest(
        contenders(with_peers=each.with_peers),
        given,
        rounds=each.rounds,
        warm_up=warm_up,
        threads=each.threads,
        tell=lambda said: print(f"training {each.workload.title}: {said}", file=sys.stderr, flush=True),
    )
    ceilings = {key: answers.pop(name) for key, name in CEILINGS.items()}
    title = (
        f"Training step, {each.workload.title}, {each.workload.corpus}, {each.workload.budget:,} tokens a side, "
        f"{each.threads} thread{'s' * (each.threads > 1)}"
    )
    rows = []
    for name, done in answers.items():
        is_ours = name == OURS
        rows.append(
            Row(
                title,
                name,
                median(answer.speed(cpu=cpu) for answer in done),
                "tokens/CPU-s" if cpu else "tokens/s",
                ratios(answers, name, REFERENCE, cpu=cpu),
                ratios(answers, name, REFERENCE, cpu=True).median,
                each.rounds,
                Mark(each.mark) if is_ours and each.mark else None,
            )
        )
    rows += [Row(title, name, note=said) for name, said in failed.items()]
    for key, ceiling in ceilings.items():
        rows += _shares(each, given["batches"], answers, key, ceiling, warm_up)
    return rows + _memory(each, answers)


def _shares(
    each: Contest,
    batches: str,
    answers: dict[str, list[Answer]],
    library: str,
    ceiling: Sequence[Answer],
    warm_up: int,
) -> list[Row]:
    """What part of the time the model's own products would take at the speed of square ones."""
    cost = each.workload.cost()
    flops = [
        cost.training_flops(source_tokens=batch.num_source_tokens, target_tokens=batch.num_target_tokens)
        for batch in read_batches(batches)[warm_up:]
    ]
    cpu = each.threads == 1
    threads = f"{each.threads} thread{'s' * (each.threads > 1)}"
    title = f"Share of the ceiling, {CEILINGS[library]}, {each.workload.title}, {threads}"
    speed = spread([answer.speed(cpu=cpu) / 1e9 for answer in ceiling])
    rows = [Row(title, CEILINGS[library], speed.median, "GFLOP/s", rounds=each.rounds)]
    for name, done in answers.items():
        shares = [
            work / most.speed(cpu=cpu) / (answer.cpu_seconds if cpu else answer.seconds)
            for work, answer, most in zip(flops, done, ceiling, strict=True)
        ]
        mark = Mark(each.share) if name == OURS and library == "aiayn" and each.share else None
        rows.append(Row(title, name, None, "", spread(shares), None, each.rounds, mark))
    return rows


def _memory(each: Contest, answers: dict[str, list[Answer]]) -> list[Row]:
    title = f"Peak memory of the process, {each.workload.title}, {each.workload.budget:,} tokens a side"
    mark = Mark(each.gigabytes, "value", "at most") if each.gigabytes else None
    return [
        Row(title, name, max(a.peak_bytes for a in done) / 1e9, "GB", mark=mark if name == OURS else None)
        for name, done in answers.items()
        if mark
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, help="of every contest (default: its own)")
    parser.add_argument("--threads", type=int, help="only contests of so many threads")
    parser.add_argument("--only", choices=sorted({each.workload.title for each in CONTESTS}))
    parser.add_argument("--without-peers", action="store_true", help="our own environment's contenders alone")
    options = parser.parse_args()
    chosen = [
        each._replace(rounds=options.rounds or each.rounds, with_peers=each.with_peers and not options.without_peers)
        for each in CONTESTS
        if options.only in (None, each.workload.title) and options.threads in (None, each.threads)
    ]
    print(tables(measure(chosen)))


if __name__ == "__main__":
    main()
