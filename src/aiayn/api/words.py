"""Values of Python as words of a command line."""

import json
from collections.abc import Mapping
from typing import Any


def word(key: str, value: object) -> str:
    """Return `key=value` in Hydra's notation, quoted, so that any text can be a value."""
    return f"{key}={json.dumps(value, ensure_ascii=False)}"


def words(group: str, values: Mapping[str, Any] | None) -> list[str]:
    """Return `group.key=value` for each value."""
    return [word(f"{group}.{key}", value) for key, value in (values or {}).items()]
