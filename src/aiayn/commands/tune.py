"""`aiayn tune`."""

from omegaconf import DictConfig

from aiayn.config.command_schema import TuneConfig
from aiayn.config.freeze import typed
from aiayn.config.outputs import output_file
from aiayn.config.values import whole as whole_number
from aiayn.errors import UserError
from aiayn.runs.directory import named_runs, open_run
from aiayn.system.signals import ended_as_interrupted


def checked(composed: DictConfig) -> TuneConfig:
    """The configuration, as far as it can be judged without files.

    Raises:
        UserError: the command would refuse it.
    """
    return typed(composed, TuneConfig)


def main(composed: DictConfig) -> None:
    """Choose beam size and alpha on the development set, and print what every setting gives."""
    config = checked(composed)
    for name in named_runs(config.run):  # before torch is imported, which takes seconds
        open_run(name)
    beam_sizes = [int(each) for each in numbers(config.beam_sizes, key="beam_sizes", whole=True)]
    alphas = numbers(config.alphas, key="alphas")
    output = output_file(config.output)
    if output is not None and output.suffix not in (".md", ".json"):
        raise UserError(f"output={output}: the suffix says the format; choose from .md, .json")
    from aiayn.evaluation.significance import check_resampling

    check_resampling(config.resamples, config.seed)
    from aiayn.inference.tuning import tune_decoding
    from aiayn.reports.tuning import report_tuning

    with ended_as_interrupted():
        tuning = tune_decoding(config, beam_sizes=beam_sizes, alphas=alphas)
        try:
            report_tuning(tuning, output)
        except OSError as error:
            if output is None:
                raise
            raise UserError(f"output={output}: {error.strerror}; choose another file") from error


def numbers(asked: object, *, key: str, whole: bool = False) -> list[float]:
    """One number or a list of them, ascending and each once.

    Args:
        asked: as composed.
        key: the configuration key to blame.
        whole: whether fractions are refused.

    Raises:
        UserError: it is something else.
    """
    listed = asked if isinstance(asked, list) else [asked]
    listed = [whole_number(each) for each in listed] if whole else listed
    allowed = (int,) if whole else (int, float)
    if not listed or not all(type(each) in allowed for each in listed):
        kind = "whole numbers" if whole else "numbers"
        raise UserError(f"{key}={asked}: state {kind}, as in {key}=[{'4,8' if whole else '0.4,0.6'}]")
    return sorted({*listed})
