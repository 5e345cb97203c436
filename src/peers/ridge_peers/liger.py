"""Liger's Triton kernels. They return new tensors, which are copied to the outputs: a part of their time."""

from ridge_peers.case import Refused


def _copied(compute):
    def run(ins, outs):
        outs[0].copy_(compute(*ins))

    return run


def _plain(case):
    """Its norms round to 16 bits before an activation would follow, beyond the bound."""
    if case.activation != "none":
        raise Refused("Liger's norms have no activation")
    if case.option.get("wide", 0) > 0 and case.half:
        raise Refused("Liger's norms take weights of the rows' type")


def online_softmax(case):
    from liger_kernel.ops.softmax import _softmax_forward

    return _copied(lambda x: _softmax_forward(x)[0])


def layer_norm(case):
    from liger_kernel.ops.layer_norm import layer_norm_forward

    _plain(case)
    return _copied(lambda x, gamma, beta: layer_norm_forward(x, gamma, beta, case.option["eps"])[0])


def rms_norm(case):
    """Its casting mode gemma has everything in fp32; llama's rounds before the weights."""
    from liger_kernel.ops.rms_norm import rms_norm_forward

    _plain(case)
    return _copied(lambda x, gamma: rms_norm_forward(x, gamma, case.option["eps"], 0.0, "gemma", None)[0])
