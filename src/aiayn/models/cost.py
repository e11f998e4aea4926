"""What training costs, counted from the matrices."""

from torch import Tensor, nn

from aiayn.models.transformer import Transformer


def training_flops(model: Transformer, *, source_tokens: int, target_tokens: int) -> float:
    """Floating-point operations of forward and backward passes: 6 for each weight of a matrix and token it meets.

    Attention's own products, normalisation and softmax are not counted; for sentences far shorter than d_model they
    are a few per cent.

    Args:
        model: its matrices are counted.
        source_tokens: tokens through the encoder and the keys and values of cross-attention.
        target_tokens: tokens through the rest of the decoder and the output layer.
    """
    memory = sum(_weights(layer.get_submodule("cross_attention.key_value")) for layer in model.decoder)
    source = _weights(model.encoder) + memory
    target = _weights(model.decoder) - memory + model.embedding.weight.numel()
    return 6.0 * (source * source_tokens + target * target_tokens)


def _weights(module: nn.Module) -> int:
    """Numbers in a module's matrices."""
    parameters: list[Tensor] = list(module.parameters())
    return sum(parameter.numel() for parameter in parameters if parameter.dim() == 2)
