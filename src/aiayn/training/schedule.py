"""The learning rate of section 5.3."""


def learning_rate(step: int, *, d_model: int, warmup_steps: int, factor: float = 1.0) -> float:
    """Equation 3: factor * d_model^-0.5 * min(step^-0.5, step * warmup_steps^-1.5).

    `step` is the optimizer step about to be made, counted from 1. The rate is highest at step `warmup_steps`.
    """
    assert step >= 1
    return float(factor * d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5))
