"""The real client of the hub against a local server: rows, cache and errors."""

import gzip
import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import unquote

import pytest

from aiayn.data.corpora.hub_data_set import HubDataSet
from aiayn.data.preparation.atomic_cache import open_or_build, shard_directory
from aiayn.errors import RunFailedError, UserError

Files = Mapping[str, bytes]

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub(BaseHTTPRequestHandler):
    """The requests of the hub that reading a data set needs.

    It has `some/corpus` at one commit; `some/gated` is closed, and there is no other.
    """

    files: ClassVar[Files] = {}

    def do_HEAD(self) -> None:
        self._send(*self._answer(), body=False)

    def do_GET(self) -> None:
        self._send(*self._answer())

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or "{}")
        self._send(200, {}, json.dumps([self._entry(name) for name in asked["paths"] if name in self.files]).encode())

    def _answer(self) -> tuple[int, dict[str, str], bytes]:
        path = unquote(self.path.partition("?")[0]).removeprefix("/api")
        if path.startswith("/datasets/some/gated"):
            return 403, {"X-Error-Code": "GatedRepo"}, b""
        if not path.startswith("/datasets/some/corpus"):
            return 404, {"X-Error-Code": "RepoNotFound"}, b""
        kind, _, rest = path.removeprefix("/datasets/some/corpus").strip("/").partition("/")
        revision, _, name = rest.partition("/")
        if revision not in ("", "main", COMMIT):
            return 404, {"X-Error-Code": "RevisionNotFound"}, b""
        if kind == "resolve":
            if name not in self.files:
                return 404, {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": COMMIT}, b""
            return 200, {"X-Repo-Commit": COMMIT, "ETag": f'"{_digest(self.files[name])}"'}, self.files[name]
        if kind == "tree":
            return 200, {}, json.dumps(self._children(f"{name}/" if name else "")).encode()
        siblings = [{"rfilename": each} for each in self.files]
        return 200, {}, json.dumps({"id": "some/corpus", "sha": COMMIT, "siblings": siblings}).encode()

    def _children(self, folder: str) -> list[dict[str, object]]:
        inside = [name for name in self.files if name.startswith(folder)]
        folders = {folder + rest for name in inside for rest, slash, _ in [name[len(folder) :].partition("/")] if slash}
        files = [self._entry(name) for name in inside if "/" not in name[len(folder) :]]
        return files + [{"type": "directory", "path": name, "size": 0, "oid": COMMIT} for name in sorted(folders)]

    def _entry(self, name: str) -> dict[str, object]:
        return {"type": "file", "path": name, "size": len(self.files[name]), "oid": _digest(self.files[name])}

    def _send(self, status: int, headers: Mapping[str, str], content: bytes, *, body: bool = True) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if body:
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Log nothing."""


@contextmanager
def small_hub(files: Files) -> Iterator[str]:
    """Serve the files until the block ends; yields the value of HF_ENDPOINT."""
    handler = type("HubOfFiles", (Hub,), {"files": dict(files)})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _digest(content: bytes) -> str:
    return hashlib.sha1(content, usedforsecurity=False).hexdigest()


README = """---
configs:
- config_name: de-en
  data_files:
  - {split: train, path: de-en/train-*}
  - {split: test, path: de-en/test-*}
- config_name: fr-en
  data_files: fr-en/*
---
"""
FILES = {
    "README.md": README.encode(),
    "de-en/train-00000-of-00002.jsonl": b'{"en": "a"}\n{"en": "b"}\n',
    "de-en/train-00001-of-00002.jsonl": b'{"en": "c"}\n',
    "de-en/test-00000-of-00001.jsonl": b'{"en": "d"}\n',
    "fr-en/train.jsonl": b'{"en": "e"}\n',
}

PROGRAM = """
import json, sys
from pathlib import Path
from aiayn.errors import RunFailedError, UserError
from aiayn.data.corpora.hub_data_set import HubDataSet

for asked in json.loads(sys.argv[1]):
    asked = {"path": "some/corpus", "subset": "de-en", "revision": None, **asked}
    data_set = HubDataSet(**asked, scratch_directory=Path())
    try:
        print(json.dumps([data_set.content, list(data_set.table("train", key="data.splits.train")["en"])]))
    except UserError as error:
        print(json.dumps(str(error)))
    except RunFailedError as error:
        print(json.dumps(f"RunFailedError: {error}"))
"""
"""The client reads its environment when it is imported, so each hub is asked by a process of its own."""

Answer = tuple[list[Any], str]


def ask(home: Path, environment: Mapping[str, str], *questions: Mapping[str, str | None]) -> Answer:
    """Return the content or the error of each data set, and standard error."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(questions)],
        env={**os.environ, "HF_HOME": str(home), "HF_HUB_DISABLE_TELEMETRY": "1", **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the hub's cache."""
    return tmp_path_factory.mktemp("huggingface")


@pytest.fixture(scope="module")
def online(home: Path) -> Answer:
    with small_hub(FILES) as endpoint:
        return ask(
            home,
            {"HF_ENDPOINT": endpoint},
            {},
            {"revision": COMMIT},
            {"subset": "nl-en"},
            {"path": "some/gated"},
            {"path": "some/nothing"},
            {"path": "some/nothing", "revision": COMMIT},
        )


@pytest.mark.parametrize(
    ("name", "content", "texts"),
    [
        ("train.csv", b'en,nb\nNA,"k. A."\n1e3,null\n', ["NA", "1e3"]),
        ("train.tsv.gz", gzip.compress(b'en\tsv\n"a\tb\nc"\td\n', mtime=0), ['"a', 'c"']),
    ],
)
def test_tables_have_the_text_of_their_files(name: str, content: bytes, texts: list[str], tmp_path: Path) -> None:
    with small_hub({name: content}) as endpoint:
        (answer,), errors = ask(tmp_path, {"HF_ENDPOINT": endpoint}, {"subset": None})
    assert answer == [{"data set": ["some/corpus", None, COMMIT]}, texts]
    assert errors == ""


def test_rows_are_identified_by_the_commit(online: Answer) -> None:
    by_name, by_commit, *_ = online[0]
    assert by_name == [{"data set": ["some/corpus", "de-en", COMMIT]}, ["a", "b", "c"]]
    assert by_commit == by_name


def test_errors_of_the_hub_take_one_line(online: Answer) -> None:
    (*_, subset, gated, missing, missing_commit), errors = online
    assert "Available: ['de-en', 'fr-en']); fix it or data.subset=nl-en, or read files" in subset
    for said, path in ((gated, "some/gated"), (missing, "some/nothing"), (missing_commit, "some/nothing")):
        assert said.startswith(f"data.path={path}: ")
        assert "hf auth login" in said
        assert "data=text_files" in said
    assert errors == ""  # no bars, no remarks of the client


def test_the_cache_replaces_the_hub_when_offline(home: Path, online: Answer) -> None:
    offline = {"HF_HUB_OFFLINE": "1", "HF_ENDPOINT": "http://127.0.0.1:9"}
    (same, pinned, subset, other, tag, nothing), errors = ask(
        home,
        offline,
        {},
        {"revision": COMMIT},
        {"subset": "nl-en"},
        {"revision": "f" * 40},
        {"revision": "v1"},
        {"path": "some/nothing"},
    )
    assert same == pinned == online[0][0]
    assert "Available configs in the cache: ['de-en']); fix it or data.subset=nl-en" in subset
    assert f"data.revision={'f' * 40}" in other
    assert "data.revision=v1" in tag
    assert COMMIT in tag
    assert nothing.startswith("RunFailedError: data.path=some/nothing: the Hugging Face hub cannot be reached")
    assert "(HF_HUB_OFFLINE is set); connect, name a folder, or read files: data=text_files" in nothing
    assert [line for line in errors.splitlines() if f"using the hub's cache, revision {COMMIT}" not in line] == []


class Refusing(BaseHTTPRequestHandler):
    """A proxy that refuses all connections."""

    def do_CONNECT(self) -> None:
        self.send_error(403)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Log nothing."""


def test_the_error_of_a_proxy_is_reported(tmp_path: Path) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as proxy:
        thread = threading.Thread(target=proxy.serve_forever)
        thread.start()
        try:
            address = f"http://127.0.0.1:{proxy.server_address[1]}"
            environment = {"HF_ENDPOINT": "https://hub.invalid", "HTTPS_PROXY": address, "NO_PROXY": ""}
            (said,), _ = ask(tmp_path, environment, {})
        finally:
            proxy.shutdown()
            thread.join()
    assert said.startswith("RunFailedError: data.path=some/corpus: the Hugging Face hub cannot be reached")
    assert "403" in said


def test_shards_stay_when_the_hub_cannot_be_reached(tmp_path: Path) -> None:
    data_set = HubDataSet(path="some/corpus", subset=None, revision=COMMIT, scratch_directory=Path())
    shards = shard_directory(tmp_path / "prepared")

    def build(_: Path) -> dict[str, Any]:
        shards.mkdir()
        with data_set.one_line_errors():
            raise ConnectionError("Server Disconnected")  # of `datasets`, when all its attempts have failed

    with pytest.raises(RunFailedError, match=r"data\.path=some/corpus: the Hugging Face hub cannot be reached"):
        open_or_build(tmp_path / "prepared", build)
    assert shards.is_dir()


def test_a_pinned_commit_needs_no_request() -> None:
    """So a prepared corpus of a pinned data set needs neither the hub nor its cache."""
    pinned = HubDataSet(path="some/corpus", subset=None, revision=COMMIT, scratch_directory=Path())
    assert pinned.content == {"data set": ["some/corpus", None, COMMIT]}


def test_a_scratch_folder_that_cannot_be_created_is_reported(tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "train.jsonl").write_text('{"en": "a"}\n')
    (tmp_path / "file").touch()
    data_set = HubDataSet(
        path=str(tmp_path / "set"), subset=None, revision=None, scratch_directory=tmp_path / "file" / "scratch"
    )
    assert data_set.content
    with pytest.raises(UserError, match=r"cannot create .*change paths\.cache"):
        data_set.table("train", key="data.splits.train")


@pytest.mark.parametrize(
    "written", ["[" * 60_000, "{}", "[]", '{"_data_files": [{"filename": "../../data.arrow"}]}', "\x00"]
)
def test_a_damaged_state_of_a_saved_data_set_is_named(tmp_path: Path, written: str) -> None:
    (tmp_path / "dataset_info.json").write_text("{}")
    (tmp_path / "state.json").write_text(written)
    with pytest.raises(UserError, match=r"state\.json: .*; save the data set again"):
        _ = HubDataSet(path=str(tmp_path), subset=None, revision=None, scratch_directory=tmp_path).content
