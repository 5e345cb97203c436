"""libridge_ops as ctypes sees it: its structures, its functions, and where it is looked for."""
import ctypes
import functools
import os
import pathlib

NAME = "libridge_ops.so"
MOST_OPTIONS = 8  # RIDGE_MAX_OPTIONS


class Error(RuntimeError):
    """What ridge could not do, and why, in one line."""

    __module__ = "ridge"


class ErrorText(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("text", ctypes.c_char * 320)]


class Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class Type(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", Device),
        ("ndim", ctypes.c_int),
        ("dtype", Type),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Arguments(ctypes.Structure):
    """ridge_packed_call, whose pointers are addresses: ctypes keeps nothing alive for it."""

    _fields_ = [
        ("context", ctypes.c_void_p),
        ("target", ctypes.c_char_p),
        ("variant", ctypes.c_char_p),
        ("inputs", ctypes.c_void_p),
        ("outputs", ctypes.c_void_p),
        ("options", ctypes.c_void_p),
        ("error", ctypes.c_void_p),
        ("n_in", ctypes.c_int),
        ("n_out", ctypes.c_int),
    ]


class _Target(ctypes.Structure):
    """The first fields of ridge_target, which is read through pointers alone."""

    _fields_ = [("name", ctypes.c_char_p), ("chapter", ctypes.c_char_p), ("summary", ctypes.c_char_p)]


def _places():
    """Where the library is looked for before the system's own search."""
    here = pathlib.Path(__file__).resolve()
    installed = here.parents[3] / NAME  # lib/python3.11/site-packages/ridge beside lib/libridge_ops.so
    return [here.parent / NAME, here.parents[2] / "build" / NAME, here.parents[2] / NAME, installed]


def _path():
    chosen = os.environ.get("RIDGE_LIBRARY")
    if chosen:
        if not pathlib.Path(chosen).is_file():
            raise Error(f"RIDGE_LIBRARY is {chosen}, which is not a file: set it to a {NAME}; {_HOW_TO_BUILD}")
        return str(pathlib.Path(chosen).resolve())  # the system would search for a bare name elsewhere
    return next((str(place) for place in _places() if place.is_file()), NAME)


_HOW_TO_BUILD = f"'make build' in ridge's source tree makes build/{NAME}"


@functools.cache
def library():
    """The library, loaded at the first call."""
    path = _path()
    try:
        loaded = ctypes.CDLL(path)
    except OSError as fault:
        if path != NAME:
            raise Error(f"{path} cannot be loaded: {fault}") from fault
        looked = ", ".join(map(str, _places()))
        raise Error(
            f"{NAME} was not found in {looked}, nor by the system's loader ({fault}): {_HOW_TO_BUILD}, "
            "and RIDGE_LIBRARY names one elsewhere"
        ) from fault
    pointer, number, error = ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(ErrorText)
    loaded.ridge_context_create.argtypes = [number, ctypes.POINTER(pointer), error]
    loaded.ridge_context_destroy.argtypes = [pointer]
    loaded.ridge_context_destroy.restype = None
    loaded.ridge_context_set_stream.argtypes = [pointer, pointer]
    loaded.ridge_context_set_stream.restype = None
    loaded.ridge_context_allow_tf32.argtypes = [pointer, ctypes.c_bool]
    loaded.ridge_context_allow_tf32.restype = None
    loaded.ridge_context_use_tuned.argtypes = [pointer, ctypes.c_char_p, error]
    loaded.ridge_context_last_way.argtypes = [pointer]
    loaded.ridge_context_last_way.restype = ctypes.c_char_p
    # ridge_apply_packed has no argtypes: they would convert its argument at every call, and a prepared call has it converted.
    return loaded


def version():
    """The library's, such as "0.1.0"."""
    ridge_version = library().ridge_version
    ridge_version.restype = ctypes.c_char_p
    return ridge_version().decode()


def targets():
    """What ridge.apply takes as its target: a dictionary from each name to a line that says what it computes."""
    count = ctypes.c_int.in_dll(library(), "ridge_target_count").value
    table = (ctypes.POINTER(_Target) * count).in_dll(library(), "ridge_targets")
    return {entry.contents.name.decode(): entry.contents.summary.decode() for entry in table}
