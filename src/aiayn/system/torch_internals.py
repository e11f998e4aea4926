"""Parts of torch that it does not document, where it has no public way, and the texts of its errors; as read in 2.13.

`tests/unit/test_internals_of_others.py` compares them with the installed version. torch is imported where it is used.
"""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from torch import Tensor

GLOO = re.compile(r"\bgloo\b|connection (closed|reset) by peer|caused pair closure", re.IGNORECASE)
"""In gloo's messages, which are plain RuntimeErrors; NCCL and the stores have error types of their own."""

OUT_OF_MEMORY = re.compile(r"out of memory|can't allocate memory|bad_alloc", re.IGNORECASE)
"""In the messages of a shortage of memory; on CPUs it raises a plain RuntimeError."""


class OneDnn(NamedTuple):
    """oneDNN's products, to which torch gives no public name."""

    linear: Callable[..., Any]
    """Takes states, weight, bias or None, the name of a function of the result, its arguments and its variant."""
    reordered: Callable[["Tensor"], Any]
    """A weight in oneDNN's own layout."""


def one_dnn() -> OneDnn | None:
    """The products, if this build of torch has them."""
    import torch

    operations = torch.ops.mkldnn
    if not (hasattr(operations, "_linear_pointwise") and hasattr(operations, "_reorder_linear_weight")):
        return None
    return OneDnn(operations._linear_pointwise, operations._reorder_linear_weight)  # noqa: SLF001


def keep_graphs_whole() -> None:
    """Have DDP not split compiled graphs, which fails with dynamic sizes (pytorch#125641).

    torch's documentation names this setting; `torch.compiler.config` lacks it.
    """
    import torch

    torch._dynamo.config.optimize_ddp = False  # noqa: SLF001


def is_shortage(error: BaseException) -> bool:
    """Whether an error of torch is a shortage of memory."""
    return OUT_OF_MEMORY.search(str(error)) is not None


def lost_peer(error: RuntimeError) -> str | None:
    """What a transport says of a rank that has ended or does not answer; None for any other error."""
    import torch.distributed as dist

    if not (isinstance(error, dist.DistError) or GLOO.search(str(error))):
        return None
    text = re.sub(r"\[[^\]]*/[^\]]*\]\s*", "", " ".join(str(error).split()))  # the source location in the library
    hint = "; name the interface that the hosts share in GLOO_SOCKET_IFNAME" if "connectFullMesh" in text else ""
    return text.partition(". ")[0] + hint


def refused_class(error: BaseException) -> str:
    """The class that `torch.load` refused to make, by its message; empty if it names none."""
    return str(error).partition("GLOBAL ")[2].partition(" ")[0]
