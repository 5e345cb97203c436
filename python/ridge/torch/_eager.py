"""Eager calls of plain tensors, past PyTorch's dispatcher, whose trip through Python costs more than the library's work.

A call is plain when nobody else wants to see it: no mode, transformation, trace, autocast, profiler, dual level or
compilation is active, and no tensor is of a subclass or has its negative bit set. All other calls are the dispatcher's, and
so are calls that fail here: tensors without memory of their own (meta, sparse, functional, zero) have no address that the
library takes, and it is the dispatcher that finds out what to do or says what is wrong.

Kernels registered in C, by PyTorch's stable ABI, would not replace this: the keys of autograd and autocast remain in Python,
and the dispatcher's arguments are boxed anyway.
"""
import types

import torch
from torch.autograd import forward_ad

from . import _calls

_C = torch._C
_STATE = {  # what is asked of PyTorch at each call, under names that no argument has
    "_compiling": torch.compiler.is_dynamo_compiling,  # Dynamo, which traces this function, knows the answer
    "_overridden": _C._has_torch_function_variadic,
    "_modes": _C._len_torch_dispatch_stack,
    "_transformed": _C._are_functorch_transforms_active,
    "_autocast": _C._is_any_autocast_enabled,
    "_tracing": _C._is_tracing,
    "_profiled": _C._autograd._profiler_enabled,
    "_dual": forward_ad,
    "_records": torch.is_grad_enabled,
    "_PLAIN": (torch.Tensor, torch.nn.Parameter),
}

ops = types.SimpleNamespace()  # the functions made here, by name: gradients call them

# Written out for each operation, since loops over arguments take as long as the rest.
_TEXT = """
def _run({parameters}):
    try:
        return (_cpu if {first}.is_cpu else _cuda)({names})
    except Exception:  # the dispatcher's to tell
        pass
    return _packet({names})


def {name}({parameters}):
    if (
        _compiling() or _overridden({tensors}) or _modes() or _transformed() or _autocast() or _tracing() or _profiled()
        or _dual._current_level >= 0 or {other} or {negative}
    ):
        return _packet({names})
    if _records() and ({recorded}):
        return _record(_run, {names})
    try:
        return (_cpu if {first}.is_cpu else _cuda)({names})
    except Exception:
        pass
    return _packet({names})
"""


def _any(tensors, optional, test):
    """The text of a test that some tensor passes; one that is not given does not."""
    return " or ".join([test.format(t) for t in tensors] + [f"{t} is not None and {test.format(t)}" for t in optional])


def function(packet, kernels, record):
    """What calls the operation `packet`: with the arguments of its schema, by kernels[device] if the call is plain.
    `record` calls a kernel with arguments and has autograd record it."""
    schema = packet.default._schema
    arguments, (parameters, defaults) = schema.arguments, _calls.parameters(schema)
    name, names = packet.__name__, [argument.name for argument in arguments]
    tensors = [argument.name for argument in arguments if str(argument.type) == "Tensor"]
    optional = [argument.name for argument in arguments if str(argument.type) == "Optional[Tensor]"]
    text = _TEXT.format(
        name=name,
        names=", ".join(names),
        parameters=parameters,
        tensors=", ".join(tensors + optional),
        first=tensors[0],
        other=_any(tensors, optional, "type({}) not in _PLAIN"),
        negative=_any(tensors, optional, "{}.is_neg()"),
        recorded=_any(tensors, optional, "{}.requires_grad"),
    )
    scope = {**_STATE, **defaults, "_packet": packet, "_record": record}
    scope.update(_cpu=kernels["CPU"], _cuda=kernels["CUDA"])
    exec(compile(text, __file__, "exec"), scope)
    made = scope[name]
    made.__doc__, made.__module__ = packet.__doc__, "ridge.torch"
    setattr(ops, name, made)
    return made
