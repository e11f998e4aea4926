# ruff: noqa: SLF001
"""An accelerator whose tensors lie in the host's memory: it refuses mixed devices, and counts waits of the host.

torch's interface for backends in Python is experimental and private: it is used here alone, and
`tests/unit/training/test_fake_device.py` shows that it still does what it did.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

try:
    from torch.utils.backend_registration import _DummyBackendModule, _setup_privateuseone_for_python_backend
except ImportError:
    if torch.__version__ >= "2.11":
        raise
    pytest.skip("this torch has no backends in Python", allow_module_level=True)

aten = torch.ops.aten

WAITS = frozenset(
    {
        aten._local_scalar_dense.default,
        aten.nonzero.default,
        aten.masked_select.default,
        aten.equal.default,
        aten.repeat_interleave.Tensor,
        aten._unique2.default,
    }
)
"""Operations after which the host waits: their result, or its shape, depends on the device's values."""

INDEXING = (aten.index.Tensor, aten.index_put.default, aten.index_put_.default)
"""These wait if they are indexed by a mask."""

PACKING = (aten._pack_padded_sequence.default, aten._pack_padded_sequence_backward.default)
"""These take lengths, or numbers of sentences, that lie in the host's memory on every device."""

RECURRENT = (torch._VF.gru, torch._VF.lstm)
"""Layers that are one operation of the device."""

LOWER = (aten.linear.default, aten.matmul.default, aten.bmm.default, aten.scaled_dot_product_attention.default)
SINGLE = (
    *(aten.layer_norm.default, aten.rms_norm.default, aten.softmax.int, aten.log_softmax.int, aten.exp.default),
    *(aten.log.default, aten.pow.Tensor_Scalar, aten.rsqrt.default, aten.cumsum.default),
    *(aten.sum.default, aten.sum.dim_IntList),
)
"""Autocast's rules, as for CUDA: operations of our models in its lower type, and those in float32."""


class _BackendModule(_DummyBackendModule):
    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [torch.float16, torch.bfloat16]

    def get_rng_state(self, device: object = None) -> Tensor:
        return torch.get_rng_state()  # random numbers are the host's

    def set_rng_state(self, state: Tensor, device: object = None) -> None:
        torch.set_rng_state(state)


_setup_privateuseone_for_python_backend("fake", backend_module=_BackendModule())
DEVICE = torch.device("fake", 0)


class OnDevice(Tensor):
    """A tensor of the device around one of the host."""

    host: Tensor

    @staticmethod
    def __new__(cls, host: Tensor) -> "OnDevice":
        tensor = Tensor._make_wrapper_subclass(
            cls,
            host.size(),
            strides=host.stride(),
            storage_offset=host.storage_offset(),
            dtype=host.dtype,
            device=DEVICE,
        )
        assert isinstance(tensor, OnDevice)
        tensor.host = host
        return tensor

    def __repr__(self, *, tensor_contents: object = None) -> str:  # type: ignore[override]
        return f"OnDevice({self.host})"

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        raise AssertionError(f"{func}: outside fake_device()")


def _registered_autocast() -> tuple[torch.library.Library, ...]:
    """Autocast on the device, while the result exists. Python's modes do not see the threads of a backward pass."""
    create: Any = torch.library.Library
    everything, own = (create(name, "IMPL", "AutocastPrivateUse1") for name in ("_", "aten"))
    everything.fallback(torch.library.fallthrough_kernel)
    for operation in (*LOWER, *SINGLE):
        own.impl(operation, _with_cast(operation))
    return everything, own


def _with_cast(operation: Any) -> Any:
    """The operation without autocast, on arguments that are cast."""
    autocast = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastPrivateUse1)  # type: ignore[attr-defined]

    def cast(each: Any) -> Any:
        if not isinstance(each, OnDevice) or each.dtype not in (torch.float32, torch.float16, torch.bfloat16):
            return each
        return each.to(torch.float32 if operation in SINGLE else torch.get_autocast_dtype(DEVICE.type))

    def kernel(*args: Any, **kwargs: Any) -> Any:
        with torch._C._ExcludeDispatchKeyGuard(autocast):
            args, kwargs = tree_map(cast, (args, kwargs))
            return operation(*args, **kwargs)

    return kernel


_AUTOCAST = _registered_autocast()


class FakeDevice(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Runs operations on the device's tensors; `waits` counts those for which the host waits."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.waits: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        tensors: list[Tensor] = []
        tree_map(lambda each: tensors.append(each) if isinstance(each, Tensor) else None, (args, kwargs))
        is_stated = kwargs.get("device") is not None and torch.device(kwargs["device"]).type == DEVICE.type
        if not is_stated and not any(isinstance(each, OnDevice) for each in tensors):
            return func(*args, **kwargs)
        with self:  # in inference mode, composite operations arrive whole
            result = func.decompose(*args, **kwargs)
        if result is not NotImplemented:
            return result
        stays_here = self._count(func, args, kwargs, tensors)
        if kwargs.get("device") is not None:
            kwargs["device"] = torch.device("cpu")
        on_host = tree_map(lambda each: each.host if isinstance(each, OnDevice) else each, (args, kwargs))
        result = func(*on_host[0], **on_host[1])
        if stays_here:
            return result
        if func is PACKING[0]:
            return OnDevice(result[0]), result[1]
        own = {id(each.host): each for each in tensors if isinstance(each, OnDevice)}  # changed in place

        def there(each: Any) -> Any:
            if not isinstance(each, Tensor):
                return each
            return own[id(each)] if id(each) in own else OnDevice(each)

        return tree_map(there, result)

    def _count(self, func: Any, args: Any, kwargs: dict[str, Any], tensors: list[Tensor]) -> bool:
        """Count a wait; whether the result is a tensor of the host. RuntimeError if devices are mixed."""
        if func is aten.copy_.default:
            return self._count_copy(isinstance(args[1], OnDevice), isinstance(args[0], OnDevice), args[2:])
        if func is aten._to_copy.default:
            stated = kwargs.get("device")
            comes = isinstance(args[0], OnDevice)
            goes = comes if stated is None else torch.device(stated).type == DEVICE.type
            return self._count_copy(comes, goes, (kwargs.get("non_blocking"),))
        mixes = any(not isinstance(each, OnDevice) and each.dim() for each in tensors)
        if mixes and func not in PACKING:
            raise RuntimeError(f"{func}: tensors of the host meet those of the device")
        by_mask = func in INDEXING and any(each is not None and each.dtype is torch.bool for each in args[1])
        if func in WAITS or by_mask:
            self.waits[str(func)] += 1
        return False

    def _count_copy(self, comes: bool, goes: bool, non_blocking: tuple[Any, ...]) -> bool:
        if comes and not goes:
            self.waits["to the host"] += 1
        elif goes and not comes and not any(non_blocking):
            self.waits["from the host"] += 1
        return not goes


class _OneOperation(torch.autograd.Function):
    """A function of the host as one operation of the device, whose derivative is another."""

    @staticmethod
    def forward(ctx: Any, function: Any, structure: Any, *leaves: Any) -> Any:
        ctx.given = [each.host.detach() if isinstance(each, OnDevice) else each for each in leaves]
        ctx.wanted = [number for number, needed in enumerate(ctx.needs_input_grad[2:]) if needed]
        for number in ctx.wanted:
            ctx.given[number].requires_grad_()
        with torch.set_grad_enabled(bool(ctx.wanted)):
            ctx.results = function(*tree_unflatten(ctx.given, structure))
        return tuple(OnDevice(each.detach()) for each in ctx.results)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Any, ...]:
        inputs = [ctx.given[number] for number in ctx.wanted]
        found = torch.autograd.grad(ctx.results, inputs, [each.host for each in gradients])
        by_number = dict(zip(ctx.wanted, map(OnDevice, found), strict=True))
        return None, None, *(by_number.get(number) for number in range(len(ctx.given)))


class _Functions(TorchFunctionMode):
    """What torch does below the level of dispatch: `torch.tensor(..., device=...)`, `tolist`, recurrent layers."""

    def __init__(self, device: FakeDevice) -> None:
        super().__init__()
        self.device = device

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func is torch.tensor and torch.device(kwargs.get("device") or "cpu").type == DEVICE.type:
            return torch.tensor(*args, **{**kwargs, "device": "cpu"}).to(DEVICE)
        if func is Tensor.tolist and isinstance(args[0], OnDevice):
            self.device.waits["tolist"] += 1
            return args[0].host.tolist()
        if func in RECURRENT and isinstance(args[0], OnDevice):
            leaves, structure = tree_flatten(args)
            return _OneOperation.apply(func, structure, *leaves)  # type: ignore[no-untyped-call]
        return func(*args, **kwargs)


@contextmanager
def fake_device() -> Iterator[FakeDevice]:
    """Within the block, tensors may be on `DEVICE`."""
    with FakeDevice() as device, _Functions(device):
        yield device
