"""`check_model`: every built-in model passes, and a model that lacks a property fails the check of that property."""

from dataclasses import replace
from itertools import cycle
from typing import Any

import pytest
import torch
from composed_once import validated
from torch import Tensor, nn

from aiayn.builders.model_contract import CHECKS, Finding, check_model
from aiayn.config.model_schema import KINDS, Attention, Norm, Positions
from aiayn.errors import UserError
from aiayn.extensions.baselines.schema import Cell, RecurrentAttention
from aiayn.flat_tokens import FlatTokens
from aiayn.models.attention import AttentionFunction, DotProduct
from aiayn.models.kernels.decoder_state import DecoderState
from aiayn.models.positions import PositionalEncoding
from aiayn.models.transformer import Memory, Transformer

SMALL = ("model.d_model=16", "model.num_layers=1", "model.dropout=0.1")
OF_TRANSFORMERS = (*SMALL, "model.d_ff=24", "model.num_heads=2", "model.d_k=8", "model.d_v=8")


def found(*words: str) -> list[Finding]:
    return check_model(validated(*words))


def failed(*words: str) -> dict[str, str]:
    """The checks that fail, with what they found."""
    return {each.name: each.detail for each in found(*words) if not each.passed}


def of_attention(kind: type[AttentionFunction]) -> dict[str, str]:
    return failed(*OF_TRANSFORMERS, f"model.attention={__name__}:{kind.__name__}")


def of_positions(kind: type[PositionalEncoding]) -> dict[str, str]:
    return failed(*OF_TRANSFORMERS, f"model.positions={__name__}:{kind.__name__}")


def of_model(kind: type[Transformer]) -> dict[str, str]:
    return failed("model=plugin", *SMALL, f"model.target={__name__}:{kind.__name__}")


# What passes.


class Dot(AttentionFunction):
    """q k with a learned factor."""

    def __init__(self, *, num_heads: int, d_k: int) -> None:
        super().__init__()
        self.factor = nn.Parameter(torch.full((num_heads, 1, 1), d_k**-0.5))

    def scores(self, query: Tensor, keys: Tensor) -> Tensor:
        return self.factor * torch.matmul(query, keys.transpose(-1, -2))


class Weighted(DotProduct):
    """q W k with a learned diagonal W."""

    def __init__(self, *, num_heads: int, d_k: int) -> None:
        super().__init__(scale=d_k**-0.5)
        self.weights = nn.Parameter(torch.ones(num_heads, 1, d_k))

    def transform(self, query: Tensor) -> Tensor:
        return query * self.weights


class Ramp(PositionalEncoding):
    """Adds the position in one coordinate."""

    def __init__(self, *, max_positions: int, d_model: int) -> None:
        super().__init__()
        self.direction = nn.Parameter(torch.ones(d_model) / max_positions)

    def forward(self, embedded: Tensor, positions: Tensor, *, longest: int) -> Tensor:
        return embedded + positions.unsqueeze(-1) * self.direction


class Small(Transformer):
    def __init__(self, *, d_model: int, **given: Any) -> None:
        super().__init__(d_model=d_model, d_ff=24, num_heads=2, d_k=8, d_v=8, **given)


@pytest.mark.parametrize("attention", Attention)
def test_every_attention_passes(attention: Attention) -> None:
    assert failed(*OF_TRANSFORMERS, f"model.attention={attention}") == {}


@pytest.mark.parametrize(("positions", "norm"), list(zip(Positions, cycle(Norm), strict=False)))
def test_all_positions_pass(positions: Positions, norm: Norm) -> None:
    words = (f"model.positions={positions}", f"model.norm={norm}", "model.tied_embeddings=false")
    assert failed(*OF_TRANSFORMERS, *words) == {}


@pytest.mark.parametrize("cell", Cell)
@pytest.mark.parametrize("attention", RecurrentAttention)
def test_every_recurrent_model_passes(cell: Cell, attention: RecurrentAttention) -> None:
    assert failed("model=recurrent", *SMALL, f"model.cell={cell}", f"model.attention={attention}") == {}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "plugin"])
def test_every_kind_has_an_option_that_passes(kind: str) -> None:
    outcome = found(f"model={kind}", *SMALL)
    assert [each.name for each in outcome] == ["builds", "cost", *CHECKS]
    assert all(each.passed for each in outcome)


def test_right_classes_of_the_users_own_pass() -> None:
    assert of_attention(Dot) == of_attention(Weighted) == of_positions(Ramp) == of_model(Small) == {}


# What fails, and where.


class ReadsLater(Small):
    """A state sees the next token of its sentence as well."""

    def decode(self, target_input: FlatTokens, memory: Memory) -> Tensor:
        states = super().decode(target_input, memory)
        layout = target_input.layout
        last = layout.offsets[1:-1] - 1
        following = torch.arange(len(states)) + 1
        following[last.long()] = last.long()
        following = following.clamp(max=len(states) - 1)
        embedded: Tensor = self.embedding(target_input.ids)
        return states + embedded[following] - embedded


class Centred(AttentionFunction):
    """Keys lose their mean over the sentence and its pads."""

    def __init__(self, *, num_heads: int, d_k: int) -> None:
        super().__init__()

    def scores(self, query: Tensor, keys: Tensor) -> Tensor:
        scores: Tensor = torch.matmul(query, (keys * keys.mean(dim=-2, keepdim=True)).transpose(-1, -2))
        return scores


class NoPast(Small):
    """A state sees its own token and no earlier one."""

    def decode(self, target_input: FlatTokens, memory: Memory) -> Tensor:
        return torch.as_tensor(self.embedding(target_input.ids)) + memory[0].mean(dim=0)


class NoSource(Small):
    """The encoder's output is not used."""

    def encode(self, source: FlatTokens) -> Memory:
        states, view = super().encode(source)
        return torch.zeros_like(states), view


class CountsCalls(Small):
    """A state of the module itself changes what comes next; training does not see it."""

    calls = 0

    def decode(self, target_input: FlatTokens, memory: Memory) -> Tensor:
        self.calls += not self.training
        return super().decode(target_input, memory) * (1 + 0.1 * self.calls)


class SharedMean(Small):
    """Sources read the mean of all sources."""

    def encode(self, source: FlatTokens) -> Memory:
        states, view = super().encode(source)
        return states + states.mean(dim=0), view


class WrongStep(Small):
    """Cached steps are sharper than whole targets."""

    def step(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, Tensor]:
        logits, normalizers = super().step(tokens, state)
        return 1.5 * logits, normalizers


class NotANumber(Small):
    """Cached steps give NaN."""

    def step(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, Tensor]:
        logits, normalizers = super().step(tokens, state)
        return logits * torch.nan, normalizers


class StuckBeams(DecoderState):
    def reorder(self, beams: Tensor) -> None:
        """Every beam goes on with the first."""
        super().reorder(torch.zeros_like(beams))


class WrongReorder(Small):
    def begin(self, source: FlatTokens) -> DecoderState:
        state = super().begin(source)
        state.__class__ = StuckBeams
        return state


class Unjoined(DecoderState):
    def join(self, other: DecoderState) -> None:
        """Later sentences read the sources of the first."""
        other.memory = [type(layer)(*(0 * each for each in layer)) for layer in other.memory]
        super().join(other)


class WrongJoin(Small):
    def begin(self, source: FlatTokens) -> DecoderState:
        state = super().begin(source)
        state.__class__ = Unjoined
        return state


class CannotSearch(Small):
    """Steps with more than 2 x 3 beams raise."""

    def step(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, Tensor]:
        if state.longest >= 6:
            raise KeyError(state.longest)
        return super().step(tokens, state)


class Spare(Small):
    """A parameter is not used."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.spare = nn.Parameter(torch.ones(3))


class Infinite(Small):
    """The gradient of a root at 0."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.gain = nn.Parameter(torch.zeros(1))

    def decode(self, target_input: FlatTokens, memory: Memory) -> Tensor:
        return super().decode(target_input, memory) + self.gain.sqrt()


class Backwards(torch.autograd.Function):
    """The identity, whose gradient has the wrong sign."""

    @staticmethod
    def forward(ctx: Any, states: Tensor) -> Tensor:
        return states.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return -100 * gradients[0]


class Climbs(Small):
    """Everything but the output layer goes the wrong way."""

    def decode(self, target_input: FlatTokens, memory: Memory) -> Tensor:
        return torch.as_tensor(Backwards.apply(super().decode(target_input, memory)))  # type: ignore[no-untyped-call]


class Forgets(Small):
    """A buffer that training changes is not in the state_dict."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.steps: Tensor
        self.register_buffer("steps", torch.zeros(()), persistent=False)

    def decode(self, target_input: FlatTokens, memory: Memory) -> Tensor:
        if self.training:
            self.steps += 1
        return super().decode(target_input, memory) * (1 + 0.1 * self.steps)


class TooNarrow(Small):
    """A state for every target token but the last."""

    def decode(self, target_input: FlatTokens, memory: Memory) -> Tensor:
        return super().decode(target_input, memory)[:-1]


class Random(Small):
    """Parameters differ in number from one construction to the next."""

    made = 0

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        type(self).made += 1
        self.more = nn.Parameter(torch.zeros(self.made))

    def decode(self, target_input: FlatTokens, memory: Memory) -> Tensor:
        return super().decode(target_input, memory) + self.more.sum()


@pytest.mark.parametrize(
    ("kind", "check", "detail"),
    [
        (Random, "cost", "parameters are counted, and it has"),
        (WrongStep, "decoding", "log-probabilities differ by up to"),
        (WrongReorder, "decoding", "log-probabilities differ by up to"),
        (WrongJoin, "decoding", "log-probabilities differ by up to"),
        (CannotSearch, "search", "KeyError: 6"),
        (Spare, "training", "without a gradient: spare"),
        (Climbs, "training", "the loss went from"),
        (Forgets, "resuming", "losses differ: state_dict lacks something"),
    ],
)
def test_a_model_without_a_property_fails_there_alone(kind: type[Transformer], check: str, detail: str) -> None:
    (name,), (text,) = (outcome := of_model(kind)).keys(), outcome.values()
    assert name == check
    assert detail in text


@pytest.mark.parametrize(
    ("kind", "check", "detail"),
    [
        (TooNarrow, "shapes", "states are [11, 16] instead of [12, 16]"),
        (ReadsLater, "causality", "target 0: the state at 0 depends on the token at 1 or later"),
        (NoPast, "causality", "the state does not depend on earlier target tokens"),
        (NoSource, "causality", "the state does not depend on the source"),
        (SharedMean, "independence", "a sentence alone gives other states"),
        (CountsCalls, "independence", "a sentence alone gives other states"),
        (Infinite, "training", "the gradient is not finite: "),
        (NotANumber, "decoding", "log-probabilities differ by up to nan"),
    ],
)
def test_a_model_without_a_property_fails_there(kind: type[Transformer], check: str, detail: str) -> None:
    """Others need it too."""
    assert detail in of_model(kind)[check]


class OfLength(AttentionFunction):
    """Scores depend on how many keys there are, pads and slots of other beams included."""

    def __init__(self, *, num_heads: int, d_k: int) -> None:
        super().__init__()

    def scores(self, query: Tensor, keys: Tensor) -> Tensor:
        return torch.matmul(query, keys.transpose(-1, -2)) / keys.shape[-2]


class FromTheEnd(PositionalEncoding):
    """Positions count from the end of the longest sentence."""

    def __init__(self, *, max_positions: int, d_model: int) -> None:
        super().__init__()

    def forward(self, embedded: Tensor, positions: Tensor, *, longest: int) -> Tensor:
        return embedded + (longest - positions).unsqueeze(-1)


class Steep(FromTheEnd):
    """Steps are placed by the longest beam."""

    def forward(self, embedded: Tensor, positions: Tensor, *, longest: int) -> Tensor:
        return embedded * (1 + longest)


def test_an_attention_that_reads_later_keys_is_not_causal() -> None:
    outcome = of_attention(Centred)
    assert "depends on the token at" in outcome["causality"]
    assert {"independence", "decoding"} <= outcome.keys()


def test_an_attention_that_depends_on_the_number_of_keys_cannot_be_decoded() -> None:
    outcome = of_attention(OfLength)
    assert set(outcome) == {"independence", "decoding"}


@pytest.mark.parametrize("kind", [FromTheEnd, Steep])
def test_positions_that_depend_on_the_longest_sentence_fail(kind: type[PositionalEncoding]) -> None:
    assert set(of_positions(kind)) == {"independence", "decoding"}


class Single(AttentionFunction):
    """Constants in single precision, in which operations cannot be counted."""

    def __init__(self, *, num_heads: int, d_k: int) -> None:
        super().__init__()

    def scores(self, query: Tensor, keys: Tensor) -> Tensor:
        return torch.matmul(torch.matmul(query, torch.eye(query.shape[-1])), keys.transpose(-1, -2))


def test_a_model_whose_cost_cannot_be_counted_fails_there_alone() -> None:
    assert set(of_attention(Single)) == {"cost"}


def test_too_few_positions_are_the_users_to_correct() -> None:
    config = validated(*OF_TRANSFORMERS, "model.positions=learned")
    with pytest.raises(UserError, match=r"^model\.max_positions=2: too few for 5 tokens"):
        check_model(replace(config, model=replace(config.model, max_positions=2)))
