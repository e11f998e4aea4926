"""A local W&B server: it answers the real client on loopback and records all requests."""

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

ENTITY = "a-team"

KEY = "0123456789" * 4
"""In the format that the client requires."""

VANISH = "/vanish"
"""A POST to this path shuts the server down and closes all connections."""


@dataclass
class SentRun:
    """The data of one run, of all its attempts together."""

    upserts: list[dict[str, Any]] = field(default_factory=list)
    history: list[dict[str, Any]] = field(default_factory=list)
    summary: dict[str, Any] = field(default_factory=dict)
    exit_codes: list[int] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    """System metrics."""
    console: list[str] = field(default_factory=list)
    """The lines of the Logs tab; W&B shows lines that begin with ERROR as errors."""
    artifacts: list[dict[str, Any]] = field(default_factory=list)
    """As created: collection, type, aliases, metadata."""

    def steps(self, key: str = "train/loss") -> list[int]:
        """The steps of which a metric was sent."""
        return [row["trainer/global_step"] for row in self.history if key in row]

    def described(self, key: str) -> Any:
        """The last value stated for an argument of the run, such as displayName."""
        return [upsert[key] for upsert in self.upserts if upsert.get(key) is not None][-1]

    def config(self, upsert: int = -1) -> dict[str, Any]:
        """The configuration without the client's own entries, by default the last one."""
        stated = json.loads([sent["config"] for sent in self.upserts if sent.get("config") is not None][upsert])
        return {key: entry["value"] for key, entry in stated.items() if key != "_wandb"}

    def every_curve_is_by(self, key: str) -> bool:
        """Whether the client has declared this as the horizontal axis of all metrics."""
        declared = json.loads(self.described("config"))["_wandb"]["value"]["m"]  # 1 name, 2 glob, 5 number of the axis
        return any(m.get("2") == "*" and declared[m.get("5", 0) - 1].get("1") == key for m in declared)


@dataclass
class RecordingServer:
    """The server's state."""

    url: str
    requests: list[str] = field(default_factory=list)
    """Method and path, or GraphQL operation, of each request in order."""
    runs: dict[str, SentRun] = field(default_factory=dict)
    """By run id."""
    views: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Reports and workspaces by id."""
    projects: list[str] = field(default_factory=lambda: ["aiayn"])
    """Existing projects."""
    uploads: dict[str, bytes] = field(default_factory=dict)
    """Files by the last part of their upload address."""
    bodies: list[bytes] = field(default_factory=list)
    """All request bodies."""
    sweeps: Sweeps = field(default_factory=lambda: Sweeps(ENTITY))
    refusal: HTTPStatus | None = None
    """If not None, the answer to every request."""
    fails_from: str | None = None
    """From this request on, every answer is `failure`."""
    failure: HTTPStatus = HTTPStatus.INTERNAL_SERVER_ERROR

    def run(self, run_id: str) -> SentRun:
        return self.runs.setdefault(run_id, SentRun())

    def only_run(self) -> tuple[str, SentRun]:
        ((run_id, run),) = self.runs.items()
        return run_id, run


@contextmanager
def wandb_server() -> Iterator[RecordingServer]:
    """Serve on a free port during the block."""
    server = _Server(("127.0.0.1", 0), _Handler)
    recording = RecordingServer(f"http://127.0.0.1:{server.server_port}")
    vars(server)["recording"] = recording
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield recording
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    """Keeps its connections, to close them as if the host were switched off."""

    daemon_threads = True

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._connections: list[socket.socket] = []

    def process_request(self, request: Any, client_address: Any) -> None:
        self._connections.append(request)
        super().process_request(request, client_address)

    def vanish(self) -> None:
        """Stop serving and close all connections; call from a handler's thread."""
        self.shutdown()
        self.server_close()
        for connection in self._connections:
            with suppress(OSError):  # it has been closed already
                connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def recording(self) -> RecordingServer:
        found: RecordingServer = vars(self.server)["recording"]
        return found

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """No output."""

    def handle(self) -> None:
        """Answer requests until the client disconnects."""
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
            self._answer("file_stream", lambda: self._stream(self.recording.run(stream[1]), json.loads(body)))
        else:
            self._answer(f"POST {self.path}", dict)

    def do_PUT(self) -> None:
        self.recording.uploads[self.path.removeprefix("/upload/")] = self._body()
        self._answer(f"PUT {self.path}", dict)

    def do_GET(self) -> None:
        self._answer(f"GET {self.path}", dict)

    def _body(self) -> bytes:
        """The request's body, with or without a stated length, decompressed."""
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        body = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
        self.recording.bodies.append(body)
        return body

    def _answer(self, name: str, content: Any) -> None:
        self.recording.requests.append(name)
        if name == self.recording.fails_from:
            self.recording.refusal = self.recording.failure
        refusal = self.recording.refusal
        answer = json.dumps({"errors": [{"message": "refused"}]} if refusal else content()).encode()
        self.send_response(refusal or HTTPStatus.OK)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def _graphql(self, name: str, variables: dict[str, Any]) -> dict[str, Any]:
        """The data of one GraphQL operation; for others, an empty answer suffices."""
        known = self.recording.runs
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
        if name == "Run":
            found = known.get(variables["name"])
            return {"project": {"internalId": "1", "run": found and _public_run(variables["name"], found)}}
        if name == "UpsertBucket" and variables.get("name") is None:  # of the public API
            run_id = variables["id"].removeprefix("id-")
            known[run_id].summary |= json.loads(variables["summaryMetrics"])
            return {"upsertBucket": {"bucket": {"id": variables["id"]}}}
        if name == "UpsertBucket":
            run_id = variables["name"]
            is_new = run_id not in known
            self.recording.run(run_id).upserts.append(variables)
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
            files = [{"name": file, "uploadUrl": f"{self.recording.url}/upload/{file}"} for file in variables["files"]]
            return {"createRunFiles": {"runID": variables["run"], "uploadHeaders": [], "files": files}}
        if name in ("GetProjects", "ProjectViews", "UpsertView2", "upsertView"):
            return self._graphql_of_views(name, variables)
        if name == "ArtifactType":
            return {"project": None}
        if name in ("CreateArtifact", "CreateArtifactFiles", "CreateArtifactManifest", "UpdateArtifactManifest"):
            return self._graphql_of_artifacts(name, variables)
        return self.recording.sweeps.answer(name, variables)

    def _graphql_of_artifacts(self, name: str, variables: dict[str, Any]) -> dict[str, Any]:
        """Accept every artifact and request all its files."""
        if name == "CreateArtifact":
            stated = variables["input"]
            artifacts = self.recording.run(stated["runName"]).artifacts
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
                        "uploadUrl": f"{self.recording.url}/upload/{spec['name']}",
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
            "uploadUrl": f"{self.recording.url}/upload/wandb_manifest.json",
            "uploadHeaders": [],
        }
        operation = name[0].lower() + name[1:]
        return {operation: {"artifactManifest": {"id": "manifest", "file": file}}}

    def _graphql_of_views(self, name: str, variables: dict[str, Any]) -> dict[str, Any]:
        """Reports and workspaces; lists have pages of one entry."""
        views = self.recording.views
        if name == "GetProjects":
            fixed: dict[str, Any] = {"entityName": ENTITY, "createdAt": "2017-06-12T00:00:00Z", "isBenchmark": False}
            nodes = [{"id": f"id-{known}", "name": known, "user": None} | fixed for known in self.recording.projects]
            end = {"endCursor": None, "hasNextPage": False}
            return {"models": {"edges": [{"node": node, "cursor": "c"} for node in nodes], "pageInfo": end}}
        if name == "ProjectViews":
            if variables["project"] not in self.recording.projects:
                return {"project": None}
            wanted = ("projectName", variables["project"]), ("type", variables["viewType"])
            nodes = [view for view in views.values() if all(view[key] == value for key, value in wanted)]
            start = int(variables.get("cursor") or 0)
            page = {"endCursor": str(start + 1), "hasNextPage": start + 1 < len(nodes)}
            edges = [{"node": view} for view in nodes[start : start + 1]]
            return {"project": {"allViews": {"edges": edges, "pageInfo": page}}}
        is_new = variables.get("id") is None
        view_id = f"view{len(self.recording.requests)}" if is_new else variables["id"]
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


def _public_run(run_id: str, run: SentRun) -> dict[str, Any]:
    """A run as the public API reads it."""
    return {
        **_bucket(run_id, run),
        "projectId": "1",
        "tags": [],
        "state": "finished",
        "systemMetrics": "{}",
        "user": {"name": ENTITY, "username": ENTITY},
        "historyKeys": None,
        "readOnly": False,
    }


def _bucket(run_id: str, run: SentRun) -> dict[str, Any]:
    """The state that a resumed run gets."""
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
