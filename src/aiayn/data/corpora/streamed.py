"""Reading the text of a split, from a table or as a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

from aiayn.data.lines import breaks_as_spaces
from aiayn.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import datasets

    from aiayn.data.corpora.hub_data_set import HubDataSet
    from aiayn.data.lines import TextPairs


@final
class StreamedPairs:
    """The sentence pairs of a split of a hub data set, read from the start each time and never stored.

    Args:
        rows: The data set's rows, in one of the hub's two formats.
        languages: Codes of the source and the target side.
        data_set: Where the rows come from.
        place: The split's name in error messages, such as "data.path=wmt/wmt14 (train)".
        size: Number of pairs where the data set states it.
        on_end: Called with the number of pairs after the last one has been read.
    """

    def __init__(
        self,
        rows: datasets.IterableDataset,
        *,
        languages: tuple[str, str],
        data_set: HubDataSet,
        place: str,
        size: int | None,
        on_end: Callable[[int], None],
    ) -> None:
        self._rows = rows
        self._languages = languages
        self._data_set = data_set
        self._place = place
        self._on_end = on_end
        self.size = size

    def chunks(self, size: int, *, start: int = 0) -> Iterator[TextPairs]:
        """Yield the text from pair `start` on, `size` pairs at a time.

        Raises:
            UserError: The hub cannot be reached, or a row lacks the text of a language.
        """
        count = start
        batches = iter(self._rows.skip(start).iter(batch_size=size))
        while True:
            with self._data_set.one_line_errors():
                batch = next(batches, None)
            if batch is None:
                break
            source, target = ([*self._column(batch, language, count)] for language in self._languages)
            count += len(source)
            yield source, target
        if count == 0:
            raise UserError(f"{self._place} is empty; name another split")
        if count > start or not start:  # starting at the end or beyond does not tell the size
            self._on_end(count)

    def _column(self, batch: Mapping[str, Any], language: str, first: int) -> Iterator[str]:
        if "translation" in batch:
            texts = [row.get(language) for row in batch["translation"]]
        elif language in batch:
            texts = batch[language]
        else:
            raise UserError(
                f"{self._place} has the columns {', '.join(batch)}, neither translation nor {language}; fix "
                "data.source_language, data.target_language or data.subset"
            )
        for number, text in enumerate(texts, first):
            if not isinstance(text, str):
                raise UserError(f"{self._place} has no text in the language {language} in row {number}")
            yield breaks_as_spaces(text)


def text_of(split: Any, size: int, *, start: int = 0) -> Iterator[TextPairs]:
    """Yield the text of a split, table or stream, from pair `start` on, `size` pairs at a time."""
    if isinstance(split, StreamedPairs):
        yield from split.chunks(size, start=start)
        return
    for first in range(start, len(split), size):
        rows = split[first : first + size]
        yield list(rows["source"]), list(rows["target"])


def size_of(split: Any) -> int | None:
    """Return the number of pairs of a split where it is known before reading."""
    return split.size if isinstance(split, StreamedPairs) else len(split)
