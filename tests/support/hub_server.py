"""A local Hugging Face hub of models: it answers the real client on loopback and records all requests."""

import base64
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

TOKEN = "hf_abcdefghijklmnopqrstuvwxyz0123456789"


@dataclass
class Repository:
    """A repository of a model: the files of each commit."""

    private: bool
    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    """By hash, oldest first."""

    @property
    def head(self) -> str:
        return [*self.commits][-1]

    def at(self, revision: str) -> str | None:
        """The hash of a branch or commit."""
        return self.head if revision == "main" and self.commits else revision if revision in self.commits else None


@dataclass
class HubServer:
    """The server's state."""

    url: str
    repositories: dict[str, Repository] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    """Method and path of each request in order."""
    tokens: set[str] = field(default_factory=set)
    """Of all requests."""
    large: dict[str, bytes] = field(default_factory=dict)
    """Files of Git LFS by SHA-256."""
    failing: str | None = None
    """A regular expression: requests that match it fail."""
    failure: HTTPStatus = HTTPStatus.FORBIDDEN


@contextmanager
def hub_server() -> Iterator[HubServer]:
    """Serve on a free port during the block."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    hub = HubServer(f"http://127.0.0.1:{server.server_port}")
    vars(server)["hub"] = hub
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def hub(self) -> HubServer:
        found: HubServer = vars(self.server)["hub"]
        return found

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """No output."""

    def handle(self) -> None:
        with suppress(ConnectionError):
            super().handle()

    def do_GET(self) -> None:
        self._answer()

    do_HEAD = do_POST = do_PUT = do_GET  # noqa: N815

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = unquote(urlsplit(self.path).path)
        self.hub.requests.append(f"{self.command} {path}")
        if token := self.headers.get("Authorization"):
            self.hub.tokens.add(token.removeprefix("Bearer "))
        if self.hub.failing and re.search(self.hub.failing, f"{self.command} {path}"):
            self._send(self.hub.failure, {"error": "the hub is out of order"})
            return
        for pattern, method in ROUTES.items():
            if match := re.fullmatch(pattern, f"{self.command} {path}"):
                status, content, headers = method(self.hub, body, **match.groupdict())
                self._send(status, content, headers)
                return
        self._send(HTTPStatus.NOT_FOUND, {"error": f"no {self.command} {path}"})

    def _send(self, status: HTTPStatus, content: Any, headers: dict[str, str] | None = None) -> None:
        payload = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(payload)


Answer = tuple[HTTPStatus, Any, dict[str, str] | None]

MISSING: Answer = (HTTPStatus.NOT_FOUND, {"error": "not found"}, {"X-Error-Code": "RepoNotFound"})


def _create(hub: HubServer, body: bytes) -> Answer:
    asked = json.loads(body)
    name = f"{asked.get('organization') or 'somebody'}/{asked['name']}"
    url = {"url": f"{hub.url}/{name}"}
    if name in hub.repositories:
        return HTTPStatus.CONFLICT, url, None
    hub.repositories[name] = Repository(asked.get("private", False) or asked.get("visibility") == "private")
    return HTTPStatus.OK, url, None


def _validate(hub: HubServer, body: bytes) -> Answer:
    return HTTPStatus.OK, {"errors": [], "warnings": []}, None


def _preupload(hub: HubServer, body: bytes, repository: str, revision: str) -> Answer:
    files = [
        {
            "path": each["path"],
            "uploadMode": "lfs" if each["path"].endswith(".safetensors") else "regular",
            "shouldIgnore": False,
            "oid": None,
        }
        for each in json.loads(body)["files"]
    ]
    return HTTPStatus.OK, {"files": files}, None


def _batch(hub: HubServer, body: bytes, repository: str) -> Answer:
    objects = [
        {**each, "actions": {"upload": {"href": f"{hub.url}/upload/{each['oid']}"}}}
        for each in json.loads(body)["objects"]
    ]
    return HTTPStatus.OK, {"transfer": "basic", "objects": objects}, None


def _put(hub: HubServer, body: bytes, sha256: str) -> Answer:
    assert hashlib.sha256(body).hexdigest() == sha256
    hub.large[sha256] = body
    return HTTPStatus.OK, {}, None


def _commit(hub: HubServer, body: bytes, repository: str, revision: str) -> Answer:
    found = hub.repositories[repository]
    files = dict(found.commits[found.head]) if found.commits else {}
    for line in map(json.loads, body.splitlines()):
        value = line["value"]
        if line["key"] == "file":
            files[value["path"]] = base64.b64decode(value["content"])
        elif line["key"] == "lfsFile":
            files[value["path"]] = hub.large[value["oid"]]
    digest = hashlib.sha1(repr(sorted(files.items())).encode(), usedforsecurity=False).hexdigest()
    found.commits[digest] = files
    url = f"{hub.url}/{repository}/commit/{digest}"
    return HTTPStatus.OK, {"commitUrl": url, "commitOid": digest, "hookOutput": ""}, None


def _information(hub: HubServer, body: bytes, repository: str, revision: str = "main") -> Answer:
    found = hub.repositories.get(repository)
    commit = None if found is None else found.at(revision)
    if found is None:
        return MISSING
    if commit is None:
        return HTTPStatus.NOT_FOUND, {"error": "no such revision"}, {"X-Error-Code": "RevisionNotFound"}
    siblings = [{"rfilename": name} for name in found.commits[commit]]
    return HTTPStatus.OK, {"id": repository, "sha": commit, "private": found.private, "siblings": siblings}, None


def _tree(hub: HubServer, body: bytes, repository: str, revision: str) -> Answer:
    found = hub.repositories[repository]
    files = found.commits[found.at(revision) or ""]
    entries = [
        {"type": "file", "path": name, "size": len(content), "oid": _etag(content)} for name, content in files.items()
    ]
    return HTTPStatus.OK, entries, None


def _resolve(hub: HubServer, body: bytes, repository: str, revision: str, file: str) -> Answer:
    found = hub.repositories.get(repository)
    commit = None if found is None else found.at(revision)
    if found is None or commit is None:
        return MISSING
    if file not in found.commits[commit]:
        return HTTPStatus.NOT_FOUND, {"error": "no such file"}, {"X-Error-Code": "EntryNotFound"}
    content = found.commits[commit][file]
    return HTTPStatus.OK, content, {"X-Repo-Commit": commit, "ETag": f'"{_etag(content)}"'}


def _etag(content: bytes) -> str:
    return hashlib.sha1(content, usedforsecurity=False).hexdigest()


NAME = r"(?P<repository>[^/]+/[^/]+)"

ROUTES: dict[str, Any] = {
    r"POST /api/repos/create": _create,
    r"POST /api/validate-yaml": _validate,
    rf"POST /api/models/{NAME}/preupload/(?P<revision>.+)": _preupload,
    rf"POST /{NAME}\.git/info/lfs/objects/batch": _batch,
    r"PUT /upload/(?P<sha256>\w+)": _put,
    rf"POST /api/models/{NAME}/commit/(?P<revision>.+)": _commit,
    rf"GET /api/models/{NAME}": _information,
    rf"GET /api/models/{NAME}/revision/(?P<revision>.+)": _information,
    rf"GET /api/models/{NAME}/tree/(?P<revision>[^/]+)": _tree,
    rf"(GET|HEAD) /{NAME}/resolve/(?P<revision>[^/]+)/(?P<file>.+)": _resolve,
}
