"""A data set of the Hugging Face hub, of the hub's cache or of a folder; where there is none, one line says why."""

from __future__ import annotations

import hashlib
import json
import logging
import re
import tempfile
import weakref
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from aiayn.data.corpora.hub_errors import INSTEAD, Asked, explained, first_line
from aiayn.errors import UserError
from aiayn.system.scratch import make_scratch, remove_scratch

if TYPE_CHECKING:
    import datasets

_COMMIT = re.compile(r"[0-9a-f]{40}")
_DESCRIPTIONS = ("README.md", ".huggingface.yaml", "dataset_infos.json")
"""Files that say how the others are read."""

logger = logging.getLogger(__name__)


@final
class HubDataSet:
    """The named splits of one data set. Nothing is asked of the hub, and nothing read, before it is needed.

    Args:
        path: Repository on the hub, such as `wmt/wmt14`, or a folder: one with data files as on the hub, or one that
            `save_to_disk` wrote. A folder goes first where both exist.
        subset: Name of a configuration inside the data set, or none.
        revision: Commit, branch or tag on the hub; none is the newest.
        scratch_directory: Where tables of a folder are kept while this object lives, the system's temporary folder if
            not given. What comes from the hub lies in the hub's own cache.
    """

    def __init__(self, *, path: str, subset: str | None, revision: str | None, scratch_directory: Path | None) -> None:
        self._path, self._subset, self._revision = path, subset, revision
        self._scratch_directory = scratch_directory
        folder = Path(path).expanduser()
        self._folder = folder.absolute() if path and folder.is_dir() else None
        self.asked = Asked(path, subset, is_folder=self._folder is not None)

    @cached_property
    def content(self) -> dict[str, Any]:
        """What stands for every row: the SHA-256 of a folder's files, or the commit on the hub.

        Where a folder lies, and the times of its files, do not matter. A `revision` that is a commit is believed
        without asking the hub.

        Raises:
            UserError: there is no such data set, or it cannot be read.
        """
        if self._folder is None:
            pinned = self._revision is not None and _COMMIT.fullmatch(self._revision)
            return {"data set": [self._path, self._subset, self._revision if pinned else str(self._on_hub.hash)]}
        with explained(self.asked), tempfile.TemporaryDirectory() as unused:
            data_files = self._in_folder(self._folder, cache=unused).config.data_files
            files = {str(split): [_digest(Path(file)) for file in files] for split, files in data_files.items()}
            described = [_digest(file) for name in _DESCRIPTIONS if (file := self._folder / name).is_file()]
        return {"files": files, "described by": described, "subset": self._subset}

    def table(self, split: str, *, key: str) -> datasets.Dataset:
        """Return a split, or part of one as in `train[:1%]`, as a memory-mapped table.

        Args:
            split: the data set's own name of it.
            key: the configuration key to blame.

        Raises:
            UserError: as `content`, or there is no such split.
        """
        loaded = self._loaded
        names = list(loaded.info.splits)
        try:
            return loaded.as_dataset(split=split)
        except ValueError as error:  # also a slice that cannot be parsed
            wrong = "" if re.split(r"[\[+]", split)[0] in names else "no such split; "
            raise UserError(
                f"{key}={split}: {wrong or f'{first_line(error)}; '}data.path={self._path} has {', '.join(names)}: "
                f"name one, or a part as in \"{key}='{names[0]}[:1000]'\""
            ) from error

    def stream(self, split: str, *, key: str) -> tuple[datasets.IterableDataset, int | None]:
        """Return a whole split to be read as it comes, and the number of its rows where the data set states it.

        Args:
            split: the data set's own name of it.
            key: the configuration key to blame.

        Raises:
            UserError: as `content`, or there is no such split.
        """
        folder = self._folder
        builder = self._on_hub if folder is None else self._in_folder(folder, cache=self._scratch())
        with explained(self.asked):
            splits = builder.as_streaming_dataset()
        if split not in splits:
            part = " (a part of a split cannot be streamed)" if re.search(r"[\[+]", split) else ""
            raise UserError(f"{key}={split}: no such split{part}; data.path={self._path} has {', '.join(splits)}")
        stated = (builder.info.splits or {}).get(split)
        return splits[split], (stated.num_examples or None) if stated else None

    @cached_property
    def _loaded(self) -> Any:
        folder = self._folder
        builder = self._on_hub if folder is None else self._in_folder(folder, cache=self._scratch())
        with explained(self.asked):
            builder.download_and_prepare()
        return builder

    @cached_property
    def _on_hub(self) -> Any:
        import datasets
        from datasets.packaged_modules.cache.cache import Cache

        self._refuse_what_is_no_name()
        with explained(self.asked):
            builder = datasets.load_dataset_builder(self._path, self._subset, revision=self._revision)
        if isinstance(builder, Cache):  # whatever the hub did not answer
            self._accept_cached(str(builder.hash))
        return builder

    def _in_folder(self, folder: Path, *, cache: str) -> Any:
        import datasets

        with explained(self.asked):
            saved = _saved_to_disk(folder)
            if saved and self._subset is not None:
                raise UserError(
                    f"data.subset={self._subset}: data.path={self._path} was written by save_to_disk and has no "
                    "subsets; state data.subset=null"
                )
            if saved:
                return datasets.load_dataset_builder("arrow", data_files=saved, cache_dir=cache)
            return datasets.load_dataset_builder(str(folder), self._subset, cache_dir=cache)

    def _scratch(self) -> str:
        # Not the cache of `datasets`: it knows files by their times, and keeps a copy of their rows for ever.
        try:
            scratch = make_scratch(self._scratch_directory or Path(tempfile.gettempdir()), prefix="hub-")
        except OSError as error:
            raise UserError(f"cannot create {error.filename} ({error.strerror}); change paths.cache") from error
        weakref.finalize(self, remove_scratch, scratch)
        return str(scratch)

    def _refuse_what_is_no_name(self) -> None:
        if self._folder is None and (self._path.startswith(("/", ".", "~")) or self._path.count("/") > 1):
            what = "a file: name its folder" if Path(self._path).expanduser().is_file() else "no such folder: mend it"
            raise UserError(f"data.path={self._path}: {what} (looked from {Path.cwd()}), {INSTEAD}")
        if not self._path:
            raise UserError(f"data.path has no value: state a data set of the hub or a folder, {INSTEAD}")

    def _accept_cached(self, commit: str) -> None:
        """Use the hub's cache, unless another revision was asked for: the newest copy is all that it offers."""
        if self._revision not in (None, "main", commit):
            raise UserError(
                f"data.revision={self._revision}: the Hugging Face hub does not give it, and the newest copy of "
                f"data.path={self._path} in the hub's cache is of revision {commit}: connect, or state that one"
            )
        logger.warning(
            "data.path=%s: the Hugging Face hub does not give it; using the hub's cache, revision %s "
            "(HF_HUB_OFFLINE=1 does so without waiting)",
            self._path,
            commit,
        )


def _saved_to_disk(folder: Path) -> dict[str, list[str]] | None:
    """Return the files of each split in a folder that `save_to_disk` wrote, in their order; None for other folders."""
    if (index := folder / "dataset_dict.json").is_file():
        parts = {name: folder / name for name in json.loads(index.read_bytes())["splits"]}
    elif (folder / "state.json").is_file() and (folder / "dataset_info.json").is_file():
        parts = {"train": folder}
    else:
        return None
    return {
        name: [str(part / file["filename"]) for file in json.loads((part / "state.json").read_bytes())["_data_files"]]
        for name, part in parts.items()
    }


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
