"""A record with as few fields as a record must have."""

from typing import Any

from aiayn.runs.record import SCHEMA_VERSION, Record, Status


def example_record(status: Status = Status.finished, **changes: Any) -> Record:
    fields: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "run_id": "0",
        "name": "table3/base/demo-seed1-0",
        "experiment": "table3/base",
        "scale": "demo",
        "fidelity": "paper",
        "seed": 1,
        "command": "aiayn train",
        "config_hash": "0",
        "data": "grammar",
        "status": status,
    }
    return Record(**fields | changes)
