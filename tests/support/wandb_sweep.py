"""The part of the recording server for `wandb sweep` and `wandb agent`: a grid, one combination after another."""

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml


@dataclass
class SentSweep:
    """A sweep that the client has created."""

    sweep_id: str
    config: dict[str, Any]
    runs: list[str] = field(default_factory=list)
    """Run ids given to agents, in order."""
    hosts: list[str] = field(default_factory=list)
    """Of the agents."""

    def __post_init__(self) -> None:
        self._left = self._combinations()

    def _combinations(self) -> Iterator[dict[str, Any]]:
        parameters = self.config["parameters"]
        values = [stated.get("values") or [stated["value"]] for stated in parameters.values()]
        for combination in itertools.product(*values):
            yield {key: {"value": value} for key, value in zip(parameters, combination, strict=True)}

    def next_commands(self, states: dict[str, bool]) -> list[dict[str, Any]]:
        """Commands for an agent; none while it works on a run."""
        if states:
            return []
        arguments = next(self._left, None)
        if arguments is None:
            return [{"type": "exit"}]
        run_id = f"{self.sweep_id}{len(self.runs)}"
        self.runs.append(run_id)
        return [{"type": "run", "run_id": run_id, "args": arguments, "program": self.config["program"]}]


@dataclass
class Sweeps:
    """All sweeps of a server."""

    entity: str
    known: dict[str, SentSweep] = field(default_factory=dict)

    def only(self) -> SentSweep:
        (sweep,) = self.known.values()
        return sweep

    def answer(self, name: str, variables: dict[str, Any]) -> dict[str, Any]:
        """The data of one GraphQL operation; empty for other operations."""
        if name == "UpsertSweep":
            sweep = SentSweep(f"sweep{len(self.known)}", yaml.safe_load(variables["config"]))
            self.known[sweep.sweep_id] = sweep
            project = {
                "id": "project",
                "name": variables["projectName"],
                "entity": {"id": "entity", "name": self.entity},
            }
            return {
                "upsertSweep": {"sweep": {"name": sweep.sweep_id, "project": project}, "configValidationWarnings": []}
            }
        if name == "SweepWithRuns":
            sweep = self.known[variables["sweep"]]
            shown = {"id": sweep.sweep_id, "name": sweep.sweep_id, "method": "grid", "state": "RUNNING"}
            return {"project": {"sweep": {**shown, "config": yaml.safe_dump(sweep.config), "runs": {"edges": []}}}}
        if name == "CreateAgent":
            self.known[variables["sweep"]].hosts.append(variables["host"])
            return {"createAgent": {"agent": {"id": variables["sweep"]}}}
        if name == "Heartbeat":
            commands = self.known[variables["id"]].next_commands(json.loads(variables["runState"]))
            return {"agentHeartbeat": {"agent": {"id": variables["id"]}, "commands": json.dumps(commands)}}
        return {}
