"""`aiayn attention`."""

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from omegaconf import DictConfig

from aiayn.config.command_schema import AttentionConfig, AttentionKind
from aiayn.config.freeze import thaw, typed
from aiayn.config.model_schema import TransformerConfig
from aiayn.config.outputs import output_folder
from aiayn.config.values import whole
from aiayn.errors import UserError
from aiayn.runs.directory import open_run
from aiayn.system.signals import signals_as_interrupts

if TYPE_CHECKING:
    from aiayn.runs.attention_maps import AttentionMaps


def checked(composed: DictConfig) -> AttentionConfig:
    """The configuration, as far as it can be judged without files.

    Raises:
        UserError: the command would refuse it.
    """
    return typed(composed, AttentionConfig)


def main(composed: DictConfig) -> None:
    """Draw what the model attends to in each line of standard input, and print where the pictures lie."""
    config = checked(composed)
    run = open_run(config.run)  # before torch is imported, which takes seconds
    if importlib.util.find_spec("matplotlib") is None:
        raise UserError("aiayn attention: matplotlib is not installed; pip install -e '.[figures]' in the checkout")
    model = thaw(run.config).model
    if not isinstance(model, TransformerConfig):
        raise UserError(
            f"run={config.run}: model.kind={model.kind.name} has no heads to draw; name a Transformer's run"
        )
    layers = chosen(config.layers, of=model.num_layers, key="layers")
    heads = chosen(config.heads, of=model.num_heads, key="heads")
    folder = run.attention if config.output is None else output_folder(config.output)
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:  # before anything is computed
        raise UserError(f"output={folder}: no folder can be made there ({error.strerror}); state another") from error
    from aiayn.inference.sentence_attention import attend_to_input
    from aiayn.inference.text_stream import progress_bar
    from aiayn.system.resource_errors import disk_errors_explained

    with signals_as_interrupts():
        maps = attend_to_input(config)
        with disk_errors_explained(f"output={folder}"), progress_bar("draw", " pictures") as advance:
            for path in _pictures(config, maps, folder, layers=layers, heads=heads):
                print(path, flush=True)  # noqa: T201
                advance(1)


def chosen(asked: object, *, of: int, key: str) -> list[int]:
    """Layers or heads, counted from 1 as asked for and from 0 as returned, each once.

    Args:
        asked: a number, a list of them, or None for all.
        of: how many there are.
        key: the configuration key to blame.

    Raises:
        UserError: one is not there.
    """
    if asked is None:
        return list(range(of))
    numbers = [whole(each) for each in (asked if isinstance(asked, list) else [asked])]
    if not numbers or any(type(number) is not int or not 1 <= number <= of for number in numbers):
        raise UserError(f"{key}={asked}: the run's model has {of}; state numbers from 1 to {of}, as in {key}=[1,{of}]")
    return [number - 1 for number in dict.fromkeys(numbers)]


def _pictures(
    config: AttentionConfig, maps: "AttentionMaps", folder: Path, *, layers: list[int], heads: list[int]
) -> Iterator[Path]:
    """Write each sentence's pictures, and say where.

    Raises:
        UserError: no sentence has the word that was asked for.
    """
    from aiayn.reports.attention_figure import heat_maps, lines, rendered
    from aiayn.runs.attention_maps import KINDS
    from aiayn.system import files

    kinds = [kind for kind in KINDS if config.kind in (AttentionKind.all, AttentionKind(kind))]
    drawn = [(sentence.line, sentence.map(kind)) for sentence in maps.sentences for kind in kinds]
    if config.word is not None and not any(config.word in each.queries for _, each in drawn):
        there = ", ".join(dict.fromkeys(unit for _, each in drawn for unit in each.queries))
        raise UserError(f"word={config.word}: is none of the {maps.units} that attend; choose from {there}")
    for number, each in drawn:
        figures = {"": heat_maps(each, layers=layers, heads=heads)}
        if config.word is None or config.word in each.queries:
            figures[f"-layer{layers[-1] + 1}"] = lines(each, layer=layers[-1], heads=heads, word=config.word)
        for suffix, figure in figures.items():
            path = folder / f"sentence-{number}-{each.kind}{suffix}.{config.format.value}"
            files.write_bytes(path, rendered(figure, config.format.value))
            yield path
