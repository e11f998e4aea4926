"""What preparing a corpus costs beside its bare encoding, and what a large corpus needs of the memory.

    AIAYN_DATA=... .venv/bin/python benchmarks/preparation.py [--pairs 50000 200000 1000000] [--index 5000000 36000000]
    AIAYN_DATA=... .venv/bin/python benchmarks/preparation.py --repetitions 0 --pairs --index --large 5000000

`AIAYN_DATA` is the folder of real text that the tests use. Memory is measured in processes of their own, on Linux.
`--processes` is how many encode the large corpus; its text and files take some gigabytes of the temporary folder.
"""

import argparse
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from itertools import cycle, islice
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from aiayn.data.batches.epoch_plan import plan_epoch
from aiayn.data.corpora.text_files import SplitFiles, TextFilesCorpus
from aiayn.data.lines import aligned_lines
from aiayn.data.preparation.filters import Filters
from aiayn.data.preparation.prepared import PreparationSettings, PreparedData, prepare

SETTINGS = PreparationSettings(vocabulary_size=8_000, max_length=256)
CHUNK = 2_000
"""Sentences that the bare encoding is given at a time: as many as preparation gives, which suits it best."""

CORPORA = ("multi30k", "docs")
"""Folders of AIAYN_DATA: captions, and five times as much software documentation."""

Row = dict[str, Any]


def measure(
    *,
    repetitions: int = 5,
    corpora: Sequence[str] = CORPORA,
    pairs: Sequence[int] = (50_000, 200_000),
    index: Sequence[int] = (5_000_000,),
    large: Sequence[int] = (),
    processes: int = 1,
) -> list[Row]:
    """Every measurement, one row each: `what`, `pairs`, and its figures by name; none where there is no text."""
    if "AIAYN_DATA" not in os.environ:
        return []
    text = Path(os.environ["AIAYN_DATA"]) / "multi30k"
    with tempfile.TemporaryDirectory() as folder:
        compared = corpora if repetitions else ()
        rows = [_speed(text.parent / corpus, Path(folder) / corpus, repetitions) for corpus in compared]
        rows += [_apart(_preparation_memory, text, Path(folder) / str(size), size) for size in pairs]
        rows += [_apart(_large_corpus, text, Path(folder) / f"large-{size}", size, processes) for size in large]
        rows += [_apart(_index_memory, _lengths(text, Path(folder)), size) for size in index]
    return rows


def _speed(text: Path, folder: Path, repetitions: int) -> Row:
    """Preparation end to end, its tokenizer being there, beside `encode_batch` over the same text in memory."""
    folder.mkdir()
    source, target = (_unpacked(text / f"train.{language}.gz", folder) for language in ("en", "de"))
    pairs = list(aligned_lines(source, target, ""))
    data = _prepared(source, target, folder / "cache")
    tokenizer = Tokenizer.from_file(str(data.directory / "tokenizer.json"))
    sides = [[pair[side] for pair in (*pairs, *pairs[:2])] for side in (0, 1)]  # dev and test have a pair each

    def end_to_end() -> None:
        _prepared(source, target, folder / "cache")

    def bare() -> None:
        for lines in sides:
            for start in range(0, len(lines), CHUNK):
                tokenizer.encode_batch(lines[start : start + CHUNK], add_special_tokens=False)

    took: dict[str, list[float]] = {"end to end": [], "bare": []}
    for _ in range(repetitions):
        shutil.rmtree(data.directory)
        took["end to end"].append(_seconds(end_to_end))
        took["bare"].append(_seconds(bare))
    return {
        "what": f"prepare, as a share of bare encode_batch, {text.name}",
        "pairs": len(pairs),
        "pairs/s": round(len(pairs) / median(took["end to end"])),
        "bare pairs/s": round(len(pairs) / median(took["bare"])),
        "ratio": round(median(b / e for e, b in zip(took["end to end"], took["bare"], strict=True)), 2),
    }


def _preparation_memory(text: Path, folder: Path, size: int) -> Row:
    """The peak of preparing so many pairs of real sentences, said again and again."""
    lines = [list(islice(aligned_lines(path, path, ""), 29_000)) for path in sorted(text.glob("train.[de][en].gz"))]
    folder.mkdir()
    files = [folder / "text.de", folder / "text.en"]
    for path, side in zip(files, lines, strict=True):
        with path.open("w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line, _ in islice(cycle(side), size))
    del lines
    with _peak() as peak:
        started = time.perf_counter()
        _prepared(files[1], files[0], folder / "cache")
    shutil.rmtree(folder)
    return {"what": "prepare", "pairs": size, "seconds": round(time.perf_counter() - started, 1), **peak}


def _large_corpus(text: Path, folder: Path, size: int, processes: int) -> Row:
    """The peak of preparing so many synthetic pairs with all filters, the vocabulary included.

    Real sentences are said again and again, each time with another pair of numbers and, in one of ten, a new word; one
    pair of twenty is said twice. The memory is that of the first process; with several, each of the others holds a
    shard.
    """
    folder.mkdir()
    lines = [list(islice(aligned_lines(path, path, ""), 29_000)) for path in sorted(text.glob("train.[de][en].gz"))]
    files = [folder / "text.de", folder / "text.en"]
    for path, side in zip(files, lines, strict=True):
        with path.open("w", encoding="utf-8") as file:
            for number in range(size):
                place = number - 1 if number % 20 == 1 else number  # the pair before once more
                word = f" w{place:x}" if place % 10 == 0 else ""
                file.write(f"{side[place % len(side)][0]} {place % 1000} {place // 1000}{word}\n")
    del lines
    filters = Filters(max_ratio=9, language=True, duplicates=True, contaminated=True)
    with _peak() as peak:
        started = time.perf_counter()
        data = _prepared(files[1], files[0], folder / "cache", replace(SETTINGS, filters=filters), processes)
    seconds = time.perf_counter() - started
    counts = {name: number for name, number in data.manifest["splits"]["train"].items() if number}
    shutil.rmtree(folder)
    return {"what": f"prepare, processes {processes}", "seconds": round(seconds, 1), **peak, **counts}


def _index_memory(lengths: list[list[int]], size: int) -> Row:
    """The peak of planning a pass over so many pairs whose lengths are drawn from real ones, within 25,000 tokens."""
    rng = np.random.default_rng(0)
    chosen = rng.integers(0, len(lengths[0]), size, np.int32)
    source, target = (np.array(side, np.int32)[chosen] for side in lengths)
    del chosen
    with _peak() as peak:
        started = time.perf_counter()
        plan = plan_epoch(source, target, source_tokens=25_000, target_tokens=25_000, seed=0, epoch=0)
        seconds = time.perf_counter() - started
    return {"what": "plan an epoch", "pairs": size, "batches": len(plan), "seconds": round(seconds, 1), **peak}


def _lengths(text: Path, folder: Path) -> list[list[int]]:
    data = _prepared(text / "train.en.gz", text / "train.de.gz", folder / "cache").split("train")
    return [side.lengths.tolist() for side in (data.source, data.target)]


def _prepared(
    source: Path, target: Path, cache: Path, settings: PreparationSettings = SETTINGS, processes: int = 1
) -> PreparedData:
    one = cache.parent / "one"
    one.write_text("one\n")
    train, other = SplitFiles(str(source), str(target)), SplitFiles(str(one), str(one))
    corpus = TextFilesCorpus(
        files={"train": train, "dev": other, "test": other},
        source_language="en",
        target_language="de",
    )
    return prepare(corpus, settings=settings, cache=cache, processes=processes)


def _unpacked(packed: Path, folder: Path) -> Path:
    path = folder / packed.stem
    path.write_text("".join(f"{line}\n" for line, _ in aligned_lines(packed, packed, "")), encoding="utf-8")
    return path


def _seconds(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def _apart(function: Callable[..., Row], *arguments: object) -> Row:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(function, *arguments).result()


@contextmanager
def _peak() -> Iterator[Row]:
    """Sample this process' memory; afterwards the row holds MB before and at most.

    `own` is what no other process can use; the rest of the resident memory is files, which the kernel can drop.
    """
    row: Row = {"MB before": _megabytes("RssAnon"), "own MB": 0, "resident MB": 0}
    ended = threading.Event()

    def sample() -> None:
        while not ended.wait(0.01):
            row["own MB"] = max(row["own MB"], _megabytes("RssAnon"))
            row["resident MB"] = max(row["resident MB"], _megabytes("VmRSS"))

    sampler = threading.Thread(target=sample)
    sampler.start()
    try:
        yield row
    finally:
        ended.set()
        sampler.join()


def _megabytes(kind: str) -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.split(f"{kind}:")[1].split()[0]) // 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--pairs", type=int, nargs="*", default=[50_000, 200_000])
    parser.add_argument("--index", type=int, nargs="*", default=[5_000_000])
    parser.add_argument("--large", type=int, nargs="*", default=[])
    parser.add_argument("--processes", type=int, default=1)
    rows = measure(**vars(parser.parse_args()))
    if not rows:
        print("AIAYN_DATA names no folder of real text: nothing measured")
    for row in rows:
        print(
            ", ".join(
                f"{name} {value:,}" if isinstance(value, int) else f"{name} {value}" for name, value in row.items()
            )
        )


if __name__ == "__main__":
    main()
