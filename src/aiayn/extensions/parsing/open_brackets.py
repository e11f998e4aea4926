"""Brackets that close as they were opened, around a given number of words: a constraint of searches."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from aiayn.errors import UserError

_OTHER, _OPENING, _CLOSING, _WORD, _END = range(5)


@dataclass(frozen=True)
class BracketVocabulary:
    """The roles of a vocabulary's tokens in a sequence of brackets, and the largest depth.

    Well formed over n words is `( ... )`: one pair of brackets with n words in it, and further nested pairs in it, each
    of one label and with at least one word; then eos. A single word may also stand without brackets; over no words
    there is eos alone.
    """

    kinds: Tensor
    """int64 [vocabulary], the kind of each token; other tokens are never allowed."""
    labels: Tensor
    """int64 [vocabulary], of an opening bracket its place in `closings`; elsewhere 0."""
    closings: Tensor
    """int64 [labels], the closing bracket of each label."""
    max_depth: int
    """The most open brackets."""
    max_openings: int
    """The most brackets that open in succession."""

    @classmethod
    def of(
        cls,
        pairs: Sequence[tuple[int, int]],
        words: Sequence[int],
        *,
        eos_id: int,
        vocabulary_size: int,
        max_depth: int,
        max_openings: int,
        device: torch.device,
    ) -> Self:
        """Take the tokens by their ids.

        `pairs` are the opening and the closing bracket of each label; each of `words` stands for one word. Both limits
        are at least 1.
        """
        openings, closings = [opening for opening, _ in pairs], [closing for _, closing in pairs]
        known = [*openings, *closings, *words, eos_id]
        assert pairs, "no brackets"
        assert words, "nothing to put into brackets"
        assert len(set(known)) == len(known), "a token of two kinds"
        assert min(max_depth, max_openings) >= 1, "the outermost bracket must open"
        kinds, labels = torch.zeros(2, vocabulary_size, dtype=torch.int64)
        for kind, tokens in ((_OPENING, openings), (_CLOSING, closings), (_WORD, words), (_END, [eos_id])):
            kinds[list(tokens)] = kind
        labels[openings] = torch.arange(len(pairs))
        return cls(kinds.to(device), labels.to(device), torch.tensor(closings, device=device), max_depth, max_openings)

    def begin(self, words: Tensor, max_lengths: Tensor) -> "OpenBrackets":
        """Before bos, one beam per sentence, for int64 [sentences] words and most tokens to generate, eos included.

        Raises:
            UserError: a limit leaves no room for the words, a pair of brackets and eos.
        """
        least = words + 1 + 2 * (words > 1)
        if bool((max_lengths < least).any()):
            sentence = int((max_lengths < least).nonzero()[0])
            raise UserError(
                f"decoding: length limit {int(max_lengths[sentence])}: brackets around {int(words[sentence])} words"
                f" take at least {int(least[sentence])} tokens, eos included; raise decoding.max_extra_length, or leave"
                " out what is longer than the model reads"
            )
        zeros = torch.zeros_like(words).unsqueeze(1)
        return OpenBrackets(
            vocabulary=self,
            stack=zeros.unsqueeze(-1).repeat(1, 1, self.max_depth),
            depth=zeros,
            openings=zeros,
            words=words.unsqueeze(1),
            room=max_lengths.unsqueeze(1) + 1,  # for bos
        )


@dataclass
class OpenBrackets:
    """The brackets that each beam has open, and what it has yet to read; a `Constraint`.

    Brackets open only while there is room to close all, so that the length limit cuts no output: with w words left and
    d > 0 brackets open, w + d + 1 tokens are always enough to the end. The outermost bracket stays open until all
    words are read. So something is always allowed, and every beam can end.
    """

    vocabulary: BracketVocabulary
    stack: Tensor
    """int64 [sentences, beam, max_depth], the labels of the open brackets, outermost first; undefined beyond."""
    depth: Tensor
    """int64 [sentences, beam], open brackets."""
    openings: Tensor
    """int64 [sentences, beam], opening brackets read last in succession."""
    words: Tensor
    """int64 [sentences, beam], words that are left."""
    room: Tensor
    """int64 [sentences, beam], tokens that may yet be generated, eos included."""

    def read(self, tokens: Tensor) -> None:
        """See `Constraint`."""
        kinds, deepest = self.vocabulary.kinds[tokens], self.vocabulary.max_depth
        opened = kinds == _OPENING
        top = self.depth.clamp(max=deepest - 1).unsqueeze(-1)  # only abandoned beams reach the limit
        label = torch.where(
            opened.unsqueeze(-1), self.vocabulary.labels[tokens].unsqueeze(-1), self.stack.gather(2, top)
        )
        self.stack = self.stack.scatter(2, top, label)
        self.depth = (self.depth + opened.long() - (kinds == _CLOSING).long()).clamp(0, deepest)
        self.openings = torch.where(opened, self.openings + 1, 0)
        self.words = self.words - (kinds == _WORD).long()
        self.room = self.room - 1

    def allowed(self) -> Tensor:
        """See `Constraint`."""
        rules, left, inside = self.vocabulary, self.words > 0, self.depth > 0
        may_open = left & (self.depth < rules.max_depth) & (self.openings < rules.max_openings)
        may_open &= self.room >= self.words + self.depth + 3  # itself, its closing bracket, eos
        may_close = inside & (self.openings == 0) & ((self.depth > 1) | ~left)
        never = torch.zeros_like(left)
        may_read = left & (inside | (self.words == 1))
        by_kind = torch.stack([never, may_open, never, may_read, ~left & ~inside], dim=-1)
        innermost = self.stack.gather(2, (self.depth - 1).clamp(min=0).unsqueeze(-1))
        return by_kind.index_select(2, rules.kinds).scatter(2, rules.closings[innermost], may_close.unsqueeze(-1))

    def reorder(self, beams: Tensor) -> None:
        """See `DecodingState`."""
        self.stack = self.stack.take_along_dim(beams.unsqueeze(-1), dim=1)
        self.depth, self.openings = self.depth.gather(1, beams), self.openings.gather(1, beams)
        self.words, self.room = self.words.gather(1, beams), self.room.gather(1, beams)

    def keep(self, sentences: Tensor) -> None:
        """See `DecodingState`."""
        self.stack, self.depth = self.stack[sentences], self.depth[sentences]
        self.openings, self.words, self.room = self.openings[sentences], self.words[sentences], self.room[sentences]

    def join(self, other: Self) -> None:
        """See `DecodingState`."""
        self.stack, self.depth = torch.cat([self.stack, other.stack]), torch.cat([self.depth, other.depth])
        self.openings = torch.cat([self.openings, other.openings])
        self.words, self.room = torch.cat([self.words, other.words]), torch.cat([self.room, other.room])
