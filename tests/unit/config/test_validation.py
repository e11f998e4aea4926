"""Values out of range are refused by key, value and what is allowed."""

import pytest

from aiayn.config.compose import compose_command
from aiayn.config.freeze import to_dataclass
from aiayn.config.schema import TrainConfig
from aiayn.config.validation import validate
from aiayn.errors import UserError

OUT_OF_RANGE = [
    "model.d_model=0",
    "model.dropout=-0.1",
    "model.dropout=1.0",
    "model.num_layers=0",
    "model.d_k=0",
    "optimization.label_smoothing=1.5",
    "optimization.max_steps=0",
    "optimization.learning_rate_factor=0",
    "optimization.source_tokens=-1",
    "optimization.adam_beta2=1",
    "decoding.beam_size=0",
    "decoding.beam_size=999999999",
    "decoding.limit_sentences=0",
    "decoding.length_penalty_alpha=-1",
    "decoding.length_penalty_alpha=11",
    "model.num_heads=0",
    "seed=-1",
    "seed=9223372036854775808",
    "decoding.max_extra_length=-1",
    "decoding.validation_sentences=-1",
    "averaging.checkpoints=-1",
    "averaging.checkpoints=5",
    "data.max_length=1000000",
    "launch.timeout_seconds=0",
    "logger.mode=sometimes",
    "logger.init_timeout=0",
    "logger.init_timeout=soon",
    "logger.finish_timeout=-1",
    "logger.finish_timeout=True",
    "logger.finish_timeout=inf",
    "logger.samples=-1",
    "logger.samples=many",
    "logger.log_model=sometimes",
    "scale.width=0",
    "scale.steps=-1",
    "data.sentences=0",
    "data.seed=-1",
    "data.max_length=1",
    "data.target_language=fr",
    "tokenizer.vocabulary_size=258",
    "model.vocabulary_rows=10",
    "model.max_positions=3",
    "model.num_layers=1001",
    "model.d_ff=100000000",
    "decoding.max_extra_length=1000000",
    "launch.preparation_processes=100000",
    "averaging.interval=0",
    "optimization.max_steps=99999999999999999999",
]


@pytest.mark.parametrize("override", OUT_OF_RANGE)
def test_out_of_range(override: str) -> None:
    with pytest.raises(UserError) as refusal:
        validate(to_dataclass(compose_command("train", [override]), TrainConfig))
    assert str(refusal.value).replace(".0:", ":").startswith(override.replace(".0", "") + ":")
    assert "\n" not in str(refusal.value)


def test_heads_that_do_not_divide_need_their_widths_stated() -> None:
    with pytest.raises(UserError, match=r"^model\.num_heads=7 does not divide model\.d_model=128: "):
        validate(to_dataclass(compose_command("train", ["model.num_heads=7"]), TrainConfig))
    validate(to_dataclass(compose_command("train", ["model.num_heads=7", "model.d_k=16", "model.d_v=8"]), TrainConfig))


def test_a_rate_must_be_finite() -> None:
    with pytest.raises(UserError, match=r"^optimization\.learning_rate_factor=inf: "):
        validate(to_dataclass(compose_command("train", ["optimization.learning_rate_factor=inf"]), TrainConfig))


def test_averaging_is_stated_whole() -> None:
    asked = ["experiment=positions/none", "averaging.checkpoints=5"]
    with pytest.raises(UserError, match=r"^averaging\.interval=null: must be at least 1 with averaging\.checkpoints=5"):
        validate(to_dataclass(compose_command("train", asked), TrainConfig))
    whole = [*asked, "averaging.interval=2"]
    with pytest.raises(UserError, match=r"nothing to average with trainer\.enable_checkpointing=false$"):
        validate(to_dataclass(compose_command("train", [*whole, "trainer.enable_checkpointing=false"]), TrainConfig))
    validate(to_dataclass(compose_command("train", whole), TrainConfig))


def test_learned_positions_must_cover_the_longest_sentence() -> None:
    overrides = ["model.positions=learned", "model.max_positions=30"]
    with pytest.raises(UserError, match=r"^model\.max_positions=30: fewer than data\.max_length="):
        validate(to_dataclass(compose_command("train", overrides), TrainConfig))


def test_sinusoids_need_an_even_width() -> None:
    overrides = ["model.d_model=127", "model.d_k=16", "model.d_v=16"]
    with pytest.raises(UserError, match=r"^model\.d_model=127: must be even"):
        validate(to_dataclass(compose_command("train", overrides), TrainConfig))
    validate(to_dataclass(compose_command("train", [*overrides, "model.positions=learned"]), TrainConfig))


@pytest.mark.parametrize("override", ["+logger.id=mine", "+logger.resume=must", "+logger.offline=true"])
def test_what_follows_from_the_run_is_not_stated_again(override: str) -> None:
    with pytest.raises(UserError, match=f"^{override.strip('+').partition('=')[0]}: "):
        validate(to_dataclass(compose_command("train", [override]), TrainConfig))


@pytest.mark.parametrize("override", ["+logger.api_key=secret", "+logger.settings={api_key: secret}"])
def test_a_key_does_not_belong_in_a_configuration(override: str) -> None:
    with pytest.raises(UserError, match="WANDB_API_KEY") as refusal:
        validate(to_dataclass(compose_command("train", [override]), TrainConfig))
    assert "secret" not in str(refusal.value)


def test_a_tracker_other_than_wandb_has_arguments_of_its_own() -> None:
    overrides = ["logger=none", "+logger._target_=mine.Tracker", "+logger.mode=sometimes"]
    validate(to_dataclass(compose_command("train", overrides), TrainConfig))


@pytest.mark.parametrize(
    ("overrides", "complaint"),
    [
        (["tokenizer=symbols"], r"^tokenizer\.kind=symbols: made for trees, and data\.kind=grammar is text, "),
        (["data=treebank", "data.train=", "data.dev=a", "data.test=a"], r"^data\.train has no value: "),
        (["data=treebank", "data.train=a", "data.dev=[]", "data.test=a"], r"^data\.dev=\[\]: state a file, a folder, "),
        (["data=wsj", "data.path=a", "data.silver="], r"^data\.silver has no value: "),
        (["data=wsj", "data.path="], r"^data\.path has no value: "),
        (["data=wsj", "data.path=a", "data.gold_times=0"], r"^data\.gold_times=0: must be at least 1$"),
    ],
)
def test_trees_are_named_and_their_symbols_are_theirs(overrides: list[str], complaint: str) -> None:
    with pytest.raises(UserError, match=complaint):
        validate(to_dataclass(compose_command("train", overrides), TrainConfig))
