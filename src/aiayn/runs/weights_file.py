"""The file of a published run's weights, `model.safetensors`, and the description of the checkpoint in its header."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from aiayn.errors import UserError
from aiayn.system import files
from aiayn.system.documents import parse_as, parse_json

MOST_HEADER_BYTES = 100_000_000
"""The format's own limit."""

KEY = "aiayn"
"""Of the header's metadata, with a `PublishedWeights` as JSON."""


NAME = re.compile(r"step-\d+|average-[\w-]+", re.ASCII)
"""Of a checkpoint: part of the names of files."""


@dataclass(frozen=True)
class PublishedWeights:
    """The checkpoint whose weights were published."""

    checkpoint: str
    """Its name: step-<n>, or average-..."""
    step: int
    """Optimizer step; of an average the last one."""
    averaged_steps: tuple[int, ...]
    """Ascending; empty for a single checkpoint."""
    provenance: Mapping[str, str | None]
    """As in every checkpoint of the run: `config_hash` and `data_fingerprint`."""
    sha256: str
    """Of names and bytes of the weights, by name: the format has no checksum of its own."""

    def metadata(self) -> dict[str, str]:
        """Of the header; `format` is what readers of other libraries expect."""
        return {"format": "pt", KEY: json.dumps(asdict(self))}


def published_weights(path: Path) -> PublishedWeights:
    """The description of the checkpoint in the header; UserError if the file is damaged or has no such header."""
    try:
        with files.reading(path), path.open("rb") as stream:
            size = int.from_bytes(stream.read(8), "little")
            content = stream.read(size) if size <= MOST_HEADER_BYTES else b""
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; fetch it again") from None
    try:
        header = parse_json(content.decode(), "header")
        found = parse_as(PublishedWeights, header["__metadata__"][KEY], KEY)
        if not NAME.fullmatch(found.checkpoint) or found.step < 0:
            raise ValueError(f"checkpoint {found.checkpoint!r} of step {found.step}")
        return found
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path}: not the weights of a published run ({error}); publish or fetch it again") from None
