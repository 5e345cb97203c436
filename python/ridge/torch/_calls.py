"""Calls like one that was met before: from an operation's arguments to the library, past what Python derives from shapes.

The first call of given shapes, strides, types and plain arguments goes the way of ridge.NAME. What that hands to the
library is kept. A later one makes the outputs, moves addresses and runs.
"""
import functools

import torch

from .._context import MOST_CALLS, Context

_contexts: dict = {}  # by device and stream, which orders scratch memory


def _context_for(device, stream):
    return _contexts.get((device, stream)) or _contexts.setdefault((device, stream), Context())


_current_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)  # of a device, by its index
if _current_stream is None:  # the public way takes microseconds

    def _current_stream(device):
        return torch.cuda.current_stream(device).cuda_stream


class _Seen:
    """A context that notes what the library is handed, and hands it on to another context if there is one. If not, what
    is left of an operation is its outputs, whose shapes are then known."""

    def __init__(self, context=None):
        self.context, self.inputs, self.outputs, self.call = context, [], [], None

    def apply(self, target, inputs, outputs, *more):
        self.inputs, self.outputs = inputs, outputs
        if self.context is not None:
            self.call = self.context._run(target, inputs, outputs, *more)


def _whole(outputs, like):
    """With an empty tensor for an output that is not made: schemas know no optional outputs."""
    if not isinstance(outputs, tuple):
        return outputs
    return tuple(like.new_empty(0) if output is None else output for output in outputs)


# ---- a call, kept ----------------------------------------------------------------------------------------------------
def _stand_in(value):
    """A tensor without memory in the place of one; all else is what it is."""
    if not isinstance(value, torch.Tensor):
        return value
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")


def _memory(tensor):
    return tensor.untyped_storage()._cdata


def _sources(function, given):
    """Which of arguments and outputs each array is that the library is handed, or is a view of; outputs that are not
    returned count behind them. An array that is not given: None. Stand-ins tell, of which no two share memory.
    None in all: an input is neither, or a view begins elsewhere."""
    given, seen = [_stand_in(value) for value in given], _Seen()
    made = _whole(function(*given, context=seen), given[0])
    known = [*given, *(made if isinstance(made, tuple) else (made,))]
    places = {_memory(value): i for i, value in enumerate(known) if isinstance(value, torch.Tensor)}
    spare = [array for array in seen.outputs if _memory(array) not in places]
    places.update({_memory(array): len(known) + i for i, array in enumerate(spare)})
    arrays = [*seen.inputs, *seen.outputs]
    if any(a is not None and (_memory(a) not in places or a.storage_offset() > 0) for a in arrays):
        return None
    return [None if array is None else places[_memory(array)] for array in arrays]


_quick = torch._C._dynamo.guards  # has what code compiled by Inductor makes its tensors by, without the dispatcher


def _maker(output):
    """Makes an output like this one."""
    extents = tuple(output.shape), output.stride()
    if output.is_cpu:
        return functools.partial(_quick._empty_strided_cpu, *extents, output.dtype)
    make = functools.partial(output.new_empty(0).new_empty_strided, *extents)  # quicker than a type and a device by name
    if not output.is_cuda:
        return make
    device, current = output.get_device(), torch._C._cuda_getDevice
    make_on_current = functools.partial(_quick._empty_strided_cuda, *extents, output.dtype)
    return lambda: make_on_current() if current() == device else make()


@functools.cache
def _text(arguments, returned, is_one, sources):
    """The code of `again` below, written out, since loops over tensors take 0.2 us more: of so many arguments and
    outputs, and of arrays that are these."""
    moved = [i for i in sources if i is not None]
    made = range(max(arguments + returned, *[i + 1 for i in moved]) - arguments)
    names = [f"a{i}" for i in range(arguments)] + [f"o{i}" for i in made]
    outputs = names[arguments:][:returned]
    lines = [
        f"def again({', '.join(names[:arguments])}):",
        *[f"    o{i} = make{i}()" for i in made],
        "    take()",  # `with` takes 60 ns more
        "    try:",
        *[f"        tensor{k}.data = {names[i]}.data_ptr()" for k, i in enumerate(moved)],
        "        if start(): refuse()",
        "    finally:",
        "        give_back()",
        f"    return {outputs[0] if is_one else '(' + ', '.join(outputs) + ',)'}",
    ]
    return compile("\n".join(lines), __name__, "exec")


def _again(given, outputs, seen, sources):
    """A function of arguments like those given, which makes the call that was seen and returns outputs like these."""
    is_one = not isinstance(outputs, tuple)
    outputs = (outputs,) if is_one else outputs
    spare = [array for array, i in zip(seen.outputs, sources[len(seen.inputs) :]) if i >= len(given) + len(outputs)]
    lock, call = seen.context._lock, seen.call
    scope = {"take": lock.acquire, "give_back": lock.release, "start": call.start, "refuse": call.refuse}
    scope.update((f"make{i}", _maker(output)) for i, output in enumerate((*outputs, *spare)))
    moved = [tensor for tensor, i in zip(call.tensors, sources) if i is not None]
    scope.update((f"tensor{k}", tensor) for k, tensor in enumerate(moved))
    exec(_text(len(given), len(outputs), is_one, tuple(sources)), scope)
    return scope["again"]


# ---- an operation ----------------------------------------------------------------------------------------------------
def parameters(schema):
    """The text of a function's parameters for a schema's arguments, and the defaults that it names."""
    defaults = {f"_default{i}": a.default_value for i, a in enumerate(schema.arguments) if a.has_default_value()}
    names = [f"{a.name}=_default{i}" if a.has_default_value() else a.name for i, a in enumerate(schema.arguments)]
    return ", ".join(names), {name: tuple(v) if isinstance(v, list) else v for name, v in defaults.items()}


def _key(argument, on_gpu):
    """The text of what is the same of an argument in calls that differ in addresses alone."""
    name, kind = argument.name, str(argument.type)
    if kind == "Tensor":  # calls of tensors of a CPU alone go to the CPU's kernel
        device = f", {name}.get_device()" if on_gpu else ""
        return f"{name}.shape, {name}.is_contiguous() or {name}.stride(), {name}.dtype{device}"
    if kind == "Optional[Tensor]":  # one without memory is not kept: the library would take it for one that is not given
        known = f"{name}.shape, {name}.stride(), {name}.dtype, {name}.get_device(), {name}.data_ptr() != 0"
        return f"None if {name} is None else ({known})"
    return f"tuple({name})" if kind.startswith("List") else name


def _kernel(function, schema, on_gpu):
    """The kernel of a custom operation of this schema. Its line is written out, since a loop over arguments takes twice
    as long: it looks for a call like this one, and hands it the arguments."""
    key = [_key(argument, on_gpu) for argument in schema.arguments]
    plain = [i for i, argument in enumerate(schema.arguments) if "Tensor" not in str(argument.type)]
    if on_gpu:
        key.append(f"_current_stream({schema.arguments[0].name}.get_device())")
    calls = {}

    def first(key):
        def run(*given):
            stream = _current_stream(given[0].get_device()) if on_gpu else None
            seen = _Seen(_context_for(given[0].get_device(), stream))
            outputs = _whole(function(*given, context=seen), given[0])
            is_known = not any(isinstance(given[i], torch.Tensor) for i in plain)  # whose values no key has
            sources = _sources(function, given) if is_known else None
            if sources is not None:
                calls[key] = _again(given, outputs, seen, sources)
            if len(calls) > MOST_CALLS:
                calls.pop(next(iter(calls)), None)  # the oldest
            return outputs

        return run

    names = ", ".join(argument.name for argument in schema.arguments)
    taken, defaults = parameters(schema)
    line = f"lambda {taken}: (_calls.get(_key := ({', '.join(key)},)) or _first(_key))({names})"
    return eval(line, {**defaults, "_calls": calls, "_first": first, "_current_stream": _current_stream})


def kernels(function, schema):
    """By the device that `function` of ridge runs on. Of meta and fake tensors the outputs are made, and nothing runs."""

    def run_nowhere(first, *more):
        return _whole(function(first, *more, context=_Seen()), first)

    return {"CPU": _kernel(function, schema, False), "CUDA": _kernel(function, schema, True), "fake": run_nowhere}
