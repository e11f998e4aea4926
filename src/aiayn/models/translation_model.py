"""Translation models: trained on whole targets, searched step by step."""

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn

from aiayn.flat_tokens import FlatTokens
from aiayn.models.kernels.log_sum_exp import log_sum_exp
from aiayn.models.kernels.matmul import linear

State = TypeVar("State")
"""See `decoding.step.DecodingState`."""


class TranslationModel(nn.Module, ABC, Generic[State]):
    """An encoder and a decoder."""

    output_bias: Tensor | None
    """Added to the logits, `[vocabulary_size]`; None: nothing."""
    target_start: str = "bos"
    """The decoder's first input: bos, eos or pad."""

    def __init__(self) -> None:
        super().__init__()
        self.register_parameter("output_bias", None)

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
    def encode(self, source: FlatTokens) -> Any:
        """Read the sources, for `decode`."""

    @abstractmethod
    def decode(self, target_input: FlatTokens, encoded: Any) -> Tensor:
        """States for the output layer at every target position, given those before it: `[tokens, d_model]`.

        `target_input` are the targets shifted right, with `target_start` first.
        """

    @abstractmethod
    def first_state(self, encoded: Any) -> State:
        """The state of a search before its first step: one beam per encoded source, which has read nothing."""

    @abstractmethod
    def next_states(self, tokens: Tensor, state: State) -> Tensor:
        """States for the output layer after one more token per beam, `[sentences, beam, d_model]`.

        `tokens` are int64 `[sentences, beam]`, `target_start` at the first step; `state` becomes the state after them.
        """

    @torch.no_grad()
    def begin(self, source: FlatTokens) -> State:
        """Encode the sources; each has one beam that has read nothing yet."""
        assert not self.training, "a search would be disturbed by dropout: call eval() first"
        return self.first_state(self.encode(source))

    @torch.no_grad()
    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, Tensor]:
        """Read one token per beam and predict the next; see `decoding.step.StepFunction` and `next_states`.

        Logits are `[sentences, beam, vocabulary_size]`, normalizers `[sentences, beam]`.
        """
        logits = self.project(self.next_states(tokens, state))
        return logits, log_sum_exp(logits)

    def project(self, states: Tensor) -> Tensor:
        """Logits `[..., vocabulary_size]` of states `[..., d_model]`: the output layer (section 3.4)."""
        return linear(states, self.output_weight, self.output_bias)

    def states(self, source: FlatTokens, target_input: FlatTokens) -> Tensor:
        """States for the output layer at every target position, `[tokens, d_model]`."""
        return self.decode(target_input, self.encode(source))

    def forward(self, source: FlatTokens, target_input: FlatTokens) -> Tensor:
        """Logits of every next token, `[tokens, vocabulary_size]`."""
        return self.project(self.states(source, target_input))


def count_parameters(model: nn.Module) -> int:
    """Trainable and frozen parameters; a tied matrix counts once, buffers never."""
    return sum(parameter.numel() for parameter in model.parameters())
