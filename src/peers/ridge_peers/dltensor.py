"""The worker's descriptions of its operands, DLTensor of DLPack, as Python reads them. Needs no other module."""

import ctypes


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip


def array_at(address, count):
    """The worker's array of DLTensors."""
    return (DLTensor * count).from_address(address) if count else []


def rows_of(lies):
    """A matrix of f32 as a list of rows, arrays of ctypes: what a peer without PyTorch gets."""
    rows, cols = lies.shape[0], lies.shape[1]
    stride = lies.strides[0] if lies.strides else cols
    base = (lies.data or 0) + lies.byte_offset
    return [(ctypes.c_float * cols).from_address(base + 4 * row * stride) for row in range(rows)]
