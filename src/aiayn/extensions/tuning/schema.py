"""The schema of `aiayn tune`."""

from dataclasses import dataclass

from omegaconf import MISSING

from aiayn.config.command_schema import DeviceConfig, EnsembleConfig, OverridesConfig, Resamples, overriding
from aiayn.config.schema import DecodingConfig
from aiayn.config.values import Numbers, Seed, WholeNumbers, text_or_null


@dataclass
@overriding(
    DecodingConfig,
    *("length_penalty", "max_extra_length", "batch_tokens", "eos_within", "limit_sentences", "bleu_tokenizer"),
)
class TunedOverridesConfig(OverridesConfig):
    """Search settings that differ from the run's, apart from the tuned ones; null keeps the run's."""


@dataclass
class TuneConfig(DeviceConfig, EnsembleConfig):
    """`aiayn tune`."""

    beam_sizes: WholeNumbers = MISSING
    """Beam sizes to try, a list; each costs a search of the development set."""
    alphas: Numbers = MISSING
    """Alphas of the length penalty to try, a list; they cost next to nothing."""
    output: str | None = text_or_null()
    """A .md or .json file to write; null: to the terminal."""
    resamples: Resamples = MISSING
    """Bootstrap samples of the sentences for the interval."""
    seed: Seed = MISSING
    """Seed of the bootstrap."""
    decoding: TunedOverridesConfig = MISSING
    """Other search settings that differ from the run's."""
