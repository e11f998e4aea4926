"""Parts of a suite that takes long: `pytest --part=2/3` runs the second third of it."""

import re
from zlib import crc32


def read_part(text: str) -> tuple[int, int]:
    """The number of a part, from 1, and how many there are; ValueError for any other text."""
    found = re.fullmatch(r"([0-9]{1,4})/([0-9]{1,4})", text)
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise ValueError(f"--part={text}: state a number and how many parts there are, as in 1/3")
    return int(found[1]), int(found[2])


def is_in_part(test: str, part: int, parts: int) -> bool:
    """Whether a test, named by its id, belongs to a part: every test belongs to one, always to the same."""
    return crc32(test.encode()) % parts == part - 1
