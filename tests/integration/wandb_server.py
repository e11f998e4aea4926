"""A stand-in for the W&B server: it answers the real client on loopback and keeps everything that it is sent."""

import gzip
import json
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from wandb_sweep import Sweeps

ENTITY = "somebody"

KEY = "0123456789" * 4
"""Of the shape that the client asks of one."""

VANISH = "/vanish"
"""Posting here is the last request: from then on nobody listens, and all connections are cut."""


@dataclass
class SentRun:
    """What the client has said of one run, all its attempts together."""

    upserts: list[dict[str, Any]] = field(default_factory=list)
    history: list[dict[str, Any]] = field(default_factory=list)
    summary: dict[str, Any] = field(default_factory=dict)
    exit_codes: list[int] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    """What the machine did meanwhile."""
    console: list[str] = field(default_factory=list)
    """The lines of the Logs tab; W&B shows those that begin with ERROR as errors."""
    artifacts: list[dict[str, Any]] = field(default_factory=list)
    """As they were created: collection, type, aliases, metadata."""

    def described(self, key: str) -> Any:
        """The last value stated for an argument of the run, such as displayName."""
        return [upsert[key] for upsert in self.upserts if upsert.get(key) is not None][-1]

    def config(self, upsert: int = -1) -> dict[str, Any]:
        """The configuration, without the client's own notes: as stated last, or at an earlier time."""
        stated = json.loads([sent["config"] for sent in self.upserts if sent.get("config") is not None][upsert])
        return {key: entry["value"] for key, entry in stated.items() if key != "_wandb"}

    def every_curve_is_by(self, key: str) -> bool:
        """Whether the client has declared this the horizontal axis of all metrics."""
        declared = json.loads(self.described("config"))["_wandb"]["value"]["m"]  # 1 name, 2 glob, 5 number of the axis
        return any(m.get("2") == "*" and declared[m.get("5", 0) - 1].get("1") == key for m in declared)


@dataclass
class StandIn:
    """The server and its memory."""

    url: str
    requests: list[str] = field(default_factory=list)
    """Method and path, or GraphQL operation, of each request in order."""
    runs: dict[str, SentRun] = field(default_factory=dict)
    """By run id."""
    views: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Reports and workspaces, by the id that they were given."""
    projects: list[str] = field(default_factory=lambda: ["aiayn"])
    """Those that there are."""
    uploads: dict[str, bytes] = field(default_factory=dict)
    """Files, by the last part of the address that they were put to."""
    bodies: list[bytes] = field(default_factory=list)
    """All that was ever said."""
    sweeps: Sweeps = field(default_factory=lambda: Sweeps(ENTITY))
    refusal: HTTPStatus | None = None
    """What every request is answered with, when not None."""
    fails_from: str | None = None
    """The request from which on every one is answered with `failure`."""
    failure: HTTPStatus = HTTPStatus.INTERNAL_SERVER_ERROR

    def run(self, run_id: str) -> SentRun:
        return self.runs.setdefault(run_id, SentRun())

    def only_run(self) -> tuple[str, SentRun]:
        ((run_id, run),) = self.runs.items()
        return run_id, run


@contextmanager
def wandb_server() -> Iterator[StandIn]:
    """Serve on a port that the system chooses, until the block is left."""
    server = _Server(("127.0.0.1", 0), _Handler)
    stand_in = StandIn(f"http://127.0.0.1:{server.server_port}")
    vars(server)["stand_in"] = stand_in
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield stand_in
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    """Knows its connections, so that it can leave as a host does that is switched off."""

    daemon_threads = True

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._connections: list[socket.socket] = []

    def process_request(self, request: Any, client_address: Any) -> None:
        self._connections.append(request)
        super().process_request(request, client_address)

    def vanish(self) -> None:
        """Answer nobody any more; call from another thread than the one that serves."""
        self.shutdown()
        self.server_close()
        for connection in self._connections:
            with suppress(OSError):  # it has been closed already
                connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def stand_in(self) -> StandIn:
        found: StandIn = vars(self.server)["stand_in"]
        return found

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing."""

    def handle(self) -> None:
        """Answer requests until the client hangs up, however rudely."""
        with suppress(ConnectionError):
            super().handle()

    def do_POST(self) -> None:
        body = self._body()
        if self.path == VANISH:
            assert isinstance(self.server, _Server)
            self.server.vanish()
        elif self.path == "/graphql":
            sent = json.loads(body)
            operation = re.search(r"\b(?:query|mutation)\s+(\w+)", sent["query"])
            name = operation[1] if operation else "unnamed"
            self._answer(name, lambda: {"data": self._graphql(name, sent.get("variables") or {})})
        elif stream := re.fullmatch(r"/files/[^/]+/[^/]+/([^/]+)/file_stream", self.path):
            self._answer("file_stream", lambda: self._stream(self.stand_in.run(stream[1]), json.loads(body)))
        else:
            self._answer(f"POST {self.path}", dict)

    def do_PUT(self) -> None:
        self.stand_in.uploads[self.path.removeprefix("/upload/")] = self._body()
        self._answer(f"PUT {self.path}", dict)

    def do_GET(self) -> None:
        self._answer(f"GET {self.path}", dict)

    def _body(self) -> bytes:
        """The request's body, whether its length is stated or it comes in chunks, unpacked."""
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        body = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
        self.stand_in.bodies.append(body)
        return body

    def _answer(self, name: str, content: Any) -> None:
        self.stand_in.requests.append(name)
        if name == self.stand_in.fails_from:
            self.stand_in.refusal = self.stand_in.failure
        refusal = self.stand_in.refusal
        answer = json.dumps({"errors": [{"message": "refused"}]} if refusal else content()).encode()
        self.send_response(refusal or HTTPStatus.OK)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def _graphql(self, name: str, variables: dict[str, Any]) -> dict[str, Any]:
        """The data of one GraphQL operation; an empty answer is enough for those that are not named here."""
        known = self.stand_in.runs
        if name in ("Viewer", "GetDefaultEntity"):
            return {
                "viewer": {"id": "user", "entity": ENTITY, "username": ENTITY, "teams": {"edges": []}, "flags": "{}"}
            }
        if name == "RunResumeStatus":
            run_id = variables["name"]
            return {
                "model": {
                    "id": "project",
                    "name": "p",
                    "bucket": _bucket(run_id, known[run_id]) if run_id in known else None,
                    "entity": {"id": "entity", "name": ENTITY},
                }
            }
        if name == "UpsertBucket":
            run_id = variables["name"]
            is_new = run_id not in known
            self.stand_in.run(run_id).upserts.append(variables)
            project, entity = variables.get("project") or "p", variables.get("entity") or ENTITY
            return {
                "upsertBucket": {
                    "bucket": {
                        "id": f"id-{run_id}",
                        "name": run_id,
                        "displayName": variables.get("displayName"),
                        "description": "",
                        "sweepName": variables.get("sweep"),
                        "config": "{}",
                        "historyLineCount": 0,
                        "project": {"id": "project", "name": project, "entity": {"id": "entity", "name": entity}},
                    },
                    "inserted": is_new,
                }
            }
        if name == "CreateRunFiles":
            files = [{"name": file, "uploadUrl": f"{self.stand_in.url}/upload/{file}"} for file in variables["files"]]
            return {"createRunFiles": {"runID": variables["run"], "uploadHeaders": [], "files": files}}
        if name in ("GetProjects", "ProjectViews", "UpsertView2", "upsertView"):
            return self._graphql_of_views(name, variables)
        if name == "ArtifactType":
            return {"project": None}
        if name in ("CreateArtifact", "CreateArtifactFiles", "CreateArtifactManifest", "UpdateArtifactManifest"):
            return self._graphql_of_artifacts(name, variables)
        return self.stand_in.sweeps.answer(name, variables)

    def _graphql_of_artifacts(self, name: str, variables: dict[str, Any]) -> dict[str, Any]:
        """Take every artifact, and have all its files sent."""
        if name == "CreateArtifact":
            stated = variables["input"]
            artifacts = self.stand_in.run(stated["runName"]).artifacts
            artifacts.append(stated)
            sequence = {"id": "sequence", "latestArtifact": None}
            made = {"id": f"artifact-{len(artifacts)}", "state": "PENDING", "artifactSequence": sequence}
            return {"createArtifact": {"artifact": made}}
        if name == "CreateArtifactFiles":
            files = [
                {
                    "node": {
                        "id": f"file-{number}",
                        "name": spec["name"],
                        "displayName": spec["name"],
                        "uploadUrl": f"{self.stand_in.url}/upload/{spec['name']}",
                        "uploadHeaders": [],
                        "uploadMultipartUrls": None,
                        "storagePath": spec["name"],
                        "artifact": {"id": spec["artifactID"]},
                    }
                }
                for number, spec in enumerate(variables["input"]["artifactFiles"])
            ]
            return {"createArtifactFiles": {"files": {"edges": files}}}
        file = {
            "id": "manifest",
            "name": "wandb_manifest.json",
            "displayName": "wandb_manifest.json",
            "uploadUrl": f"{self.stand_in.url}/upload/wandb_manifest.json",
            "uploadHeaders": [],
        }
        operation = name[0].lower() + name[1:]
        return {operation: {"artifactManifest": {"id": "manifest", "file": file}}}

    def _graphql_of_views(self, name: str, variables: dict[str, Any]) -> dict[str, Any]:
        """What is asked and told of reports and workspaces; lists come in pages of one."""
        views = self.stand_in.views
        if name == "GetProjects":
            fixed: dict[str, Any] = {"entityName": ENTITY, "createdAt": "2017-06-12T00:00:00Z", "isBenchmark": False}
            nodes = [{"id": f"id-{known}", "name": known, "user": None} | fixed for known in self.stand_in.projects]
            end = {"endCursor": None, "hasNextPage": False}
            return {"models": {"edges": [{"node": node, "cursor": "c"} for node in nodes], "pageInfo": end}}
        if name == "ProjectViews":
            if variables["project"] not in self.stand_in.projects:
                return {"project": None}
            wanted = ("projectName", variables["project"]), ("type", variables["viewType"])
            nodes = [view for view in views.values() if all(view[key] == value for key, value in wanted)]
            start = int(variables.get("cursor") or 0)
            page = {"endCursor": str(start + 1), "hasNextPage": start + 1 < len(nodes)}
            edges = [{"node": view} for view in nodes[start : start + 1]]
            return {"project": {"allViews": {"edges": edges, "pageInfo": page}}}
        is_new = variables.get("id") is None
        view_id = f"view{len(self.stand_in.requests)}" if is_new else variables["id"]
        assert is_new or view_id in views, f"no view {view_id}"
        project = {"id": "project", "name": variables["projectName"], "entityName": variables["entityName"]}
        views[view_id] = {**variables, "id": view_id, "project": project}
        return {"upsertView": {"view": views[view_id], "inserted": is_new}}

    def _stream(self, run: SentRun, sent: dict[str, Any]) -> dict[str, Any]:
        for name, chunk in sent.get("files", {}).items():
            if name == "output.log":
                run.console += chunk["content"]
            rows = [json.loads(line) for line in chunk["content"]] if name.endswith((".json", ".jsonl")) else []
            if name == "wandb-history.jsonl":
                run.history += rows
            elif name == "wandb-events.jsonl":
                run.events += rows
            elif name == "wandb-summary.json":
                run.summary |= rows[-1]
        if sent.get("complete"):
            run.exit_codes.append(sent["exitcode"])
        return {}


def _bucket(run_id: str, run: SentRun) -> dict[str, Any]:
    """What a resumed run is told of its past."""
    return {
        "id": f"id-{run_id}",
        "name": run_id,
        "summaryMetrics": json.dumps(run.summary),
        "displayName": run.described("displayName"),
        "logLineCount": 0,
        "historyLineCount": len(run.history),
        "eventsLineCount": 0,
        "historyTail": json.dumps([json.dumps(row) for row in run.history[-1:]]),
        "eventsTail": "[]",
        "config": run.described("config"),
        "tags": run.described("tags"),
        "wandbConfig": json.dumps({"t": 1}),
    }
