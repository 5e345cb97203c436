"""The one list of what is registered, and its registration as custom operations ridge::NAME of PyTorch.

An operation has a schema, whose arguments are those of ridge.NAME, its gradient, the tensors that the gradient needs,
outputs that are constants to autograd, and the operations of PyTorch whose types it has under autocast. All else is
derived: shapes of outputs are those that ridge.NAME makes.
"""
import inspect
from typing import Callable, NamedTuple, Optional

import torch

from .. import _operations
from . import _autocast, _autograd, _calls, _eager, _gradients


class Operation(NamedTuple):
    name: str
    schema: str
    saves: str = ""  # tensors, of inputs and outputs
    gradient: Optional[Callable] = None
    constant: str = ""  # outputs
    like: str = ""  # PyTorch's operations that autocast treats it as: by the first its operands, by all its results
    float32: str = ""  # inputs and outputs that are float32 whatever the others are


_NORM = "float eps=1e-5, str activation='none'"
_BESIDE = "Tensor? dsum=None, float eps=1e-5"
_SEEN = (
    "bool causal=False, float scale=0.0, int[2] window=[-1, -1], float softcap=0.0, Tensor? sink=None, "
    "Tensor? slope=None"
)
_CROSS_ENTROPY = "int ignore_index=-100, float label_smoothing=0.0, float z_loss=0.0"
_EPILOGUE = (
    "Tensor? c=None, Tensor? bias=None, Tensor? row_bias=None, float alpha=1.0, float beta=1.0, str activation='none', "
    "ScalarType? dtype=None"
)
OPERATIONS = (
    Operation(
        "rms_norm",
        f"(Tensor x, Tensor gamma, {_NORM}) -> (Tensor y)",
        "x gamma",
        _gradients.norm,
        like="rms_norm",
    ),
    Operation(
        "layer_norm",
        f"(Tensor x, Tensor gamma, Tensor beta, {_NORM}) -> (Tensor y)",
        "x gamma beta",
        _gradients.norm,
        like="layer_norm",
    ),
    Operation(
        "l2_norm",
        "(Tensor x, float eps=1e-12, str activation='none') -> (Tensor y)",
        "x",
        _gradients.l2_norm,
        like="norm.ScalarOpt_dim",
    ),
    Operation("l2_norm_backward", "(Tensor x, Tensor dy, float eps=1e-12) -> (Tensor dx)"),
    Operation("rms_norm_backward", f"(Tensor x, Tensor gamma, Tensor dy, {_BESIDE}) -> (Tensor dx, Tensor dgamma)"),
    Operation(
        "layer_norm_backward",
        f"(Tensor x, Tensor gamma, Tensor dy, {_BESIDE}) -> (Tensor dx, Tensor dgamma, Tensor dbeta)",
    ),
    Operation(
        "add_rms_norm",
        f"(Tensor x, Tensor residual, Tensor gamma, {_NORM}) -> (Tensor y, Tensor sum)",
        "gamma sum",
        _gradients.add_norm,
        like="rms_norm",
    ),
    Operation(
        "add_layer_norm",
        f"(Tensor x, Tensor residual, Tensor gamma, Tensor beta, {_NORM}) -> (Tensor y, Tensor sum)",
        "gamma beta sum",
        _gradients.add_norm,
        like="layer_norm",
    ),
    Operation(
        "scaled_softmax",
        "(Tensor x, float scale=1.0, int causal=0, bool log=False) -> (Tensor y)",
        "y",
        _gradients.scaled_softmax,
        like="softmax.int",
    ),
    Operation("softmax_backward", "(Tensor y, Tensor dy, float scale=1.0, bool log=False) -> (Tensor dx)"),
    Operation(
        "masked_softmax",
        "(Tensor x, Tensor mask, float scale=1.0, bool log=False) -> (Tensor y)",
        "y",
        _gradients.masked_softmax,
        like="softmax.int",
    ),
    Operation(
        "attention",
        f"(Tensor q, Tensor k, Tensor v, {_SEEN}) -> (Tensor out, Tensor lse)",
        "q k v sink slope out lse",
        _gradients.attention,
        constant="lse",
        like="scaled_dot_product_attention",
        float32="sink slope lse",
    ),
    Operation(
        "attention_backward",
        f"(Tensor q, Tensor k, Tensor v, Tensor o, Tensor lse, Tensor dout, {_SEEN}) "
        "-> (Tensor dq, Tensor dk, Tensor dv, Tensor dsink)",
    ),
    Operation(
        "attention_paged",
        f"(Tensor q, Tensor k, Tensor v, Tensor table, Tensor lengths, {_SEEN}) -> (Tensor out, Tensor lse)",
        like="scaled_dot_product_attention",
        float32="sink slope lse",
    ),
    Operation(
        "attention_varlen",
        f"(Tensor q, Tensor k, Tensor v, Tensor q_ends, Tensor k_ends, {_SEEN}) -> (Tensor out, Tensor lse)",
        like="scaled_dot_product_attention",
        float32="sink slope lse",
    ),
    Operation(
        "linear_cross_entropy",
        f"(Tensor x, Tensor w, Tensor b, Tensor labels, {_CROSS_ENTROPY}) -> (Tensor loss, Tensor lse)",
        "x w b labels lse",
        _gradients.linear_cross_entropy,
        constant="lse",
        like="linear",
        float32="b loss lse",
    ),
    Operation(
        "linear_cross_entropy_backward",
        f"(Tensor x, Tensor w, Tensor b, Tensor labels, Tensor lse, Tensor dloss, {_CROSS_ENTROPY}) "
        "-> (Tensor dx, Tensor dw, Tensor db)",
    ),
    Operation(
        "linear_cross_entropy_grad",
        f"(Tensor x, Tensor w, Tensor b, Tensor labels, Tensor dloss, {_CROSS_ENTROPY}) "
        "-> (Tensor loss, Tensor lse, Tensor dx, Tensor dw, Tensor db)",
    ),
    Operation(
        "gemm",
        "(Tensor a, Tensor b, float alpha=1.0, ScalarType? dtype=None) -> (Tensor c)",
        "a b",
        _gradients.gemm,
        like="matmul",
    ),
    Operation("batched_gemm", "(Tensor a, Tensor b, float alpha=1.0) -> (Tensor c)", "a b", _gradients.gemm, like="matmul"),
    Operation("grouped_gemm", "(Tensor a, Tensor b, Tensor ends, float alpha=1.0) -> (Tensor c)", like="matmul"),
    Operation(
        "gemm_epilogue",
        f"(Tensor a, Tensor b, {_EPILOGUE}) -> (Tensor d)",
        "a b c bias row_bias",
        _gradients.gemm_epilogue,
        like="matmul",
    ),
    Operation(
        "linear_softmax",
        "(Tensor x, Tensor w, Tensor b) -> (Tensor y)",
        "x w b y",
        _gradients.linear_softmax,
        like="linear softmax.int",
    ),
    Operation(
        "linear_norm_activation",
        "(Tensor x, Tensor w, Tensor b, Tensor gamma, Tensor beta) -> (Tensor y)",
        "x w b gamma beta",
        _gradients.linear_norm_activation,
        like="linear layer_norm",
    ),
    Operation(
        "swiglu_ffn",
        "(Tensor x, Tensor w1, Tensor w2) -> (Tensor y)",
        "x w1 w2",
        _gradients.swiglu_ffn,
        like="linear",
    ),
    Operation(
        "swiglu_ffn_backward",
        "(Tensor x, Tensor w1, Tensor w2, Tensor gates, Tensor dy) -> (Tensor dx, Tensor dw1, Tensor dw2)",
    ),
    Operation(
        "fp8_attention",
        "(Tensor q, Tensor k, Tensor v, Tensor q_scale, Tensor k_scale, Tensor v_scale, "
        f"{_SEEN}, ScalarType? dtype=None) -> (Tensor out, Tensor lse)",
    ),
    Operation(
        "fp8_ffn",
        "(Tensor x, Tensor x_scale, Tensor w1, Tensor w1_scale, Tensor w2, Tensor w2_scale, ScalarType? dtype=None) "
        "-> (Tensor y)",
    ),
    Operation(
        "fp8_gemm",
        "(Tensor a, Tensor a_scale, Tensor b, Tensor b_scale, ScalarType? dtype=None, bool fast=False) -> (Tensor c)",
    ),
    Operation("int8_gemm", "(Tensor a, Tensor a_scale, Tensor b, Tensor b_scale, ScalarType? dtype=None) -> (Tensor c)"),
    Operation(
        "fp8_structured_sparsity",
        "(Tensor a, Tensor codes, Tensor a_scale, Tensor b, Tensor b_scale, ScalarType? dtype=None) -> (Tensor c)",
    ),
    Operation("quantize_fp8_blocks", "(Tensor x) -> (Tensor q, Tensor s)"),
    Operation("quantize_mxfp4", "(Tensor x) -> (Tensor q, Tensor s)"),
    Operation("quantize_mxfp8", "(Tensor x, str element='e4m3') -> (Tensor q, Tensor s)"),
    Operation("quantize_nvfp4", "(Tensor x, Tensor tensor_scale) -> (Tensor q, Tensor s)"),
    Operation("nvfp4_gemm", "(Tensor x, Tensor q, Tensor s, Tensor tensor_scale) -> (Tensor c)"),
    Operation(
        "nvfp4_scaled_gemm",
        "(Tensor a, Tensor a_scale, Tensor a_tensor_scale, Tensor b, Tensor b_scale, Tensor b_tensor_scale, "
        "ScalarType? dtype=None) -> (Tensor c)",
    ),
    Operation("prune_2_4", "(Tensor x) -> (Tensor values, Tensor codes)"),
    Operation("structured_sparsity", "(Tensor a, Tensor codes, Tensor b) -> (Tensor c)", like="linear"),
    Operation(
        "structured_sparsity_ffn",
        "(Tensor x, Tensor w1, Tensor w1_codes, Tensor w2, Tensor w2_codes) -> (Tensor y)",
        like="linear",
    ),
)

_library = torch.library.Library("ridge", "DEF")


# ---- registration ----------------------------------------------------------------------------------------------------
def _register(operation):
    """ridge::NAME. Returns what calls it."""
    _library.define(operation.name + operation.schema, tags=(torch.Tag.pt2_compliant_tag,))
    name = f"ridge::{operation.name}"
    function, packet = getattr(_operations, operation.name), getattr(torch.ops.ridge, operation.name)
    schema = packet.default._schema
    kernels = _calls.kernels(function, schema)
    torch.library.register_fake(name, kernels.pop("fake"), lib=_library)
    for device, kernel in kernels.items():
        _library.impl(operation.name, kernel, device)
    record = _autograd.register(_library, operation, packet.default, kernels)
    _autocast.register(_library, operation, packet)
    packet.__doc__ = inspect.getdoc(function)
    return _eager.function(packet, kernels, record)


REGISTERED = {operation.name: _register(operation) for operation in OPERATIONS}
