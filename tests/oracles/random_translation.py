"""Random weights and sentences for the reference programs, and the file of their answers; imports torch alone.

Reference programs run in an environment that has the library and not aiayn: `python fairseq_reference.py FOLDER`.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

Sentences: TypeAlias = list[list[int]]
LossAndLogits: TypeAlias = Callable[[Sentences, Sentences], tuple[Tensor, Tensor]]
"""From sources and targets: the smoothed loss of a token, and the logits [tokens, entries]."""

D_MODEL, D_FF, LAYERS, HEADS = 32, 48, 2, 4
PAIRS = 8
"""Pairs of the batch whose loss is differentiated."""
SOURCES = 100
"""Sentences that are translated."""
LONGEST = 15
"""Tokens of a source, with its end mark."""
STEPS = 300
SMOOTHING = 0.1
LEARNING_RATE = 1e-3
BETAS = (0.9, 0.98)
ADAM_EPSILON = 1e-6
"""Larger than the libraries' own, so that gradients that are rounding errors do not change weights."""
ANSWERS = "answers.pt"


def random_weights(model: nn.Module) -> None:
    """Draw every parameter, biases and normalisations too."""
    generator = torch.Generator().manual_seed(11)
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        drawn = torch.randn(parameter.shape, generator=generator)
        if parameter.dim() == 1:
            parameter.data = 0.2 * drawn + (1.0 if name.endswith("norm.weight") else 0.0)
        else:
            parameter.data = drawn * parameter.shape[1] ** -0.5


def random_sentences(ids: Sequence[int], *, count: int, eos_id: int, longest: int, seed: int) -> Sentences:
    """Sentences of these ids, each with its end mark, of 2 to `longest` tokens."""
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, longest, (count,), generator=generator).tolist()
    drawn = (torch.randint(len(ids), (length,), generator=generator).tolist() for length in lengths)
    return [[*(ids[number] for number in each), eos_id] for each in drawn]


def noisy_copies(sources: Sentences, *, seed: int) -> Sentences:
    """A target for each source: its pieces, some left out and some twice."""
    generator = torch.Generator().manual_seed(seed)
    targets = []
    for source in sources:
        counts = torch.tensor([0, 1, 1, 1, 2])[torch.randint(5, (len(source) - 1,), generator=generator)].tolist()
        targets.append(
            [*(piece for piece, count in zip(source, counts, strict=False) for _ in range(count)), source[-1]]
        )
    return targets


def train(model: nn.Module, ids: Sequence[int], *, eos_id: int, loss_and_logits: LossAndLogits) -> None:
    """Train until outputs end and depend on their sources: with drawn weights alone a search repeats one piece.

    In float64, so that rounding, which differs between processors, does not grow into another model.
    """
    model.double()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(STEPS):
        sources = random_sentences(ids, count=32, eos_id=eos_id, longest=LONGEST, seed=1000 + step)
        optimizer.zero_grad()
        loss_and_logits(sources, noisy_copies(sources, seed=step))[0].backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    model.float()


def padded(sentences: Sentences, *, pad_id: int) -> Tensor:
    """Sentences as rows, pads on the right, int64 [sentences, longest]."""
    return nn.utils.rnn.pad_sequence([torch.tensor(each) for each in sentences], True, pad_id)


def shifted(targets: Tensor, *, start_id: int) -> Tensor:
    """The decoder's input: targets [sentences, longest] shifted right, with the start first."""
    return torch.cat([torch.full((len(targets), 1), start_id), targets[:, :-1]], dim=1)


def answers_of_model(
    model: nn.Module,
    ids: Sequence[int],
    *,
    eos_id: int,
    translations: Callable[[Sentences], dict[str, Any]],
    loss_and_logits: LossAndLogits,
    adam: Callable[..., torch.optim.Optimizer] = torch.optim.Adam,
) -> dict[str, Any]:
    """Translations of sentences of these ids; loss, logits and gradients of pairs in float64; weights after a step."""
    sources = random_sentences(ids, count=SOURCES, eos_id=eos_id, longest=LONGEST, seed=2)
    outputs = translations(sources)
    pairs = sources[:PAIRS], noisy_copies(sources[:PAIRS], seed=3)
    model.double().zero_grad()
    loss, logits = loss_and_logits(*pairs)
    loss.backward()  # type: ignore[no-untyped-call]
    named = model.state_dict(keep_vars=True)
    gradients = {name: entry.grad.clone() for name, entry in named.items() if entry.grad is not None}
    adam(model.parameters(), lr=LEARNING_RATE, betas=BETAS, eps=ADAM_EPSILON).step()
    step = {"loss": loss.item(), "logits": logits.detach(), "gradients": gradients, "after": model.state_dict()}
    return {"sources": sources, **outputs, "pairs": pairs, **step}


def save_answers(folder: Path, answers: Mapping[str, Any]) -> None:
    """Write tensors and plain values, for `torch.load` with `weights_only`."""
    torch.save(dict(answers), folder / ANSWERS)
