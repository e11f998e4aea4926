"""The cells of tables that commands print."""


def cells_of(text: str) -> list[list[str]]:
    """The lines of tables as cells, and every other line that is not blank as one cell."""
    lines = text.splitlines()
    rules = [number for number, line in enumerate(lines) if line.strip() and not line.strip(" ─")]
    found: list[list[str]] = []
    place = 0
    for rule in rules:
        found += [[line.strip()] for line in lines[place : rule - 1] if line.strip()]
        end = next((number for number in range(rule + 1, len(lines)) if not lines[number].strip()), len(lines))
        found += split([lines[rule - 1], *lines[rule + 1 : end]])
        place = end
    return found + [[line.strip()] for line in lines[place:] if line.strip()]


def split(lines: list[str]) -> list[list[str]]:
    """Lines cut where two or more columns of the terminal are blank in all of them."""
    width = max(map(len, lines))
    padded = [line.ljust(width) for line in lines]
    blank = [all(line[place] == " " for line in padded) for place in range(width)]
    starts = [0, *(place for place in range(2, width) if blank[place - 2] and blank[place - 1] and not blank[place])]
    ends = [*starts[1:], width]
    return [[line[start:end].strip() for start, end in zip(starts, ends, strict=True)] for line in padded]
