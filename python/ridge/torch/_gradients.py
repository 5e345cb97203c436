"""Gradients of operations whose backward libridge_ops does not have, in PyTorch's operations.

Each takes `call`, which has the arguments and the saved tensors, and the gradients of the outputs. It returns those of
the inputs by name. Norms and softmax are differentiated in fp32, whatever the type.
"""
import torch

from ._eager import ops

aten = torch.ops.aten

_THROUGH_ACTIVATION = {  # gradient of the activation's argument z from that of its value
    "none": lambda dy, z: dy,
    "gelu": lambda dy, z: aten.gelu_backward(dy, z),
    "gelu_tanh": lambda dy, z: aten.gelu_backward(dy, z, approximate="tanh"),
    "silu": lambda dy, z: aten.silu_backward(dy, z),
    "relu": lambda dy, z: dy * (z > 0),
    "relu_squared": lambda dy, z: dy * 2 * z.relu(),
}


def _sum_to(gradient, like):
    """The sum over all but the last dimension, of `like`'s type."""
    return gradient.reshape(-1, gradient.shape[-1]).sum(0).to(like.dtype)


def _norm(x, gamma, beta, eps, activation, dy):
    """(dx, dgamma, dbeta) in fp32; beta None: of the RMS norm, which subtracts no mean."""
    x, dy = x.float(), dy.float()
    if beta is not None:
        x = x - x.mean(-1, keepdim=True)
    inverse = (x.square().mean(-1, keepdim=True) + eps).rsqrt()
    n = x * inverse
    z = n * gamma.float() if beta is None else n * gamma.float() + beta.float()
    dz = _THROUGH_ACTIVATION[activation](dy, z)
    dn = dz * gamma.float()
    dx = dn - n * (dn * n).mean(-1, keepdim=True)
    if beta is not None:
        dx = dx - dn.mean(-1, keepdim=True)
    return dx * inverse, _sum_to(dz * n, gamma), None if beta is None else _sum_to(dz, beta)


def _plain_norm(x, gamma, beta, eps, dy, dsum=None):
    """The same of a norm without an activation, by the library, with dsum added to dx."""
    if beta is None:
        dx, dgamma = ops.rms_norm_backward(x, gamma, dy, dsum, eps)
        return {"x": dx, "gamma": dgamma.to(gamma.dtype)}
    dx, dgamma, dbeta = ops.layer_norm_backward(x, gamma, dy, dsum, eps)
    return {"x": dx, "gamma": dgamma.to(gamma.dtype), "beta": dbeta.to(beta.dtype)}


def norm(call, dy):
    beta = getattr(call, "beta", None)
    if call.activation == "none":
        return _plain_norm(call.x, call.gamma, beta, call.eps, dy)
    dx, dgamma, dbeta = _norm(call.x, call.gamma, beta, call.eps, call.activation, dy)
    return {"x": dx.to(call.x.dtype), "gamma": dgamma, "beta": dbeta}


def add_norm(call, dy, dsum):
    beta = getattr(call, "beta", None)
    if call.activation == "none":
        of = _plain_norm(call.sum, call.gamma, beta, call.eps, dy, dsum)
        return {**of, "residual": of["x"].clone()}  # a parameter keeps a view's memory as its own
    dx, dgamma, dbeta = _norm(call.sum, call.gamma, beta, call.eps, call.activation, dy)
    dx = (dx + dsum.float()).to(call.sum.dtype)
    return {"x": dx, "residual": dx.clone(), "gamma": dgamma, "beta": dbeta}


def _softmax(y, dy):
    """Gradient of the softmax's argument, in fp32."""
    y, dy = y.float(), dy.float()
    return y * (dy - (y * dy).sum(-1, keepdim=True))


def scaled_softmax(call, dy):
    dx = ops.softmax_backward(call.y, dy, call.scale, call.log)
    if call.log and call.causal:  # what a row does not see is -inf, whatever x is there
        dx = dx.masked_fill(call.y == -torch.inf, 0)
    return {"x": dx}


def masked_softmax(call, dy):
    backward = ops.softmax_backward
    return {"x": backward(call.y, dy, call.scale, call.log), "mask": backward(call.y, dy, 1.0, call.log)}


def gemm(call, dc):
    dc = (call.alpha * dc).to(call.a.dtype)
    return {"a": dc @ call.b.mT, "b": call.a.mT @ dc}


def gemm_epilogue(call, dd):
    if call.activation == "none":
        dz = dd
    else:
        c = None if call.c is None else call.c.float()  # of the result's type
        terms = c, call.bias, call.row_bias, call.alpha, call.beta
        z = ops.gemm_epilogue(call.a, call.b, *terms, "none", torch.float32)
        dz = _THROUGH_ACTIVATION[call.activation](dd.float(), z)
    return {
        **gemm(call, dz),
        "c": None if call.c is None else (call.beta * dz).to(call.c.dtype),
        "bias": None if call.bias is None else dz.sum(0).to(call.bias.dtype),
        "row_bias": None if call.row_bias is None else dz.sum(1).to(call.row_bias.dtype),
    }


def _linear(call, dz):
    """Of z = x w + b."""
    low = dz.to(call.x.dtype)
    return {"x": low @ call.w.mT, "w": call.x.mT @ low, "b": _sum_to(dz, call.b)}


def linear_softmax(call, dy):
    return _linear(call, _softmax(call.y, dy))


def linear_norm_activation(call, dy):
    z = torch.addmm(call.b, call.x, call.w)
    dz, dgamma, dbeta = _norm(z, call.gamma, call.beta, 1e-5, "gelu", dy)
    return {**_linear(call, dz), "gamma": dgamma, "beta": dbeta}


# ---- by the library's own backward -----------------------------------------------------------------------------------
def attention(call, dout):
    more = call.causal, call.scale, call.window, call.softcap, call.sink, call.slope
    tensors = call.q, call.k, call.v, call.out, call.lse, dout
    dq, dk, dv, dsink = ops.attention_backward(*tensors, *more)
    return {"q": dq, "k": dk, "v": dv, "sink": None if call.sink is None else dsink}


def linear_cross_entropy(call, dloss):
    more = call.ignore_index, call.label_smoothing, call.z_loss
    tensors = call.x, call.w, call.b, call.labels, call.lse, dloss
    dx, dw, db = ops.linear_cross_entropy_backward(*tensors, *more)
    return {"x": dx, "w": dw, "b": db}


def swiglu_ffn(call, dy):
    gates = call.x @ call.w1.mT  # the forward keeps them in registers
    dx, dw1, dw2 = ops.swiglu_ffn_backward(call.x, call.w1, call.w2, gates, dy)
    return {"x": dx, "w1": dw1, "w2": dw2}
