"""ridge's operations as custom operations of PyTorch: recorded by autograd, whole under torch.compile.

    import ridge.torch
    y = ridge.torch.rms_norm(x, gamma)  # the arguments of ridge.rms_norm
    norm = ridge.torch.RMSNorm(4096)  # in the place of torch.nn.RMSNorm

Each is a function that calls the custom operation torch.ops.ridge.NAME. Eager calls of plain tensors go past PyTorch's
dispatcher, unless a mode, a transformation, a trace, autocast or a profiler wants to see them. Observers of another kind,
such as torch.profiler.ExecutionTraceObserver by itself, see what such a call launches and not its name.

Attention, cross-entropy, norms and softmax have the library's own backward; activations and products one of PyTorch's
operations.
An operation without gradient says so when it is asked for one. No operation here takes out=, which autograd cannot record:
ridge.NAME does, for tensors that do not require grad.

Under torch.autocast operands and results have the types of PyTorch's own operations: products and attention the lower
one, norms, softmax and losses float32 where PyTorch's policy for the device says so.

On a GPU the work goes to PyTorch's current stream; each stream has a context of its own.
"""
from ._modules import Attention, FusedAddRMSNorm, LayerNorm, LinearCrossEntropyLoss, RMSNorm
from ._operations import REGISTERED

globals().update(REGISTERED)
__all__ = ["Attention", "FusedAddRMSNorm", "LayerNorm", "LinearCrossEntropyLoss", "RMSNorm", *REGISTERED]
