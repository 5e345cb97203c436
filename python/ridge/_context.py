"""Context: prepares calls of the library, keeps those of PyTorch tensors, and runs them."""
import ctypes
import functools
import os
import threading
import weakref

from . import _tensors
from ._library import MOST_OPTIONS, Arguments, DLTensor, Error, ErrorText, library

MOST_CALLS = 128  # that a context keeps prepared


class _Call:
    """A call as the library takes it. Once kept, it runs on any PyTorch tensors that differ in their addresses alone."""

    def __init__(self, context, target, variant, options, described, n_in, stream):
        self.tensors = tensors = (DLTensor * len(described))(*[d.tensor for d in described])
        self._described = described  # what the structures point to
        self._error = ErrorText()
        self._options = None if options is None else (ctypes.c_double * MOST_OPTIONS)(*options)
        first = ctypes.addressof(tensors)
        self._arguments = Arguments(
            context=context.value,
            target=target.encode(),
            variant=variant.encode() if variant else None,
            inputs=first,
            outputs=first + n_in * ctypes.sizeof(DLTensor),
            options=self._options and ctypes.addressof(self._options),
            error=ctypes.addressof(self._error),
            n_in=n_in,
            n_out=len(described) - n_in,
        )
        self.start = functools.partial(library().ridge_apply_packed, ctypes.byref(self._arguments))  # 0: well
        self.stream = stream

    def keep(self):
        self.tensors = list(self.tensors)  # views of the same structures, made once
        return self

    def move_to(self, arrays):
        for tensor, array in zip(self.tensors, arrays):
            if array is not None:
                tensor.data = address = array.data_ptr()
                if not address and 0 not in array.shape:  # the library would take an optional input for one not given
                    raise Error(f"{type(array).__name__} has no memory of its own")

    def run(self):
        if self.start() != 0:
            self.refuse()

    def refuse(self):
        raise Error(self._error.text.decode())


def _signature(target, variant, options, n_in, arrays):
    """All that a call has in common with those that differ in addresses alone. None: not all arrays are PyTorch's and
    dense, or autograd would have to record the call."""
    signature, grad = [target, variant, options, n_in], False
    try:
        for t in arrays:
            if t is None:  # an input that is not given
                signature.append(None)
                continue
            records = getattr(t, "requires_grad", None)
            if records is None:  # not PyTorch's; no exception, which costs a third of a microsecond
                return None
            grad = grad or records
            signature += (type(t), t.is_neg(), t.dtype, t.device, t.shape, t.stride())
    except (AttributeError, RuntimeError):
        return None
    return None if grad and _tensors.grad_enabled() else tuple(signature)


def current_stream_on(device):
    """A function that says which stream is PyTorch's current one on a GPU."""
    import torch

    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)  # the public way takes microseconds
    return functools.partial(raw, device.index) if raw else lambda: torch.cuda.current_stream(device).cuda_stream


def _stream_of(arrays):
    """A function that says which stream is current on the PyTorch tensors' device; without any on a GPU, None."""
    device = next((array.device for array in arrays if getattr(array, "is_cuda", False)), None)
    return (lambda: None) if device is None else current_stream_on(device)


def _check_call(target, variant, inputs, outputs, options):
    """Refuses what is no call at all, before any array is looked at."""
    for word, name in (("target", target), ("variant", variant)):
        if not isinstance(name, str) and (word == "target" or name is not None):
            raise Error(f"{word} is of type {type(name).__name__}, not a name")
    for word, arrays in (("inputs", inputs), ("outputs", outputs)):
        if hasattr(arrays, "__dlpack__"):
            raise Error(f"{target}: {word} is one {type(arrays).__name__}, not a list of arrays: write [{word}]")
    if options is not None and len(options) > MOST_OPTIONS:
        raise Error(f"{target}: options has {len(options)} numbers; no target has more than {MOST_OPTIONS}")


class Context:
    """Threads, scratch memory and plans that calls share. Calls from several threads take turns; on a GPU, all of them on
    one stream, since scratch memory is ordered by it."""

    def __init__(self, threads=0):
        self._context = ctypes.c_void_p()
        self._lock = threading.RLock()
        self._calls = {}  # by signature
        self._stream = None  # the one last set
        self._library = library()
        with _forking:
            _contexts.add(self)
        error = ErrorText()
        if self._library.ridge_context_create(threads, ctypes.byref(self._context), ctypes.byref(error)) != 0:
            raise Error(error.text.decode())

    def __del__(self):
        if getattr(self, "_context", None):
            self._library.ridge_context_destroy(self._context)

    def __reduce_ex__(self, protocol):
        """A copy would free the same memory twice, and a pickled one has none: copy.copy, deepcopy and pickle end here."""
        raise TypeError("a Context holds threads and memory of this process and is not copied: make another Context")

    def allow_tf32(self, allow=True):
        """Lets float32 tensors be computed with on tf32 tensor cores."""
        self._library.ridge_context_allow_tf32(self._context, allow)

    def use_tuned(self, path=None):
        """Takes the measured ways that `ridge tune` kept in a file; None: in the file of this user."""
        error = ErrorText()
        name = None if path is None else os.fsencode(path)
        with self._lock:
            if self._library.ridge_context_use_tuned(self._context, name, ctypes.byref(error)) != 0:
                raise Error(error.text.decode())

    @property
    def last_way(self):
        """The kernel that the last call chose among its ways, as `ridge list` names it; None: it has none."""
        way = self._library.ridge_context_last_way(self._context)
        return None if way is None else way.decode()

    def apply(self, target, inputs, outputs, variant=None, stream=None, options=None):
        """Runs `target` (a name that `ridge list` shows): reads `inputs`, writes `outputs`.

        `stream`: address of the CUDA stream to enqueue on; None: PyTorch's current one on the tensors' device.
        An input of None is not given, where the target can do without it.
        `options`: numbers in the order of the target's options, all of them; None: as the target says."""
        self._run(target, inputs, outputs, variant, stream, options)

    def _run(self, target, inputs, outputs, variant=None, stream=None, options=None):
        """apply, and returns the call. Who holds `_lock` may give its tensors other addresses and run it again."""
        arrays = (*inputs, *outputs)
        options = None if options is None else tuple(map(float, options))
        signature = _signature(target, variant, options, len(inputs), arrays)
        with self._lock:
            call = self._calls.get(signature)
            is_new = call is None
            if is_new:
                _check_call(target, variant, inputs, outputs, options)
                call = self._prepare(target, variant, inputs, outputs, stream, options)
            else:
                call.move_to(arrays)
            stream = call.stream() if stream is None else stream
            if stream != self._stream:
                self._set_stream(stream)
            call.run()
            if is_new and signature:  # what was refused is not kept
                self._keep(signature, call)
            return call

    def _prepare(self, target, variant, inputs, outputs, stream, options):
        current = _stream_of((*inputs, *outputs))
        handle = current() if stream is None else stream
        described = []
        for word, arrays, describe in (("inputs", inputs, _tensors.describe), ("outputs", outputs, _tensors.describe_output)):
            for array in arrays:
                try:
                    described.append(describe(array, handle))
                except Error as error:
                    i = len(described) - (0 if word == "inputs" else len(inputs))
                    raise Error(f"{target}: {word}[{i}] {error}") from error.__cause__
        return _Call(self._context, target, variant, options, described, len(inputs), current)

    def _set_stream(self, stream):
        self._library.ridge_context_set_stream(self._context, stream)
        self._stream = stream

    def _keep(self, signature, call):
        self._calls[signature] = call.keep()
        if len(self._calls) > MOST_CALLS:
            del self._calls[next(iter(self._calls))]  # the oldest


# ---- fork: the child gets contexts between two calls, and locks that it can take ---------------------------------------
_contexts: weakref.WeakSet = weakref.WeakSet()
_forking = threading.Lock()  # held while the locks of all contexts are; without it no context comes to be
_taken: list = []


def _before_fork():
    _forking.acquire()
    _taken.extend(_contexts)
    for context in _taken:
        context._lock.acquire()


def _after_fork():
    while _taken:
        _taken.pop()._lock.release()
    _forking.release()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


_default = None


def apply(target, inputs, outputs, variant=None, stream=None, options=None, context=None):
    """Context.apply on `context`, or on one that all callers share."""
    global _default
    if context is None:
        context = _default = _default or Context()
    context.apply(target, inputs, outputs, variant, stream, options)
