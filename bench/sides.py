"""What the CUDA benches share: operations in PyTorch and in other libraries, operands that rotate, graphs, timing,
errors.

rowwise_cuda.py, linear_softmax_cuda.py and linear_loss_cuda.py measure listed shapes with it, sweep_cuda.py and
sweep_cpu.py drawn ones (problems.py makes those from a Case). Importing it needs PyTorch.
"""

import argparse
import json
import math
import pathlib
import statistics
import sys
import time

import sweep
import torch
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

DTYPES = {"f32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
EPS = 1e-5
LEAST_NORM = 1e-12  # fused_l2norm's


def note(text):
    print(f"note: {text}", file=sys.stderr, flush=True)


# ---- operations in PyTorch: also the references, with operands of fp64 ----------------------------------------------
def l2norm(x):
    return x / torch.clamp(torch.linalg.vector_norm(x, dim=-1, keepdim=True), min=LEAST_NORM)


def rms_norm(x, gamma):
    return F.rms_norm(x, (x.shape[-1],), gamma, EPS)


def rms_norm_silu(x, gamma):
    return F.silu(rms_norm(x, gamma))


def add_rms_norm(x, residual, gamma):
    total = x + residual
    return F.rms_norm(total, (x.shape[-1],), gamma, EPS), total


def layer_norm(x, gamma, beta):
    return F.layer_norm(x, (x.shape[-1],), gamma, beta, EPS)


def layer_norm_gelu(x, gamma, beta):
    return F.gelu(layer_norm(x, gamma, beta))


def softmax(x):
    return torch.softmax(x, dim=-1)


def masked_softmax(x, mask):
    return torch.softmax(x + mask, dim=-1)


def sin_sqrt(x):
    return torch.sqrt(2 + torch.sin(x))


def clamp_add(x, z):
    return torch.clamp(1.5 * x + 0.25, -1, 1) + z


def three_maps(x):
    return x * x, torch.relu(x), 1.5 * x + 0.25


def linear_softmax(x, w, b):
    return torch.softmax(torch.addmm(b, x, w), dim=-1)


def multihead(x, w, b):
    return torch.softmax(torch.einsum("bd,hdc->bhc", x, w) + b, dim=-1)


def multihead_bmm(x, w, b):
    """As one batched product, without a copy of w; its result is a transposed view."""
    z = torch.baddbmm(b[:, None], x.expand(w.shape[0], *x.shape), w)
    return torch.softmax(z, dim=-1).transpose(0, 1)


def cross_entropy(x, w, labels):
    return F.cross_entropy(F.linear(x, w), labels)


def cross_entropy_backward(x, w, labels, lse, dloss):
    """dx, dw, db from the forward pass's lse: what linear_cross_entropy_backward computes, logits again included."""
    g = torch.exp(F.linear(x, w).float() - lse[:, None])
    g = torch.where(torch.arange(w.shape[0], device=x.device) == labels[:, None], g - 1, g) * dloss[:, None]
    narrow = g.to(x.dtype)
    return narrow @ w, narrow.T @ x, g.sum(0)


def cross_entropy_backward_in_place(x, w, labels, lse, dloss):
    """The same for eager PyTorch: no mask of rows x classes."""
    g = F.linear(x, w).float().sub_(lse[:, None]).exp_()
    g.scatter_add_(1, labels[:, None], torch.full_like(lse, -1)[:, None]).mul_(dloss[:, None])
    narrow = g.to(x.dtype)
    return narrow @ w, narrow.T @ x, g.sum(0)


def with_gradients(loss_of, x, w, labels):
    """The loss, dx and dw by autograd; x and w require grad."""
    loss = loss_of(x, w, labels)
    return (loss.detach(), *torch.autograd.grad(loss, (x, w)))


# ---- attention of [batch, heads, rows, d] ----------------------------------------------------------------------------
def attention_by(backend, share, **mask):
    """PyTorch's, by one of its backends. share: heads of q share those of k and v."""

    def run(q, k, v):
        with sdpa_kernel(backend):
            return F.scaled_dot_product_attention(q, k, v, enable_gqa=share, **mask)

    return run


def attention_lower_right(share, m, n):
    """FlashAttention-2 with a causal mask that ends at the last key, as ridge's does, where m is not n."""
    from torch.nn.attention.bias import causal_lower_right

    return attention_by(SDPBackend.FLASH_ATTENTION, share, attn_mask=causal_lower_right(m, n))


def flex_window(compiler, m, n, left, share):
    """flex_attention, compiled, of `left` keys before a query's own."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    def sees(_batch, _head, i, j):
        return (j <= i + n - m) & (j >= i + n - m - left)

    mask, compiled = create_block_mask(sees, None, None, m, n, device="cuda"), compiler(flex_attention)
    return lambda q, k, v: compiled(q, k, v, block_mask=mask, enable_gqa=share)


# ---- other libraries: {operation: function}, and nothing where they are not installed -------------------------------
def _optional(library, load):
    try:
        return load()
    except Exception as why:  # not installed, or of a version with other names
        note(f"no {library}: {type(why).__name__}: {why}")
        return {}


def liger_norms():
    """Liger's kernels. RMS and layer norm come without the activation."""

    def load():
        from liger_kernel.ops.layer_norm import layer_norm_forward
        from liger_kernel.ops.rms_norm import rms_norm_forward
        from liger_kernel.ops.softmax import _softmax_forward

        return {
            "rms_norm": lambda x, g: rms_norm_forward(x, g, EPS, 0.0, "llama", None)[0],
            "layer_norm": lambda x, g, b: layer_norm_forward(x, g, b, EPS)[0],
            "softmax": lambda x: _softmax_forward(x)[0],
        }

    return _optional("Liger", load)


def liger_loss():
    """{"loss": function of x, w and labels}. It synchronizes with the host, so no graph can hold it."""

    def load():
        from liger_kernel.transformers import LigerFusedLinearCrossEntropyLoss

        loss = LigerFusedLinearCrossEntropyLoss()
        return {"loss": lambda x, w, labels: loss(w, x, labels)}

    return _optional("Liger", load)


def quack_norms():
    """quack's kernels, in CuTe DSL. The norms take parameters of f32 and come without the activation."""

    def load():
        from quack.rmsnorm import rmsnorm_fwd
        from quack.softmax import softmax_fwd

        found = {"rms_norm": lambda x, g: rmsnorm_fwd(x, g, eps=EPS)[0], "softmax": softmax_fwd}
        try:
            from quack.rmsnorm import layernorm_fwd
        except ImportError:
            from quack.layernorm import layernorm as layernorm_fwd
        found["layer_norm"] = lambda x, g, b: layernorm_fwd(x, g, b, EPS)
        return found

    return _optional("quack", load)


def quack_loss():
    def load():
        from quack.linear_cross_entropy import chunked_linear_cross_entropy

        return {"loss": chunked_linear_cross_entropy}

    return _optional("quack's loss", load)


# ---- operands -------------------------------------------------------------------------------------------------------
def uniform(shape, dtype, device="cuda"):
    """Uniform in [-1, 1)."""
    return torch.rand(shape, device=device, dtype=torch.float32).mul_(2).sub_(1).to(dtype)


def l2_bytes():
    return torch.cuda.get_device_properties(0).L2_cache_size


def sets_for(bytes_of_one, cache, most=128):
    """Sets of operands that rotate, so that none is in cache when its turn comes: together over three times `cache`,
    but no more than `most`."""
    return max(2, min(most, 2 + int(3 * cache / max(1, bytes_of_one))))


def relative_error(got, want):
    """Largest |got - want| over the largest |want|."""
    return float((got.double() - want).abs().max() / want.abs().max())


def allow_tf32(allow):
    torch.backends.cuda.matmul.allow_tf32 = allow


# ---- timing ---------------------------------------------------------------------------------------------------------
def graph_of(run, n, kept=None, stream=None):
    """A CUDA graph of run(0) … run(n - 1). `kept`: a list for the results; their memory is then used once only. `stream`:
    where it is captured; PyTorch's gradients run in the stream that their forward pass ran in."""
    stream = stream or torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for i in range(3):
            run(i % n)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for i in range(n):
            result = run(i)
            if kept is not None:
                kept.append(result)
    return graph


def events():
    return torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)


def hold_back():
    """Keeps the GPU busy for 0.1 ms, so that it need not wait for the host between the events that follow."""
    torch.cuda._sleep(200_000)  # cycles


def elapsed(run, before=None):
    """µs of `run` between two events. `before`: GPU work ahead of the first."""
    a, b = events()
    hold_back()
    if before:
        before()
    a.record()
    run()
    b.record()
    torch.cuda.synchronize()
    return a.elapsed_time(b) * 1e3


def medians_in_turns(runs, count, rounds, result, is_right, failures):
    """{side: µs of a call} of run(0) … run(count - 1) in a graph each, replayed in turns, A B C … C B A.

    result: the tensor that sides write in run(0), or not at all: it is NaN before each. is_right(what run(0) returned): else
    the program ends, if the side is ridge's; a peer is left out. failures: exceptions after which a side is left out."""
    graphs, samples = {}, {}
    for name, run in runs.items():
        try:
            result.fill_(math.nan)
            if not is_right(run(0)):
                if name.startswith("ridge"):
                    raise SystemExit(f"{name} is wrong")
                raise RuntimeError("wrong")
            graphs[name], samples[name] = graph_of(run, count), []
        except failures as why:
            note(f"{name}: {str(why)[:200]}")
    for turn, name in sweep.turns(graphs, rounds + 1):
        us = elapsed(graphs[name].replay) / count
        if turn:
            samples[name].append(us)
    return medians(samples)


def host_us(run):
    """µs of `run` by the host's clock, the GPU's work included."""
    torch.cuda.synchronize()
    begin = time.perf_counter()
    run()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) * 1e6


def medians(samples):
    return {name: statistics.median(values) if values else None for name, values in samples.items()}


def print_ratios(title, values):
    """Of times over ridge's; nothing where there are none."""
    if values:
        print(f"{title}: geometric mean {statistics.geometric_mean(values):.3f}, worst {min(values):.3f}")


# ---- listed cases -----------------------------------------------------------------------------------------------------
def arguments(doc, rounds):
    """The options that benches of listed cases share; a bench adds its own."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE", help="write all rows to FILE")
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--only", help="only cases whose name contains this")
    return parser


def run_listed(o, unit, cases):
    """cases: (name, amount, run); run(rounds) gives {side: µs}. unit: of 10^6 amounts a µs ("TFLOP/s") or 10^3 ("GB/s")."""
    scale = {"TFLOP/s": 1e6, "GB/s": 1e3}[unit]
    print("{device}, PyTorch {torch}, CUDA {cuda}".format(**machine()))
    rows, ratios = [], {}
    for name, amount, run in cases:
        if o.only and o.only not in name:
            continue
        median = run(o.rounds)
        for side, us in median.items():
            print(f"{name:40} {side:16} {us:11.2f} us {amount / us / scale:8.1f} {unit}", flush=True)
            rows.append({"case": name, "side": side, "us": us, unit: amount / us / scale})
            if side != "ridge":
                ratios.setdefault(side, []).append(us / median["ridge"])
        torch.cuda.empty_cache()
    for side, values in ratios.items():
        print_ratios(f"{side} / ridge", values)
    if o.json:
        write_rows(o.json, rows)


# ---- records --------------------------------------------------------------------------------------------------------
def machine():
    properties = torch.cuda.get_device_properties(0)
    return {"device": properties.name, "torch": torch.__version__, "cuda": torch.version.cuda}


def write_rows(path, rows, **more):
    pathlib.Path(path).write_text(json.dumps({**machine(), **more, "rows": rows}, indent=1))


def import_ridge():
    """The Python package of this tree."""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))
    import ridge

    return ridge
