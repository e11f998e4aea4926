"""Values that contradict each other are refused by key and value."""

import pytest
from composed_once import validated

from aiayn.config.compose import compose_command
from aiayn.config.freeze import to_dataclass
from aiayn.config.schema import TrainConfig
from aiayn.config.validation import validate
from aiayn.errors import UserError

PARSING = ["data=toy_trees", "tokenizer=symbols"]
AVERAGED = ["experiment=positions/none", "averaging.checkpoints=5"]
REFUSED: dict[tuple[str, ...], str] = {
    ("averaging.checkpoints=5",): r"averaging\.checkpoints=5: Table 3 is without",
    ("averaging.interval=3",): r"averaging\.interval=3: is for averaging\.checkpoints above 0",
    ("trainer.min_steps=5", "optimization.patience=3"): r"trainer\.min_steps=5: would train on after",
    (*AVERAGED,): r"averaging\.interval=null: must be at least 1 with averaging\.checkpoints=5",
    (
        *AVERAGED,
        "averaging.interval=2",
        "trainer.enable_checkpointing=false",
    ): r".* nothing to average with trainer\.enable_checkpointing=false$",
    ("data.max_length=1000000",): r"data\.max_length=1000000: a sentence this long does not fit",
    ("data.target_language=fr",): r"data\.target_language=fr: this corpus has de; leave it out",
    ("model.max_positions=3",): r"model\.max_positions=3: must be at least data\.max_length=\d+; raise it",
    ("model.d_model=127",): r"model\.d_model=127: must be even with model\.positions=sinusoidal",
    ("model.positions=rotary", "model.d_k=3"): r"model\.d_k=3: must be even with model\.positions=rotary",
    ("model=convolutional", "model.kernel_size=4"): r"model\.kernel_size=4: must be odd",
    ("model=recurrent", "model.d_model=127"): r"model\.d_model=127: must be even: an encoder reads in both",
    (
        "model=recurrent",
        "launch.compile=true",
    ): r"launch\.compile=true: made for model\.kind=transformer",
    ("tokenizer.vocabulary_size=258",): r"tokenizer\.vocabulary_size=258: must be at least 259",
    ("model.vocabulary_rows=10",): r"model\.vocabulary_rows=10: must be at least 259 with tokenizer\.kind=byte_pair",
    ("tokenizer=symbols",): r"tokenizer\.kind=symbols: made for trees, and data\.kind=grammar is text, ",
    ("decoding.constrained=true",): r"decoding\.constrained=true: .*tokenizer\.kind=byte_pair",
    (*PARSING, "decoding.constrained=true", "decoding.max_extra_length=1"): r"decoding\.max_extra_length=1: .*least 2",
}
TREES = ["data=treebank", "data.train=a", "data.dev=a", "data.test=a"]


@pytest.mark.parametrize("overrides", REFUSED, ids=" ".join)
def test_a_contradiction_is_refused(overrides: tuple[str, ...]) -> None:
    with pytest.raises(UserError, match=f"^{REFUSED[overrides]}") as refusal:
        validated(*overrides)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "overrides",
    [
        [*AVERAGED, "averaging.interval=2"],
        ["model.d_model=127", "model.positions=learned"],
        [*PARSING, "decoding.constrained=true", "decoding.max_extra_length=2"],
        ["launch.compile=true"],
    ],
    ids=" ".join,
)
def test_values_that_agree_are_accepted(overrides: list[str]) -> None:
    validated(*overrides)


def test_heads_that_do_not_divide_need_their_widths_stated() -> None:
    with pytest.raises(UserError, match=r"^model\.num_heads=7 does not divide model\.d_model=128: "):
        validate(to_dataclass(compose_command("train", ["model.num_heads=7"]), TrainConfig))
    validate(to_dataclass(compose_command("train", ["model.num_heads=7", "model.d_k=16", "model.d_v=8"]), TrainConfig))


@pytest.mark.parametrize(
    ("overrides", "complaint"),
    [
        ([*TREES, "data.train="], r"^data\.train has no value: "),
        ([*TREES, "data.dev=[]"], r"^data\.dev=\[\]: state a file, a folder, "),
        ([*TREES, "data.silver="], r"^data\.silver has no value: "),
        ([*TREES, "data.path="], r"^data\.path has no value: "),
        ([*TREES, "data.gold_copies=0"], r"^data\.gold_copies=0: must be at least 1$"),
    ],
)
def test_files_of_trees_are_stated(overrides: list[str], complaint: str) -> None:
    with pytest.raises(UserError, match=complaint):
        validate(to_dataclass(compose_command("train", overrides), TrainConfig))
