"""`aiayn report page`: write the page once, or update it while a sweep runs."""

import logging
import time
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from aiayn.config.outputs import output_errors
from aiayn.config.report_schema import ReportConfig
from aiayn.errors import UserError
from aiayn.extensions.page.content import read_content
from aiayn.extensions.page.render import page, plotly_bundle
from aiayn.reports.status import count_states
from aiayn.reports.tables.table3_results import record_look_at
from aiayn.runs.search import run_directories
from aiayn.system import files
from aiayn.system.progress import draw_lines, has_bars, say
from aiayn.system.signals import ended_by_ctrl_c

logger = logging.getLogger("aiayn")

PAGE = "report.html"
"""The default file, since no terminal can show a page."""

POLL_SECONDS = 2.0  # between two looks at the runs
REST_SECONDS = 10.0  # between two pages at least
RELOAD_SECONDS = 15  # between two reloads of a page that is being rewritten


def report_page(config: ReportConfig, output: Path | None) -> None:
    """Write the page, by default in the working folder, and with watch=true update it until Ctrl-C."""
    with (
        output_errors(PAGE) if output is None else nullcontext(),
        ended_by_ctrl_c() if config.watch else nullcontext(),
    ):
        write_page(config, Path(PAGE) if output is None else output)


def write_page(config: ReportConfig, output: Path) -> None:
    """Write the page, and with watch=true update it until Ctrl-C.

    Raises:
        UserError: a value is not allowed, runs do not compare, or a file cannot be read.
        KeyboardInterrupt: with watch=true, in the end.
    """
    bundle = plotly_bundle(None if config.plotly_bundle is None else Path(config.plotly_bundle))
    runs, cache = Path(config.paths.runs), Path(config.paths.cache)
    read = partial(read_content, runs, cache=cache, only=config.only, study=config.study)
    rendered = partial(page, bundle=bundle, command=_command(config))
    seen = _modifications(runs)  # before the runs are read, so that no change is missed
    content = read()
    record_look_at(content.report)
    files.write_text(output, rendered(content, refresh=RELOAD_SECONDS if config.watch else None))
    print(output, flush=True)  # noqa: T201
    complaint = ""
    try:
        while config.watch:
            time.sleep(POLL_SECONDS)
            now = _modifications(runs)
            if now == seen:
                continue
            try:
                content = read()
            except UserError as error:  # a run that begins anew or is being copied lacks files for a moment
                if str(error) != complaint:
                    logger.warning("%s; the page stays as it was", error)
                complaint = str(error)
            else:
                files.write_text(output, rendered(content, refresh=RELOAD_SECONDS))
                seen, complaint = now, ""
                if has_bars():
                    draw_lines([f"{count_states(run.entry.state for run in content.runs) or 'no runs'}; Ctrl-C ends"])
            time.sleep(REST_SECONDS - POLL_SECONDS)
    except KeyboardInterrupt:
        try:
            content = read()
            say(f"{output} is as of now, and no longer kept up to date")
        except UserError as error:
            say(f"{error}; {output} stays as it was, and is no longer kept up to date")
        files.write_text(output, rendered(content, refresh=None))
        raise


def _command(config: ReportConfig) -> str:
    """A command that makes the same page of the same runs."""
    only = config.only
    words = {"study": config.study, "only.scale": only.scale, "only.data": only.data, "only.like": only.like}
    chosen = [f"{key}={value}" for key, value in words.items() if value is not None]
    return " ".join(["aiayn report page", *chosen])


def _modifications(runs: Path) -> dict[Path, tuple[int, int]]:
    """Time in ns and size of each file with the state of a run."""
    found = {}
    for directory in run_directories(runs):
        for path in (directory.record, directory.metrics, directory.attention):
            try:
                status = path.stat()
            except OSError:  # it is not there, or cannot be read, which the page states
                continue
            found[path] = (status.st_mtime_ns, status.st_size)
    return found
