"""Gradients of operations, by the library's own and, for activations and products, by PyTorch's operations.

Each takes `call`, which has the arguments and the saved tensors, and the gradients of the outputs. It returns those of
the inputs by name. A norm's value before its activation is computed anew, of the type that it is stored in.
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
    return gradient.reshape(-1, gradient.shape[-1]).sum(0, dtype=torch.float32).to(like.dtype)


def _norm(x, gamma, beta, eps, dy, dsum=None):
    """{"x": dx, "gamma": dgamma, "beta": dbeta} of a norm, with dsum added to dx; beta None: of the RMS norm."""
    if beta is None:
        dx, dgamma = ops.rms_norm_backward(x, gamma, dy, dsum, eps)
        return {"x": dx, "gamma": dgamma.to(gamma.dtype)}
    dx, dgamma, dbeta = ops.layer_norm_backward(x, gamma, dy, dsum, eps)
    return {"x": dx, "gamma": dgamma.to(gamma.dtype), "beta": dbeta.to(beta.dtype)}


def _before_activation(activation, dy, normalize, *operands):
    """The gradient of an activation's argument, normalize(*operands), from dy."""
    return dy if activation == "none" else _THROUGH_ACTIVATION[activation](dy, normalize(*operands))


def _norm_of(call, x, dy, dsum=None):
    beta = getattr(call, "beta", None)
    normalize, weights = (ops.rms_norm, [call.gamma]) if beta is None else (ops.layer_norm, [call.gamma, beta])
    dz = _before_activation(call.activation, dy, normalize, x, *weights, call.eps)
    return _norm(x, call.gamma, beta, call.eps, dz, dsum)


def norm(call, dy):
    return _norm_of(call, call.x, dy)


def add_norm(call, dy, dsum):
    of = _norm_of(call, call.sum, dy, dsum)
    return {**of, "residual": of["x"].clone()}  # a parameter keeps a view's memory as its own


def l2_norm(call, dy):
    dz = _before_activation(call.activation, dy, ops.l2_norm, call.x, call.eps)
    return {"x": ops.l2_norm_backward(call.x, dz, call.eps)}


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
    return _linear(call, ops.softmax_backward(call.y, dy))


def linear_norm_activation(call, dy):
    z = torch.addmm(call.b, call.x, call.w)
    dh = _before_activation("gelu", dy, ops.layer_norm, z, call.gamma, call.beta)
    of = _norm(z, call.gamma, call.beta, 1e-5, dh)
    return {**_linear(call, of.pop("x")), **of}


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
