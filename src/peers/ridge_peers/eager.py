"""PyTorch eager: run(case) is a function of lists of inputs and outputs. What has out= in PyTorch writes to the outputs; the
results of others are copied there, and that is a part of their time. In 16 bits values between operations are fp32."""

import torch
from torch.nn import functional as F

from ridge_peers import formulas
from ridge_peers.case import LEAST_NORM, Refused

_gelu, _silu = torch.ops.aten.gelu.out, torch.ops.aten.silu.out
_softmax_back, _log_softmax_back = torch.ops.aten._softmax_backward_data, torch.ops.aten._log_softmax_backward_data
_layer_norm_back = torch.ops.aten.native_layer_norm_backward


def copied(formula):
    """The formula as it is, and copies of its results."""

    def make(case):
        compute = formula(case)

        def run(ins, outs):
            results = compute(*ins)
            for out, result in zip(outs, results if isinstance(results, tuple) else (results,)):
                out.copy_(result)

        return run

    return make


def finish(name, z, y):
    """y = activation(z), which may be y: written by the last operation, copied where the types differ. On a CPU PyTorch 2.15's
    gelu writes nothing to an output whose rows are strided: it gets a copy, too."""
    strided_gelu = name == "gelu" and y.device.type == "cpu" and not y.is_contiguous()
    if y.dtype != z.dtype or strided_gelu:
        y.copy_(formulas.activate(name, z))
    elif name in ("gelu", "gelu_tanh"):
        _gelu(z, approximate="tanh" if name == "gelu_tanh" else "none", out=y)
    elif name == "silu":
        _silu(z, out=y)
    elif name in ("relu", "relu_squared"):
        torch.clamp(z, min=0, out=y)
        if name == "relu_squared":
            torch.mul(y, y, out=y)
    elif z is not y:
        y.copy_(z)


# ---- rows ------------------------------------------------------------------------------------------------------------
def _l2(case, eps, activation):
    def run(ins, outs):
        (x,), (y,) = ins, outs
        norm = torch.linalg.vector_norm(x, dim=-1, keepdim=True, dtype=torch.float32).clamp_min_(eps)
        if activation == "none" or y.dtype == torch.float32:
            finish(activation, torch.div(x, norm, out=y), y)
        else:
            finish(activation, torch.div(x, norm), y)

    return run


def fused_l2norm(case):
    return _l2(case, LEAST_NORM, "none")


def l2_norm(case):
    return _l2(case, case.option["eps"], case.activation)


def _norm(compute, weights, eps, activation, residual=False):
    """compute: F.layer_norm or F.rms_norm. One rounding to 16 bits is right where nothing follows and the types agree."""

    def run(ins, outs):
        x, parameters, y = ins[0], ins[-weights:], outs[0]
        if residual:
            x = torch.add(x, ins[1], out=outs[1])
        same = x.dtype == parameters[0].dtype
        if x.dtype != torch.float32 and not (same and activation == "none"):
            x, parameters = x.float(), [p.float() for p in parameters]
        finish(activation, compute(x, (x.shape[-1],), *parameters, eps=eps), y)

    return run


def layer_norm(case):
    return _norm(F.layer_norm, 2, case.option["eps"], case.activation)


def rms_norm(case):
    return _norm(F.rms_norm, 1, case.option["eps"], case.activation)


def add_layer_norm(case):
    return _norm(F.layer_norm, 2, case.option["eps"], case.activation, residual=True)


def add_rms_norm(case):
    return _norm(F.rms_norm, 1, case.option["eps"], case.activation, residual=True)


def norm_activation(case):
    return _norm(F.layer_norm, 2, formulas.EPS, "gelu")


def norm_activation_rms(case):
    return _norm(F.rms_norm, 1, formulas.EPS, "silu")


def online_softmax(case):
    return lambda ins, outs: torch.softmax(ins[0], -1, out=outs[0])


def _softmax(case, scores):
    function = torch.log_softmax if case.option["log"] else torch.softmax

    def run(ins, outs):
        z = scores(*ins)
        if case.half:
            outs[0].copy_(function(z, -1))
        else:
            function(z, -1, out=outs[0])

    return run


def masked_softmax(case):
    scale = case.option["scale"]
    return _softmax(case, lambda x, mask: torch.add(mask.float(), x.float(), alpha=scale))


def scaled_softmax(case):
    scale, hidden = case.option["scale"], formulas.triangle(case)

    def scores(x):
        z = torch.mul(x.float(), scale)
        return z if hidden is None else z.masked_fill_(hidden, -torch.inf)

    return _softmax(case, scores)


# ---- gradients of rows -----------------------------------------------------------------------------------------------
def softmax_backward(case):
    """One rounding to 16 bits is right where nothing is scaled; but on a GPU PyTorch 2.11 rounds y dy first. On a CPU PyTorch
    2.15 writes between the rows of a strided output."""
    scale, log = case.option["scale"], case.option["log"]
    gradient, name = (_log_softmax_back, "out") if log else (_softmax_back, "grad_input")

    def run(ins, outs):
        (y, dy), (dx,) = ins, outs
        if scale == 1 and dx.is_contiguous() and (log or not dx.is_cuda or dx.dtype == torch.float32):
            gradient.out(dy, y, -1, y.dtype, **{name: dx})
        else:
            torch.mul(gradient(dy.float(), y.float(), -1, torch.float32), scale, out=dx)

    return run


def l2_norm_backward(case):
    return copied(formulas.l2_norm_backward)(case)


def rms_norm_backward(case):
    return copied(formulas.rms_norm_backward)(case)


def layer_norm_backward(case):
    """Sums over rows are fp32, which PyTorch returns for operands of fp32 alone."""

    def run(ins, outs):
        x, gamma, dy, dsum = ins
        x, gamma = x.float(), gamma.float()
        variance, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
        statistics = mean, variance.add_(case.option["eps"]).rsqrt_()
        made = _layer_norm_back(dy.float(), x, x.shape[-1:], *statistics, gamma, gamma, [True, True, True])
        dx = made[0] if dsum is None else made[0] + dsum
        for out, result in zip(outs, (dx, *made[1:])):
            out.copy_(result)

    return run


# ---- maps ------------------------------------------------------------------------------------------------------------
def vertical_fusion(case):
    return lambda ins, outs: torch.sqrt(torch.sin(ins[0].float()).add_(2), out=outs[0])


def horizontal_fusion(case):
    quarter = torch.tensor(0.25, device=case.device)

    def run(ins, outs):
        (x,), (square, relu, affine) = ins, outs
        torch.mul(x, x, out=square)
        torch.clamp(x, min=0, out=relu)
        torch.add(quarter, x, alpha=1.5, out=affine)  # rounded once, in 16 bits too

    return run


def memory_bound(case):
    def run(ins, outs):
        x, z = ins
        torch.add(torch.mul(x.float(), 1.5).add_(0.25).clamp_(-1, 1), z, out=outs[0])

    return run


# ---- products --------------------------------------------------------------------------------------------------------
def gemm(case):
    alpha, wide = case.option.get("alpha", 1), case.option.get("wide", 0) > 0 and case.half
    if wide:
        return copied(formulas.gemm)(case)

    def run(ins, outs):
        (a, b), (c,) = ins, outs
        if alpha == 1:
            torch.mm(a, b, out=c)
        else:
            torch.addmm(c, a, b, beta=0, alpha=alpha, out=c)

    return run


def batched_gemm(case):
    alpha = case.option["alpha"]

    def run(ins, outs):
        (a, b), (c,) = ins, outs
        if alpha == 1:
            torch.bmm(a, b, out=c)
        else:
            torch.baddbmm(c, a, b, beta=0, alpha=alpha, out=c)

    return run


def gemm_epilogue(case):
    if case.half:
        return copied(formulas.gemm_epilogue)(case)
    o = case.option

    def run(ins, outs):
        a, b, c, bias, row_bias = ins
        (d,) = outs
        if c is not None:
            torch.addmm(c, a, b, beta=o["beta"], alpha=o["alpha"], out=d)
        elif bias is not None:
            torch.addmm(bias, a, b, alpha=o["alpha"], out=d)
        elif o["alpha"] == 1:
            torch.mm(a, b, out=d)
        else:
            torch.addmm(d, a, b, beta=0, alpha=o["alpha"], out=d)
        if c is not None and bias is not None:
            d.add_(bias)
        if row_bias is not None:
            d.add_(row_bias[:, None])
        finish(case.activation, d, d)

    return run


def linear_norm_activation(case):
    def run(ins, outs):
        x, w, b, gamma, beta = ins
        z = formulas.product(x, w).add_(b) if case.half else torch.addmm(b, x, w)
        finish("gelu", F.layer_norm(z, (z.shape[-1],), gamma.to(z.dtype), beta.to(z.dtype), formulas.EPS), outs[0])

    return run


def swiglu_ffn(case):
    def run(ins, outs):
        x, w1, w2 = ins
        gate, up = torch.mm(x, w1.mT).chunk(2, -1)
        torch.mm(F.silu(gate).mul_(up), w2.mT, out=outs[0])

    return run


# ---- softmax(x w + b) -----------------------------------------------------------------------------------------------
def linear_softmax(case):
    def run(ins, outs):
        x, w, b = ins
        if case.half:
            outs[0].copy_(torch.softmax(formulas.product(x, w).add_(b), -1))
        else:
            torch.softmax(torch.addmm(b, x, w), -1, out=outs[0])

    return run


def multihead_linear_softmax(case):
    """As one product of batches, without a copy of w."""

    def run(ins, outs):
        x, w, b = ins
        many = x.expand(w.shape[0], *x.shape)
        z = formulas.product(many, w).add_(b[:, None]) if case.half else torch.baddbmm(b[:, None], many, w)
        outs[0].copy_(torch.softmax(z, -1).transpose(0, 1))

    return run


# ---- cross-entropy ---------------------------------------------------------------------------------------------------
def _logits(x, w, b, half):
    return formulas.product(x, w.mT).add_(b) if half else torch.addmm(b, x, w.mT)


def _gradient_in_place(parts, z, lse, labels, dloss):
    """parts.gradient without a mask of rows x classes: z becomes the gradient."""
    g = z.sub_(lse[:, None]).exp_()
    if parts.z_loss:
        g.mul_((1 + 2 * parts.z_loss * lse)[:, None])
    place = labels.long().clamp(0, parts.classes - 1)[:, None]
    g.scatter_add_(1, place, torch.full_like(lse, parts.smoothing - 1)[:, None])
    if parts.smoothing:
        g.sub_(parts.smoothing / parts.classes)
    return g.mul_(torch.where(parts.counts(labels), dloss, 0)[:, None])


def _gradients(x, w, g, dx, dw, db):
    narrow = g.to(x.dtype)
    torch.mm(narrow, w, out=dx)
    torch.mm(narrow.mT, x, out=dw)
    torch.sum(g, 0, out=db)


def linear_cross_entropy(case):
    parts = formulas.CrossEntropy(case)

    def run(ins, outs):
        x, w, b, labels = ins
        loss, lse = outs
        z = _logits(x, w, b, case.half)
        torch.logsumexp(z, 1, out=lse)
        loss.copy_(parts.losses(z, lse, labels))

    return run


def linear_cross_entropy_backward(case):
    parts = formulas.CrossEntropy(case)

    def run(ins, outs):
        x, w, b, labels, lse, dloss = ins
        _gradients(x, w, _gradient_in_place(parts, _logits(x, w, b, case.half), lse, labels, dloss), *outs)

    return run


def linear_cross_entropy_grad(case):
    parts = formulas.CrossEntropy(case)

    def run(ins, outs):
        x, w, b, labels, dloss = ins
        loss, lse, *gradients = outs
        z = _logits(x, w, b, case.half)
        torch.logsumexp(z, 1, out=lse)
        loss.copy_(parts.losses(z, lse, labels))
        _gradients(x, w, _gradient_in_place(parts, z, lse, labels, dloss), *gradients)

    return run


# ---- attention -------------------------------------------------------------------------------------------------------
class Flash:
    """What FlashAttention takes of a case. square: is_causal says its mask, which aligns the first key; mask: as numbers."""

    def __init__(self, case):
        o, m, n = case.option, case.dim["m"], case.dim["n"]
        self.group, self.scale = case.dim["heads"] // case.dim["kv_heads"], o["scale"] or case.dim["d"] ** -0.5
        if o["softcap"] or case.given("sink") or case.given("slope"):
            raise Refused("PyTorch's FlashAttention has no softcap, sinks and slopes")
        if case.dim["d"] != case.dim["v"]:
            raise Refused("PyTorch's FlashAttention takes keys and values of one depth")
        if min(m, n, case.dim["batch"]) == 0:
            raise Refused("PyTorch's FlashAttention takes no empty operands")
        hidden = formulas.hidden_keys(case)
        self.square, self.mask = m == n and bool(o["causal"]) and o["left"] < 0, None
        if hidden is None or self.square:
            return
        if m > n:
            raise Refused("PyTorch's FlashAttention has NaN for queries without keys")
        if case.device == "cuda":
            raise Refused("PyTorch's FlashAttention has no such mask on a GPU")
        self.mask = torch.zeros(hidden.shape).masked_fill_(hidden, -torch.inf)

    def for_each_head(self, x):
        """Keys or values, [batch, heads, rows, depth]: on a CPU a copy for each head of a group."""
        x = formulas.heads_first(x)
        return x.repeat_interleave(self.group, 1) if self.group > 1 and x.device.type == "cpu" else x


def attention(case):
    """scaled_dot_product_attention's FlashAttention, called where it returns lse."""
    flash, aten, on_cpu = Flash(case), torch.ops.aten, case.device == "cpu"

    def run(ins, outs):
        q, k, v = formulas.heads_first(ins[0]), flash.for_each_head(ins[1]), flash.for_each_head(ins[2])
        if on_cpu:
            of_cpu = aten._scaled_dot_product_flash_attention_for_cpu
            out, lse = of_cpu(q, k, v, 0.0, flash.square, attn_mask=flash.mask, scale=flash.scale)
        else:
            out, lse, *_ = aten._scaled_dot_product_flash_attention(q, k, v, 0.0, flash.square, False, scale=flash.scale)
        formulas.heads_first(outs[0]).copy_(out)
        outs[1].permute(1, 2, 0).copy_(lse)

    return run


def attention_backward(case):
    """FlashAttention's backward from the lse that is given."""
    flash, aten, on_cpu = Flash(case), torch.ops.aten, case.device == "cpu"
    m, n, kv = case.dim["m"], case.dim["n"], case.dim["kv_heads"]
    if not on_cpu and flash.group > 1:
        raise Refused("PyTorch's FlashAttention has no backward of shared heads on a GPU")

    def run(ins, outs):
        q, out, dout = (formulas.heads_first(ins[i]) for i in (0, 3, 5))
        k, v, lse = flash.for_each_head(ins[1]), flash.for_each_head(ins[2]), ins[4].permute(1, 2, 0).contiguous()
        if on_cpu:
            of_cpu = aten._scaled_dot_product_flash_attention_for_cpu_backward
            found = of_cpu(dout, q, k, v, out, lse, 0.0, flash.square, attn_mask=flash.mask, scale=flash.scale)
        else:
            seed = torch.zeros((), dtype=torch.int64, device=q.device)  # of dropout
            found = aten._scaled_dot_product_flash_attention_backward(
                dout, q, k, v, out, lse, None, None, m, n, 0.0, flash.square, seed, seed, scale=flash.scale
            )
        for to, gradient in zip(outs, found):
            if gradient.shape[1] != to.shape[2]:
                gradient = gradient.unflatten(1, (kv, flash.group)).sum(2)
            formulas.heads_first(to).copy_(gradient)
        outs[3].zero_()

    return run
