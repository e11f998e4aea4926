"""The interface of translation models: trained on whole targets, searched step by step."""

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from torch import Tensor, nn

from aiayn.models.packing import Packed
from aiayn.models.products import linear

State = TypeVar("State")
"""See `decoding.step.DecodingState`."""


class TranslationModel(nn.Module, ABC, Generic[State]):
    """An encoder and a decoder."""

    pad_id: int
    """Fills sentences up at their ends. Every source needs one real token."""

    @property
    @abstractmethod
    def output_weight(self) -> Tensor:
        """The matrix of the output layer, `[vocabulary_size, d_model]`."""

    @property
    def vocabulary_size(self) -> int:
        """Rows of the output layer, with those that stand for no text."""
        return len(self.output_weight)

    @property
    @abstractmethod
    def max_length(self) -> int | None:
        """The most tokens of a source or a target, end mark included; None: any number."""

    @abstractmethod
    def encode(self, source: Tensor) -> Any:
        """Read sources int64 `[batch, source_len]`, pads at the end, for `decode`."""

    @abstractmethod
    def decode(self, target_input: Tensor, encoded: Any) -> Packed:
        """States for the output layer at every target position, given those before it.

        `target_input` is int64 `[batch, target_len]`, the target shifted right behind bos, pads at the end.
        """

    @abstractmethod
    def begin(self, source: Tensor) -> State:
        """Encode sources int64 `[sentences, source_len]`; each has one beam that has read nothing yet."""

    @abstractmethod
    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, Tensor]:
        """Read one token per beam and predict the next; see `decoding.step.StepFunction`.

        `tokens` are int64 `[sentences, beam]`, bos at the first step; `state` becomes the state after them.
        """

    def project(self, states: Tensor) -> Tensor:
        """Logits `[..., vocabulary_size]` of states `[..., d_model]`, without a bias."""
        return linear(states, self.output_weight)

    def forward(self, source: Tensor, target_input: Tensor) -> Tensor:
        """Logits of every next token, `[batch, target_len, vocabulary_size]`."""
        states, packing = self.decode(target_input, self.encode(source))
        return packing.unpack(self.project(states))
