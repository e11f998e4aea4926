"""A split of a hub's data set that is read as it comes and stored nowhere."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, final

from aiayn.data.corpora.hub_errors import Asked, explained
from aiayn.data.filters import TextPairs
from aiayn.data.lines import breaks_as_spaces
from aiayn.errors import UserError

if TYPE_CHECKING:
    import datasets


@final
class StreamedPairs:
    """Sentence pairs in their order, each time from the beginning.

    Args:
        rows: the data set's rows, in either of the hub's two shapes.
        languages: codes of the source and the target side.
        asked: whom to blame where the rows cannot be read.
        place: the same in words, as in "data.path=wmt/wmt14 (train)".
        size: how many there are, where the data set states it.
        ended: told how many pairs there were, when the last of them has been read.
    """

    def __init__(
        self,
        rows: "datasets.IterableDataset",
        *,
        languages: tuple[str, str],
        asked: Asked,
        place: str,
        size: int | None,
        ended: Callable[[int], None],
    ) -> None:
        self._rows = rows
        self._languages = languages
        self._asked = asked
        self._place = place
        self._ended = ended
        self.size = size

    def chunks(self, size: int, *, start: int = 0) -> Iterator[TextPairs]:
        """Yield the text, `size` pairs at a time; those before `start` are read and passed over.

        Raises:
            UserError: the hub cannot be reached, or a row has not one text in either language.
        """
        count = start
        batches = iter(self._rows.skip(start).iter(batch_size=size))
        while True:
            with explained(self._asked):
                batch = next(batches, None)
            if batch is None:
                break
            pairs = self._text(batch, count)
            count += len(pairs[0])
            yield pairs
        if count == 0:
            raise UserError(f"{self._place} is empty; name another split")
        if count > start or not start:  # who began at the end does not know where that is
            self._ended(count)

    def _text(self, batch: Mapping[str, Any], first: int) -> TextPairs:
        source, target = ([*self._column(batch, language, first)] for language in self._languages)
        return source, target

    def _column(self, batch: Mapping[str, Any], language: str, first: int) -> Iterator[str]:
        if "translation" in batch:
            texts = [row.get(language) for row in batch["translation"]]
        elif language in batch:
            texts = batch[language]
        else:
            raise UserError(
                f"{self._place} has the columns {', '.join(batch)}, neither translation nor {language}; mend "
                "data.source_language, data.target_language or data.subset"
            )
        for number, text in enumerate(texts, first):
            if not isinstance(text, str):
                raise UserError(f"{self._place} has no text in the language {language} in row {number}")
            yield breaks_as_spaces(text)


def text_of(split: Any, size: int, *, start: int = 0) -> Iterator[TextPairs]:
    """Yield the text of a split, table or stream, from one pair on, `size` pairs at a time."""
    if isinstance(split, StreamedPairs):
        yield from split.chunks(size, start=start)
        return
    for first in range(start, len(split), size):
        rows = split[first : first + size]
        yield list(rows["source"]), list(rows["target"])


def size_of(split: Any) -> int | None:
    """Return how many pairs a split has, where that is known before they are read."""
    return split.size if isinstance(split, StreamedPairs) else len(split)
