"""Numbers as reports show them."""

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aiayn.evaluation.significance import Effect

MOST_DECIMALS = 6
"""The most digits after the point that a small deviation adds."""


def signed(value: float, decimals: int) -> str:
    """With its sign, as in +0.37; a difference that rounds to zero has none."""
    text = f"{value:+.{decimals}f}"
    return (text[1:] if float(text) == 0 else text).replace("-", "−")


def effect_text(effect: "Effect | None", decimals: int) -> str:
    """Estimate and interval, as in +0.37 [+0.21, +0.52]; the estimate alone if no interval is known; empty for None.

    Another confidence than the usual one is named, as in +0.37 [+0.24, +0.50] (90%).
    """
    if effect is None:
        return ""
    estimate = signed(effect.estimate, decimals)
    if effect.low is None or effect.high is None:
        return estimate
    named = "" if effect.confidence == type(effect).confidence else f" ({effect.confidence:.0%})"
    return f"{estimate} {ends_text(effect.low, effect.high, decimals)}{named}"


def ends_text(low: float, high: float, decimals: int) -> str:
    """The ends of an interval, as in [+0.21, +0.52]."""
    return f"[{signed(low, decimals)}, {signed(high, decimals)}]"


def with_deviation(value: float, deviation: float | None, decimals: int) -> str:
    """As in 4.92 ± 0.03; the value alone if the deviation is None or NaN."""
    text = f"{value:.{decimals}f}"
    return text if deviation is None or math.isnan(deviation) else f"{text} ± {deviation:.{decimals}f}"


def decimals_for(deviations: Iterable[float | None], fewest: int) -> int:
    """The digits after the point with which the median of the known deviations has at least one digit.

    Deviations that round to zero, such as the rounding errors of seeds with equal scores, ask for no digits.
    """
    known = [each for each in deviations if each is not None and math.isfinite(each) and round(each, MOST_DECIMALS) > 0]
    if not known:
        return fewest
    return min(MOST_DECIMALS, max(fewest, math.ceil(-math.log10(statistics.median(known)))))


def mean_of(values: Sequence[float | None]) -> float | None:
    """The mean; None if there are no values or one is unknown."""
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known and len(known) == len(values) else None


def mean_text(values: Sequence[float | None], shown: Callable[[float], str]) -> str:
    """The mean, with the standard deviation of several values; empty if there are none or one is unknown."""
    known, mean = [value for value in values if value is not None], mean_of(values)
    if mean is None:
        return ""
    return shown(mean) if len(known) == 1 else f"{shown(mean)} ± {shown(statistics.stdev(known))}"


def two_decimals(value: float) -> str:
    """As in 27.30."""
    return f"{value:.2f}"


def operations(count: float) -> str:
    """With two digits, as in 9.4e17."""
    return f"{count:.1e}".replace("e+", "e")


def gibibytes(count: int) -> str:
    """Bytes in GiB with two digits, as in 3.2 or 0.07."""
    amount = count / 2**30
    return f"{amount:.1f}" if amount >= 1 else f"{amount:.2f}"


def approximate_time(seconds: float) -> str:
    """An estimate, as in 4.2 d, 9.9 h, 12 min, 5 s."""
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= (2 if unit == "d" else 1) * length:
            return f"{seconds / length:.2g} {unit}" if seconds < 99.5 * length else f"{seconds / length:,.0f} {unit}"
    return f"{seconds:.0f} s"


def hours(seconds: float) -> str:
    """As in 0.25, 3.1 or 1,250."""
    amount = seconds / 3600
    return f"{amount:,.0f}" if amount >= 100 else f"{amount:.1f}" if amount >= 1 else f"{amount:.2f}"


def duration(seconds: float) -> str:
    """As in 1 h 02 min 03 s."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min {rest:02d} s"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def millions(count: int | None) -> str:
    """As in 63.1M; empty for None."""
    return "" if count is None else f"{count / 1e6:.1f}M"


def counted(count: int, noun: str) -> str:
    """As in 1 run, 20 runs."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
