"""Arguments of each of ridge.torch's operations, and the same in PyTorch's own. Importing it needs PyTorch."""
import torch
import torch.nn.functional as F

import ridge


def randn(*shape, grad=True):
    return torch.randn(*shape, requires_grad=grad)


def act(name, z):
    if name == "gelu_tanh":
        return F.gelu(z, approximate="tanh")
    if name == "relu_squared":
        return F.relu(z) ** 2
    return {"none": torch.clone, "gelu": F.gelu, "silu": F.silu, "relu": F.relu}[name](z)


def l2_norm(x, eps=1e-12, activation="none"):
    return act(activation, F.normalize(x, dim=-1, eps=eps))


def rms_norm(x, gamma, eps=1e-5, activation="none"):
    return act(activation, F.rms_norm(x, x.shape[-1:], gamma, eps))


def layer_norm(x, gamma, beta, eps=1e-5, activation="none"):
    return act(activation, F.layer_norm(x, x.shape[-1:], gamma, beta, eps))


def softmax(x, scale=1.0, causal=0, log=False):
    z = scale * x
    if causal:
        rows, cols = z.shape
        seen = torch.arange(cols) <= torch.arange(rows)[:, None] % causal + cols - causal
        z = z.masked_fill(~seen, -torch.inf)
    return F.log_softmax(z, -1) if log else F.softmax(z, -1)


def attention(q, k, v, causal=False, scale=0.0, window=(-1, -1), softcap=0.0, sink=None, slope=None):
    m, n, heads = q.shape[2], k.shape[2], q.shape[1]
    k, v = (x.repeat_interleave(heads // x.shape[1], 1) for x in (k, v))
    z = q @ k.mT * (scale or q.shape[-1] ** -0.5)
    if softcap:
        z = softcap * torch.tanh(z / softcap)
    ahead = torch.arange(n) - torch.arange(m)[:, None] - (n - m)  # of where a query stands
    if slope is not None:
        z = z - slope[:, None, None] * ahead.abs()
    hidden = (ahead > 0) & causal
    if window[0] >= 0:
        hidden = hidden | (ahead < -window[0])
    if window[1] >= 0:
        hidden = hidden | (ahead > window[1])
    z = z.masked_fill(hidden, -torch.inf)
    scores = z if sink is None else torch.cat((z, sink[:, None, None].expand(len(q), heads, m, 1)), -1)
    return scores.softmax(-1)[..., :n] @ v, scores.logsumexp(-1).detach()


def cross_entropy(x, w, b, labels, ignore_index=-100, label_smoothing=0.0, z_loss=0.0):
    z = x @ w.mT + b
    lse = z.logsumexp(-1)
    how = dict(reduction="none", ignore_index=ignore_index, label_smoothing=label_smoothing)
    return F.cross_entropy(z, labels, **how) + (labels != ignore_index) * z_loss * lse**2, lse.detach()


def gemm_epilogue(a, b, c=None, bias=None, row_bias=None, alpha=1.0, beta=1.0, activation="none", dtype=None):
    z = alpha * (a @ b)
    z = z if c is None else z + beta * c
    z = z if bias is None else z + bias
    return act(activation, z if row_bias is None else z + row_bias[:, None])


def swiglu(x, w1, w2):
    gate, up = (x @ w1.mT).chunk(2, -1)
    return (F.silu(gate) * up) @ w2.mT


def samples():
    """(name, arguments, the same by PyTorch) of all operations with a gradient."""
    activations = ("none", "gelu", "gelu_tanh", "silu", "relu")
    x, gamma, beta, residual = randn(3, 4, 33), randn(33), randn(33), randn(3, 4, 33)
    for name in activations:
        yield "rms_norm", (x, gamma, 1e-3, name), rms_norm
        yield "layer_norm", (x, gamma, beta, 1e-3, name), layer_norm
        yield "l2_norm", (x, 1e-3, name), l2_norm
    yield "l2_norm", (x, 6.0), l2_norm  # some rows are shorter than that
    yield "add_rms_norm", (x, residual, gamma), lambda x, r, *more: (rms_norm(x + r, *more), x + r)
    yield "add_layer_norm", (x, residual, gamma, beta), lambda x, r, *more: (layer_norm(x + r, *more), x + r)
    x = randn(6, 9)
    yield "scaled_softmax", (x, 0.7), softmax
    yield "scaled_softmax", (x, 0.7, 0, True), softmax
    yield "scaled_softmax", (x, 0.7, 3), softmax
    yield "masked_softmax", (x, randn(6, 9), 0.7), lambda x, mask, scale: softmax(scale * x + mask)
    yield "masked_softmax", (x, randn(6, 9), 0.7, True), lambda x, mask, scale, log: softmax(scale * x + mask, log=log)
    q, k, v = randn(2, 4, 5, 8), randn(2, 2, 7, 8), randn(2, 2, 7, 6)
    for more in ((), (True,), (True, 0.3, (2, -1)), (False, 0.0, (-1, -1), 1.5, randn(4)), (True,) + tail()):
        yield "attention", (q, k, v, *more), attention
    for ignored, *more in ((-100,), (-100, 0.1, 0.01), (2,)):
        labels = torch.tensor([0, 4, ignored, 2, 2, 1])
        yield "linear_cross_entropy", (randn(6, 8), randn(5, 8), randn(5), labels, ignored, *more), cross_entropy
    yield "gemm", (randn(4, 5), randn(5, 6), 0.5), lambda a, b, alpha: alpha * (a @ b)
    yield "batched_gemm", (randn(3, 4, 5), randn(3, 5, 6), 0.5), lambda a, b, alpha: alpha * (a @ b)
    yield "gemm_epilogue", (randn(4, 5), randn(5, 6)), gemm_epilogue
    for name in (*activations, "relu_squared"):
        operands = randn(4, 5), randn(5, 6), randn(4, 6), randn(6), randn(4)
        yield "gemm_epilogue", (*operands, 0.5, 2.0, name), gemm_epilogue
    yield "linear_softmax", (randn(4, 5), randn(5, 6), randn(6)), lambda x, w, b: F.softmax(x @ w + b, -1)
    yield (
        "linear_norm_activation",
        (randn(4, 5), randn(5, 16), randn(16), randn(16), randn(16)),
        lambda x, w, b, gamma, beta: layer_norm(x @ w + b, gamma, beta, activation="gelu"),
    )
    yield "swiglu_ffn", (randn(4, 8), randn(12, 8), randn(8, 6)), swiglu
    yield "swiglu_ffn", (randn(2, 3, 8), randn(14, 8), randn(8, 7)), swiglu
    yield "swiglu_ffn", (randn(0, 8), randn(12, 8), randn(8, 6)), swiglu


def tail():
    """attention's options behind causal, with slopes, which have no gradient."""
    return 0.0, (-1, -1), 0.0, None, torch.rand(4)


def samples_without_gradient():
    q, k, v = randn(1, 2, 5, 8, grad=False), randn(1, 2, 7, 8, grad=False), randn(1, 2, 7, 8, grad=False)
    out, lse = ridge.attention(q, k, v)
    yield "attention_backward", (q, k, v, out, lse, out)
    ends = torch.tensor([2, 2, 5], dtype=torch.int32), torch.tensor([3, 4, 7], dtype=torch.int32)
    rows = [x[0].transpose(0, 1).contiguous() for x in (q, k, v)]
    yield "attention_varlen", (*rows, *ends)
    pool = [randn(6, 4, 2, 8, grad=False) for _ in "kv"]
    yield "attention_paged", (randn(2, 4, 3, 8, grad=False), *pool, torch.randint(6, (2, 3)), torch.tensor([9, 0]))
    x, w, b, labels = randn(3, 8, grad=False), randn(5, 8, grad=False), randn(5, grad=False), torch.tensor([1, 0, 4])
    lse = ridge.linear_cross_entropy(x, w, b, labels)[1]
    yield "linear_cross_entropy_backward", (x, w, b, labels, lse, torch.ones(3))
    yield "linear_cross_entropy_grad", (x, w, b, labels, torch.ones(3))
    yield "grouped_gemm", (randn(6, 4, grad=False), randn(2, 4, 3, grad=False), torch.tensor([2, 6], dtype=torch.int32))
    x, w = randn(4, 256, grad=False), randn(8, 256, grad=False)
    q, s = ridge.quantize_fp8_blocks(x)
    wq, ws = ridge.quantize_fp8_blocks(w)
    codes = [randn(1, 2, 5, 8, grad=False).to(torch.float8_e4m3fn) for _ in "qkv"]
    yield "fp8_attention", (*codes, *(torch.rand(1, 2) for _ in "qkv"))
    yield "quantize_fp8_blocks", (x,)
    yield "fp8_gemm", (q, s, wq, ws)
    a, b = (torch.randint(-128, 128, (n, 24), dtype=torch.int8) for n in (4, 8))
    yield "int8_gemm", (a, torch.rand(4), b, torch.rand(8))
    w1, w2 = (randn(*shape, grad=False).to(torch.float8_e4m3fn) for shape in ((24, 256), (256, 12)))
    yield "fp8_ffn", (q, s, w1, torch.ones(1, 2), w2, torch.ones(2, 1))
    yield "fp8_ffn", (q, torch.ones(1, 1), w1, torch.ones(1, 1), w2, torch.ones(1, 1))
    scale = (w.abs().max() / 2688).reshape(1)
    q, s = ridge.quantize_nvfp4(w, scale)
    yield "quantize_nvfp4", (w, scale)
    yield "quantize_mxfp4", (w,)
    yield "quantize_mxfp8", (w,)
    yield "quantize_mxfp8", (w, "e5m2")
    yield "nvfp4_gemm", (x, q, s, scale)
    yield "nvfp4_scaled_gemm", (*ridge.quantize_nvfp4(x, scale), scale, q, s, scale)
    values, codes = ridge.prune_2_4(x)
    yield "prune_2_4", (x,)
    yield "structured_sparsity", (values, codes, w)
    a, b, one = x.to(torch.float8_e4m3fn), w.to(torch.float8_e4m3fn), torch.ones(1)
    yield "fp8_structured_sparsity", (*ridge.prune_2_4(a), one, b, one)
    w1, w2 = randn(64, 256, grad=False), randn(256, 32, grad=False)
    yield "structured_sparsity_ffn", (x, *ridge.prune_2_4(w1), *ridge.prune_2_4(w2))
    x, w1, w2, dy = (randn(*shape, grad=False) for shape in ((5, 8), (12, 8), (8, 6), (5, 8)))
    yield "rms_norm_backward", (randn(5, 8, grad=False), randn(8, grad=False), randn(5, 8, grad=False))
    yield "layer_norm_backward", (randn(5, 8, grad=False), randn(8, grad=False), *(randn(5, 8, grad=False) for _ in range(2)))
    yield "l2_norm_backward", (randn(5, 8, grad=False), randn(5, 8, grad=False), 0.5)
    yield "softmax_backward", (randn(5, 8, grad=False), randn(5, 8, grad=False), 0.7, True)
    yield "swiglu_ffn_backward", (x, w1, w2, x @ w1.mT, dy)


def as_tuple(outputs):
    return outputs if isinstance(outputs, tuple) else (outputs,)


def to_double(arguments):
    """The same in fp64, as leaves of their own."""
    is_real = [isinstance(a, torch.Tensor) and a.is_floating_point() for a in arguments]
    return tuple(a.detach().double().requires_grad_(a.requires_grad) if r else a for a, r in zip(arguments, is_real))


def leaves(arguments):
    return [a for a in arguments if isinstance(a, torch.Tensor) and a.requires_grad]
