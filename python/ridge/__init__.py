"""ridge's operations on DLPack arrays (PyTorch, NumPy, CuPy, JAX): a thin binding of libridge_ops.

    import ridge, torch
    x = torch.randn(4096, 4096, device="cuda")
    y = torch.empty_like(x)
    ridge.apply("fused_l2norm", [x], [y])

Arrays are passed without copies. Calls of PyTorch tensors whose shapes, strides, types and devices were met before cost
least: only addresses are passed anew. On a GPU the work is enqueued on `stream` (PyTorch's current stream on the tensors'
device unless given) and the call returns without waiting: keep the arrays until that stream is done. It can be captured
into a CUDA graph once it has been called for the shape.

Operations have a function each, which makes the outputs: y = ridge.rms_norm(x, gamma). Each takes, by name, `variant`,
`stream`, `context`, and `out`: the array to write, which is then returned, or a tuple of arrays for several outputs, where
None stands for one that is made. An array of another shape than the operation's is refused; where the operation has a
`dtype` that is not given, the type of the result is that of `out`.

    ridge.rms_norm(x, gamma, out=y)
    out, lse = ridge.attention(q, k, v, out=(out, None))

Read-only arrays, JAX's among them, may be inputs but not outputs. ridge records nothing for autograd: tensors that require
grad are refused unless under torch.no_grad().

The library is looked for in $RIDGE_LIBRARY, or else beside this package, in a build folder above it, and where the system
looks.
"""
from ._context import Context, apply
from ._library import Error, targets, version
from ._operations import (
    add_layer_norm,
    add_rms_norm,
    attention,
    attention_backward,
    attention_paged,
    attention_varlen,
    batched_gemm,
    fp8_attention,
    fp8_ffn,
    fp8_gemm,
    fp8_structured_sparsity,
    gemm,
    gemm_epilogue,
    grouped_gemm,
    int8_gemm,
    l2_norm,
    l2_norm_backward,
    layer_norm,
    layer_norm_backward,
    linear_cross_entropy,
    linear_cross_entropy_backward,
    linear_cross_entropy_grad,
    linear_norm_activation,
    linear_softmax,
    masked_softmax,
    nvfp4_gemm,
    nvfp4_scaled_gemm,
    prune_2_4,
    quantize_fp8_blocks,
    quantize_mxfp4,
    quantize_mxfp8,
    quantize_nvfp4,
    rms_norm,
    rms_norm_backward,
    scaled_softmax,
    softmax_backward,
    structured_sparsity,
    structured_sparsity_ffn,
    swiglu_ffn,
    swiglu_ffn_backward,
)

__all__ = [
    "apply",
    "Context",
    "Error",
    "add_layer_norm",
    "add_rms_norm",
    "attention",
    "attention_backward",
    "attention_paged",
    "attention_varlen",
    "batched_gemm",
    "fp8_attention",
    "fp8_ffn",
    "fp8_gemm",
    "fp8_structured_sparsity",
    "gemm",
    "gemm_epilogue",
    "grouped_gemm",
    "int8_gemm",
    "l2_norm",
    "l2_norm_backward",
    "layer_norm",
    "layer_norm_backward",
    "linear_cross_entropy",
    "linear_cross_entropy_backward",
    "linear_cross_entropy_grad",
    "linear_norm_activation",
    "linear_softmax",
    "masked_softmax",
    "nvfp4_gemm",
    "nvfp4_scaled_gemm",
    "prune_2_4",
    "quantize_fp8_blocks",
    "quantize_mxfp4",
    "quantize_mxfp8",
    "quantize_nvfp4",
    "rms_norm",
    "rms_norm_backward",
    "scaled_softmax",
    "softmax_backward",
    "structured_sparsity",
    "structured_sparsity_ffn",
    "swiglu_ffn",
    "swiglu_ffn_backward",
    "targets",
]


def __getattr__(name):
    if name == "__version__":  # not a plain name: it loads the library
        return version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
