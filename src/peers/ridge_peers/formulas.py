"""What targets compute, in PyTorch's operations, for torch.compile: formula(case) is a function of the inputs, in the order of
the target's descriptor, that returns the outputs. Values between operations are fp32, as they are in one fused kernel."""

import torch
from torch.nn import functional as F

from ridge_peers.case import LEAST_NORM, Refused

EPS = 1e-5  # of the norms that have it as a constant


def activate(name, z):
    """In this order: none, gelu, gelu_tanh, silu, relu, relu_squared."""
    if name == "gelu":
        return F.gelu(z)
    if name == "gelu_tanh":
        return F.gelu(z, approximate="tanh")
    if name == "silu":
        return F.silu(z)
    if name in ("relu", "relu_squared"):
        return F.relu(z) if name == "relu" else F.relu(z).square()
    return z


# ---- rows ------------------------------------------------------------------------------------------------------------
def fused_l2norm(case):
    return _l2(LEAST_NORM, "none")


def l2_norm(case):
    return _l2(case.option["eps"], case.activation)


def _l2(eps, activation):
    def compute(x):
        wide = x.float()
        return activate(activation, wide / torch.clamp(torch.linalg.vector_norm(wide, dim=-1, keepdim=True), min=eps))

    return compute


def _layer(x, gamma, beta, eps):
    return F.layer_norm(x.float(), (x.shape[-1],), gamma.float(), beta.float(), eps)


def _rms(x, gamma, eps):
    return F.rms_norm(x.float(), (x.shape[-1],), gamma.float(), eps)


def layer_norm(case):
    return lambda x, gamma, beta: activate(case.activation, _layer(x, gamma, beta, case.option["eps"]))


def rms_norm(case):
    return lambda x, gamma: activate(case.activation, _rms(x, gamma, case.option["eps"]))


def _with_sum(norm, case):
    """The norm is that of the sum as it is stored."""

    def compute(x, residual, *weights):
        total = x + residual
        return activate(case.activation, norm(total, *weights, case.option["eps"])), total

    return compute


def add_layer_norm(case):
    return _with_sum(_layer, case)


def add_rms_norm(case):
    return _with_sum(_rms, case)


def norm_activation(case):
    return lambda x, gamma, beta: F.gelu(_layer(x, gamma, beta, EPS))


def norm_activation_rms(case):
    return lambda x, gamma: F.silu(_rms(x, gamma, EPS))


def online_softmax(case):
    return lambda x: torch.softmax(x.float(), -1)


def masked_softmax(case):
    scale, function = case.option["scale"], torch.log_softmax if case.option["log"] else torch.softmax
    return lambda x, mask: function(scale * x.float() + mask.float(), -1)


def scaled_softmax(case):
    scale, function = case.option["scale"], torch.log_softmax if case.option["log"] else torch.softmax
    hidden = triangle(case)
    return lambda x: function(_hide(scale * x.float(), hidden), -1)


def triangle(case):
    """Where rows of a group do not see columns; None: they see all."""
    group, rows, cols = int(case.option["causal"]), case.dim["rows"], case.dim["cols"]
    if not group:
        return None
    row = torch.arange(rows, device=case.device)[:, None]
    return torch.arange(cols, device=case.device) > row % group + cols - group


def _hide(z, hidden):
    return z if hidden is None else z.masked_fill(hidden, -torch.inf)


# ---- gradients of rows -----------------------------------------------------------------------------------------------
def softmax_backward(case):
    scale, log = case.option["scale"], case.option["log"]

    def compute(y, dy):
        y, dy = y.float(), dy.float()
        if log:
            return scale * (dy - y.exp() * dy.sum(-1, keepdim=True))
        return scale * y * (dy - (y * dy).sum(-1, keepdim=True))

    return compute


def l2_norm_backward(case):
    eps = case.option["eps"]

    def compute(x, dy):
        x, dy = x.float(), dy.float()
        norm = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        inverse = 1 / norm.clamp(min=eps)
        z = x * inverse
        along = torch.where(norm <= eps, 0, (z * dy).sum(-1, keepdim=True))
        return inverse * (dy - z * along)

    return compute


def _norm_backward(case, centered):
    def compute(x, gamma, dy, dsum):
        x, dy = x.float(), dy.float()
        if centered:
            x = x - x.mean(-1, keepdim=True)
        inverse = (x.square().mean(-1, keepdim=True) + case.option["eps"]).rsqrt()
        n, g = x * inverse, dy * gamma.float()
        dx = g - n * (g * n).mean(-1, keepdim=True)
        if centered:
            dx = dx - g.mean(-1, keepdim=True)
        dx = dx * inverse if dsum is None else dx * inverse + dsum.float()
        return (dx, (dy * n).sum(0), dy.sum(0)) if centered else (dx, (dy * n).sum(0))

    return compute


def layer_norm_backward(case):
    return _norm_backward(case, True)


def rms_norm_backward(case):
    return _norm_backward(case, False)


# ---- maps ------------------------------------------------------------------------------------------------------------
def vertical_fusion(case):
    return lambda x: torch.sqrt(2 + torch.sin(x.float()))


def horizontal_fusion(case):
    def compute(x):
        wide = x.float()
        return wide * wide, torch.relu(wide), 1.5 * wide + 0.25

    return compute


def memory_bound(case):
    return lambda x, z: torch.clamp(1.5 * x.float() + 0.25, -1, 1) + z.float()


# ---- products --------------------------------------------------------------------------------------------------------
def product(a, b):
    """a b in fp32, of operands of 16 bits too."""
    if a.dtype == torch.float32:
        return a @ b
    if a.device.type == "cpu":
        return a.float() @ b.float()
    return torch.mm(a, b, out_dtype=torch.float32) if a.dim() == 2 else torch.bmm(a, b, out_dtype=torch.float32)


def gemm(case):
    alpha = case.option.get("alpha", 1)
    wide = case.option.get("wide", 0) > 0

    def compute(a, b):
        c = product(a, b) if wide or alpha != 1 else a @ b
        return c if alpha == 1 else alpha * c

    return compute


batched_gemm = gemm


def gemm_epilogue(case):
    o, activation = case.option, case.activation

    def compute(a, b, c, bias, row_bias):
        z = product(a, b) * o["alpha"]
        z = z if c is None else z + o["beta"] * c
        z = z if bias is None else z + bias
        return activate(activation, z if row_bias is None else z + row_bias[:, None])

    return compute


def linear_norm_activation(case):
    return lambda x, w, b, gamma, beta: F.gelu(_layer(product(x, w) + b, gamma, beta, EPS))


def swiglu_ffn(case):
    def compute(x, w1, w2):
        gate, up = (x @ w1.mT).chunk(2, -1)
        return (F.silu(gate.float()) * up.float()).to(x.dtype) @ w2.mT

    return compute


# ---- softmax(x w + b) -----------------------------------------------------------------------------------------------
def linear_softmax(case):
    return lambda x, w, b: torch.softmax(product(x, w) + b, -1)


def multihead_linear_softmax(case):
    def compute(x, w, b):
        z = product(x.expand(w.shape[0], *x.shape), w) + b[:, None]
        return torch.softmax(z, -1).transpose(0, 1)

    return compute


# ---- cross-entropy ---------------------------------------------------------------------------------------------------
class CrossEntropy:
    """Options and parts of the three targets."""

    def __init__(self, case):
        self.ignored, self.smoothing = int(case.option["ignore_index"]), case.option["label_smoothing"]
        self.z_loss, self.classes = case.option["z_loss"], case.dim["classes"]

    def counts(self, labels):
        return (labels >= 0) & (labels < self.classes) & (labels != self.ignored)

    def losses(self, z, lse, labels):
        """Of logits in fp32."""
        place = labels.long().clamp(0, self.classes - 1)[:, None]
        loss = (1 - self.smoothing) * (lse - z.gather(1, place)[:, 0])
        if self.smoothing:
            loss = loss + self.smoothing * (lse - z.mean(1))
        if self.z_loss:
            loss = loss + self.z_loss * lse.square()
        return torch.where(self.counts(labels), loss, 0)

    def gradient(self, z, lse, labels, dloss):
        """With respect to the logits."""
        g = torch.exp(z - lse[:, None])
        if self.z_loss:
            g = (1 + 2 * self.z_loss * lse)[:, None] * g
        hit = torch.arange(self.classes, device=z.device) == labels[:, None]
        g = torch.where(hit, g - (1 - self.smoothing), g) - self.smoothing / self.classes
        return torch.where(self.counts(labels), dloss, 0)[:, None] * g


def gradients(x, w, g):
    narrow = g.to(x.dtype)
    return narrow @ w, narrow.mT @ x, g.sum(0)


def linear_cross_entropy(case):
    parts = CrossEntropy(case)

    def compute(x, w, b, labels):
        z = product(x, w.mT) + b
        lse = torch.logsumexp(z, 1)
        return parts.losses(z, lse, labels), lse

    return compute


def linear_cross_entropy_backward(case):
    parts = CrossEntropy(case)
    return lambda x, w, b, labels, lse, dloss: gradients(
        x, w, parts.gradient(product(x, w.mT) + b, lse, labels, dloss)
    )


def linear_cross_entropy_grad(case):
    parts = CrossEntropy(case)

    def compute(x, w, b, labels, dloss):
        z = product(x, w.mT) + b
        lse = torch.logsumexp(z, 1)
        return (parts.losses(z, lse, labels), lse, *gradients(x, w, parts.gradient(z, lse, labels, dloss)))

    return compute


# ---- attention of [rows, batch, heads, depth] --------------------------------------------------------------------------
MOST_SCORES = 1 << 31  # fp32 values in memory at once


def hidden_keys(case):
    """Which keys a query does not see, [m, n]; None: it sees all."""
    o, m, n = case.option, case.dim["m"], case.dim["n"]
    ahead = torch.arange(n, device=case.device) - torch.arange(m, device=case.device)[:, None] - (n - m)
    hidden = None
    for limit, beyond in ((o["left"], -ahead), (0 if o["causal"] else o["right"], ahead)):
        if limit >= 0:
            hidden = beyond > limit if hidden is None else hidden | (beyond > limit)
    return hidden


def heads_first(x):
    """[batch, heads, rows, depth]."""
    return x.permute(1, 2, 0, 3)


def _scores(case, q, k, slope, hidden):
    o, m, n = case.option, case.dim["m"], case.dim["n"]
    z = product(q, k.mT) * (o["scale"] or q.shape[-1] ** -0.5)
    if o["softcap"]:
        z = o["softcap"] * torch.tanh(z / o["softcap"])
    if slope is not None:
        apart = torch.arange(n, device=z.device) - torch.arange(m, device=z.device)[:, None] - (n - m)
        z = z - slope[:, None, None] * apart.abs()
    return _hide(z, hidden)


def _cap_slope(case, z):
    """Slope of the cap at a capped score."""
    cap = case.option["softcap"]
    return 1 - (z / cap).square() if cap else 1


def _check_scores(case):
    if case.dim["batch"] * case.dim["heads"] * case.dim["m"] * case.dim["n"] > MOST_SCORES:
        raise Refused("its scores would take more than 8 GB")
    if case.dim["batch"] * case.dim["kv_heads"] * case.dim["n"] == 0:
        raise Refused("it takes no softmax of no keys")


def attention(case):
    """By its scores: what torch.compile makes of the formula."""
    _check_scores(case)
    if case.half:
        raise Refused("in 16 bits its scores would be products of batches in fp32, which PyTorch lacks")
    hidden, group = hidden_keys(case), case.dim["heads"] // case.dim["kv_heads"]

    def compute(q, k, v, sink, slope):
        q, k, v = heads_first(q), heads_first(k).repeat_interleave(group, 1), heads_first(v).repeat_interleave(group, 1)
        z = _scores(case, q, k, slope, hidden)
        lse = torch.logsumexp(z, -1)
        lse = lse if sink is None else torch.logaddexp(lse, sink[:, None].expand(lse.shape))
        p = torch.exp(z - torch.where(lse == -torch.inf, 0, lse)[..., None])
        return (p @ v).permute(2, 0, 1, 3), lse.permute(2, 0, 1)

    return compute


def attention_backward(case):
    """From out and lse as they are given."""
    _check_scores(case)
    if case.half:
        raise Refused("in 16 bits its scores would be products of batches in fp32, which PyTorch lacks")
    o, hidden, kv = case.option, hidden_keys(case), case.dim["kv_heads"]
    group, scale = case.dim["heads"] // kv, o["scale"] or case.dim["d"] ** -0.5
    if o["softcap"] and case.given("slope"):
        raise Refused("it takes no softcap with slopes")

    def compute(q, k, v, out, lse, dout, sink, slope):
        q, out, dout, lse = heads_first(q), heads_first(out), heads_first(dout), lse.permute(1, 2, 0)[..., None]
        k, v = heads_first(k).repeat_interleave(group, 1), heads_first(v).repeat_interleave(group, 1)
        z = _scores(case, q, k, slope, hidden)
        p = torch.where(z == -torch.inf, 0, torch.exp(z - lse))
        delta = (dout * out).sum(-1, keepdim=True)
        ds = p * (dout @ v.mT - delta)
        capped = ds if not o["softcap"] else ds * torch.where(z == -torch.inf, 0, _cap_slope(case, z))
        dq, dk, dv = scale * (capped @ k), scale * (capped.mT @ q), p.mT @ dout
        of_head = lambda x: x.unflatten(1, (kv, group)).sum(2).permute(2, 0, 1, 3)  # noqa: E731
        dsink = q.new_zeros(q.shape[1])
        if sink is not None:
            dsink = -(torch.where(lse == -torch.inf, 0, torch.exp(sink[:, None, None] - lse)) * delta).sum((0, 2, 3))
        return dq.permute(2, 0, 1, 3), of_head(dk), of_head(dv), dsink

    return compute
