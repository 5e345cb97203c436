# Types of ridge.torch: modules are PyTorch's with ridge's forward, operations take what those of ridge take.
import torch
from torch._ops import OpOverloadPacket

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

add_layer_norm: OpOverloadPacket
layer_norm_backward: OpOverloadPacket
add_rms_norm: OpOverloadPacket
attention: OpOverloadPacket
attention_backward: OpOverloadPacket
attention_paged: OpOverloadPacket
attention_varlen: OpOverloadPacket
batched_gemm: OpOverloadPacket
fp8_attention: OpOverloadPacket
fp8_ffn: OpOverloadPacket
fp8_gemm: OpOverloadPacket
fp8_structured_sparsity: OpOverloadPacket
gemm: OpOverloadPacket
gemm_epilogue: OpOverloadPacket
grouped_gemm: OpOverloadPacket
int8_gemm: OpOverloadPacket
layer_norm: OpOverloadPacket
linear_cross_entropy: OpOverloadPacket
linear_cross_entropy_backward: OpOverloadPacket
linear_cross_entropy_grad: OpOverloadPacket
linear_norm_activation: OpOverloadPacket
linear_softmax: OpOverloadPacket
masked_softmax: OpOverloadPacket
nvfp4_gemm: OpOverloadPacket
nvfp4_scaled_gemm: OpOverloadPacket
prune_2_4: OpOverloadPacket
quantize_fp8_blocks: OpOverloadPacket
quantize_mxfp4: OpOverloadPacket
quantize_mxfp8: OpOverloadPacket
quantize_nvfp4: OpOverloadPacket
rms_norm: OpOverloadPacket
rms_norm_backward: OpOverloadPacket
scaled_softmax: OpOverloadPacket
softmax_backward: OpOverloadPacket
structured_sparsity: OpOverloadPacket
structured_sparsity_ffn: OpOverloadPacket
swiglu_ffn: OpOverloadPacket
swiglu_ffn_backward: OpOverloadPacket
