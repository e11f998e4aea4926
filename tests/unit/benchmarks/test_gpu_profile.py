"""What a profile of a GPU is reduced to: shares of time, calls per step, the busy share."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_profile import REST, Span, gpu_figures, shares

PARTS = {
    "nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NTN": "products",
    "void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2_tn_align8>": "products",
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64": "products",
    "triton_tem_fused_mm_0": "products",
    "aten::addmm": "products",
    "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, cutlass::bfloat16_t>>": "attention",
    "fmha_cutlassB_bf16_aligned_64x64_k64_sm80": "attention",
    "void at::native::multi_tensor_apply_kernel<FusedAdamMathFunctor<float, 4>>": "optimizer",
    "aten::_fused_adam_": "optimizer",
    "triton_poi_fused_addmm_native_dropout_3": REST,
    "void at::native::vectorized_elementwise_kernel<4, CUDAFunctor_add<c10::BFloat16>>": REST,
    "void at::native::vectorized_layer_norm_kernel<float, float>": REST,
    "Memcpy DtoD (Device -> Device)": REST,
}


@pytest.mark.parametrize(("name", "part"), PARTS.items())
def test_a_kernel_belongs_to_one_part(name: str, part: str) -> None:
    assert shares([(name, 3.0)]) == {part: 1.0}


def test_shares_are_of_the_whole_time() -> None:
    assert shares([("aten::mm", 30.0), ("aten::add", 50.0), ("aten::bmm", 20.0)]) == {"products": 0.5, REST: 0.5}


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(1, 20)), max_size=20),
    st.integers(0, 30),
    st.integers(1, 30),
)
def test_a_gpu_is_busy_while_any_kernel_runs(kernels: list[tuple[int, int]], start: int, length: int) -> None:
    spans = [Span("kernel", True, begin, begin + duration) for begin, duration in kernels]
    end = start + length
    busy = {moment for begin, duration in kernels for moment in range(begin, begin + duration)} & {*range(start, end)}
    figures = gpu_figures(spans, start=start, end=end, steps=1)
    assert figures["GPU busy"] == pytest.approx(len(busy) / length, abs=1e-3)


def test_calls_are_counted_by_step_inside_the_recorded_time() -> None:
    inside = [
        *["cudaLaunchKernel"] * 5,
        "cudaLaunchKernelExC",
        "cuLaunchKernelEx",
        *["cudaStreamSynchronize"] * 2,
        "cudaDeviceSynchronize",
        "cudaMemcpy",
        "cudaMemcpyAsync",
        "cudaEventRecord",
        "aten::mm",
    ]
    spans = [Span(name, False, 10.0 + number, 11.0 + number) for number, name in enumerate(inside)]
    outside = [Span("cudaDeviceSynchronize", False, 40.0, 41.0), Span("cudaLaunchKernel", False, 1.0, 2.0)]
    copies = [Span("Memcpy DtoH (Device -> Pinned)", True, 12.0, 13.0), Span("Memcpy HtoD", True, 12.0, 13.0)]
    figures = gpu_figures([*spans, *outside, *copies], start=10.0, end=30.0, steps=2)
    assert figures == {
        "launches a step": 3.5,
        "host synchronisations a step": 2.0,
        "copies to the host a step": 0.5,
        "GPU busy": 0.05,
    }
