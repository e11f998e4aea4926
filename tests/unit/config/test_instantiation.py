"""Third-party objects are instantiated by name, their arguments too; a failure is one line."""

from fractions import Fraction

import pytest

from aiayn.config.instantiation import instantiate
from aiayn.errors import UserError


def test_an_argument_with_a_target_is_instantiated_first() -> None:
    inner = {"_target_": "fractions.Fraction", "numerator": 1, "denominator": 2}
    assert instantiate({"_target_": "fractions.Fraction", "numerator": inner}, key="trainer") == Fraction(1, 2)


def test_a_target_deeper_down_is_left_alone() -> None:
    content = {"trainer": {"_target_": "nowhere.Trainer"}}
    assert instantiate({"_target_": "builtins.dict", "config": content}, key="logger") == {"config": content}


@pytest.mark.parametrize("node", [{"_target_": "nowhere.X"}, {"_target_": "fractions.Fraction", "depth": 1}])
def test_a_failure_is_one_line_with_its_key(node: dict[str, object]) -> None:
    for outer, key in ((node, "logger"), ({"_target_": "builtins.dict", "inner": node}, "logger.inner")):
        with pytest.raises(UserError) as refusal:
            instantiate(outer, key="logger")
        assert str(refusal.value).startswith((f"{key}: ", f"{key}.depth: "))
        assert "\n" not in str(refusal.value)


def test_an_argument_that_follows_from_others_is_refused() -> None:
    node = {"_target_": "fractions.Fraction", "numerator": 1}
    with pytest.raises(UserError, match=r"^trainer\.numerator: follows from other keys of the configuration; leave"):
        instantiate(node, key="trainer", numerator=2)


@pytest.mark.parametrize(
    ("node", "answer"),
    [
        ({"_target_": "sys.exit"}, "logger: SystemExit("),  # W&B replaces sys.exit by one whose code is 0
        ({"_target_": "pytest.fail", "reason": "no"}, "logger: Failed: no"),  # a BaseException
        ({"_target_": "fractions.Fraction", "numerator": "x"}, "logger.numerator=x: ValueError: Invalid literal for"),
        ({"_target_": "socket.socket", "family": 99}, "logger: OSError: "),
    ],
)
def test_whatever_a_target_raises_is_one_line(node: dict[str, object], answer: str) -> None:
    with pytest.raises(UserError) as refusal:
        instantiate(node, key="logger")
    assert str(refusal.value).startswith(answer)
