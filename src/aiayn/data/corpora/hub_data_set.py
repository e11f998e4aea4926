"""Reading a data set from the Hugging Face hub, from the hub's cache or from a folder; errors take one line."""

from __future__ import annotations

import logging
import re
import tempfile
import textwrap
import weakref
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import yaml

from aiayn.data.corpora.delimited import TAB, count_json_lines, json_line, table_columns, table_rows
from aiayn.data.lines import file_entry
from aiayn.errors import RunFailedError, UserError
from aiayn.system import files
from aiayn.system.documents import read_json
from aiayn.system.progress import has_bars
from aiayn.system.scratch import make_scratch, remove_scratch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import datasets

_INSTEAD = "or read files: data=text_files data.train.source=... data.train.target=..."
_COMMIT = re.compile(r"[0-9a-f]{40}")
_DESCRIPTIONS = ("README.md", ".huggingface.yaml", "dataset_infos.json")
"""Files that decide how the data files are read."""

logger = logging.getLogger(__name__)


@final
class HubDataSet:
    """The named splits of one data set; nothing is read or requested before it is used.

    Args:
        path: Repository on the hub, such as `wmt/wmt14`, or a folder: data files as on the hub, or the output of
            `save_to_disk`. An existing folder takes precedence.
        subset: Configuration of the data set, or None.
        revision: Commit, branch or tag on the hub; None: the newest.
        scratch_directory: Where tables of a folder are kept while this object lives.
    """

    def __init__(self, *, path: str, subset: str | None, revision: str | None, scratch_directory: Path) -> None:
        self.path, self.subset, self._revision = path, subset, revision
        self._scratch_directory = scratch_directory
        folder = Path(path).expanduser()
        self._folder = folder.absolute() if path and files.is_dir(folder) else None

    @cached_property
    def content(self) -> dict[str, Any]:
        """Identifies every row: the SHA-256 of a folder's files (not their place or times), or the commit on the hub.

        A `revision` that is a commit is used without a request to the hub.

        Raises:
            UserError: There is no such data set, or it cannot be read.
            RunFailedError: The hub cannot be reached.
        """
        if self._folder is None:
            pinned = self._revision is not None and _COMMIT.fullmatch(self._revision)
            return {"data set": [self.path, self.subset, self._revision if pinned else str(self._on_hub.hash)]}
        with self.one_line_errors(), tempfile.TemporaryDirectory() as cache:
            config = self._in_folder(self._folder, cache=cache).config
            splits = config.data_files.items()
            digests = {str(split): [self._digest(Path(file)) for file in each] for split, each in splits}
            described = [self._digest(file) for name in _DESCRIPTIONS if files.is_file(file := self._folder / name)]
        content = {"files": digests, "described by": described, "subset": self.subset}
        # Earlier versions took quotes of TSV for marks of a text's start and end.
        return content | ({"quotes": "are text"} if _separator(config) == TAB else {})

    def table(self, split: str, *, key: str) -> datasets.Dataset:
        """Return a split, or a part of one such as `train[:1%]`, as a memory-mapped table; `key` is named in errors.

        Raises:
            UserError: As `content`, or there is no such split.
        """
        names, read = self._loaded
        try:
            return read(split)
        except ValueError as error:  # including a slice with a syntax error
            wrong = "" if re.split(r"[\[+]", split)[0] in names else "no such split; "
            raise UserError(
                f"{key}={split}: {wrong or f'{_first_line(error)}; '}data.path={self.path} has {', '.join(names)}: "
                f"name one, or a part as in \"{key}='{names[0]}[:1000]'\""
            ) from error

    def stream(self, split: str, *, key: str) -> tuple[datasets.IterableDataset, int | None]:
        """Return a whole split for streaming, and its number of rows where the data set states it; see `table`."""
        with self.one_line_errors():
            splits = self._own_tables(streaming=True) or self._builder.as_streaming_dataset()
        if split not in splits:
            part = " (a part of a split cannot be streamed)" if re.search(r"[\[+]", split) else ""
            raise UserError(f"{key}={split}: no such split{part}; data.path={self.path} has {', '.join(splits)}")
        stated = (self._builder.info.splits or {}).get(split)
        return splits[split], (stated.num_examples or None) if stated else None

    @contextmanager
    def one_line_errors(self) -> Iterator[None]:
        """Turn errors of `datasets` and of the hub's client into errors of one line, and silence their own messages.

        Raises:
            RunFailedError: The hub cannot be reached: a preparation keeps its shards, for another attempt.
            UserError: Any other error.
        """
        from datasets.exceptions import DatasetsError

        _silence()
        try:
            yield
        except (UserError, RunFailedError):
            raise
        except (OSError, ValueError, LookupError, RuntimeError, yaml.YAMLError, DatasetsError, *_network()) as error:
            if isinstance(error.__cause__, UserError):  # of `table_rows`
                raise error.__cause__ from None
            raise self._explained(error) from error

    def line_of(self, split: str, row: int) -> str:
        """Name a row, counted from 0, by its line where the split is one of JSON lines, else by its number from 1."""
        named = self._json_lines.get(split)
        return (json_line(named, row, self._key) if named else None) or f"row {row + 1:,}"

    def check_rows(self, split: str, rows: int) -> None:
        """Raise a UserError if a whole split of JSON lines has another number of rows than of lines."""
        named = self._json_lines.get(split)
        lines = count_json_lines(named, self._key) if named else rows
        if lines != rows:
            raise UserError(f"{self._key} ({split}): has {lines:,} lines and {rows:,} rows; put each row on a line")

    @property
    def _key(self) -> str:
        return f"data.path={self.path}"

    @cached_property
    def _json_lines(self) -> dict[str, list[str]]:
        """The files of the splits of a folder that consist of JSON lines."""
        if self._folder is None:
            return {}
        splits = {str(split): [*map(str, each)] for split, each in (self._builder.config.data_files or {}).items()}
        return {
            split: named
            for split, named in splits.items()
            if all(re.search(r"\.(jsonl|ndjson)(\.\w+)?$", file) for file in named)
        }

    @cached_property
    def _loaded(self) -> tuple[list[str], Callable[[str], datasets.Dataset]]:
        """The names of all splits, and a function that reads one or a part of one."""
        import datasets

        with self.one_line_errors():
            tables, builder = self._own_tables(streaming=False), self._builder
            if tables is None:
                builder.download_and_prepare()
                sizes = {name: info.num_examples for name, info in builder.info.splits.items()}
                for name, size in sizes.items():
                    self.check_rows(name, size)
                return list(sizes), lambda split: builder.as_dataset(split=split)
        sizes = {name: len(table) for name, table in tables.items()}

        def read(split: str) -> datasets.Dataset:
            parts = datasets.ReadInstruction.from_spec(split).to_absolute(sizes)
            return datasets.concatenate_datasets(
                [tables[part.splitname].select(range(part.from_, part.to)) for part in parts]
            )

        return list(sizes), read

    def _own_tables(self, *, streaming: bool) -> dict[str, Any] | None:
        """The splits of CSV or TSV as `table_rows` reads them, fetched whole; None for other formats."""
        import datasets

        separator = _separator(self._builder.config)
        if separator is None:
            return None
        splits = {str(split): [*map(str, each)] for split, each in self._builder.config.data_files.items()}
        if self._folder is None:
            fetched = datasets.DownloadManager(dataset_name=self.path).download(splits)
            splits = {split: [*map(str, each)] for split, each in fetched.items()}
        tables = {}
        for split, named in splits.items():
            columns = table_columns(named, separator, self._key)
            settings: dict[str, Any] = {
                "features": datasets.Features({column: datasets.Value("string") for column in columns}),
                "gen_kwargs": {"files": named, "separator": separator, "key": self._key},
            }
            tables[split] = (
                datasets.IterableDataset.from_generator(table_rows, **settings)
                if streaming
                else datasets.Dataset.from_generator(table_rows, cache_dir=self._builder.cache_dir, **settings)
            )
        return tables

    @cached_property
    def _builder(self) -> Any:
        if self._folder is None:
            return self._on_hub
        # Not the cache of `datasets`: it identifies files by their times, and keeps a copy of the rows for ever.
        try:
            scratch = make_scratch(self._scratch_directory, prefix="hub-")
        except OSError as error:
            raise UserError(f"cannot create {error.filename} ({error.strerror}); change paths.cache") from error
        weakref.finalize(self, remove_scratch, scratch)
        return self._in_folder(self._folder, cache=str(scratch))

    @cached_property
    def _on_hub(self) -> Any:
        import datasets
        from datasets.packaged_modules.cache.cache import Cache

        self._check_name()
        with self.one_line_errors():
            builder = datasets.load_dataset_builder(self.path, self.subset, revision=self._revision)
        if isinstance(builder, Cache):  # the hub did not answer
            self._check_cached(str(builder.hash))
        return builder

    def _in_folder(self, folder: Path, *, cache: str) -> Any:
        import datasets

        with self.one_line_errors():
            saved = _saved_to_disk(folder)
            if saved and self.subset is not None:
                raise UserError(
                    f"data.subset={self.subset}: data.path={self.path} was written by save_to_disk and has no "
                    "subsets; set data.subset=null"
                )
            if saved:
                return datasets.load_dataset_builder("arrow", data_files=saved, cache_dir=cache)
            return datasets.load_dataset_builder(str(folder), self.subset, cache_dir=cache)

    def _digest(self, path: Path) -> str:
        return file_entry(path, f"data.path={self.path}")["sha256"]

    def _check_name(self) -> None:
        if not self.path:
            raise UserError(f"data.path has no value: name a data set of the hub or a folder, {_INSTEAD}")
        if self.path.startswith(("/", ".", "~")) or self.path.count("/") > 1:
            problem = (
                "a file: name its folder" if files.is_file(Path(self.path).expanduser()) else "no such folder: fix it"
            )
            raise UserError(f"data.path={self.path}: {problem} (relative to {Path.cwd()}), {_INSTEAD}")

    def _check_cached(self, commit: str) -> None:
        """Accept the newest copy in the hub's cache, unless another revision was requested."""
        if self._revision not in (None, "main", commit):
            raise UserError(
                f"data.revision={self._revision}: not available from the Hugging Face hub, and the newest copy of "
                f"data.path={self.path} in the hub's cache is of revision {commit}: connect, or name that one"
            )
        logger.warning(
            "data.path=%s: not available from the Hugging Face hub; using the hub's cache, revision %s "
            "(HF_HUB_OFFLINE=1 does so without waiting)",
            self.path,
            commit,
        )

    def _explained(self, error: BaseException) -> UserError | RunFailedError:
        from datasets import config
        from datasets.exceptions import DatasetNotFoundError, SplitsVerificationError

        path = f"data.path={self.path}"
        if isinstance(error, DatasetNotFoundError):
            return UserError(
                f"{path}: {_first_line(error)} Fix data.path or data.revision, log in (hf auth login), {_INSTEAD}"
            )
        unreachable = None if self._folder else _connection_error(error)
        if unreachable is not None:
            # The error that `datasets` itself raises is less specific than this message.
            why = "" if isinstance(unreachable, ConnectionError) else f" ({_first_line(unreachable)})"
            why = " (HF_HUB_OFFLINE is set)" if config.HF_HUB_OFFLINE else why
            return RunFailedError(
                f"{path}: the Hugging Face hub cannot be reached and its cache has no copy{why}; "
                f"connect, name a folder, {_INSTEAD}"
            )
        if isinstance(error, SplitsVerificationError):
            return UserError(
                f"{path}: holds other splits or sizes than its README.md states; fetch it again, or fix README.md"
            )
        # The cause is more specific than the error about generating rows.
        said = textwrap.shorten(str(error.__cause__ or error), 300) or type(error).__name__
        return UserError(f"{path}: cannot be read ({said}); fix it or data.subset={self.subset or 'null'}, {_INSTEAD}")


def _separator(config: Any) -> str | None:
    """The separator of the fields of CSV or TSV with the columns' names in their first line; None for other formats."""
    from datasets.packaged_modules.csv.csv import CsvConfig

    is_plain = isinstance(config, CsvConfig) and config.names is None and config.header == "infer"
    return str(config.sep) if is_plain else None


def _saved_to_disk(folder: Path) -> dict[str, list[str]] | None:
    """Return the files of each split, in order, of a folder written by `save_to_disk`; None for other folders."""
    if files.is_file(index := folder / "dataset_dict.json"):
        parts = {name: folder / name for name in _saved_names(index, "splits")}
    elif files.is_file(folder / "state.json") and files.is_file(folder / "dataset_info.json"):
        parts = {"train": folder}
    else:
        return None
    return {
        name: [str(part / file) for file in _saved_names(part / "state.json", "_data_files")]
        for name, part in parts.items()
    }


def _saved_names(path: Path, key: str) -> list[str]:
    """The names of splits or of their files in what `save_to_disk` wrote; UserError if it is damaged."""
    content = read_json(path, remedy="save the data set again")
    entries = content.get(key) if isinstance(content, dict) else None
    listed = entries if isinstance(entries, list) else [None]
    names = [entry.get("filename") if isinstance(entry, dict) else entry for entry in listed]
    inside = [name for name in names if isinstance(name, str) and files.is_inside(name)]
    if inside != names:
        raise UserError(f"{path}: {key} is no list of names inside the folder; save the data set again")
    return inside


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__


def _connection_error(error: BaseException) -> BaseException | None:
    """Return the innermost failure to connect among an error and its causes."""
    from huggingface_hub.errors import LocalEntryNotFoundError

    kinds = (ConnectionError, LocalEntryNotFoundError, *_network())
    return next((cause for cause in reversed(list(_chain(error))) if isinstance(cause, kinds)), None)


def _network() -> tuple[type[BaseException], ...]:
    """Return the base errors of the hub's client that are not OSErrors, which depend on its HTTP library."""
    from huggingface_hub.errors import HfHubHTTPError

    return tuple(base for base in HfHubHTTPError.__bases__ if not issubclass(OSError, base))


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _silence() -> None:
    """Show progress bars on a terminal only, and no log messages of the libraries."""
    import datasets
    from huggingface_hub.utils import logging as hub_logging
    from huggingface_hub.utils.tqdm import disable_progress_bars

    datasets.logging.set_verbosity(logging.CRITICAL)
    hub_logging.set_verbosity(logging.CRITICAL)
    if not has_bars():
        datasets.disable_progress_bars()
        disable_progress_bars()
