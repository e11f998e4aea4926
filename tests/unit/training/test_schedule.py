"""Equation 3: a linear rise to the peak at the warm-up's end, then the inverse square root of the step."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiayn.config.schema import OptimizationConfig
from aiayn.models.transformer import Transformer
from aiayn.training.module import TranslationModule
from aiayn.training.schedule import learning_rate

steps = st.integers(1, 10**6)
widths = st.integers(1, 4096)
warmups = st.integers(1, 10**5)
factors = st.floats(1e-3, 1e3)


@given(steps, widths, warmups, factors)
def test_equation_3(step: int, d_model: int, warmup: int, factor: float) -> None:
    rise, fall = step * warmup**-1.5, step**-0.5
    rate = learning_rate(step, d_model=d_model, warmup_steps=warmup, factor=factor)
    assert rate == pytest.approx(factor / d_model**0.5 * min(rise, fall))
    assert rate > 0


@given(steps, widths, warmups)
def test_the_peak_is_at_the_end_of_the_warm_up(step: int, d_model: int, warmup: int) -> None:
    peak = learning_rate(warmup, d_model=d_model, warmup_steps=warmup)
    rate = learning_rate(step, d_model=d_model, warmup_steps=warmup)
    assert rate < peak or step == warmup or rate == pytest.approx(peak, rel=1e-4)
    assert rate <= peak * (1 + 1e-12)


def test_the_optimizer_follows_the_equation_from_its_first_step(model: Transformer) -> None:
    module = TranslationModule(
        model=model,
        d_model=16,
        label_smoothing=0.1,
        recipe=OptimizationConfig(
            warmup_steps=3,
            learning_rate_factor=2.0,
            adam_beta1=0.9,
            adam_beta2=0.98,
            adam_epsilon=1e-9,
            divergence_factor=3.0,
        ),
        seed=1,
        log_interval=1,
        provenance={},
    )
    configured = module.configure_optimizers()
    optimizer, scheduler = configured["optimizer"], configured["lr_scheduler"]["scheduler"]  # type: ignore[index]
    for step in range(1, 9):
        rate = learning_rate(step, d_model=16, warmup_steps=3, factor=2.0)
        assert optimizer.param_groups[0]["lr"] == pytest.approx(rate)
        optimizer.step()
        scheduler.step()
