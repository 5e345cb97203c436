"""ridge's operations on DLPack tensors (PyTorch, NumPy, JAX, CuPy): a thin binding of libridge_ops.

    import ridge, torch
    x = torch.randn(4096, 4096, device="cuda")
    y = torch.empty_like(x)
    ridge.apply("fused_l2norm", [x], [y])

Tensors are passed without copies. Calls of PyTorch tensors whose shapes, strides, types and devices were met before cost
least: only addresses are passed anew. On a GPU the work is enqueued on `stream` (PyTorch's current stream unless given) and
the call returns without waiting; it can be captured into a CUDA graph once it has been called for the shape.

The library is looked for in $RIDGE_LIBRARY, beside this package, in a build folder above it, and where the system looks.
"""
import ctypes
import functools
import os
import pathlib
import threading

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
_MOST_CALLS = 128  # that a context keeps prepared


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
            return str(pathlib.Path(place).resolve())  # a bare name would be looked for elsewhere
    return name


def _load():
    library = ctypes.CDLL(_find_library())
    pointer, number, error = ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(_Error)
    library.ridge_context_create.argtypes = [number, ctypes.POINTER(pointer), error]
    library.ridge_context_destroy.argtypes = [pointer]
    library.ridge_context_destroy.restype = None
    library.ridge_context_set_stream.argtypes = [pointer, pointer]
    library.ridge_context_set_stream.restype = None
    library.ridge_context_allow_tf32.argtypes = [pointer, ctypes.c_bool]
    library.ridge_context_allow_tf32.restype = None
    # ridge_apply's arguments are prepared once for many calls (_Call): converting them at each is what argtypes would do.
    return library


_library = None
_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_capsule_pointer.restype = ctypes.c_void_p


def _tensor_of(array):
    """The DLTensor inside a capsule, and the capsule, which must outlive its use."""
    if hasattr(array, "detach"):
        if array.is_neg():  # DLPack would drop the sign
            raise BufferError("a tensor whose negative bit is set cannot be passed: resolve_neg() makes one that can")
        array = array.detach()
    capsule = array.__dlpack__()
    return _Tensor.from_address(_capsule_pointer(capsule, b"dltensor")), capsule


def _stream_of(array):
    """A function that says which stream is current on a PyTorch tensor's device; on the CPU, none."""
    if not getattr(array, "is_cuda", False):
        return lambda: None
    import torch

    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)  # the public way takes microseconds
    device = array.device
    return functools.partial(raw, device.index) if raw else lambda: torch.cuda.current_stream(device).cuda_stream


class _Call:
    """A call as the library takes it. Once kept, it runs on any PyTorch tensors that differ in their addresses alone."""

    def __init__(self, context, target, variant, options, tensors, n_in, stream):
        self._tensors = (_Tensor * len(tensors))(*tensors)
        self._error = _Error()
        self._arguments = (
            context,
            target.encode(),
            variant.encode() if variant else None,
            self._tensors,
            n_in,
            ctypes.byref(self._tensors, n_in * ctypes.sizeof(_Tensor)),
            len(tensors) - n_in,
            (ctypes.c_double * _MOST_OPTIONS)(*options) if options is not None else None,
            ctypes.byref(self._error),
        )
        self.stream = stream

    def keep(self):
        """Makes shapes and strides its own, for the capsules will go."""
        self._tensors = list(self._tensors)  # views of the same structures, made once
        for tensor in self._tensors:
            tensor.byte_offset = 0  # data_ptr() is beyond it
            extents = ctypes.c_int64 * tensor.ndim
            tensor.shape = extents(*tensor.shape[: tensor.ndim])
            tensor.strides = extents(*tensor.strides[: tensor.ndim]) if tensor.strides else None
        return self

    def move_to(self, arrays):
        for tensor, array in zip(self._tensors, arrays):
            tensor.data = array.data_ptr()

    def run(self):
        if _library.ridge_apply(*self._arguments) != 0:
            raise Error(self._error.text.decode())


def _signature(target, variant, options, n_in, arrays):
    """All that a call has in common with those that differ in addresses alone. None: not all are PyTorch's, or dense."""
    signature = [target, variant, options, n_in]
    try:
        for t in arrays:
            signature += (type(t), t.is_neg(), t.dtype, t.device, t.shape, t.stride())
    except (AttributeError, RuntimeError):
        return None
    return tuple(signature)


class Context:
    """Threads, scratch memory and plans that calls share. Calls from several threads take turns; on a GPU, all of them on
    one stream, since scratch memory is ordered by it."""

    def __init__(self, threads=0):
        global _library
        _library = _library or _load()
        self._context = ctypes.c_void_p()
        self._lock = threading.RLock()
        self._calls = {}  # by signature
        self._stream = None  # the one last set
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
        arrays = (*inputs, *outputs)
        options = None if options is None else tuple(map(float, options))
        signature = _signature(target, variant, options, len(inputs), arrays)
        with self._lock:
            call, held = self._calls.get(signature), None
            if call:
                call.move_to(arrays)
            else:
                held = [_tensor_of(array) for array in arrays]  # capsules too, until the call returns
                tensors = [tensor for tensor, _ in held]
                call = _Call(self._context, target, variant, options, tensors, len(inputs), _stream_of(arrays[0]))
            stream = call.stream() if stream is None else stream
            if stream != self._stream:
                _library.ridge_context_set_stream(self._context, stream)
                self._stream = stream
            call.run()
            if held and signature:  # what was refused is not kept
                self._calls[signature] = call.keep()
                if len(self._calls) > _MOST_CALLS:
                    del self._calls[next(iter(self._calls))]  # the oldest


_default = None


def apply(target, inputs, outputs, variant=None, stream=None, options=None):
    """Context.apply on a context that all callers share."""
    global _default
    _default = _default or Context()
    _default.apply(target, inputs, outputs, variant, stream, options)


def _empty(like, shape):
    """A new array of the kind, type and device of `like`."""
    if hasattr(like, "new_empty"):
        return like.new_empty(shape)
    import numpy

    return numpy.empty(shape, dtype=like.dtype)


def _empty_rows(like):
    """A new float32 array with an element for each row of `like`."""
    if hasattr(like, "new_empty"):
        import torch

        return like.new_empty(like.shape[:1], dtype=torch.float32)
    import numpy

    return numpy.empty(like.shape[:1], dtype=numpy.float32)


def linear_softmax(x, w, b, **how):
    """softmax(x w + b): x [batch, depth], w [depth, classes], b [classes]."""
    y = _empty(x, (x.shape[0], w.shape[1]))
    apply("linear_softmax", [x, w, b], [y], **how)
    return y


def linear_cross_entropy(x, w, b, labels, ignore_index=-100, label_smoothing=0.0, z_loss=0.0, **how):
    """Loss and log-sum-exp of each row of x w^T + b against labels (int32): x [batch, depth], w [classes, depth]."""
    loss, lse = _empty_rows(x), _empty_rows(x)
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
    out = [_empty_rows(x), _empty_rows(x), _empty(x, x.shape), _empty(w, w.shape), _empty(b, b.shape)]
    options = [ignore_index, label_smoothing, z_loss, 0]
    apply("linear_cross_entropy_grad", [x, w, b, labels, dloss], out, options=options, **how)
    return tuple(out)
