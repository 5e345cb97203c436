"""From arrays to DLTensors. PyTorch's tensors are described from their attributes; all others export a DLPack capsule.

PyTorch's own export refuses tensors of a CUDA device that is not the current one, and takes microseconds. Its attributes say
the same. A capsule is borrowed: it is held until the call returns, and its destructor gives the memory back.
"""
import ctypes
import functools
import sys
from typing import NamedTuple

from ._library import Device, DLTensor, Error, Type

_CPU, _CUDA, _CUDA_MANAGED = 1, 2, 13  # DLDeviceType
_GPUS = _CUDA, _CUDA_MANAGED
_DLPACK_1 = 1, 0
_NOTHING: dict = {}
_LEGACY_DEFAULT_STREAM = 1  # what DLPack calls CUDA's stream 0
_NOT_WRITABLE = ["", "is read-only", "is exported as a copy", "is read-only"]  # by flags of DLManagedTensorVersioned

_DEVICES = {"cpu": _CPU, "cuda": _CUDA}
_TYPES = {  # DLDataTypeCode, bits, and lanes where they are not 1, by the names of PyTorch, NumPy and ml_dtypes
    "bool": (6, 8),
    "uint8": (1, 8),
    "uint16": (1, 16),
    "uint32": (1, 32),
    "uint64": (1, 64),
    "int8": (0, 8),
    "int16": (0, 16),
    "int32": (0, 32),
    "int64": (0, 64),
    "float16": (2, 16),
    "bfloat16": (4, 16),
    "float8_e4m3fn": (10, 8),
    "float8_e5m2": (12, 8),
    "float8_e8m0fnu": (14, 8),
    "float4_e2m1fn_x2": (17, 4, 2),  # an element is a pair
    "float32": (2, 32),
    "float64": (2, 64),
    "complex64": (5, 64),
    "complex128": (5, 128),
}


class Managed(ctypes.Structure):
    """DLManagedTensor, before DLPack 1."""

    _fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class ManagedVersioned(ctypes.Structure):
    """DLManagedTensorVersioned."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", DLTensor),
    ]


class Described(NamedTuple):
    tensor: DLTensor
    capsule: object = None  # owns what the tensor points to; without one the tensor does
    not_writable: str = ""  # why, where it is so


_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_capsule_pointer.restype = ctypes.c_void_p


def grad_enabled():
    """Whether PyTorch records operations for autograd."""
    torch = sys.modules.get("torch")
    return torch is None or torch.is_grad_enabled()


@functools.cache
def is_torch_kind(kind):
    """Whether arrays of the type `kind` are described from attributes as PyTorch's have them."""
    return hasattr(kind, "data_ptr") and hasattr(kind, "is_neg")


def describe(array, stream=None):
    """The DLTensor of `array`; `stream` is the CUDA stream that will use it. Error texts go on from the array's name.
    None: an input that is not given."""
    if array is None:
        return Described(DLTensor())
    if is_torch_kind(type(array)):
        return _from_torch(array)
    if not hasattr(array, "__dlpack__"):
        raise Error(f"is of type {type(array).__name__}, not an array: ridge takes PyTorch tensors and arrays with __dlpack__")
    try:
        capsule = _export(array, stream)
    except Exception as error:  # each library raises types of its own
        if not isinstance(array, getattr(sys.modules.get("numpy"), "ndarray", ())):
            raise Error(f"cannot be exported by DLPack: {error}") from error
        return _from_numpy(array, error)
    return _from_capsule(capsule)


def describe_output(array, stream=None):
    """Like describe, for an array that is written."""
    if array is None:
        raise Error("is None: outputs have to be given")
    described = describe(array, stream)
    why = described.not_writable or _immutable(array)
    if why:
        raise Error(f"({type(array).__name__}) {why}: pass an output that can be written")
    return described


def _immutable(array):
    """What libraries that export no flags say of an array that must not be written."""
    if isinstance(array, getattr(sys.modules.get("jax"), "Array", ())):
        return "is immutable, as all JAX arrays are"
    return "" if getattr(getattr(array, "flags", None), "writeable", True) else "is read-only"


# ---- PyTorch --------------------------------------------------------------------------------------------------------
def _from_torch(tensor):
    obstacle = _obstacle(tensor)
    if obstacle:
        raise Error(obstacle)
    try:
        address, shape, strides = tensor.data_ptr(), tensor.shape, tensor.stride()
    except RuntimeError as error:  # of torch.func's wrappers
        raise Error(f"({type(tensor).__name__}) has no memory of its own: {error}") from error
    if address == 0 and 0 not in shape:
        raise Error(f"({type(tensor).__name__}) has no memory of its own")
    return _own(address, (_DEVICES[tensor.device.type], tensor.device.index or 0), _type_name(tensor), shape, strides)


def _obstacle(tensor):
    """Why a PyTorch tensor cannot be passed as plain memory, or must not be; None: it can."""
    layout = str(getattr(tensor, "layout", "torch.strided"))
    if getattr(tensor, "is_nested", False):
        return "is a nested tensor: pass its parts, or to_padded_tensor()"
    if layout != "torch.strided":
        return f"has layout {layout}: to_dense() makes a tensor that can be passed"
    if getattr(tensor, "is_quantized", False):
        return "is quantized: dequantize() makes a tensor that can be passed"
    if tensor.is_conj():
        return "has its conjugate bit set: resolve_conj() makes a tensor that can be passed"
    if tensor.is_neg():
        return "has its negative bit set: resolve_neg() makes a tensor that can be passed"
    if tensor.requires_grad and grad_enabled():
        return "requires grad, and ridge records nothing for autograd: call under torch.no_grad(), or pass its detach()"
    if tensor.device.type not in _DEVICES:
        return f"is on device '{tensor.device.type}': ridge computes on cpu and cuda"
    if _type_name(tensor) not in _TYPES:
        return f"has dtype {tensor.dtype}, which ridge does not take"
    return None


def _type_name(tensor):
    return str(tensor.dtype).rpartition(".")[2]


def _own(address, device, type_name, shape, strides):
    """A DLTensor with extents of its own, which ctypes keeps as long as it; strides count elements."""
    extents = ctypes.c_int64 * len(shape)
    layout = extents(*shape), extents(*strides)
    return Described(DLTensor(address, Device(*device), len(shape), Type(*(*_TYPES[type_name], 1)[:3]), *layout, 0))


# ---- DLPack ---------------------------------------------------------------------------------------------------------
def _export(array, stream):
    """A capsule, by DLPack 1 where the array's library knows it."""
    on_gpu = array.__dlpack_device__()[0] in _GPUS
    how = {"stream": stream or _LEGACY_DEFAULT_STREAM} if on_gpu else _NOTHING  # a stream waits for the array's
    try:
        return array.__dlpack__(max_version=_DLPACK_1, **how)
    except TypeError:
        return array.__dlpack__(**how)


def _from_capsule(capsule):
    try:
        managed = ManagedVersioned.from_address(_capsule_pointer(capsule, b"dltensor_versioned"))
    except ValueError:  # that is not its name
        return Described(_tensor_before_versions(capsule), capsule)
    if managed.major != 1:
        raise Error(f"is exported by DLPack {managed.major}.{managed.minor}; ridge reads 1.x")
    return Described(managed.tensor, capsule, _NOT_WRITABLE[managed.flags & 3])


def _tensor_before_versions(capsule):
    try:
        managed = Managed.from_address(_capsule_pointer(capsule, b"dltensor"))
    except ValueError as error:
        raise Error(f"is exported as a capsule that is not DLPack's, or that was used before: {error}") from error
    return managed.tensor


# ---- NumPy before 2.1, which exports no read-only arrays --------------------------------------------------------------
def _from_numpy(array, error):
    """By NumPy's own attributes, which tell what DLPack before 1 could not; `error` is what became of DLPack."""
    type_name, size = str(array.dtype), array.dtype.itemsize
    strides = [stride // size for stride in array.strides] if size else []
    if type_name not in _TYPES or [stride * size for stride in strides] != list(array.strides):
        raise Error(f"cannot be exported by DLPack: {error}") from error
    return _own(array.ctypes.data, (_CPU, 0), type_name, array.shape, strides)
