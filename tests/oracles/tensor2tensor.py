"""tensor2tensor 1.0.6, the authors' code (tag v1.0.6 of 22 June 2017, commit 204b359), written anew in NumPy.

Its Transformer for WMT English-German (`transformer_base` on `wmt_ende_bpe32k`): variables and their distributions,
logits, loss, learning rate, Adam, beam search. Everything is float64 and padded, `[batch, length, ...]` with 0 as the
padding's id and 1 as the end mark's. In parentheses: the file of the package and the definition in it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from tape import Array, Node, constant

Ids: TypeAlias = NDArray[np.int64]

NAME = "tensor2tensor 1.0.6, in NumPy"

EOS = 1
TARGET_SPACES = 32


@dataclass(frozen=True, kw_only=True)
class HParams:
    """Settings (transformer.py: transformer_base; problem_hparams.py: wmt_ende_bpe32k; trainer_utils.py: flags)."""

    hidden_size: int = 512
    filter_size: int = 2048
    num_hidden_layers: int = 6
    num_heads: int = 8
    attention_key_channels: int = 0
    attention_value_channels: int = 0
    """All heads together; 0: hidden_size."""
    residual_dropout: float = 0.1
    attention_dropout: float = 0.0
    relu_dropout: float = 0.0
    label_smoothing: float = 0.1
    learning_rate: float = 0.1
    learning_rate_warmup_steps: int = 4000
    optimizer_adam_beta1: float = 0.9
    optimizer_adam_beta2: float = 0.98
    optimizer_adam_epsilon: float = 1e-9
    shared_embedding_and_softmax_weights: bool = True
    vocab_size: int = 40960
    target_space_id: int = 9
    loss_multiplier: float = 1.4
    decode_beam_size: int = 4
    decode_alpha: float = 0.6
    decode_extra_length: int = 50


class Variable(NamedTuple):
    """Shape and initial distribution: normal with this deviation, or uniform from -scale to scale."""

    shape: tuple[int, ...]
    distribution: Literal["normal", "uniform", "zeros", "ones"]
    scale: float = 0.0

    @classmethod
    def kernel(cls, rows: int, columns: int) -> "Variable":
        """By `uniform_unit_scaling` with gain 1 (trainer_utils.py: initializer): the fans' mean, their whole width."""
        return cls((rows, columns), "uniform", (3.0 / ((rows + columns) / 2)) ** 0.5)


def variables(hparams: HParams) -> dict[str, Variable]:
    """All trained variables. The 16 shards of a matrix of symbols, drawn alike, are one here (modalities.py)."""
    d = hparams.hidden_size
    matrices = ["input_emb"] if hparams.shared_embedding_and_softmax_weights else ["input_emb", "target_emb", "softmax"]
    found = {name: Variable((hparams.vocab_size, d), "normal", d**-0.5) for name in matrices}
    found["target_space_embedding"] = Variable.kernel(TARGET_SPACES, d)

    def dense(name: str, rows: int, columns: int) -> None:  # common_layers.py: conv, conv1d; biases by default
        found[f"{name}/kernel"] = Variable.kernel(rows, columns)
        found[f"{name}/bias"] = Variable((columns,), "zeros")

    keys = hparams.attention_key_channels or d
    values = hparams.attention_value_channels or d
    for name in sublayers(hparams):
        if name.endswith("/ffn"):
            dense(f"{name}/conv1", d, hparams.filter_size)
            dense(f"{name}/conv2", hparams.filter_size, d)
        else:
            if name.endswith("/self_attention"):
                dense(f"{name}/qkv_transform", d, 2 * keys + values)
            else:
                dense(f"{name}/q_transform", d, keys)
                dense(f"{name}/kv_transform", d, keys + values)
            dense(f"{name}/output_transform", values, d)
        found[f"{name}/layer_norm/scale"] = Variable((d,), "ones")
        found[f"{name}/layer_norm/bias"] = Variable((d,), "zeros")
    return found


def sublayers(hparams: HParams) -> list[str]:
    """Names of the sub-layers, in their order (models/transformer.py: transformer_encoder, transformer_decoder)."""
    kinds = {"encoder": ("self_attention", "ffn"), "decoder": ("self_attention", "encdec_attention", "ffn")}
    return [
        f"{stack}/layer_{number}/{kind}"
        for stack, own in kinds.items()
        for number in range(hparams.num_hidden_layers)
        for kind in own
    ]


def dropout_sites(hparams: HParams) -> list[str]:
    """Where `residual_dropout` is applied: both stacks' inputs, and each sub-layer's output before it is added.

    Attention weights and the hidden layers of `ffn` have rates of their own, which are 0.
    """
    assert hparams.attention_dropout == hparams.relu_dropout == 0
    return ["encoder", "decoder", *sublayers(hparams)]


@dataclass(frozen=True)
class Transformer:
    """The model (models/transformer.py: Transformer.model_fn_body; modalities.py: SymbolModality)."""

    hparams: HParams
    weights: Mapping[str, Node]
    masks: Mapping[str, Array] | None = None
    """Mask of each dropout site, `[batch, length, hidden_size]`: 0 or 1 / (1 - rate). None: no training."""

    def logits(self, inputs: Ids, targets: Ids) -> Node:
        """Logits of the targets, each from those before it, `[batch, target_len, vocab_size]`."""
        sources = self._embedded("input_emb", inputs)
        no_padding = constant(-1e9 * (np.abs(sources.value).sum(-1) == 0)[:, None, None])  # embedding_to_padding
        sources = sources + self.weights["target_space_embedding"][self.hparams.target_space_id]
        memory = self._stack("encoder", sources, no_padding)
        length = targets.shape[1]
        shifted = constant(np.eye(length, k=-1)) @ self._embedded(
            "target_emb", targets
        )  # the first one is a vector of zeros
        no_future = constant(-1e9 * np.triu(np.ones((length, length)), k=1))
        states = self._stack("decoder", shifted, no_future, memory, no_padding)
        return states @ self._symbols("softmax").swap(0, 1)

    def loss(self, inputs: Ids, targets: Ids) -> Node:
        """A scalar (common_layers.py: padded_cross_entropy; utils/modality.py: top_sharded; t2t_model.py: model_fn)."""
        logits = self.logits(inputs, targets)
        shifted = logits + constant(-logits.value.max(-1, keepdims=True))
        log_probabilities = shifted + shifted.exp().total().log() * constant(-1)
        confidence, low_confidence = confidences(self.hparams)
        soft_targets = np.where(np.arange(self.hparams.vocab_size) == targets[..., None], confidence, low_confidence)
        cross_entropy = (log_probabilities * constant(-soft_targets)).total() + constant(-normalizing(self.hparams))
        weights = (targets != 0).astype(np.float64)
        mean = weights[..., None] / max(1.0, weights.sum()) * self.hparams.loss_multiplier
        return (cross_entropy * constant(mean)).reshape(1, -1).total().reshape()

    def _symbols(self, name: str) -> Node:
        """One of the matrices of symbols, or the shared one."""
        return self.weights["input_emb" if self.hparams.shared_embedding_and_softmax_weights else name]

    def _embedded(self, name: str, ids: Ids) -> Node:
        """Rows of a matrix times sqrt(hidden_size); zeros for padding."""
        factors = self.hparams.hidden_size**0.5 * (ids != 0)[..., None]
        return self._symbols(name)[ids] * constant(factors)

    def _stack(
        self, stack: str, states: Node, bias: Node, memory: Node | None = None, memory_bias: Node | None = None
    ) -> Node:
        states = self._dropped(stack, states + constant(timing_signal(*states.value.shape[1:])))
        for name in sublayers(self.hparams):
            if name.startswith(f"{stack}/"):
                if name.endswith("/ffn"):
                    output = self._dense(f"{name}/conv2", self._dense(f"{name}/conv1", states).relu())
                elif name.endswith("/self_attention"):
                    output = self._attention(name, states, states, bias)
                else:
                    assert memory is not None
                    assert memory_bias is not None
                    output = self._attention(name, states, memory, memory_bias)
                states = self._layer_norm(f"{name}/layer_norm", states + self._dropped(name, output))
        return states

    def _attention(self, name: str, queries: Node, memory: Node, bias: Node) -> Node:
        """common_attention.py: multihead_attention, dot_product_attention."""
        hparams = self.hparams
        keys = hparams.attention_key_channels or hparams.hidden_size
        if memory is queries:
            joint = self._dense(f"{name}/qkv_transform", queries)
            query, key, value = joint[..., :keys], joint[..., keys : 2 * keys], joint[..., 2 * keys :]
        else:
            query, joint = self._dense(f"{name}/q_transform", queries), self._dense(f"{name}/kv_transform", memory)
            key, value = joint[..., :keys], joint[..., keys:]
        query, key, value = (self._heads(each) for each in (query, key, value))
        scores = query * constant((keys // hparams.num_heads) ** -0.5) @ key.swap(-1, -2) + bias
        exponentials = (scores + constant(-scores.value.max(-1, keepdims=True))).exp()
        attended = exponentials * exponentials.total() ** -1 @ value
        return self._dense(f"{name}/output_transform", attended.swap(1, 2).reshape(*queries.value.shape[:2], -1))

    def _heads(self, channels: Node) -> Node:
        """`[batch, num_heads, length, channels / num_heads]` of `[batch, length, channels]`."""
        return channels.reshape(*channels.value.shape[:2], self.hparams.num_heads, -1).swap(1, 2)

    def _dense(self, name: str, states: Node) -> Node:
        return states @ self.weights[f"{name}/kernel"] + self.weights[f"{name}/bias"]

    def _layer_norm(self, name: str, states: Node) -> Node:
        """common_layers.py: layer_norm."""
        share = constant(1 / self.hparams.hidden_size)
        centred = states + states.total() * share * constant(-1)
        deviation = ((centred * centred).total() * share + constant(1e-6)) ** 0.5
        return centred * deviation**-1 * self.weights[f"{name}/scale"] + self.weights[f"{name}/bias"]

    def _dropped(self, site: str, states: Node) -> Node:
        return states if self.masks is None else states * constant(self.masks[site])


def timing_signal(length: int, channels: int) -> Array:
    """All sines, then all cosines, `[length, channels]` (common_attention.py: add_timing_signal_1d); even channels."""
    scales = channels // 2
    inverse = np.exp(-np.arange(scales) * np.log(1e4) / (scales - 1))
    angles = np.arange(length)[:, None] * inverse
    signal = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
    return signal.astype(np.float32).astype(np.float64)  # single precision, as both libraries add it


def confidences(hparams: HParams) -> tuple[float, float]:
    """The soft targets of the label and of each other class (common_layers.py: smoothing_cross_entropy)."""
    return 1 - hparams.label_smoothing, hparams.label_smoothing / (hparams.vocab_size - 1)


def normalizing(hparams: HParams) -> float:
    """The smallest cross-entropy with such targets, subtracted from the loss (smoothing_cross_entropy)."""
    confidence, low_confidence = confidences(hparams)
    others = (hparams.vocab_size - 1) * low_confidence * np.log(low_confidence + 1e-20)
    return -float(confidence * np.log(confidence) + others)


def learning_rate(hparams: HParams, global_step: int) -> float:
    """Adam's rate, after so many steps (trainer_utils.py: learning_rate_decay, model_fn, _ConditionalOptimizer)."""
    step = global_step + 1
    warmup = hparams.learning_rate_warmup_steps
    decay = 5000 * hparams.hidden_size**-0.5 * min(step * warmup**-1.5, step**-0.5)
    return float(hparams.learning_rate * decay / 500)


def adam_updates(hparams: HParams, gradients: Iterable[Array]) -> Iterator[Array]:
    """The changes of one variable, step by step (tensorflow 1.2: LazyAdamOptimizer, with dense gradients here).

    Epsilon is added to the root of the plain second moment; Kingma and Ba's algorithm adds it after the correction.
    """
    beta1, beta2 = hparams.optimizer_adam_beta1, hparams.optimizer_adam_beta2
    mean = square = np.zeros(())
    for step, gradient in enumerate(gradients):
        mean = beta1 * mean + (1 - beta1) * gradient
        square = beta2 * square + (1 - beta2) * gradient**2
        rate = learning_rate(hparams, step) * (1 - beta2 ** (step + 1)) ** 0.5 / (1 - beta1 ** (step + 1))
        yield -rate * mean / (np.sqrt(square) + hparams.optimizer_adam_epsilon)


INFINITY = 1e7
"""utils/beam_search.py: INF."""


class Beam(NamedTuple):
    """One output of a search, from the initial id on."""

    ids: tuple[int, ...]
    log_probability: float
    score: float
    is_finished: bool

    def padded(self) -> "Beam":
        return self._replace(ids=(*self.ids, 0))


def beam_search(
    symbols_to_logits: Callable[[Ids], Array],
    initial_ids: Iterable[int],
    *,
    beam_size: int,
    decode_length: int,
    alpha: float,
    eos_id: int = EOS,
) -> list[list[Beam]]:
    """The outputs of each sentence, best first (utils/beam_search.py: beam_search).

    `symbols_to_logits` gets the ids of all sentences' beams, `[batch * beam_size, length]`. The search ends for all
    sentences at once. Outputs without an end are returned where a sentence has no other, scored by log-probability.
    """
    alive = [
        [Beam((start,), -np.inf if rank else 0.0, 0.0, False) for rank in range(beam_size)] for start in initial_ids
    ]
    finished = [[Beam((0,), 0.0, -INFINITY, False)] * beam_size for _ in alive]
    for length in range(1, decode_length + 1):
        logits = symbols_to_logits(np.array([beam.ids for beams in alive for beam in beams]))
        candidates = _candidates(alive, logits, ((5 + length) / 6) ** alpha, eos_id)
        alive = [best(_behind(own, is_finished=True), beam_size) for own in candidates]
        finished = [
            best([*(beam.padded() for beam in old), *_behind(own, is_finished=False)], beam_size)
            for old, own in zip(finished, candidates, strict=True)
        ]
        largest = ((5 + decode_length) / 6) ** alpha
        if all(_lowest(old) > own[0].log_probability / largest for old, own in zip(finished, alive, strict=True)):
            break
    return [
        old if any(beam.is_finished for beam in old) else [beam._replace(score=beam.log_probability) for beam in own]
        for old, own in zip(finished, alive, strict=True)
    ]


def _candidates(alive: list[list[Beam]], logits: Array, penalty: float, eos_id: int) -> list[list[Beam]]:
    """The 2 * beam_size best continuations of each sentence's beams (grow_topk)."""
    highest = logits.max(-1, keepdims=True)
    continuations = logits - highest - np.log(np.exp(logits - highest).sum(-1, keepdims=True))
    found = []
    for beams, own in zip(alive, np.split(continuations, len(alive)), strict=True):
        totals = (own + np.array([[beam.log_probability] for beam in beams])).flatten()
        best = np.argsort(-totals / penalty, kind="stable")[: 2 * len(beams)]
        places = [(int(place) // logits.shape[-1], int(place) % logits.shape[-1], totals[place]) for place in best]
        found.append(
            [
                Beam((*beams[row].ids, token), float(total), float(total / penalty), token == eos_id)
                for row, token, total in places
            ]
        )
    return found


def _behind(beams: list[Beam], *, is_finished: bool) -> list[Beam]:
    """Rank finished beams, or unfinished ones, below all others (grow_alive, grow_finished)."""
    return [beam._replace(score=beam.score - INFINITY * (beam.is_finished == is_finished)) for beam in beams]


def best(beams: list[Beam], count: int) -> list[Beam]:
    """The beams of the highest scores; ties keep their order (compute_topk_scores_and_seq)."""
    return sorted(beams, key=lambda beam: -beam.score)[:count]


def _lowest(finished: list[Beam]) -> float:
    """The lowest score of those that have finished (_is_finished)."""
    return min((beam.score for beam in finished if beam.is_finished), default=-INFINITY)
