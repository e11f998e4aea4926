"""The changes of a run in one line, as the paper prints its row."""

from aiayn.config.freeze import plain
from aiayn.config.identity import result_leaves
from aiayn.config.schema import TrainConfig
from aiayn.paper.tables import in_symbols, load_table3


def printed_difference(config: TrainConfig) -> str:
    """The row's changes to base, as in "N=2 (paper: N=4)", and the run's changes to its experiment."""
    difference = config.identity.difference
    rows = {f"table3/{row.id}": row for row in load_table3().rows}
    row = rows.get(config.identity.experiment)
    if row is None:
        return difference
    own = result_leaves(plain(config))
    trained = {key: own.get(key) for key in row.changes}
    printed = in_symbols(row.changes) or row.label
    if trained != row.changes:
        printed = f"{in_symbols(trained)} (paper: {printed})"
    return f"{printed}; here {difference}" if difference else printed
