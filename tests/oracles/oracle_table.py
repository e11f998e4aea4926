"""Write the page of the largest differences from reference implementations.

AIAYN_ORACLES=docs/results/oracles.json pytest tests/oracles
python tests/oracles/oracle_table.py docs/results/oracles.json docs/results/oracles.md
"""

import json
import sys
from pathlib import Path

from oracle import Rows

HEADER = """# Differences from reference implementations

Written by `python tests/oracles/oracle_table.py`; [oracles.md](../oracles.md) says how each was computed.
Differences are absolute; losses are in nats.

| library | quantity | largest difference |
|---|---|---:|
"""


def page(rows: Rows) -> str:
    """Markdown, one line for each library and quantity."""
    lines = [
        f"| {library} | {quantity} | {difference:.1e} |" if difference else f"| {library} | {quantity} | 0 |"
        for library, found in sorted(rows.items())
        for quantity, difference in found.items()
    ]
    return HEADER + "\n".join(lines) + "\n"


def main(source: str, output: str) -> None:
    """The page of a JSON file."""
    Path(output).write_text(page(json.loads(Path(source).read_text())))


if __name__ == "__main__":
    main(*sys.argv[1:])
