"""The templates of the page, and what they call. Whatever they show is escaped, unless they say that it is safe."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from aiayn.evaluation.significance import Effect
from aiayn.extensions.page.claims import MARKS, claim_remarks, compared_verdicts, with_intervals
from aiayn.extensions.page.content import RunContent
from aiayn.extensions.page.run_data import RANKS
from aiayn.paper.claims import Metric
from aiayn.reports.claim_grids import DECIMALS, effect_stated
from aiayn.reports.numbers import counted, duration, effect_text, ends_text, millions, signed, with_deviation
from aiayn.reports.run_facts import machine_text
from aiayn.reports.tables.table3_rows import decimals_of, settings_beside, settings_text
from aiayn.reports.verdicts import Verdict
from aiayn.runs.ledger import State

SYMBOL = re.compile(r"\b([dP]|eps|ε)_(model|ff|k|v|drop|ls)(?![A-Za-z0-9_])")
"""The paper's own symbols: a letter and its index."""


@cache
def environment() -> Environment:
    """The environment of the templates, in which a name that nobody has given is an error."""
    made = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "allow_nan": False, "separators": (",", ":")}
    made.filters |= {"split_symbols": SYMBOL.split}
    functions = (
        *(claim_remarks, compared_verdicts, with_intervals, effect_stated, effect_text),
        *(counted, duration, ends_text, millions, signed, with_deviation, mantissa_and_exponent, sort_key),
        *(costs, decimals_of, machine_text, settings_beside, settings_text, strength),
    )
    made.filters |= {each.__name__: each for each in functions}
    made.globals |= {"DECIMALS": DECIMALS, "MARKS": MARKS, "RANKS": RANKS, "Metric": Metric, "Verdict": Verdict}
    return made


def mantissa_and_exponent(value: float) -> tuple[str, str] | None:
    """As in 1.2 and 13; None for zero and what is not finite."""
    if not value or not math.isfinite(value):
        return None
    mantissa, exponent = f"{value:.1e}".split("e")
    return mantissa, str(int(exponent)).replace("-", "−")


def sort_key(value: float | None) -> str | None:
    """Of a cell; None, which comes last, without a finite value."""
    return None if value is None or not math.isfinite(value) else f"{value:.8g}"


def strength(effect: Effect, metric: Metric) -> str:
    """Of a difference to base: better or worse where its whole interval is on one side of zero, else open."""
    if effect.low is not None and effect.high is not None and effect.low * effect.high > 0:
        return "better" if metric.sign * effect.low > 0 else "worse"
    return "open"


@dataclass(frozen=True)
class Costs:
    """Of all runs together, and the largest of one, at least 1."""

    finished: int
    seconds: float
    tokens: int
    flops: float
    longest: float
    """Seconds."""
    fastest: float
    """Tokens per second."""


def costs(runs: Sequence[RunContent]) -> Costs:
    """The costs of training; those that no record states are left out."""
    records = [run.record for run in runs if run.record]
    seconds = [run.entry.seconds for run in runs]
    return Costs(
        finished=sum(run.entry.state is State.finished for run in runs),
        seconds=sum(seconds),
        tokens=sum(record.tokens for record in records),
        flops=sum(record.flops or 0.0 for record in records),
        longest=max(seconds, default=0.0) or 1.0,
        fastest=max((record.tokens_per_second or 0.0 for record in records), default=0.0) or 1.0,
    )
