"""The page: templates/page.html with its data, and with style, script and figures inlined and all network forbidden."""

import base64
import gzip
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from plotly.offline import get_plotlyjs

from aiayn.errors import UserError
from aiayn.extensions.page.content import PageContent, RunContent
from aiayn.extensions.page.environment import environment
from aiayn.extensions.page.figures import figure_data
from aiayn.paper.tables import load_table3
from aiayn.reports.code_versions import code_versions, version_remarks
from aiayn.reports.numbers import counted
from aiayn.reports.run_facts import commands
from aiayn.reports.status import count_states
from aiayn.reports.tables.table3 import differences_grid, summary

SCRIPTS = ("theme.js", "tables.js", "figures.js", "charts.js", "attention.js", "live.js")
"""Of the page, in order; they share one scope."""


@dataclass(frozen=True)
class Bundle:
    """plotly.js, which the page inflates when it draws a figure."""

    packed: str
    """Base64 of its gzip."""
    hash: str
    """See `script_hash`."""


@cache
def plotly_bundle(path: Path | None) -> Bundle:
    """The bundle in a file, or the full one of the package plotly.

    Raises:
        UserError: the file cannot be read, or is no bundle of plotly.js.
    """
    try:
        script = get_plotlyjs().encode() if path is None else path.read_bytes()
    except OSError as error:
        raise UserError(f"plotly_bundle={path}: {error.strerror}; name another file, or leave it out") from error
    if b"plotly.js" not in script[:1000]:
        raise UserError(f"plotly_bundle={path}: not a bundle of plotly.js; name one such as plotly-basic.min.js")
    return Bundle(base64.b64encode(gzip.compress(script, mtime=0)).decode(), script_hash(script))


def script_hash(script: bytes) -> str:
    """The hash of a script in the notation of a Content-Security-Policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}'"


def page(content: PageContent, bundle: Bundle, *, command: str, refresh: int | None) -> str:
    """The whole file.

    Args:
        content: of the page.
        bundle: plotly.js.
        command: that makes the same page of the same runs.
        refresh: seconds between two reloads; None if the page is not rewritten.
    """
    script = "(() => {\n'use strict';\n" + "\n".join(map(_asset, SCRIPTS)) + "})();"
    report, runs = content.report, content.runs
    states = count_states(run.entry.state for run in runs)
    return (
        environment()
        .get_template("page.html")
        .render(
            content=content,
            report=report,
            runs=runs,
            scale=report.conditions.get("scale"),
            count=f"{counted(len(runs), 'run')}: {states}; the table's numbers are of {len(report.runs)} of them.",
            conditions=_conditions(content, command),
            remarks=[*list(summary(report))[2:], *report.remarks],
            differences=differences_grid(report),
            data=figure_data(content),
            command=command,
            refresh=refresh,
            policy=_policy(script, bundle),
            style=_asset("page.css"),
            script=script,
            bundle=bundle,
        )
    )


def _asset(name: str) -> str:
    return (resources.files(__package__) / "assets" / name).read_text(encoding="utf-8")


def _policy(script: str, bundle: Bundle) -> str:
    """Nothing is fetched, and only the page's own two scripts run, even if text of runs has markup."""
    return (
        f"default-src 'none'; script-src {script_hash(script.encode())} {bundle.hash}; "
        "style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _conditions(content: PageContent, command: str) -> dict[str, str]:
    caption = load_table3().caption
    return {
        **content.report.conditions,
        "trained by": "; ".join(commands(run.record for run in content.runs if run.record)),
        "trained": _when(content.runs),
        "versions": _versions(content.runs),
        **_origins(content.runs),
        "paper": f"{caption.dev_set}, {caption.language_pair}, {caption.source}",
        "this page": f"{command}, {content.read}",
    }


def _origins(runs: Sequence[RunContent]) -> dict[str, str]:
    """By name, the code of the runs, and precision and packages where they differ."""
    versions = code_versions((run.entry.directory.path, run.record) for run in runs if run.record)
    return {name: text for name, _, text in (remark.partition(": ") for remark in version_remarks(versions))}


def _when(runs: Sequence[RunContent]) -> str:
    times = sorted(time for run in runs if run.record for time in (run.record.started, run.record.ended) if time)
    return f"{times[0]} to {times[-1]}" if times else ""


def _versions(runs: Sequence[RunContent]) -> str:
    found = {
        ", ".join(f"{name} {version}" for name, version in run.record.versions.items())
        for run in runs
        if run.record and run.record.versions
    }
    return f"{len(found)} different sets; each run names its own" if len(found) > 1 else "".join(found)
