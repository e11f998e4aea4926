"""`aiayn report page`: write the page once, or again and again while a sweep runs."""

import logging
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from aiayn.config.report_schema import ReportConfig
from aiayn.errors import UserError
from aiayn.reports.page.bundle import plotly_bundle
from aiayn.reports.page.content import PageContent, Reader
from aiayn.reports.page.render import page
from aiayn.runs.ledger import Entry, State
from aiayn.system import files
from aiayn.system.progress import Bar, draw_lines, has_bars, say

logger = logging.getLogger("aiayn")

POLL_SECONDS = 2.0
"""Between two looks at the runs."""

REST_SECONDS = 10.0
"""Between two pages at least: runs log all the time, and a page is there to be read."""

RELOAD_SECONDS = 15
"""Seconds between two reloads of a page that is being rewritten."""

Look = dict[Path, tuple[int, int]]
"""Time in ns and size of each file that says how a run stands."""


def report_page(config: ReportConfig, output: Path) -> None:
    """Write the page, and with watch=true keep it up to date until Ctrl-C.

    Args:
        config: of the command.
        output: the file.

    Raises:
        UserError: a value is not allowed, runs do not compare, or a file cannot be read.
        KeyboardInterrupt: with watch=true, in the end.
    """
    press, runs = _Press(config, output), Path(config.paths.runs)
    seen = _look(runs)  # before they are read: what changes meanwhile is a change
    press.write(refresh=RELOAD_SECONDS if config.watch else None)
    print(output, flush=True)  # noqa: T201
    if not config.watch:
        return
    try:
        _watch(runs, press, seen)
    except KeyboardInterrupt:
        try:
            press.write(refresh=None)  # it must not go on loading itself
        except UserError as error:
            press.settle()
            say(f"{error}; {output} stays as it was, and is no longer kept up to date")
        else:
            say(f"{output} is as of now, and no longer kept up to date")
        raise


class _Press:
    """Writes the page as the runs stand."""

    def __init__(self, config: ReportConfig, output: Path) -> None:
        runs, cache = Path(config.paths.runs), Path(config.paths.cache)
        self._reader = Reader(runs, cache=cache, only=config.only, resamples=config.resamples, seed=config.seed)
        self._bundle = plotly_bundle(None if config.plotly_bundle is None else Path(config.plotly_bundle))
        self._command = " ".join(_words(config))
        self._output = output
        self._content: PageContent | None = None

    def write(self, *, refresh: int | None) -> str:
        """Write it; returns how many runs are in which state."""
        report, runs = self._reader.read(_counted)
        written = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
        content = PageContent(report, runs, written=written, command=self._command, refresh_seconds=refresh)
        self._publish(content)
        states = Counter(run.entry.state for run in runs)
        return ", ".join(f"{states[state]} {state}" for state in State if state in states) or "no runs"

    def settle(self) -> None:
        """Write what was written last as a page that stays as it is."""
        if self._content is not None:
            self._publish(replace(self._content, refresh_seconds=None))

    def _publish(self, content: PageContent) -> None:
        files.write_text(self._output, page(content, self._bundle))
        self._content = content


def _words(config: ReportConfig) -> Iterator[str]:
    """Arguments that make the same page of the same runs."""
    yield from ("aiayn", "report", "page")
    only = {"scale": config.only.scale, "data": config.only.data, "like": config.only.like}
    yield from (f"only.{key}={value}" for key, value in only.items() if value is not None)
    yield from (f"resamples={config.resamples}", f"seed={config.seed}")


def _counted(entries: Sequence[Entry]) -> Iterator[Entry]:
    """The runs one by one, counted on a terminal."""
    with Bar("read", total=len(entries), unit=" runs") as bar:
        for entry in entries:
            yield entry
            bar.advance()


def _watch(runs: Path, press: _Press, seen: Look) -> None:
    """Write the page whenever the runs have changed since they were seen, until interrupted."""
    told = ""
    while True:
        time.sleep(POLL_SECONDS)
        now = _look(runs)
        if now == seen:
            continue
        try:
            states = press.write(refresh=RELOAD_SECONDS)
        except UserError as error:  # a run that is begun anew, or being copied, lacks files for a moment
            if str(error) != told:
                logger.warning("%s; the page stays as it was", error)
            told = str(error)
        else:
            seen = now
            if has_bars():
                draw_lines([f"{states}; Ctrl-C ends"])
        time.sleep(REST_SECONDS - POLL_SECONDS)


def _look(runs: Path) -> Look:
    found: Look = {}
    for record in runs.rglob("run.json"):
        for path in (record, record.with_name("metrics.jsonl"), record.with_name("attention")):
            try:
                status = path.stat()
            except FileNotFoundError:
                continue
            found[path] = (status.st_mtime_ns, status.st_size)
    return found
