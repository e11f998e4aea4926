"""Hostile inputs: random edits of the files of a run, random values, random words of a command line."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml
from hypothesis import strategies as st

Edit = Callable[[Path], None]
"""Changes one file or folder."""

JSON_FILES = (".json", ".jsonl")

TEXTS = st.sampled_from(
    ["", " ", "../../out", "/out", "\x00", "a\nb", "ü", "\ud800", "[bold]", ":on:", "${oc.env:HOME}", "???", "x" * 300]
) | st.text(max_size=8)

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.sampled_from([0, -1, 10**20, 10**400, 1e308, float("nan"), float("inf"), -0.0])
    | st.integers()
    | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=3,
)
"""What a field may be replaced by: any value of JSON, and some that it has no notation for."""

DEEP = "[" * 60_000 + "]" * 60_000


def places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to all fields of a document, the outermost first."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (*above, key)
            yield from places(inner, (*above, key))
    if isinstance(value, list):
        for number, inner in enumerate(value[:3]):
            yield (*above, number)
            yield from places(inner, (*above, number))


def with_edited_field(document: Any, place: int, value: Any, *, removed: bool) -> Any:
    """A document with one field replaced or removed; the document itself where it has none."""
    paths = [*places(document)]
    if not paths:
        return value
    *above, last = paths[place % len(paths)]
    inner = document
    for key in above:
        inner = inner[key]
    if removed:
        del inner[last]
    else:
        inner[last] = value
    return document


def edit_field(path: Path, place: int, value: Any, *, removed: bool) -> None:
    """Change a field of a file of JSON, of one line of it, or of YAML; any other file gets the value as its text."""
    if path.suffix == ".json":
        changed = with_edited_field(json.loads(path.read_text()), place, value, removed=removed)
        path.write_text(json.dumps(changed))
    elif path.suffix == ".jsonl":
        lines = path.read_text().splitlines() or ["{}"]
        number = place % len(lines)
        changed = with_edited_field(json.loads(lines[number]), place // len(lines), value, removed=removed)
        lines[number] = json.dumps(changed)
        path.write_text("".join(f"{line}\n" for line in lines))
    elif path.suffix == ".yaml":
        changed = with_edited_field(yaml.safe_load(path.read_text()), place, value, removed=removed)
        path.write_text(yaml.safe_dump(changed))
    else:
        path.write_bytes(str(value).encode(errors="surrogatepass"))


def edit_bytes(path: Path, place: int, content: bytes, *, cut: bool) -> None:
    """Insert bytes at a place, or end the file there."""
    whole = path.read_bytes()
    at = place % (len(whole) + 1)
    path.write_bytes(whole[:at] + content + (b"" if cut else whole[at:]))


def replace_file(path: Path, kind: str) -> None:
    """Put something else in the place of a file, or nothing."""
    path.unlink()
    match kind:
        case "folder":
            path.mkdir()
        case "loop":
            path.symlink_to(path.name)
        case "dangling":
            path.symlink_to("nowhere")
        case "unreadable":
            path.symlink_to("/proc/self/mem")  # for root too
        case "empty":
            path.touch()
        case "deep":
            path.write_text(DEEP)
        case "binary":
            path.write_bytes(bytes(range(256)) * 4)
        case "pipe":
            os.mkfifo(path)


REPLACED = ("nothing", "folder", "loop", "dangling", "unreadable", "empty", "deep", "binary", "pipe")

OVERRIDES = st.sampled_from(
    [
        *(
            "null",
            "true",
            "1",
            "-1",
            "0",
            "1e999",
            "1e3",
            "2026_11_28",
            "nan",
            "1,2",
            "[1",
            "[1]",
            "[[1]]",
            "{a:1}",
            "{}",
        ),
        *("${seed}", "${x", "${oc.env:NO}", "???", "''", "'", "\\", "=", "~", "@", "😀"),
    ]
)
"""Values of overrides, some of which Hydra's grammar has no reading for."""


def words(keys: list[str]) -> st.SearchStrategy[str]:
    """Words of a command line that set, add or remove one of some keys, or another."""
    key = st.sampled_from(keys) | st.sampled_from(["", "nowhere.x", "hydra", "a@b"])
    value = OVERRIDES | TEXTS | st.integers().map(str)
    stated = st.tuples(st.sampled_from(["", "", "", "+", "++", "~"]), key, st.just("="), value).map("".join)
    return (stated | key.map(lambda name: f"~{name}")).filter(lambda word: "\x00" not in word)


PLACES = st.integers(0, 10_000)

EDITS: st.SearchStrategy[Edit] = (
    st.builds(lambda *of: lambda path: edit_field(path, of[0], of[1], removed=of[2]), PLACES, VALUES, st.booleans())
    | st.builds(
        lambda *of: lambda path: edit_bytes(path, of[0], of[1], cut=of[2]), PLACES, st.binary(max_size=6), st.booleans()
    )
    | st.sampled_from(REPLACED).map(lambda kind: lambda path: replace_file(path, kind))
)


def apply(edit: Edit, path: Path) -> None:
    """Edit a file; one that an earlier edit has made unreadable stays as it is."""
    with suppress(ValueError, RecursionError, yaml.YAMLError):
        edit(path)


def editable(run: Path) -> list[Path]:
    """The files of a run that reports read, by their names in it."""
    files = sorted(path for path in run.rglob("*") if path.is_file() and "checkpoints" not in path.parts)
    return [path.relative_to(run) for path in files]


def state_of(folder: Path) -> dict[str, bytes | str]:
    """What there is below a folder: the bytes of files, the targets of links, what else there is by its kind."""
    found: dict[str, bytes | str] = {}
    for above, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = Path(above, name)
            key = str(path.relative_to(folder))
            if path.is_symlink():
                found[key] = f"link to {path.readlink()}"
            elif path.is_file():
                found[key] = path.read_bytes()
            else:
                found[key] = "folder" if path.is_dir() else "other"
    return found


def fresh_copy(of: Path, at: Path) -> None:
    """Copy a folder to the place of an earlier copy."""
    shutil.rmtree(at, ignore_errors=True)
    shutil.copytree(of, at)
