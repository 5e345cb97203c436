"""The judged process for kernels in Python: `python3 ridge-judged.py LIBRARY`, started by the judge.

The library (python.c) maps operands, locks the process up and waits for the judge. This script imports NumPy and PyTorch while
imports may still do anything, then the kernel's file, and calls its function on arrays that are views of the operands.

Forms, tried in this order when no name is given:
    ridge_kernel(*inputs)                           returns the output, or a tuple of the outputs
    solve(*inputs, *outputs, *extents, *options)    writes to the outputs
    ModelNew().forward(*inputs)                     as in KernelBench; get_init_inputs() has the constructor's arguments
NotImplementedError says that it does not take this shape or type. A function that takes more than the inputs gets the options
behind them. Arrays are PyTorch's if the file imports torch, else NumPy's.
"""
import ctypes
import importlib.util
import inspect
import os
import sys

UNSUPPORTED = 1
FORMS = ("ridge_kernel", "solve", "ModelNew")
MAX_RANK = 8


class Tensor(ctypes.Structure):
    """ridge_kernel_tensor."""

    _fields_ = [("data", ctypes.c_void_p), ("type", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("shape", ctypes.c_int64 * MAX_RANK)]


START = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
LOAD = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p)
READY = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Tensor), ctypes.c_void_p)
RUN = ctypes.CFUNCTYPE(ctypes.c_int)


class Calls(ctypes.Structure):
    """ridge_python_calls."""

    _fields_ = [("start", START), ("load", LOAD), ("ready", READY), ("run", RUN)]


# Names of types by RIDGE_KERNEL_F32 …, as PyTorch has them, with their bytes. What NumPy does not have it gets as bits. Types of
# 4 bits are not passed.
TYPES = {1: ("float32", 4), 2: ("bfloat16", 2), 3: ("float16", 2), 4: ("float64", 8), 5: ("int32", 4), 6: ("int64", 8),
         7: ("float8_e4m3fn", 1), 8: ("float8_e5m2", 1), 10: ("float8_e8m0fnu", 1), 11: ("uint8", 1), 12: ("int8", 1)}
BITS = {1: "uint8", 2: "uint16"}
IN_NUMPY = ("float16", "float32", "float64", "int32", "int64", "uint8", "int8")

library = None
numpy = torch = None
function = None
form = None
inputs, outputs, arguments = [], [], []


def say(text):
    """One line for the judge."""
    return library.ridge_python_say(" ".join(str(text).split()).encode("ascii", "replace"))


def guarded(body):
    """What Python raises is an answer, not the end of the process."""

    def call(*args):
        try:
            return body(*args) or 0
        except NotImplementedError:
            return UNSUPPORTED
        except BaseException as error:  # noqa: BLE001, a kernel may raise anything
            return say(f"{type(error).__name__}: {error}")

    return call


def start(threads):
    """Libraries that the kernel may use, and their threads, while processes may still start them."""
    global numpy, torch
    for name in ("numpy", "torch"):
        if importlib.util.find_spec(name):
            globals()[name] = __import__(name)
    if torch:
        torch.set_num_threads(threads)
        torch.ones(1 << 16).add_(1)
        torch.set_grad_enabled(False)
    if not numpy and not torch:
        return say("this Python has neither NumPy nor PyTorch")
    return 0


def find_form(module, name):
    names = FORMS if name == "ridge_kernel" else (name,)
    for one in names:
        if callable(getattr(module, one, None)):
            return one
    raise NameError("it defines no " + " and no ".join(names))


def takes_more(callee, count):
    """Whether a function takes more positional arguments than count."""
    kinds = [p.kind for p in inspect.signature(callee).parameters.values()]
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(kind in positional for kind in kinds) > count


def load(path, symbol):
    """The file is a module; its folder is where its own imports are."""
    global function, form, torch
    path = os.fsdecode(path)
    sys.path.insert(0, os.path.dirname(path))
    spec = importlib.util.spec_from_file_location("kernel", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["kernel"] = module
    spec.loader.exec_module(module)
    form = find_form(module, symbol.decode())
    function = getattr(module, form)
    if form == "ModelNew" or inspect.isclass(function):
        if not torch:
            raise ImportError("this Python has no PyTorch, which ModelNew is made for")
        function = function(*getattr(module, "get_init_inputs", list)())
        function = getattr(function, "forward", function)
    if torch and not any(value is torch or getattr(value, "__module__", "").startswith("torch")
                         for value in vars(module).values() if value is not None):
        torch = None  # the file does not use it
    return 0


def array_of(tensor):
    """A view of the operand's memory."""
    if tensor.type not in TYPES:
        raise NotImplementedError
    name, size = TYPES[tensor.type]
    plain = name if name in IN_NUMPY else BITS[size]
    shape = list(tensor.shape[:tensor.rank])
    count = 1
    for extent in shape:
        count *= extent
    if torch and count == 0:
        return torch.empty(shape, dtype=getattr(torch, name))
    if count == 0:
        return numpy.empty(shape, dtype=plain)
    memory = (ctypes.c_char * (count * size)).from_address(tensor.data)
    if torch:
        return torch.frombuffer(memory, dtype=getattr(torch, name)).reshape(shape)
    return numpy.frombuffer(memory, dtype=plain).reshape(shape)


def ready(tensors, channel):
    """Before a launch, not timed."""
    global inputs, outputs, arguments
    n_in, n_out, n_dims, n_options = (library.ridge_python_counts(channel, which) for which in range(4))
    inputs = [array_of(tensors[t]) for t in range(n_in)]
    outputs = [array_of(tensors[n_in + t]) for t in range(n_out)]
    extents = list((ctypes.c_int64 * n_dims).from_address(library.ridge_python_list(channel, 0)))
    options = list((ctypes.c_double * n_options).from_address(library.ridge_python_list(channel, 1)))
    if form == "solve":
        arguments = inputs + outputs + extents + options
    else:
        arguments = inputs + (options if takes_more(function, n_in) else [])
    return 0


def copy_out(result):
    results = result if isinstance(result, (tuple, list)) else (result,)
    if len(results) != len(outputs):
        raise TypeError(f"it returned {len(results)} arrays, not {len(outputs)}")
    for to, value in zip(outputs, results):
        if tuple(value.shape) != tuple(to.shape):
            raise TypeError(f"it returned shape {tuple(value.shape)}, not {tuple(to.shape)}")
        to[...] = value


def run():
    result = function(*arguments)
    if form != "solve":
        copy_out(result)
    return 0


def main():
    global library
    library = ctypes.CDLL(sys.argv[1])
    library.ridge_python_list.restype = ctypes.c_void_p
    library.ridge_python_say.argtypes = [ctypes.c_char_p]
    for name in ("ridge_python_counts", "ridge_python_list"):
        getattr(library, name).argtypes = [ctypes.c_void_p, ctypes.c_int]
    sys.path = [folder for folder in sys.path if folder != os.path.dirname(os.path.abspath(__file__))]
    calls = Calls(START(guarded(start)), LOAD(guarded(load)), READY(guarded(ready)), RUN(guarded(run)))
    return library.ridge_python_serve(ctypes.byref(calls))


if __name__ == "__main__":
    sys.exit(main())
