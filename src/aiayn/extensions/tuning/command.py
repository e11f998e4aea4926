"""`aiayn tune`."""

from aiayn.config.outputs import output_errors, output_file
from aiayn.errors import UserError
from aiayn.extensions.tuning.schema import TuneConfig
from aiayn.runs.directory import named_runs


def main(config: TuneConfig) -> None:
    """Choose beam size and alpha on the development set, and print the score of every setting."""
    named_runs(config.run)  # before torch is imported, which takes seconds
    beam_sizes = [int(each) for each in numbers(config.beam_sizes, key="beam_sizes", whole=True)]
    alphas = numbers(config.alphas, key="alphas")
    output = output_file(config.output, suffixes=(".md", ".json"))
    from aiayn.extensions.tuning.report import report_tuning
    from aiayn.extensions.tuning.tuning import tune_decoding

    tuning = tune_decoding(config, beam_sizes=beam_sizes, alphas=alphas)
    with output_errors(config.output):
        report_tuning(tuning, output)


def numbers(stated: object, *, key: str, whole: bool = False) -> list[float]:
    """The value of a key, one number or a list of them, as a list: ascending, each once."""
    listed = stated if isinstance(stated, list) else [stated]
    allowed = (int,) if whole else (int, float)
    if not listed or not all(type(each) in allowed for each in listed):
        kind = "whole numbers" if whole else "numbers"
        raise UserError(f"{key}={stated}: state {kind}, as in {key}=[{'4,8' if whole else '0.4,0.6'}]")
    return sorted({*listed})
