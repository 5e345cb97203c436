"""The lab's operands as tensors of PyTorch, without copies: DLTensors in memory become DLPack capsules."""

import ctypes
import itertools

import torch

from ridge_peers.dltensor import DLTensor, array_at

CPU, CUDA = 1, 2
UNSIGNED, BITS = 1, 8  # DLPack's code of an unsigned integer: memory is passed as bytes and viewed as its type

TYPES = {
    "f32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16, "f64": torch.float64,
    "i32": torch.int32, "i64": torch.int64, "e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2,
}  # fmt: skip


class Managed(ctypes.Structure):
    """DLManagedTensor."""


Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
Managed._fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", Deleter)]

_kept = {}  # what PyTorch still uses: {address: (structure, its extents)}
_deleter = Deleter(lambda address: _kept.pop(address, None) and None)
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


def _bytes_at(address, count, device_type, device_id):
    """A tensor of `count` bytes."""
    extents = (ctypes.c_int64 * 2)(count, 1)
    whole = ctypes.cast(extents, ctypes.POINTER(ctypes.c_int64))
    stride = ctypes.cast(ctypes.byref(extents, 8), ctypes.POINTER(ctypes.c_int64))
    managed = Managed(DLTensor(address, device_type, device_id, 1, UNSIGNED, BITS, 1, whole, stride, 0), None, _deleter)
    _kept[ctypes.addressof(managed)] = (managed, extents)
    return torch.utils.dlpack.from_dlpack(_new_capsule(ctypes.addressof(managed), b"dltensor", None))


def view(lies, spec):
    """The tensor that the DLTensor `lies` describes; `spec` has its type and shape."""
    dtype = TYPES.get(spec.dtype)
    if dtype is None:
        raise TypeError(f"PyTorch has no {spec.dtype}")
    shape = [lies.shape[d] for d in range(lies.ndim)]
    strides = [lies.strides[d] for d in range(lies.ndim)] if lies.strides else _dense(shape)
    if 0 in shape:
        return torch.empty(shape, dtype=dtype, device="cuda" if lies.device_type == CUDA else "cpu")
    span = 1 + sum((extent - 1) * stride for extent, stride in zip(shape, strides))
    flat = _bytes_at(lies.data + lies.byte_offset, span * dtype.itemsize, lies.device_type, lies.device_id)
    return flat.view(dtype).as_strided(shape, strides)


def _dense(shape):
    strides = list(itertools.accumulate(reversed(shape[1:]), lambda a, b: a * b, initial=1))
    return strides[::-1]


def views(address, specs):
    """Of an array of DLTensors; None for one that is not given."""
    return [view(lies, spec) if spec.given else None for lies, spec in zip(array_at(address, len(specs)), specs)]
