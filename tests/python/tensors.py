"""Tensors for the tests: stand-ins for PyTorch's and for arrays of other libraries, and PyTorch's own, made in one way."""
import collections
import ctypes
import time

from ridge._library import DLTensor
from ridge._tensors import Managed, ManagedVersioned

try:
    import numpy
except ImportError:
    numpy = None
try:
    import torch
except ImportError:
    torch = None
try:
    import jax
except ImportError:
    jax = None

CODES = {
    "float32": (2, 32, ctypes.c_float),
    "float64": (2, 64, ctypes.c_double),
    "uint8": (1, 8, ctypes.c_uint8),
    "int8": (0, 8, ctypes.c_int8),
    "int32": (0, 32, ctypes.c_int32),
    "int64": (0, 64, ctypes.c_int64),
}


def row_major(shape):
    strides, below = [], 1
    for extent in reversed(shape):
        strides.insert(0, below)
        below *= extent
    return tuple(strides)


def room_for(shape, strides, dtype):
    """Zeros for all elements."""
    elements = 1 + sum((n - 1) * s for n, s in zip(shape, strides)) if all(shape) else 1
    return (CODES[dtype][2] * elements)()


# ---- a stand-in for PyTorch's tensors ---------------------------------------------------------------------------------
Device = collections.namedtuple("Device", "type index")


class Tensor:
    """As much of a PyTorch tensor as the binding looks at. Exporting it fails, as of a CUDA device that is not current."""

    pause = 0

    def __init__(self, shape, strides, dtype, data=None, requires_grad=False, neg=False, conj=False, device=("cpu", None)):
        self.shape, self.strides_, self.dtype, self.device = tuple(shape), tuple(strides), dtype, Device(*device)
        self.data = data if data is not None else room_for(shape, strides, dtype)
        self.requires_grad, self.neg, self.conj = requires_grad, neg, conj

    @property
    def is_cuda(self):
        return self.device.type == "cuda"

    def stride(self):
        return self.strides_

    def permute(self, *order):
        shape, strides = [self.shape[d] for d in order], [self.strides_[d] for d in order]
        return Tensor(shape, strides, self.dtype, self.data, self.requires_grad, self.neg, self.conj, self.device)

    def __getitem__(self, index):
        """Views with dimensions of 1 where the index has None, such as x[:, None]; no elements."""
        left, made = list(zip(self.shape, self.strides_)), []
        for one in index if isinstance(index, tuple) else (index,):
            made.append((1, 0) if one is None else left.pop(0))
        shape, strides = zip(*made, *left)
        return Tensor(shape, strides, self.dtype, self.data, self.requires_grad, self.neg, self.conj, self.device)

    def data_ptr(self):
        time.sleep(self.pause)
        return ctypes.addressof(self.data)

    def is_neg(self):
        return self.neg

    def is_conj(self):
        return self.conj

    def new_empty(self, shape, dtype=None):
        return Tensor(shape, row_major(shape), dtype or self.dtype)

    def __dlpack__(self, **_):
        raise BufferError("Can't export tensors on a different CUDA device index")


class StandIn:
    @staticmethod
    def empty(shape, strides=None, dtype="float32", **how):
        return Tensor(shape, strides or row_major(shape), dtype, **how)

    @staticmethod
    def at(tensor, index):
        return sum(i * s for i, s in zip(index, tensor.strides_))

    def fill(self, tensor, values):
        for index, value in values.items():
            tensor.data[self.at(tensor, index)] = value

    def read(self, tensor, index):
        return tensor.data[self.at(tensor, index)]

    read_byte = read


# ---- NumPy ------------------------------------------------------------------------------------------------------------
class Numpy:
    @staticmethod
    def empty(shape, strides=None, dtype="float32"):
        made = numpy.empty(shape, dtype)
        return made if strides is None else numpy.lib.stride_tricks.as_strided(made, shape, [4 * s for s in strides])

    @staticmethod
    def fill(array, values):
        for index, value in values.items():
            array[index] = value

    @staticmethod
    def read(array, index):
        return array[index].item()

    @staticmethod
    def read_byte(array, index):
        return array.view(numpy.uint8)[index].item()


# ---- PyTorch ----------------------------------------------------------------------------------------------------------
class Torch:
    def __init__(self, device):
        self.device = device

    def empty(self, shape, strides=None, dtype="float32", requires_grad=False):
        made = torch.empty_strided(shape, strides or row_major(shape), dtype=getattr(torch, dtype), device=self.device)
        return made.requires_grad_(requires_grad)

    @staticmethod
    def fill(tensor, values):
        here = torch.empty(tensor.shape, dtype=tensor.dtype)
        for index, value in values.items():
            here[index] = value
        with torch.no_grad():
            tensor.copy_(here)

    @staticmethod
    def read(tensor, index):
        return tensor[index].item()

    @staticmethod
    def read_byte(tensor, index):
        return tensor.view(torch.uint8)[index].item()


# ---- a stand-in for arrays that export DLPack ---------------------------------------------------------------------------
new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)
name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)(("PyCapsule_GetName", ctypes.pythonapi))
pointer_in = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))

exported = {}  # what was exported and not yet deleted, by the address of its managed tensor
buried = []  # extents of deleted exports: memory that must not be looked at again
deletions = collections.Counter()  # by address; each must come to 1 per export


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def deleter(address):
    deletions[address] += 1
    _, extents, _ = exported.pop(address)
    for i in range(len(extents)):
        extents[i] = -7
    buried.append(extents)


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def end_of_capsule(capsule):
    name = name_of(capsule)
    if name in (b"dltensor", b"dltensor_versioned"):  # a consumer that takes the tensor renames the capsule
        deleter(pointer_in(capsule, name))


class Exporter:
    """An array of a library of its own: `speaks` is the DLPack version it exports, (0, 8) before max_version."""

    def __init__(self, shape, strides=None, dtype="float32", speaks=(1, 0), flags=0, device=(1, 0)):
        self.shape, self.strides = tuple(shape), tuple(row_major(shape) if strides is None else strides)
        self.dtype, self.speaks, self.export_flags, self.device = dtype, speaks, flags, device
        self.data = room_for(self.shape, self.strides, dtype)
        self.asked = []  # arguments of __dlpack__

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **how):
        self.asked.append(how)
        if "max_version" in how and self.speaks < (1, 0):
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        code, bits, _ = CODES[self.dtype]
        n = len(self.shape)
        extents = (ctypes.c_int64 * (2 * n))(*self.shape, *self.strides)
        half = ctypes.c_int64 * n
        shape, strides = half.from_buffer(extents), half.from_buffer(extents, ctypes.sizeof(half))
        address = ctypes.addressof(self.data)
        tensor = DLTensor(address, self.device, n, (code, bits, 1), shape, strides, 0)
        free = ctypes.cast(deleter, ctypes.c_void_p)
        if "max_version" in how:
            managed, name = ManagedVersioned(*self.speaks, None, free, self.export_flags, tensor), b"dltensor_versioned"
        else:
            managed, name = Managed(tensor, None, free), b"dltensor"
        exported[ctypes.addressof(managed)] = managed, extents, self
        return new_capsule(ctypes.addressof(managed), name, ctypes.cast(end_of_capsule, ctypes.c_void_p))
