# Types of the package's names. An operation's outputs are arrays of the library whose arrays it was given: _A.
from collections.abc import Sequence
from typing import Any, Generic, TypeAlias, TypeVar, type_check_only

from typing_extensions import TypedDict, Unpack

_A = TypeVar("_A")
_O = TypeVar("_O")  # what out takes: an array, or a tuple in which None stands for one that is made
_Out2: TypeAlias = tuple[_A | None, _A | None]
_Out3: TypeAlias = tuple[_A | None, _A | None, _A | None]
_Out4: TypeAlias = tuple[_A | None, _A | None, _A | None, _A | None]
_Out5: TypeAlias = tuple[_A | None, _A | None, _A | None, _A | None, _A | None]

@type_check_only
class _How(TypedDict, Generic[_O], total=False):
    out: _O | None
    variant: str | None
    stream: int | None
    context: Context | None

__version__: str

class Error(RuntimeError): ...


class Context:
    def __init__(self, threads: int = 0) -> None: ...
    def __del__(self) -> None: ...
    def allow_tf32(self, allow: bool = True) -> None: ...
    def use_tuned(self, path: str | None = None) -> None: ...
    @property
    def last_way(self) -> str | None: ...
    def apply(
        self,
        target: str,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        variant: str | None = None,
        stream: int | None = None,
        options: Sequence[float] | None = None,
    ) -> None: ...

def apply(
    target: str,
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    variant: str | None = None,
    stream: int | None = None,
    options: Sequence[float] | None = None,
    context: Context | None = None,
) -> None: ...
def targets() -> dict[str, str]: ...
def add_layer_norm(
    x: _A, residual: _A, gamma: _A, beta: _A, eps: float = 1e-5, activation: str = "none", **how: Unpack[_How[_Out2[_A]]]
) -> tuple[_A, _A]: ...
def add_rms_norm(
    x: _A, residual: _A, gamma: _A, eps: float = 1e-5, activation: str = "none", **how: Unpack[_How[_Out2[_A]]]
) -> tuple[_A, _A]: ...
def attention(
    q: _A,
    k: _A,
    v: _A,
    causal: bool = False,
    scale: float = 0.0,
    window: tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    sink: _A | None = None,
    slope: _A | None = None,
    **how: Unpack[_How[_Out2[_A]]],
) -> tuple[_A, _A]: ...
def attention_backward(
    q: _A,
    k: _A,
    v: _A,
    o: _A,
    lse: _A,
    dout: _A,
    causal: bool = False,
    scale: float = 0.0,
    window: tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    sink: _A | None = None,
    slope: _A | None = None,
    **how: Unpack[_How[_Out4[_A]]],
) -> tuple[_A, _A, _A, _A | None]: ...
def attention_paged(
    q: _A,
    k: _A,
    v: _A,
    table: _A,
    lengths: _A,
    causal: bool = False,
    scale: float = 0.0,
    window: tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    sink: _A | None = None,
    slope: _A | None = None,
    **how: Unpack[_How[_Out2[_A]]],
) -> tuple[_A, _A]: ...
def attention_varlen(
    q: _A,
    k: _A,
    v: _A,
    q_ends: _A,
    k_ends: _A,
    causal: bool = False,
    scale: float = 0.0,
    window: tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    sink: _A | None = None,
    slope: _A | None = None,
    **how: Unpack[_How[_Out2[_A]]],
) -> tuple[_A, _A]: ...
def batched_gemm(a: _A, b: _A, alpha: float = 1.0, **how: Unpack[_How[_A]]) -> _A: ...
def fp8_attention(
    q: _A,
    k: _A,
    v: _A,
    q_scale: _A,
    k_scale: _A,
    v_scale: _A,
    causal: bool = False,
    scale: float = 0.0,
    window: tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    sink: _A | None = None,
    slope: _A | None = None,
    dtype: Any = None,
    **how: Unpack[_How[_Out2[_A]]],
) -> tuple[_A, _A]: ...
def fp8_ffn(
    x: _A, x_scale: _A, w1: _A, w1_scale: _A, w2: _A, w2_scale: _A, dtype: Any = None, **how: Unpack[_How[_A]]
) -> _A: ...
def fp8_gemm(
    a: _A, a_scale: _A, b: _A, b_scale: _A, dtype: Any = None, fast: bool = False, **how: Unpack[_How[_A]]
) -> _A: ...
def fp8_structured_sparsity(
    a: _A, codes: _A, a_scale: _A, b: _A, b_scale: _A, dtype: Any = None, **how: Unpack[_How[_A]]
) -> _A: ...
def gemm(a: _A, b: _A, alpha: float = 1.0, dtype: Any = None, **how: Unpack[_How[_A]]) -> _A: ...
def gemm_epilogue(
    a: _A,
    b: _A,
    c: _A | None = None,
    bias: _A | None = None,
    row_bias: _A | None = None,
    alpha: float = 1.0,
    beta: float = 1.0,
    activation: str = "none",
    dtype: Any = None,
    **how: Unpack[_How[_A]],
) -> _A: ...
def grouped_gemm(a: _A, b: _A, ends: _A, alpha: float = 1.0, **how: Unpack[_How[_A]]) -> _A: ...
def int8_gemm(a: _A, a_scale: _A, b: _A, b_scale: _A, dtype: Any = None, **how: Unpack[_How[_A]]) -> _A: ...
def l2_norm(x: _A, eps: float = 1e-12, activation: str = "none", **how: Unpack[_How[_A]]) -> _A: ...
def l2_norm_backward(x: _A, dy: _A, eps: float = 1e-12, **how: Unpack[_How[_A]]) -> _A: ...
def layer_norm(
    x: _A, gamma: _A, beta: _A, eps: float = 1e-5, activation: str = "none", **how: Unpack[_How[_A]]
) -> _A: ...
def layer_norm_backward(
    x: _A, gamma: _A, dy: _A, dsum: _A | None = None, eps: float = 1e-5, **how: Unpack[_How[_Out3[_A]]]
) -> tuple[_A, _A, _A]: ...
def linear_cross_entropy(
    x: _A,
    w: _A,
    b: _A,
    labels: _A,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    z_loss: float = 0.0,
    **how: Unpack[_How[_Out2[_A]]],
) -> tuple[_A, _A]: ...
def linear_cross_entropy_backward(
    x: _A,
    w: _A,
    b: _A,
    labels: _A,
    lse: _A,
    dloss: _A,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    z_loss: float = 0.0,
    **how: Unpack[_How[_Out3[_A]]],
) -> tuple[_A, _A, _A]: ...
def linear_cross_entropy_grad(
    x: _A,
    w: _A,
    b: _A,
    labels: _A,
    dloss: _A,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    z_loss: float = 0.0,
    **how: Unpack[_How[_Out5[_A]]],
) -> tuple[_A, _A, _A, _A, _A]: ...
def linear_norm_activation(x: _A, w: _A, b: _A, gamma: _A, beta: _A, **how: Unpack[_How[_A]]) -> _A: ...
def linear_softmax(x: _A, w: _A, b: _A, **how: Unpack[_How[_A]]) -> _A: ...
def masked_softmax(x: _A, mask: _A, scale: float = 1.0, log: bool = False, **how: Unpack[_How[_A]]) -> _A: ...
def nvfp4_gemm(x: _A, q: _A, s: _A, tensor_scale: _A, **how: Unpack[_How[_A]]) -> _A: ...
def nvfp4_scaled_gemm(
    a: _A,
    a_scale: _A,
    a_tensor_scale: _A,
    b: _A,
    b_scale: _A,
    b_tensor_scale: _A,
    dtype: Any = None,
    **how: Unpack[_How[_A]],
) -> _A: ...
def prune_2_4(x: _A, **how: Unpack[_How[_Out2[_A]]]) -> tuple[_A, _A]: ...
def quantize_fp8_blocks(x: _A, **how: Unpack[_How[_Out2[_A]]]) -> tuple[_A, _A]: ...
def quantize_mxfp4(x: _A, **how: Unpack[_How[_Out2[_A]]]) -> tuple[_A, _A]: ...
def quantize_mxfp8(x: _A, element: str = "e4m3", **how: Unpack[_How[_Out2[_A]]]) -> tuple[_A, _A]: ...
def quantize_nvfp4(x: _A, tensor_scale: _A, **how: Unpack[_How[_Out2[_A]]]) -> tuple[_A, _A]: ...
def rms_norm(x: _A, gamma: _A, eps: float = 1e-5, activation: str = "none", **how: Unpack[_How[_A]]) -> _A: ...
def rms_norm_backward(
    x: _A, gamma: _A, dy: _A, dsum: _A | None = None, eps: float = 1e-5, **how: Unpack[_How[_Out2[_A]]]
) -> tuple[_A, _A]: ...
def scaled_softmax(x: _A, scale: float = 1.0, causal: int = 0, log: bool = False, **how: Unpack[_How[_A]]) -> _A: ...
def softmax_backward(y: _A, dy: _A, scale: float = 1.0, log: bool = False, **how: Unpack[_How[_A]]) -> _A: ...
def structured_sparsity(a: _A, codes: _A, b: _A, **how: Unpack[_How[_A]]) -> _A: ...
def structured_sparsity_ffn(x: _A, w1: _A, w1_codes: _A, w2: _A, w2_codes: _A, **how: Unpack[_How[_A]]) -> _A: ...
def swiglu_ffn(x: _A, w1: _A, w2: _A, **how: Unpack[_How[_A]]) -> _A: ...
def swiglu_ffn_backward(
    x: _A, w1: _A, w2: _A, gates: _A, dy: _A, **how: Unpack[_How[_Out3[_A]]]
) -> tuple[_A, _A, _A]: ...
