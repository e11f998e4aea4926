"""TensorFloat-32 in products of single precision on GPUs, a setting of the process."""

import torch


def allow_tf32(allowed: bool) -> None:
    """Let products and convolutions be TensorFloat-32, or not: by default, cuDNN's are and cuBLAS's are not."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = allowed
