"""Where a training step spends its time: its operations by their own time, and the share of matrix products.

AIAYN_DATA=... python benchmarks/profile_step.py [--model small] [--threads 2] [--steps 3]
"""

import argparse
import tempfile
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile

import trainers
from texts import BASE, SMALL, TINY, settings

PRODUCTS = ("mm", "bmm", "baddbmm", "addmm", "matmul", "linear", "attention", "mkldnn")
"""Parts of the names of operations that are matrix products for the most part."""


def main() -> None:
    workloads = {each.title: each for each in (BASE, SMALL, TINY)}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=workloads, default="base")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--trace", type=Path, help="also write every call, for chrome://tracing or Perfetto")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as work:
        given = settings(workloads[options.model], Path(work), batches=options.steps + 1, keep_memory=True)
        turn = trainers.aiayn(**given)
    turn(0)
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        for number in range(1, options.steps + 1):
            turn(number)
    events = profiler.key_averages()
    total = sum(event.self_cpu_time_total for event in events)
    products = sum(event.self_cpu_time_total for event in events if any(name in event.key.lower() for name in PRODUCTS))
    print(events.table(sort_by="self_cpu_time_total", row_limit=20, max_name_column_width=45))
    print(f"{total / options.steps / 1e6:.2f} s a step, {products / total:.0%} of it in matrix products")
    if options.trace:
        profiler.export_chrome_trace(str(options.trace))


if __name__ == "__main__":
    main()
