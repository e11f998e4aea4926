"""fairseq's answers for random weights, and the checkpoint of its trainer: python fairseq_reference.py FOLDER."""

import logging
import sys
from argparse import Namespace
from functools import partial
from pathlib import Path
from typing import Any

import random_translation as rt
import torch
from torch import Tensor

BEAM, PENALTY = 4, 0.6
MOST_TOKENS = 200
"""fairseq's own limit of an output's length, independent of its source."""


def main(folder: Path) -> None:
    """Write checkpoint, dictionaries and answers to a folder."""
    from fairseq.data import Dictionary
    from fairseq.models.transformer import TransformerModel
    from fairseq.optim.adam import Adam
    from fairseq.tasks.translation import TranslationTask

    logging.disable(logging.INFO)
    torch.manual_seed(1)
    words = Dictionary()
    for number in range(40):
        words.add_symbol(f"p{number}@@" if number % 3 else f"w{number}")
    words.pad_to_multiple_(8)
    for language in ("en", "de"):
        words.save(str(folder / f"dict.{language}.txt"))
    arguments = options(folder, share_all_embeddings=True)
    task = TranslationTask(arguments, words, words)
    model = TransformerModel.build_model(arguments, task)
    rt.random_weights(model)
    model.eval()
    pieces = range(words.nspecial, words.nspecial + 40)
    objective = partial(loss_and_logits, model, words)
    rt.train(model, pieces, eos_id=words.eos(), loss_and_logits=objective)
    save_checkpoint(folder, arguments, task, model)
    answers = rt.answers_of_model(
        model,
        pieces,
        eos_id=words.eos(),
        translations=partial(translations, model, words),
        loss_and_logits=objective,
        adam=Adam,
    )
    rt.save_answers(folder, {**answers, "variant": variant(folder, task, words, answers["pairs"])})


def options(folder: Path, **stated: Any) -> Namespace:
    """The arguments of fairseq-train's command line; `stated` are options of the model."""
    from fairseq.models.transformer import base_architecture

    arguments = Namespace(
        arch="transformer",
        task="translation",
        data=str(folder),
        source_lang="en",
        target_lang="de",
        criterion="label_smoothed_cross_entropy",
        label_smoothing=rt.SMOOTHING,
        optimizer="adam",
        adam_betas=str(rt.BETAS),
        adam_eps=rt.ADAM_EPSILON,
        weight_decay=0.0,
        lr=[rt.LEARNING_RATE],
        lr_scheduler="inverse_sqrt",
        warmup_updates=10,
        warmup_init_lr=-1,
        cpu=True,
        encoder_embed_dim=rt.D_MODEL,
        encoder_ffn_embed_dim=rt.D_FF,
        encoder_layers=rt.LAYERS,
        encoder_attention_heads=rt.HEADS,
        decoder_layers=rt.LAYERS,
        decoder_attention_heads=rt.HEADS,
        **stated,
        max_source_positions=256,
        max_target_positions=256,
    )
    base_architecture(arguments)
    return arguments


def save_checkpoint(folder: Path, arguments: Namespace, task: Any, model: Any) -> None:
    """Write model.pt by fairseq's trainer, and the form of 2018 to old.pt."""
    from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion
    from fairseq.trainer import Trainer

    trainer = Trainer(arguments, task, model, LabelSmoothedCrossEntropyCriterion(task, False, rt.SMOOTHING))
    trainer.consolidate_optimizer()
    trainer.save_checkpoint(str(folder / "model.pt"), {"train_iterator": {"epoch": 1}})
    old = {
        "args": arguments,
        "model": in_the_form_of_2018(model.state_dict()),
        "optimizer_history": [{"num_updates": 7}],
    }
    torch.save(old, folder / "old.pt", _use_new_zipfile_serialization=False)


def variant(folder: Path, task: Any, words: Any, pairs: Any) -> Tensor:
    """Logits in float64 of a model with pre-norm and two embeddings, saved as variant.pt with OmegaConf's objects."""
    from fairseq.dataclass.utils import convert_namespace_to_omegaconf
    from fairseq.models.transformer import TransformerModel

    arguments = options(
        folder, encoder_normalize_before=True, decoder_normalize_before=True, share_decoder_input_output_embed=True
    )
    model = TransformerModel.build_model(arguments, task).eval()
    rt.random_weights(model)
    content = {"args": None, "cfg": convert_namespace_to_omegaconf(arguments), "model": model.state_dict()}
    torch.save(content, folder / "variant.pt")
    return loss_and_logits(model.double(), words, *pairs)[1].detach()


def in_the_form_of_2018(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Weights as in 2018: one matrix for query, key and value, and norms by number; fairseq still reads these."""
    old: dict[str, Tensor] = {}
    for name, value in state.items():
        place, _, kind = name.rpartition("q_proj.")
        if place:
            joint = [state[f"{place}{each}_proj.{kind}"] for each in "qkv"]
            old[f"{place}in_proj_{kind}"] = torch.cat(joint)
        elif "k_proj." not in name and "v_proj." not in name and "output_projection" not in name:
            norms = ["self_attn_layer_norm", "final_layer_norm"]
            if name.startswith("decoder"):
                norms.insert(1, "encoder_attn_layer_norm")
            numbers = {norm: number for number, norm in enumerate(norms)}
            parts = (f"layer_norms.{numbers[part]}" if part in numbers else part for part in name.split("."))
            old[".".join(parts)] = value
    for side in ("encoder", "decoder"):
        old[f"{side}.embed_positions._float_tensor"] = torch.zeros(1)
        old[f"{side}.version"] = torch.tensor([2.0])
    return old


def translations(model: Any, words: Any, sources: rt.Sentences) -> dict[str, Any]:
    """The best output of each source, and its score, by fairseq's search of one sentence at a time."""
    from fairseq.sequence_generator import SequenceGenerator

    generator = SequenceGenerator(
        [model], words, beam_size=BEAM, len_penalty=PENALTY, max_len_b=MOST_TOKENS, tokens_to_suppress=[words.bos_word]
    )
    best = []
    for source in sources:
        tokens = torch.tensor([source])
        sample = {"net_input": {"src_tokens": tokens, "src_lengths": torch.tensor([len(source)])}}
        best.append(generator.generate([model], sample)[0][0])
    outputs = [each["tokens"].tolist() for each in best]
    return {"outputs": outputs, "scores": [float(each["score"]) for each in best]}


def loss_and_logits(model: Any, words: Any, sources: rt.Sentences, targets: rt.Sentences) -> tuple[Tensor, Tensor]:
    """The smoothed loss of a token, and the logits [tokens, entries]."""
    from fairseq.criterions.label_smoothed_cross_entropy import label_smoothed_nll_loss

    source, target = (rt.padded(each, pad_id=words.pad()) for each in (sources, targets))
    logits = model(source, torch.tensor(list(map(len, sources))), rt.shifted(target, start_id=words.eos()))[0]
    log_probabilities = torch.log_softmax(logits, dim=-1)  # get_normalized_probs has float32
    total, _ = label_smoothed_nll_loss(
        log_probabilities.flatten(0, 1), target.flatten(), rt.SMOOTHING, ignore_index=words.pad()
    )
    return total / sum(map(len, targets)), logits[target != words.pad()]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
