"""The answers of Marian in transformers for random weights, and its folder: python marian_reference.py FOLDER."""

import json
import sys
from pathlib import Path
from typing import Any

import torch
from random_translation import (
    ADAM_EPSILON,
    BETAS,
    D_FF,
    D_MODEL,
    HEADS,
    LAYERS,
    LEARNING_RATE,
    LONGEST,
    PAIRS,
    SMOOTHING,
    SOURCES,
    Sentences,
    gradients,
    noisy_copies,
    padded,
    random_sentences,
    random_weights,
    save_answers,
    shifted,
    train,
)
from torch import Tensor

EOS, UNK, PIECES = 0, 1, 40
PAD = 2 + PIECES
"""The last entry, as in OPUS models."""
BEAM, PENALTY, MOST_TOKENS = 4, 0.6, 128


def main(folder: Path) -> None:
    """Write model, vocabulary and answers to a folder."""
    from transformers import MarianConfig, MarianMTModel

    torch.manual_seed(1)
    config = MarianConfig(
        vocab_size=PAD + 1,
        d_model=D_MODEL,
        encoder_layers=LAYERS,
        decoder_layers=LAYERS,
        encoder_attention_heads=HEADS,
        decoder_attention_heads=HEADS,
        encoder_ffn_dim=D_FF,
        decoder_ffn_dim=D_FF,
        activation_function="swish",
        scale_embedding=True,
        static_position_embeddings=True,
        max_position_embeddings=256,
        decoder_start_token_id=PAD,
        pad_token_id=PAD,
        eos_token_id=EOS,
        forced_eos_token_id=EOS,
    )
    model = MarianMTModel(config).eval()
    random_weights(model)
    model.final_logits_bias.copy_(torch.randn(1, PAD + 1, generator=torch.Generator().manual_seed(5)))
    ids = range(2, PAD)
    train(model, ids, eos_id=EOS, loss=lambda *pairs: losses(model, *pairs)[0])
    model.generation_config.update(
        num_beams=BEAM, length_penalty=PENALTY, max_length=MOST_TOKENS, bad_words_ids=[[PAD]]
    )
    model.save_pretrained(folder)
    pieces = ["</s>", "<unk>", *(f"▁w{number}" if number % 3 else f"p{number}" for number in range(PIECES)), "<pad>"]
    (folder / "vocab.json").write_text(json.dumps({piece: number for number, piece in enumerate(pieces)}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"source_lang": "en", "target_lang": "de"}))
    sources = random_sentences(ids, count=SOURCES, eos_id=EOS, longest=LONGEST, seed=2)
    pairs = sources[:PAIRS], noisy_copies(sources[:PAIRS], seed=3)
    found = {"outputs": translations(model, sources, "never"), "heuristic": translations(model, sources, False)}
    save_answers(folder, {"sources": sources, **found, "pairs": pairs, **one_step(model, *pairs)})


def translations(model: Any, sources: Sentences, early_stopping: bool | str) -> Sentences:
    """The best output of each source, with its end mark; "never" stops once no beam can win any more."""
    outputs = []
    for source in sources:
        found = model.generate(torch.tensor([source]), early_stopping=early_stopping)
        outputs.append(found[0, 1:].tolist())
    return outputs


def losses(model: Any, sources: Sentences, targets: Sentences) -> tuple[Tensor, Tensor, Tensor]:
    """Smoothed loss and likelihood a token, and the logits [tokens, entries]."""
    from transformers.trainer_pt_utils import LabelSmoother

    source, target = (padded(each, pad_id=PAD) for each in (sources, targets))
    output = model(
        input_ids=source,
        attention_mask=(source != PAD).long(),
        decoder_input_ids=shifted(target, start_id=PAD),
        use_cache=False,
    )
    labels = target.masked_fill(target == PAD, -100)
    loss = LabelSmoother(epsilon=SMOOTHING)(output, labels)
    nll = torch.nn.functional.cross_entropy(output.logits.flatten(0, 1), labels.flatten())
    return loss, nll, output.logits[target != PAD]


def one_step(model: Any, sources: Sentences, targets: Sentences) -> dict[str, Any]:
    """Logits, loss, gradients and weights after a step of Adam, in float64."""
    model.double().zero_grad()
    loss, nll, logits = losses(model, sources, targets)
    loss.backward()  # type: ignore[no-untyped-call]
    found = gradients(model)
    torch.optim.Adam(model.parameters(), lr=LEARNING_RATE, betas=BETAS, eps=ADAM_EPSILON).step()
    answers = {"logits": logits.detach(), "loss": loss.item(), "nll": nll.item()}
    return {**answers, "gradients": found, "after": model.state_dict()}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
