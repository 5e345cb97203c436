"""ridge's operations on DLPack tensors (PyTorch, NumPy, JAX, CuPy): a thin binding of libridge_ops.

    import ridge, torch
    x = torch.randn(4096, 4096, device="cuda")
    y = torch.empty_like(x)
    ridge.apply("fused_l2norm", [x], [y])

Tensors are passed without copies. On a GPU the work is enqueued on `stream` (PyTorch's current stream unless given) and
the call returns without waiting; it can be captured into a CUDA graph once it has been called for the shape.

The library is looked for in $RIDGE_LIBRARY, beside this package, in a build folder above it, and where the system looks.
"""
import ctypes
import os
import pathlib

__all__ = [
    "apply",
    "Context",
    "Error",
    "linear_cross_entropy",
    "linear_cross_entropy_backward",
    "linear_cross_entropy_grad",
    "linear_softmax",
]


class Error(RuntimeError):
    """What ridge could not do, and why, in one line."""


_MOST_OPTIONS = 4  # RIDGE_MAX_OPTIONS


class _Error(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("text", ctypes.c_char * 320)]


class _Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class _Type(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int),
        ("dtype", _Type),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


def _find_library():
    here = pathlib.Path(__file__).resolve()
    name = "libridge_ops.so"
    places = [os.environ.get("RIDGE_LIBRARY", ""), here.parent / name, here.parents[2] / "build" / name, here.parents[2] / name]
    for place in places:
        if place and pathlib.Path(place).is_file():
            return str(place)
    return name


def _load():
    library = ctypes.CDLL(_find_library())
    pointer, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
    tensors, error = ctypes.POINTER(_Tensor), ctypes.POINTER(_Error)
    library.ridge_context_create.argtypes = [number, ctypes.POINTER(pointer), error]
    library.ridge_context_destroy.argtypes = [pointer]
    library.ridge_context_destroy.restype = None
    library.ridge_context_set_stream.argtypes = [pointer, pointer]
    library.ridge_context_set_stream.restype = None
    library.ridge_apply.argtypes = [pointer, text, text, tensors, number, tensors, number, ctypes.POINTER(ctypes.c_double), error]
    library.ridge_context_allow_tf32.argtypes = [pointer, ctypes.c_bool]
    library.ridge_context_allow_tf32.restype = None
    return library


_library = None
_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_capsule_pointer.restype = ctypes.c_void_p


def _tensor_of(array):
    """The DLTensor inside a capsule, and the capsule, which must outlive its use."""
    if hasattr(array, "detach"):
        array = array.detach()
    capsule = array.__dlpack__()
    return _Tensor.from_address(_capsule_pointer(capsule, b"dltensor")), capsule


def _current_stream(array):
    if getattr(array, "is_cuda", False):
        import torch

        return torch.cuda.current_stream(array.device).cuda_stream
    return None


class Context:
    """Threads, scratch memory and plans that calls share. One thread at a time."""

    def __init__(self, threads=0):
        global _library
        _library = _library or _load()
        self._context = ctypes.c_void_p()
        error = _Error()
        if _library.ridge_context_create(threads, ctypes.byref(self._context), ctypes.byref(error)) != 0:
            raise Error(error.text.decode())

    def __del__(self):
        if getattr(self, "_context", None) and _library:
            _library.ridge_context_destroy(self._context)

    def allow_tf32(self, allow=True):
        """Lets float32 tensors be computed with on tf32 tensor cores."""
        _library.ridge_context_allow_tf32(self._context, allow)

    def apply(self, target, inputs, outputs, variant=None, stream=None, options=None):
        """Runs `target` (a name that `ridge list` shows): reads `inputs`, writes `outputs`.

        `options`: numbers in the order of the target's options, all of them; None: as the target says."""
        held = [_tensor_of(array) for array in [*inputs, *outputs]]
        packed_in = (_Tensor * len(inputs))(*[t for t, _ in held[: len(inputs)]])
        packed_out = (_Tensor * len(outputs))(*[t for t, _ in held[len(inputs) :]])
        packed_options = (ctypes.c_double * _MOST_OPTIONS)(*options) if options is not None else None
        error = _Error()
        _library.ridge_context_set_stream(self._context, stream if stream is not None else _current_stream(inputs[0]))
        name = variant.encode() if variant else None
        status = _library.ridge_apply(
            self._context, target.encode(), name, packed_in, len(inputs), packed_out, len(outputs), packed_options, ctypes.byref(error)
        )
        if status != 0:
            raise Error(error.text.decode())


_default = None


def apply(target, inputs, outputs, variant=None, stream=None, options=None):
    """Context.apply on a context that all callers share."""
    global _default
    _default = _default or Context()
    _default.apply(target, inputs, outputs, variant, stream, options)


def _empty(like, shape, same_type=True):
    """A new array of the kind, device and (unless float32 is wanted) type of `like`."""
    if hasattr(like, "new_empty"):
        import torch

        return like.new_empty(tuple(shape), dtype=like.dtype if same_type else torch.float32)
    import numpy

    return numpy.empty(shape, dtype=like.dtype if same_type else numpy.float32)


def linear_softmax(x, w, b, **how):
    """softmax(x w + b): x [batch, depth], w [depth, classes], b [classes]."""
    y = _empty(x, (x.shape[0], w.shape[1]))
    apply("linear_softmax", [x, w, b], [y], **how)
    return y


def linear_cross_entropy(x, w, b, labels, ignore_index=-100, label_smoothing=0.0, z_loss=0.0, **how):
    """Loss and log-sum-exp of each row of x w^T + b against labels (int32): x [batch, depth], w [classes, depth]."""
    loss, lse = (_empty(x, x.shape[:1], False) for _ in range(2))
    options = [ignore_index, label_smoothing, z_loss, 0]
    apply("linear_cross_entropy", [x, w, b, labels], [loss, lse], options=options, **how)
    return loss, lse


def linear_cross_entropy_backward(
    x, w, b, labels, lse, dloss, ignore_index=-100, label_smoothing=0.0, z_loss=0.0, **how
):
    """dx, dw, db from linear_cross_entropy's lse and the gradient with respect to each row's loss."""
    out = [_empty(x, x.shape), _empty(w, w.shape), _empty(b, b.shape)]
    options = [ignore_index, label_smoothing, z_loss, 0]
    apply("linear_cross_entropy_backward", [x, w, b, labels, lse, dloss], out, options=options, **how)
    return tuple(out)


def linear_cross_entropy_grad(x, w, b, labels, dloss, ignore_index=-100, label_smoothing=0.0, z_loss=0.0, **how):
    """loss, lse, dx, dw, db in one call."""
    rows = [_empty(x, x.shape[:1], False) for _ in range(2)]
    out = [*rows, _empty(x, x.shape), _empty(w, w.shape), _empty(b, b.shape)]
    options = [ignore_index, label_smoothing, z_loss, 0]
    apply("linear_cross_entropy_grad", [x, w, b, labels, dloss], out, options=options, **how)
    return tuple(out)
