"""The first day with a GPU: every experiment on it, its agreement with the CPU, its speed, a profile, a search.

    make gpu                                  # all stages but table3, on cuda
    make gpu STAGES="agreement speed"
    make gpu STAGES=table3                    # rows of Table 3, as many as fit
    PYTHONPATH=src:benchmarks python benchmarks/gpu.py --device cpu --tiny --output /tmp/gpu

Each measurement is written to `<output>/gpu.json` as soon as it is made, and is not made again unless it failed;
`--again` forgets those of the stages named. A stage begins no measurement after its time is over: the same command
continues. `<output>/gpu-<stage>.md` shows what there is. The program needs the packages of pyproject.toml, and neither
an installed aiayn nor a network.
"""

import argparse
import json
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from aiayn.errors import RunFailedError
from aiayn.system import files
from aiayn.system.torch_environment import set_torch_environment

Figures = dict[str, Any]

STAGES = {
    "experiments": 200,
    "compiled": 90,
    "agreement": 30,
    "speed": 330,
    "profile": 90,
    "decoding": 60,
    "table3": 480,
}
"""Seconds after which a stage begins no further measurement; 15 minutes for the core, the first six, with what is then
under way."""

OPTIONAL = ("table3",)

ABOUT, FAILURE = "about", "failure"
"""Keys of a measurement: the commit, device and torch that it was made with, and why it failed."""


def main(words: Sequence[str]) -> int:
    """Make the measurements that are missing; 1 if one failed or is still missing, 2 if none can be made here."""
    set_torch_environment()
    core = [stage for stage in STAGES if stage not in OPTIONAL]
    parser = argparse.ArgumentParser(description="Measure on a GPU what the project promises of one.")
    parser.add_argument("stages", nargs="*", default=core, metavar="stage", help=f"of {', '.join(STAGES)}")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--tiny", action="store_true", help="sizes of a test")
    parser.add_argument("--again", action="store_true", help="forget earlier measurements of these stages")
    parser.add_argument("--output", type=Path, default=Path(__file__).parents[1] / "docs" / "results")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "aiayn-gpu")
    given = parser.parse_args(words)
    problem = _problem(given.stages, given.device)
    if problem is not None:
        print(f"make gpu: {problem}", file=sys.stderr)
        return 2
    from gpu_stages import Bench

    given.work.mkdir(parents=True, exist_ok=True)
    given.output.mkdir(parents=True, exist_ok=True)
    bench, about = Bench(given.device, given.tiny, given.work), about_device(given.device)
    how = {"about": about, "device": given.device, "again": given.again}
    try:
        complete = [
            measure(stage, bench.measurements(stage), given.output, seconds=STAGES[stage], **how)
            for stage in given.stages
        ]
    except (KeyboardInterrupt, LostDeviceError) as stop:
        print(f"make gpu: {str(stop) or 'interrupted'}; the same command continues", file=sys.stderr)
        return 1
    return 0 if all(complete) else 1


class LostDeviceError(Exception):
    """The GPU no longer answers in this process."""


def _problem(stages: Sequence[str], device: str) -> str | None:
    """The reason that nothing can be measured."""
    unknown = [stage for stage in stages if stage not in STAGES]
    if unknown:
        return f"{unknown[0]}: no such stage; choose from {', '.join(STAGES)}"
    try:
        import torch

        import gpu_stages  # noqa: F401
    except ModuleNotFoundError as error:
        return f"{sys.executable} has no {error.name}: name an interpreter, as in make gpu PYTHON=.venv/bin/python"
    if device == "cuda" and not torch.cuda.is_available():
        return "there is no CUDA device here; python benchmarks/gpu.py --device cpu --tiny tries the stages without one"
    return None


def measure(
    stage: str,
    measurements: Mapping[str, Callable[[], Figures]],
    output: Path,
    *,
    about: str,
    seconds: float,
    device: str = "cpu",
    again: bool = False,
) -> bool:
    """Make the missing measurements of a stage, those that failed last; whether all are there.

    Args:
        stage: its name.
        measurements: each returns its figures, or raises.
        output: the folder of gpu.json and the pages.
        about: the commit, device and torch that they are made with.
        seconds: after which no further measurement begins.
        device: cuda or cpu.
        again: forget earlier figures.

    Raises:
        LostDeviceError: a measurement has left the GPU unusable.
    """
    store = output / "gpu.json"
    kept: dict[str, dict[str, Figures]] = json.loads(store.read_text(encoding="utf-8")) if store.is_file() else {}
    found = kept.setdefault(stage, {})
    if again:
        found.clear()
    missing = [name for name in measurements if name not in found]
    failed = [name for name in measurements if FAILURE in found.get(name, {})]
    end = time.monotonic() + seconds
    for name in (*missing, *failed):
        if time.monotonic() > end:
            break
        print(f"{stage}: {name}", file=sys.stderr, flush=True)
        found[name] = {**_measured(measurements[name]), ABOUT: about}
        left = [each for each in measurements if each not in found]
        files.write_text(store, json.dumps(kept, indent=1) + "\n")
        files.write_text(output / f"gpu-{stage}.md", page(stage, found, left))
        if FAILURE in found[name]:
            _check_device(device)
    left = [name for name in measurements if name not in found or FAILURE in found[name]]
    if left:
        print(f"{stage}: failed or still missing: {', '.join(left)}; the same command continues", file=sys.stderr)
    return not left


def _measured(measurement: Callable[[], Figures]) -> Figures:
    """The figures of a measurement, or its failure: others may succeed."""
    try:
        return measurement()
    except Exception as error:
        if not isinstance(error, RunFailedError):  # whose reason has been shown
            traceback.print_exc()
        return {FAILURE: f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"}


def _check_device(device: str) -> None:
    from gpu_measures import wait

    try:
        wait(device)
    except RuntimeError as error:  # after an illegal access all further calls of the process fail
        raise LostDeviceError("the GPU no longer answers in this process") from error


def about_device(device: str) -> str:
    import torch

    from aiayn.runs import provenance

    code = provenance.code_version((*provenance.SOURCES, "benchmarks"))
    name = torch.cuda.get_device_name() if device == "cuda" else f"CPU, {os.cpu_count()} cores"
    changes = " with changes" if code.dirty else ""
    return f"commit {(code.commit or 'unknown')[:12]}{changes}, {name}, torch {torch.__version__}"


def page(stage: str, found: dict[str, Figures], missing: Sequence[str]) -> str:
    """The measurements of a stage as Markdown: a table, then figures of several lines."""
    rows = {name: {key: value for key, value in figures.items() if key != ABOUT} for name, figures in found.items()}
    texts = {name: value for figures in rows.values() for name, value in figures.items() if "\n" in str(value)}
    columns = [
        name for name in dict.fromkeys(name for figures in rows.values() for name in figures) if name not in texts
    ]
    lines = [f"| {stage} | {' | '.join(columns)} |", f"| --- |{' ---: |' * len(columns)}"]
    lines += [f"| {name} | {' | '.join(_shown(row.get(column)) for column in columns)} |" for name, row in rows.items()]
    origins = dict.fromkeys(figures[ABOUT] for figures in found.values())
    made = [f"{about}: {', '.join(name for name in found if found[name][ABOUT] == about)}" for about in origins]
    by = [f"By {next(iter(origins))}."] if len(origins) == 1 else [f"- By {each}." for each in made]
    left = [f"Not measured yet: {', '.join(missing)}."] if missing else []
    parts = [f"# GPU: {stage}", f"Written by `make gpu STAGES={stage}`.", "\n".join(by), *left, "\n".join(lines)]
    return "\n\n".join([*parts, *texts.values()]) + "\n"


def _shown(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and 0 < abs(value) < 1:
        return f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int | float) else str(value)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
