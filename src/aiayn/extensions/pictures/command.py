"""`aiayn attention`."""

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from aiayn.config.outputs import output_folder
from aiayn.errors import UserError
from aiayn.extensions.pictures.schema import AttentionConfig, AttentionKind
from aiayn.runs.directory import open_run
from aiayn.runs.model_settings import transformer_of
from aiayn.system.extras import require

if TYPE_CHECKING:
    from aiayn.runs.attention_maps import AttentionMaps

logger = logging.getLogger("aiayn")


def main(config: AttentionConfig) -> None:
    """Draw the attention weights for each line of standard input, and print the paths of the pictures."""
    run = open_run(config.run)  # before torch is imported, which takes seconds
    require("matplotlib", extra="figures", setting="aiayn attention")
    os.environ["MPLBACKEND"] = "agg"  # pictures are files; matplotlib cannot be imported with the name of no backend
    model = transformer_of(run)
    layers = indices(config.layers, count=model.num_layers, key="layers")
    heads = indices(config.heads, count=model.num_heads, key="heads")
    folder = run.attention if config.output is None else output_folder(config.output)
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise UserError(f"output={folder}: no folder can be made there ({error.strerror}); state another") from error
    from aiayn.extensions.pictures.input import attend_to_input
    from aiayn.inference.text_stream import progress_bar
    from aiayn.system.resource_errors import disk_errors_explained

    maps = attend_to_input(config)
    with disk_errors_explained(f"output={folder}"), progress_bar("draw", " pictures") as advance:
        for path in _pictures(config, maps, folder, layers=layers, heads=heads):
            print(path, flush=True)  # noqa: T201
            advance(1)


def indices(stated: object, *, count: int, key: str) -> list[int]:
    """Indices from 0, each once, of the layers or heads that a key states from 1: a number, a list, or None for all."""
    if stated is None:
        return list(range(count))
    numbers = stated if isinstance(stated, list) else [stated]
    if not numbers or any(type(number) is not int or not 1 <= number <= count for number in numbers):
        raise UserError(
            f"{key}={stated}: the run's model has {count}; state numbers from 1 to {count}, as in {key}=[1,{count}]"
        )
    return [number - 1 for number in dict.fromkeys(numbers)]


def _pictures(
    config: AttentionConfig, maps: "AttentionMaps", folder: Path, *, layers: list[int], heads: list[int]
) -> Iterator[Path]:
    """Write the pictures of each sentence, and yield their paths."""
    from matplotlib import rc_context

    from aiayn.extensions.pictures.attention_figure import fonts_for, heat_maps, lines, rendered, scripts_of
    from aiayn.runs.attention_maps import KINDS
    from aiayn.system import files

    kinds = [kind for kind in KINDS if config.kind in (AttentionKind.all, AttentionKind(kind))]
    drawn = [(sentence.line, sentence.map(kind)) for sentence in maps.sentences for kind in kinds]
    if config.word is not None and not any(config.word in each.queries for _, each in drawn):
        known = ", ".join(dict.fromkeys(unit for _, each in drawn for unit in each.queries))
        raise UserError(f"word={config.word}: is none of the {maps.units} that attend; choose from {known}")
    fonts, missing = fonts_for(label for _, each in drawn for label in (*each.queries, *each.keys))
    if missing and config.format.value == "png":
        logger.warning(
            "format=png: no installed font has %s letters such as %s, which are boxes in the pictures; install one, as "
            "of Noto Sans, or state format=svg, whose text the viewer draws",
            " and ".join(scripts_of(missing)),
            missing[0],
        )
    for number, each in drawn:
        with rc_context({"font.family": fonts}):
            figures = {"": heat_maps(each, layers=layers, heads=heads)}
            if config.word is None or config.word in each.queries:
                figures[f"-layer{layers[-1] + 1}"] = lines(each, layer=layers[-1], heads=heads, word=config.word)
        for suffix, figure in figures.items():
            path = folder / f"sentence-{number}-{each.kind}{suffix}.{config.format.value}"
            files.write_bytes(path, rendered(figure, config.format.value))
            yield path
