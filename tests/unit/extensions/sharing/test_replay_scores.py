"""The scores of a replay are within seed noise only where both are finite, or equal."""

import math

import pytest

from aiayn.extensions.sharing.replay_report import ScoreComparison


@pytest.mark.parametrize(
    ("recorded", "here", "noise", "is_within"),
    [
        (4.0, 4.1, 0.1, True),
        (4.0, 4.1, 0.01, False),
        (4.0, 4.1, None, False),
        (4.0, math.inf, math.inf, False),
        (math.inf, 4.0, None, False),
        (math.inf, math.inf, None, True),
    ],
)
def test_an_infinite_difference_is_never_within_noise(
    recorded: float, here: float, noise: float | None, *, is_within: bool
) -> None:
    compared = ScoreComparison.of("dev PPL", recorded, here, noise)
    assert compared.is_within_noise == is_within
    assert compared.is_judged == (noise is not None or math.inf in (recorded, here))
