"""The properties that training and searching need of a model, checked on a small batch."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import torch
from torch import Tensor

from aiayn.builders.cost import model_cost
from aiayn.builders.models import create_model
from aiayn.config.model_schema import ModelConfig
from aiayn.config.schema import TrainConfig
from aiayn.decoding.beam_search import BeamSearch
from aiayn.errors import UserError, error_line
from aiayn.flat_tokens import FlatTokens, Layout
from aiayn.models.translation_model import TranslationModel, count_parameters
from aiayn.training.loss import output_losses

ROWS = 61
"""Entries of the vocabulary: every token of the batch is another one."""

BOS, EOS = 1, 2

Check: TypeAlias = Callable[[TranslationModel[Any]], str]

TOLERANCE = 1e-4
"""Largest difference of two ways to compute the same, relative to the largest value."""

ROUNDING = 1e-5
"""Gradients below this share of the largest one are rounding: terms that cancel in a softmax leave such gradients."""

SOURCE = ((10, 11, 12, 13, EOS), (14, 15, EOS), (16, 17, 18, EOS))
TARGET = ((BOS, 20, 21, 22), (BOS, 23, 24, 25, 26, 27), (BOS, 28))


class BrokenContractError(Exception):
    """A property that a model does not have, in one line."""


@dataclass(frozen=True)
class Finding:
    """The outcome of one check."""

    name: str
    passed: bool
    detail: str


def check_model(config: TrainConfig) -> list[Finding]:
    """Build the model of a configuration for a vocabulary of `ROWS` and check each property."""
    torch.manual_seed(config.seed)
    model = create_model(config.model, rows=ROWS)
    found = [Finding("builds", passed=True, detail=type(model).__name__)]
    checks: dict[str, Check] = {"cost": partial(_cost, config.model), **CHECKS}
    for name, check in checks.items():
        try:
            found.append(Finding(name, passed=True, detail=check(copy.deepcopy(model))))
        except BrokenContractError as error:
            found.append(Finding(name, passed=False, detail=str(error)))
        except (UserError, KeyboardInterrupt):
            raise
        except BaseException as error:  # of the user's own classes
            found.append(Finding(name, passed=False, detail=error_line(error)))
    return found


def _cost(config: ModelConfig, model: TranslationModel[Any]) -> str:
    """Its parameters and operations are counted, as `aiayn plan` and `aiayn train` do."""
    cost = model_cost(config, vocabulary_size=ROWS)
    own, flops = count_parameters(model), cost.training_flops(source_tokens=1, target_tokens=1)
    _require(cost.parameters == own, f"{cost.parameters:,} parameters are counted, and it has {own:,}")
    return f"{own:,} parameters at {ROWS} entries; {flops / 1e6:.3g} MFLOP a token pair"


def _shapes(model: TranslationModel[Any]) -> str:
    """A state for every target token."""
    states = _states(model.eval())
    tokens, width = sum(map(len, TARGET)), model.output_weight.shape[1]
    _require(states.shape == (tokens, width), f"states are {list(states.shape)} instead of [{tokens}, {width}]")
    _require(bool(states.isfinite().all()), "states are not finite")
    return f"[tokens, {width}]"


def _causality(model: TranslationModel[Any]) -> str:
    """No state depends on a later token, by gradient."""
    states = _states(model.eval())
    first = 0
    for row, sentence in enumerate(TARGET):
        for place in range(len(sentence) - 1):
            later = _read(model, states[first + place], sentence[place + 1 :])
            _require(not later, f"target {row}: the state at {place} depends on the token at {place + 1} or later")
        first += len(sentence)
    _require(bool(_read(model, states[3], TARGET[0][1:3])), "the state does not depend on earlier target tokens")
    _require(bool(_read(model, states[0], SOURCE[0])), "the state does not depend on the source")
    return "gradients of later tokens are 0"


def _independence(model: TranslationModel[Any]) -> str:
    """No sentence depends on others of its batch, nor on fillers."""
    states = _states(model.eval())
    alone = torch.cat([_states(model, [source], [target]) for source, target in zip(SOURCE, TARGET, strict=True)])
    worst = _difference(states, alone)
    _require(worst < TOLERANCE, f"a sentence alone gives other states (difference {worst:.1e})")
    others = [token for sentence in (*SOURCE[1:], *TARGET[1:]) for token in sentence if token not in (BOS, EOS)]
    _require(not _read(model, states[: len(TARGET[0])], others), "states depend on other sentences")
    filled = model.states(_filled(SOURCE), _filled(TARGET))[: len(states)]
    _require(_difference(states, filled) < TOLERANCE, "fillers change states")
    return f"largest difference {worst:.1e}"


@torch.no_grad()
def _cached(model: TranslationModel[Any]) -> str:
    """Cached steps predict the same as the whole target, with beams reordered and sentences removed and added."""
    worst = torch.zeros(())
    for beam in (1, 3):
        sources: list[Sequence[int]] = list(SOURCE)
        targets = [[[BOS]] for _ in sources]
        state = model.eval().begin(FlatTokens.of(sources))
        for place in range(4):
            worst = worst.maximum(_step_difference(model, state, sources, targets))
            parents = [[(row + place + new) % len(each) for new in range(beam)] for row, each in enumerate(targets)]
            state.reorder(torch.tensor(parents))
            targets = [
                [[*each[parent], 20 + 3 * place + new] for new, parent in enumerate(chosen)]
                for each, chosen in zip(targets, parents, strict=True)
            ]
            if place == 1:
                state.keep(torch.tensor([2, 1]))
                sources, targets = [sources[2], sources[1]], [targets[2], targets[1]]
            if place == 2:  # another one, which has read nothing
                later = model.begin(FlatTokens.of(SOURCE[:1]))
                later.reorder(torch.zeros(1, beam, dtype=torch.int64))
                state.join(later)
                sources.append(SOURCE[0])
                targets.append([[BOS]] * beam)
    _require(bool(worst < TOLERANCE), f"log-probabilities differ by up to {worst:.1e}")
    return f"beams 1 and 3; largest difference {worst:.1e}"


def _step_difference(
    model: TranslationModel[Any], state: Any, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[list[int]]]
) -> Tensor:
    """Of one step that reads each beam's last token, to the whole target of each beam."""
    logits, normalizers = model.step(torch.tensor([[beam[-1] for beam in each] for each in targets]), state)
    beams = [beam for each in targets for beam in each]
    read = [source for source, each in zip(sources, targets, strict=True) for _ in each]
    last = torch.tensor([len(beam) for beam in beams]).cumsum(0) - 1
    expected = torch.log_softmax(model.project(_states(model, read, beams)[last]), dim=-1)
    return torch.tensor(_difference((logits - normalizers.unsqueeze(-1)).flatten(0, 1), expected))


def _search(model: TranslationModel[Any]) -> str:
    """Beam search ends with an output for every source."""
    search = BeamSearch(beam_size=3, length_penalty_alpha=0.6, start_id=BOS, eos_id=EOS, forbidden_ids=[0, BOS])
    with torch.no_grad():
        found = search.batch(model.eval().step, model.begin(FlatTokens.of(SOURCE)), torch.tensor([8, 6, 7]))
    _require(all(len(hypotheses) == 1 for hypotheses in found), "a source has no output")
    return f"lengths {', '.join(str(hypotheses[0].length) for hypotheses in found)}"


def _training(model: TranslationModel[Any]) -> str:
    """A step gives every parameter a gradient and lowers the loss."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    before = _step(model, optimizer, seed=1)
    silent = [name for name, each in model.named_parameters() if each.requires_grad and each.grad is None]
    _require(not silent, f"without a gradient: {', '.join(silent)}")
    bad = [name for name, each in model.named_parameters() if each.grad is not None and not each.grad.isfinite().all()]
    _require(not bad, f"the gradient is not finite: {', '.join(bad)}")
    after = [_step(model, optimizer, seed=1) for _ in range(5)][-1]
    _require(after < before, f"the loss went from {before:.3f} to {after:.3f} in five steps on one batch")
    return f"loss {before:.3f} -> {after:.3f} in five steps"


def _resuming(model: TranslationModel[Any]) -> str:
    """A step after loading is the same to the last bit."""
    other = copy.deepcopy(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    _step(model, optimizer, seed=1)
    kept = copy.deepcopy({"model": model.state_dict(), "optimizer": optimizer.state_dict()})
    expected = [_step(model, optimizer, seed=seed) for seed in (2, 3)]
    other.load_state_dict(kept["model"])
    loaded = torch.optim.Adam(other.parameters(), lr=1e-3)
    loaded.load_state_dict(kept["optimizer"])
    _require(
        [_step(other, loaded, seed=seed) for seed in (2, 3)] == expected, "losses differ: state_dict lacks something"
    )
    return "two steps"


def _states(
    model: TranslationModel[Any],
    source: Sequence[Sequence[int]] = SOURCE,
    target: Sequence[Sequence[int]] = TARGET,
) -> Tensor:
    return model.states(FlatTokens.of(source), FlatTokens.of(target))


def _filled(sentences: Sequence[Sequence[int]]) -> FlatTokens:
    tokens = FlatTokens.of(sentences)
    layout = Layout.of([len(sentence) for sentence in sentences], fillers=3)
    return FlatTokens(torch.cat([tokens.ids, torch.zeros(3, dtype=torch.int64)]), layout)


def _read(model: TranslationModel[Any], states: Tensor, tokens: Sequence[int]) -> bool:
    """Whether states depend on any of these tokens: by the gradients of their rows of embedding matrices."""
    tables = [each for each in model.parameters() if each.requires_grad and each.dim() == 2 and len(each) == ROWS]
    _require(bool(tables), f"there is no embedding matrix with {ROWS} rows to follow gradients to")
    weights = torch.linspace(1.0, 2.0, states.numel()).view_as(states)  # a plain sum of normalised states is constant
    gradients = torch.autograd.grad(
        (states * weights).sum(), tables, retain_graph=True, allow_unused=True, materialize_grads=True
    )
    own = [token for token in tokens if token not in (BOS, EOS)]
    return any(bool((gradient[own].abs() > ROUNDING * gradient.abs().max()).any()) for gradient in gradients)


def _step(model: TranslationModel[Any], optimizer: torch.optim.Optimizer, *, seed: int) -> float:
    torch.manual_seed(seed)  # of dropout
    targets = torch.tensor([token for sentence in TARGET for token in (*sentence[1:], EOS)])
    states = _states(model.train())
    summed = output_losses(states, model.output_weight, targets, label_smoothing=0.1, bias=model.output_bias).smoothed
    loss = summed / len(targets)
    optimizer.zero_grad()
    torch.autograd.backward(loss)
    optimizer.step()
    return float(loss.detach())


def _difference(own: Tensor, other: Tensor) -> float:
    return float((own - other).detach().abs().max() / other.detach().abs().max().clamp(min=1.0))


def _require(condition: bool, text: str) -> None:
    if not condition:
        raise BrokenContractError(text)


CHECKS: dict[str, Check] = {
    "shapes": _shapes,
    "causality": _causality,
    "independence": _independence,
    "decoding": _cached,
    "search": _search,
    "training": _training,
    "resuming": _resuming,
}
"""Each returns its finding as text, or raises BrokenContractError."""
