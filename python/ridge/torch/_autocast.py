"""torch.autocast: an operation's operands and results have the types of the PyTorch operations that it stands for.

Which operations PyTorch casts for on a device, its dispatcher is asked: norms on a GPU, but not on a CPU. Products and
attention are cast to autocast's type, all others to float32. What PyTorch leaves alone is left alone here.

torch.library.register_autocast does not fit: it casts to a type that is chosen at registration, and tensors that are
float32 in every call, such as lse, too.
"""
import torch

DEVICES = ("cpu", "cuda")
_LOWER = {"linear", "matmul", "scaled_dot_product_attention"}


def _key(device):
    return "Autocast" + torch._C._dispatch_key_for_device(device)


def _type_of(name, device, lower):
    """What PyTorch casts the operands of its operation `name` to; None: it leaves them."""
    if not torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", _key(device)):
        return None
    return lower if name in _LOWER else torch.float32


def _cast(value, dtype):
    """Integers, codes of 8 bits and float64 stay what they are, as with PyTorch."""
    if not isinstance(value, torch.Tensor) or value.dtype not in (torch.float32, torch.bfloat16, torch.float16):
        return value
    return value.to(dtype)


def _kernel(operation, packet, device):
    schema = packet.default._schema
    arguments, outputs = [a.name for a in schema.arguments], [r.name for r in schema.returns]
    first, *rest = operation.like.split()
    float32 = operation.float32.split()
    excluded = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, _key(device)))

    def types():
        """Of operands, while they are computed with, and of results."""
        lower = torch.get_autocast_dtype(device)
        operands = results = _type_of(first, device, lower)
        for name in rest:
            results = _type_of(name, device, lower) or results
        return torch.float32 if device == "cpu" else operands, results  # on a CPU products take nothing else

    def run(*given):
        of_operands, of_results = types()
        values = [v if name in float32 else _cast(v, of_operands) for name, v in zip(arguments, given)]
        with torch._C._ExcludeDispatchKeyGuard(excluded):
            made = packet(*values)
        if dict(zip(arguments, given)).get("dtype") is not None:  # asked for by the caller
            return made
        if not isinstance(made, tuple):
            return _cast(made, of_results)
        return tuple(m if name in float32 else _cast(m, of_results) for name, m in zip(outputs, made))

    return run


def register(library, operation, packet):
    for device in DEVICES:
        if operation.like and _type_of(operation.like.split()[0], device, torch.bfloat16):
            library.impl(operation.name, _kernel(operation, packet, device), _key(device))
