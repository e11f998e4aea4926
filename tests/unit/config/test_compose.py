"""A composition does not change what others are made of."""

from aiayn.config.compose import compose_command


def test_a_composition_is_no_part_of_the_next() -> None:
    first = compose_command("train", ["seed=3", "+callbacks.mine={_target_: x}"])
    first.model.d_model = 2
    assert compose_command("train") == compose_command("train", ["seed=1"])
    assert "mine" not in compose_command("train").callbacks
