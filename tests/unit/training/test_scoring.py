"""Each sentence has the same likelihood and translation in a batch as alone."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from tiny import ARCHITECTURE, SEARCH

from aiayn.builders.models import create_transformer
from aiayn.config.model_schema import DecoderStart, TransformerConfig
from aiayn.config.schema import BeamSearchConfig
from aiayn.data.batches.sentences import Sentences
from aiayn.data.preparation.prepared import PreparedData
from aiayn.data.vocabulary import AnyTokenizer
from aiayn.decoding.step import Hypothesis
from aiayn.errors import RunFailedError
from aiayn.extensions.parsing.repair import is_well_formed
from aiayn.extensions.parsing.symbols import SymbolTokenizer
from aiayn.flat_tokens import FlatTokens
from aiayn.models.ensemble import Ensemble
from aiayn.models.transformer import Memory, Transformer
from aiayn.training.scoring import AnyModel, search_all, sentence_likelihoods


class Insatiable(Transformer):
    """Needs more memory than there is."""

    def encode(self, source: FlatTokens) -> Memory:
        torch.empty(2**60)
        return super().encode(source)


CPU = torch.device("cpu")
BUDGETS = [1, 100, 10_000]


def alone(
    model: Transformer, source: NDArray[np.int32], tokenizer: AnyTokenizer, search: BeamSearchConfig
) -> Hypothesis:
    """The best output of one sentence, searched by itself."""
    one = Sentences.of([source[:-1].tolist()], eos_id=int(source[-1]))
    ((best,),) = search_all(model, one, tokenizer, search, device=CPU)
    return best


@torch.inference_mode()
def forced(model: AnyModel, source: list[int], target: list[int], *, start_id: int) -> float:
    """Negative log-likelihood of one target, token by token through the search's own step."""
    state = model.begin(FlatTokens.of([source]))
    nll = 0.0
    for read, predicted in zip([start_id, *target], target, strict=False):
        logits, normalizers = model.step(torch.tensor([[read]]), state)
        nll -= float(logits[0, 0, predicted] - normalizers[0, 0])
    return nll


@pytest.fixture(scope="module")
def forced_likelihoods(model: Transformer, prepared: PreparedData) -> list[float]:
    """Of every pair of dev, by forced decoding."""
    split, start_id = prepared.split("dev"), prepared.tokenizer.bos_id
    pairs = zip(split.source, split.target, strict=True)
    return [forced(model, source.tolist(), target.tolist(), start_id=start_id) for source, target in pairs]


@pytest.fixture(scope="module")
def translated_alone(model: Transformer, prepared: PreparedData) -> list[str]:
    """The translation of every sentence of dev, each searched by itself."""
    found = [alone(model, source, prepared.tokenizer, SEARCH) for source in prepared.split("dev").source]
    return prepared.tokenizer.decode_batch(best.tokens for best in found)


@pytest.mark.parametrize("budget", BUDGETS)
def test_likelihoods_are_those_of_forced_decoding(
    model: Transformer, prepared: PreparedData, forced_likelihoods: list[float], budget: int
) -> None:
    split, start_id = prepared.split("dev"), prepared.tokenizer.bos_id
    nll, tokens = sentence_likelihoods(model, split, tokens=budget, start_id=start_id, device=CPU)
    np.testing.assert_allclose(nll, forced_likelihoods, rtol=1e-4)
    assert tokens.tolist() == [len(target) for target in split.target]


def test_an_ensemble_has_the_likelihoods_of_its_forced_decoding(
    model: Transformer, prepared: PreparedData, architecture: TransformerConfig
) -> None:
    torch.manual_seed(4)
    other = create_transformer(replace(architecture, d_model=8, num_layers=1), rows=len(model.output_weight) + 2)
    ensemble = Ensemble([model, other.eval()])
    split, start_id = prepared.split("test"), prepared.tokenizer.bos_id
    nll, _ = sentence_likelihoods(ensemble, split, tokens=100, start_id=start_id, device=CPU)
    pairs = zip(split.source, split.target, strict=True)
    alone = [forced(ensemble, source.tolist(), target.tolist(), start_id=start_id) for source, target in pairs]
    np.testing.assert_allclose(nll, alone, rtol=1e-4)


@pytest.mark.parametrize(("budget", "refills"), [(1, False), (100, True), (10_000, True)])
def test_translations_come_in_the_order_of_the_split(
    model: Transformer, prepared: PreparedData, translated_alone: list[str], budget: int, refills: bool
) -> None:
    split, tokenizer = prepared.split("dev"), prepared.tokenizer
    search = replace(SEARCH, batch_tokens=budget)
    finished: list[int] = []
    found = search_all(model, split.source, tokenizer, search, device=CPU, advance=finished.append, refills=refills)
    together = tokenizer.decode_batch(best.tokens for best, *_ in found)
    assert together == translated_alone
    assert len(set(together)) > 1, "with one answer to everything, order would not show"
    assert sum(finished) == len(split)


@pytest.mark.parametrize("start", [each for each in DecoderStart if each is not DecoderStart.bos])
def test_outputs_follow_the_start_of_the_model(
    prepared: PreparedData, architecture: TransformerConfig, start: DecoderStart
) -> None:
    torch.manual_seed(6)
    tokenizer, sources = prepared.tokenizer, prepared.split("test").source
    model = create_transformer(replace(architecture, decoder_start=start), rows=tokenizer.vocabulary_size).eval()
    first = {"eos": tokenizer.eos_id, "pad": tokenizer.pad_id, "zeros": tokenizer.bos_id}[start]
    found = search_all(model, sources, tokenizer, SEARCH, device=CPU)
    for source, (best, *_) in zip(sources, found, strict=True):
        output = [*best.tokens, *[tokenizer.eos_id] * best.finished]
        assert -best.log_probability == pytest.approx(forced(model, source.tolist(), output, start_id=first), rel=1e-4)


def test_outputs_respect_max_extra_length(model: Transformer, prepared: PreparedData) -> None:
    tokenizer = prepared.tokenizer
    search = replace(SEARCH, beam_size=2, max_extra_length=0, batch_tokens=100)
    for source in prepared.split("test").source:
        output = alone(model, source, tokenizer, search)
        assert len(output.tokens) + output.finished <= len(source)
        assert not {tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id} & set(output.tokens)


def test_no_output_is_longer_than_learned_positions_reach(
    prepared: PreparedData, architecture: TransformerConfig
) -> None:
    torch.manual_seed(5)
    longest = int(prepared.split("dev").source.lengths.max()) + 3
    learned = replace(architecture, positions="learned", max_positions=longest)
    model = create_transformer(learned, rows=prepared.tokenizer.vocabulary_size).eval()
    search = replace(SEARCH, beam_size=2, max_extra_length=90, batch_tokens=200)
    found = search_all(model, prepared.split("dev").source, prepared.tokenizer, search, device=CPU)
    assert max(len(best.tokens) + best.finished for best, *_ in found) == longest == model.max_length


@pytest.mark.parametrize("refills", [False, True])
def test_a_constrained_search_finds_only_trees_over_the_words(architecture: TransformerConfig, refills: bool) -> None:
    symbols = ["(S", "(NP", ")S", ")NP", "DT", "NN"]
    tokenizer = SymbolTokenizer(classes=["⟨unk⟩"], targets=symbols, words=["the", "dogs", "bark"])
    torch.manual_seed(3)
    model = create_transformer(architecture, rows=tokenizer.vocabulary_size + 2).eval()
    lines = ["dogs", "the dogs", "the dogs bark", "cats bark the the dogs bark ever"]
    sources = Sentences.of(tokenizer.encode_batch(lines), eos_id=tokenizer.eos_id)

    def are_trees(constrained: bool) -> list[bool]:
        search = replace(SEARCH, max_extra_length=9, batch_tokens=12, constrained=constrained)
        found = search_all(model, sources, tokenizer, search, device=CPU, n_best=2, refills=refills)
        return [
            is_well_formed(tokenizer.decode(each.tokens).split(), len(line.split()))
            for line, listed in zip(lines, found, strict=True)
            for each in listed
        ]

    assert all(are_trees(constrained=True))
    assert not all(are_trees(constrained=False))


def test_a_shortage_of_memory_names_what_to_lower(prepared: PreparedData) -> None:
    split, tokenizer = prepared.split("test"), prepared.tokenizer
    numbers = ("d_model", "d_ff", "num_layers", "num_heads", "d_k", "d_v", "dropout", "max_positions")
    sizes = {name: getattr(ARCHITECTURE, name) for name in numbers}
    model = Insatiable(**sizes, vocabulary_size=tokenizer.vocabulary_size).eval()
    with pytest.raises(RunFailedError, match=r"^memory does not suffice: lower .*batch_tokens"):
        sentence_likelihoods(model, split, tokens=100, start_id=tokenizer.bos_id, device=CPU)
    with pytest.raises(RunFailedError, match=r"^memory does not suffice: lower .*decoding\.beam_size"):
        search_all(model, split.source, tokenizer, SEARCH, device=CPU)
