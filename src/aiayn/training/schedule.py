"""The learning rate of section 5.3."""


def learning_rate(step: int, *, d_model: int, warmup_steps: int, factor: float = 1.0) -> float:
    """Equation 3: factor * d_model^-0.5 * min(step^-0.5, step * warmup_steps^-1.5).

    Args:
        step: the optimizer step about to be made, counted from 1.
        d_model: width of the model.
        warmup_steps: steps of the linear rise; the peak is at step `warmup_steps`.
        factor: multiplies the paper's rate.
    """
    assert step >= 1
    return float(factor * d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5))
