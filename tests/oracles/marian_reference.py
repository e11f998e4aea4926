"""The answers of Marian in transformers for random weights, and its folder: python marian_reference.py FOLDER."""

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import random_translation as rt
import torch
from torch import Tensor

EOS, PIECES = 0, 40
PAD = 2 + PIECES
"""The last entry, as in OPUS models."""
BEAM, PENALTY, MOST_TOKENS = 4, 0.6, 128


def main(folder: Path) -> None:
    """Write model, vocabulary and answers to a folder."""
    from transformers import MarianConfig, MarianMTModel

    torch.manual_seed(1)
    config = MarianConfig(
        vocab_size=PAD + 1,
        d_model=rt.D_MODEL,
        encoder_layers=rt.LAYERS,
        decoder_layers=rt.LAYERS,
        encoder_attention_heads=rt.HEADS,
        decoder_attention_heads=rt.HEADS,
        encoder_ffn_dim=rt.D_FF,
        decoder_ffn_dim=rt.D_FF,
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
    rt.random_weights(model)
    model.final_logits_bias.copy_(torch.randn(1, PAD + 1, generator=torch.Generator().manual_seed(5)))
    ids = range(2, PAD)
    objective = partial(loss_and_logits, model)
    rt.train(model, ids, eos_id=EOS, loss_and_logits=objective)
    model.generation_config.update(
        num_beams=BEAM, length_penalty=PENALTY, max_length=MOST_TOKENS, bad_words_ids=[[PAD]]
    )
    model.save_pretrained(folder)
    pieces = ["</s>", "<unk>", *(f"▁w{number}" if number % 3 else f"p{number}" for number in range(PIECES)), "<pad>"]
    (folder / "vocab.json").write_text(json.dumps({piece: number for number, piece in enumerate(pieces)}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"source_lang": "en", "target_lang": "de"}))
    answers = rt.answers_of_model(
        model, ids, eos_id=EOS, translations=partial(translations, model), loss_and_logits=objective
    )
    rt.save_answers(folder, answers)


def translations(model: Any, sources: rt.Sentences) -> dict[str, Any]:
    """The best output of each source, with its end mark, by two rules; "never" stops once no beam can be the best."""
    found: dict[str, rt.Sentences] = {}
    for name, early_stopping in (("outputs", "never"), ("heuristic", False)):
        outputs = (model.generate(torch.tensor([source]), early_stopping=early_stopping) for source in sources)
        found[name] = [output[0, 1:].tolist() for output in outputs]
    return found


def loss_and_logits(model: Any, sources: rt.Sentences, targets: rt.Sentences) -> tuple[Tensor, Tensor]:
    """The smoothed loss of a token, and the logits [tokens, entries]."""
    from transformers.trainer_pt_utils import LabelSmoother

    source, target = (rt.padded(each, pad_id=PAD) for each in (sources, targets))
    output = model(
        input_ids=source,
        attention_mask=(source != PAD).long(),
        decoder_input_ids=rt.shifted(target, start_id=PAD),
        use_cache=False,
    )
    labels = target.masked_fill(target == PAD, -100)
    loss = LabelSmoother(epsilon=rt.SMOOTHING)(output, labels)
    return loss, output.logits[target != PAD]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
