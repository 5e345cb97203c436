# Types of ridge.torch: modules are PyTorch's with ridge's forward, operations take what those of ridge take.
from typing import Any, Callable

import torch

_Operation = Callable[..., Any]

class LayerNorm(torch.nn.LayerNorm):
    def forward(self, x: torch.Tensor) -> torch.Tensor: ...

class RMSNorm(torch.nn.RMSNorm):
    def forward(self, x: torch.Tensor) -> torch.Tensor: ...

class FusedAddRMSNorm(RMSNorm):
    def forward(  # type: ignore[override]
        self, x: torch.Tensor, residual: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]: ...

class Attention(torch.nn.Module):
    causal: bool
    scale: float
    window: tuple[int, int]
    softcap: float
    def __init__(
        self, causal: bool = False, scale: float = 0.0, window: tuple[int, int] = (-1, -1), softcap: float = 0.0
    ) -> None: ...
    def forward(
        self,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        sink: torch.Tensor | None = None,
        slope: torch.Tensor | None = None,
    ) -> torch.Tensor: ...
    def extra_repr(self) -> str: ...

class LinearCrossEntropyLoss(torch.nn.LinearCrossEntropyLoss):
    def forward(self, x: torch.Tensor, target: torch.Tensor) -> torch.Tensor: ...

add_layer_norm: _Operation
layer_norm_backward: _Operation
add_rms_norm: _Operation
attention: _Operation
attention_backward: _Operation
attention_paged: _Operation
attention_varlen: _Operation
batched_gemm: _Operation
fp8_attention: _Operation
fp8_ffn: _Operation
fp8_gemm: _Operation
fp8_structured_sparsity: _Operation
gemm: _Operation
gemm_epilogue: _Operation
grouped_gemm: _Operation
int8_gemm: _Operation
l2_norm: _Operation
l2_norm_backward: _Operation
layer_norm: _Operation
linear_cross_entropy: _Operation
linear_cross_entropy_backward: _Operation
linear_cross_entropy_grad: _Operation
linear_norm_activation: _Operation
linear_softmax: _Operation
masked_softmax: _Operation
nvfp4_gemm: _Operation
nvfp4_scaled_gemm: _Operation
prune_2_4: _Operation
quantize_fp8_blocks: _Operation
quantize_mxfp4: _Operation
quantize_mxfp8: _Operation
quantize_nvfp4: _Operation
rms_norm: _Operation
rms_norm_backward: _Operation
scaled_softmax: _Operation
softmax_backward: _Operation
structured_sparsity: _Operation
structured_sparsity_ffn: _Operation
swiglu_ffn: _Operation
swiglu_ffn_backward: _Operation
