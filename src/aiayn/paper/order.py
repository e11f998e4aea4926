"""Orders of growth, such as O(n^2·d), as data."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Logarithm:
    """log_base(of), of two sizes."""

    base: str
    of: str

    def __str__(self) -> str:
        return f"log_{self.base}({self.of})"


@dataclass(frozen=True)
class Order:
    """A product of powers of sizes, and perhaps of one logarithm."""

    powers: Mapping[str, int]
    """The exponent of each size, in the order printed; negative where it divides."""
    logarithm: Logarithm | None = None

    def __str__(self) -> str:
        factors = [_power(name, power) for name, power in self.powers.items() if power > 0]
        divisors = [_power(name, -power) for name, power in self.powers.items() if power < 0]
        if self.logarithm is not None:
            factors.append(str(self.logarithm))
        return "O(" + "/".join(["·".join(factors) or "1", *divisors]) + ")"


def parse_order(content: Mapping[str, Any]) -> Order:
    """An order of growth from YAML: `{powers: {n: 2, d: 1}, logarithm: {base: k, of: n}}`, both optional."""
    logarithm = content.get("logarithm")
    return Order(content.get("powers", {}), None if logarithm is None else Logarithm(**logarithm))


def _power(name: str, exponent: int) -> str:
    return name if exponent == 1 else f"{name}^{exponent}"
