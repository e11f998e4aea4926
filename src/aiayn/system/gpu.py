"""How this process computes on GPUs, a setting of torch."""

import torch


def configure_gpus(*, tf32: bool) -> None:
    """Let products and convolutions in single precision be TensorFloat-32, or not, and choose attention's kernels.

    By default, cuDNN's are TensorFloat-32 and cuBLAS's are not. cuDNN's attention is off: it builds a plan for each new
    shape, which takes longer than a training step, and no two batches are alike.
    """
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cuda.enable_cudnn_sdp(False)
