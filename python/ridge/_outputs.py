"""Outputs of operations: the arrays of out=, or new ones. The one place where an operation's arrays come from."""
import functools
import sys

from ._context import apply
from ._library import Error


def output(like, shape, dtype=None, type_name=""):
    """What an output is, for run: of the library and device of `like` where it is made, of type `dtype`, which the caller
    asked for; None: of the type called `type_name`, or else of like's. A plain tuple: a named one takes twice as long."""
    return like, shape, dtype, type_name


def same(array):
    """An output like `array`."""
    return array, tuple(array.shape), None, ""  # of a torch.Size PyTorch makes a tensor half a microsecond slower


def run(target, inputs, outputs, how, options=None, views=None):
    """Runs `target` and returns its output, or a tuple of them: those of how's `out`, and new ones where it has none.
    `views` makes of them what the target takes, where that differs. The rest of `how` is for apply."""
    out = how.pop("out", None)
    arrays = _made(outputs) if out is None else _given(target, out, outputs)
    apply(target, inputs, arrays if views is None else views(*arrays), options=options, **how)
    return arrays[0] if len(arrays) == 1 else tuple(arrays)


# ---- new arrays ------------------------------------------------------------------------------------------------------
def _made(outputs):
    return [_maker(type(like), name)(like, shape, dtype) for like, shape, dtype, name in outputs]


@functools.cache
def _maker(kind, type_name):
    """What makes an array, called with one of type `kind`, a shape, and None or a type; None: `type_name`, or the array's."""
    named = _type_called(type_name, kind) if type_name else None
    if hasattr(kind, "new_empty"):
        if named is None:
            return lambda like, shape, dtype: like.new_empty(shape) if dtype is None else like.new_empty(shape, dtype=dtype)
        return lambda like, shape, dtype: like.new_empty(shape, dtype=dtype or named)
    for module in (sys.modules.get("numpy"), sys.modules.get("cupy")):
        if issubclass(kind, getattr(module, "ndarray", ())):
            return lambda like, shape, dtype, empty=module.empty: empty(shape, dtype or named or like.dtype)
    raise Error(f"outputs of type {kind.__name__} cannot be made here: pass your own as out=")


def _type_called(name, kind):
    """The type of that name for arrays of `kind`; bytes in the place of a type of 8 bits that their library does not know."""
    torch = sys.modules.get("torch")
    if issubclass(kind, getattr(torch, "Tensor", ())):
        return getattr(torch, name, torch.uint8)
    return "uint8" if name.startswith("float8") else name


# ---- arrays of out= --------------------------------------------------------------------------------------------------
def _given(target, out, outputs):
    """The arrays of `out`, and new ones for those that are None. What else they must be, the library checks."""
    if len(outputs) == 1:
        return [_checked(f"{target}: out", out, outputs[0])]
    if not isinstance(out, (tuple, list)):
        raise Error(f"{target}: out is of type {type(out).__name__}, not a tuple of {len(outputs)} arrays")
    if len(out) != len(outputs):
        raise Error(f"{target}: out has {len(out)} arrays, not {len(outputs)}")
    arrays = []
    for i, (array, one) in enumerate(zip(out, outputs)):
        arrays += _made([one]) if array is None else [_checked(f"{target}: out[{i}]", array, one)]
    return arrays


def _checked(name, array, output):
    _, wanted, dtype, _ = output
    shape = getattr(array, "shape", None)
    if shape is None:
        raise Error(f"{name} is of type {type(array).__name__}, not an array")
    if tuple(shape) != wanted:
        raise Error(f"{name} has shape {tuple(shape)}, not {wanted}")
    if dtype is not None and array.dtype != dtype:
        raise Error(f"{name} has type {array.dtype}, and dtype is {dtype}")
    return array
