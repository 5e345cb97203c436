#!/usr/bin/env python3
"""What a call costs the host: ridge.torch beside an empty custom operation of PyTorch, PyTorch eager and Liger.

    python3 bench/overhead.py [--device cuda] [--json FILE] [--rounds N] [--only NAME]

Operands are so small that the work is next to nothing. Calls are warm: the same tensors again. An empty operation has the
schema, the outputs and the saved tensors of ridge's, and computes nothing. "ridge" is ridge.torch.NAME, which goes past
PyTorch's dispatcher; "custom" is torch.ops.ridge.NAME, which does not. "library" is the part of both that is libridge_ops
called by ctypes: on a CPU checks, choice and work, on a GPU checks, choice and launches. A last table tells which of two sides
is slower, and by how many times. Sides take
turns, A B C … C B A, and a figure is the least of all rounds: what disturbs a host only adds. On a CPU all runs on one core,
so that no call waits for another thread. On a GPU the host is timed until it has enqueued all calls of a round.

Needs PyTorch; Liger (liger_kernel) runs on a GPU alone, and is left out, and said to be, when it is not installed.
"""
import contextlib
import functools
import json
import os
import pathlib
import platform
import time

import torch
from torch.nn import functional as F

import sides
import sweep

ridge = sides.import_ridge()
import ridge.torch  # noqa: E402
from ridge.torch import _calls  # noqa: E402

CALLS = 300  # of a round; the GPU's queue holds more


def randn(*shape):
    return torch.randn(*shape)


def heads():
    return tuple(randn(1, 2, 8, 16) for _ in "qkv")


HALF = ("attention", "swiglu_ffn")  # on a GPU they take 16 bits alone


def on(device, name, operand):
    operand = operand.to(device)
    return operand.bfloat16() if device == "cuda" and name in HALF else operand


def swiglu(x, w1, w2):
    gate, up = F.linear(x, w1).chunk(2, -1)
    return F.linear(F.silu(gate) * up, w2)


CASES = {  # name: (operands, the same by PyTorch eager, Liger's name for it)
    "rms_norm": (lambda: (randn(4, 64), randn(64)), lambda x, g: F.rms_norm(x, (64,), g, 1e-5), "rms_norm"),
    "layer_norm": (
        lambda: (randn(4, 64), randn(64), randn(64)),
        lambda x, g, b: F.layer_norm(x, (64,), g, b),
        "layer_norm",
    ),
    "add_rms_norm": (lambda: (randn(4, 64), randn(4, 64), randn(64)), sides.add_rms_norm, None),
    "scaled_softmax": (lambda: (randn(4, 64),), sides.softmax, "softmax"),
    "gemm": (lambda: (randn(8, 16), randn(16, 8)), torch.mm, None),
    "linear_softmax": (lambda: (randn(8, 16), randn(16, 10), randn(10)), sides.linear_softmax, None),
    "attention": (heads, F.scaled_dot_product_attention, None),
    "linear_cross_entropy": (
        lambda: (randn(8, 16), randn(10, 16), torch.zeros(10), torch.arange(8)),
        lambda x, w, b, labels: F.cross_entropy(F.linear(x, w, b), labels, reduction="none"),
        None,
    ),
    "swiglu_ffn": (lambda: (randn(4, 16), randn(32, 16), randn(16, 16)), swiglu, None),
}


# ---- the empty operation ---------------------------------------------------------------------------------------------
@functools.cache
def library():
    return torch.library.Library("ridge_bench", "DEF")


def empty_like(name, operands):
    """A custom operation with ridge::NAME's schema, whose outputs are made as quickly as PyTorch can."""
    schema = str(getattr(torch.ops.ridge, name).default._schema).removeprefix("ridge::")
    outputs = getattr(ridge.torch, name)(*operands)
    is_one = not isinstance(outputs, tuple)
    make, *others = [
        functools.partial(o.new_empty(0).new_empty_strided, tuple(o.shape), o.stride())
        for o in ((outputs.detach(),) if is_one else outputs)
    ]

    def run(*_):
        return make() if is_one else (make(), *[other() for other in others])

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*[value for value in inputs if isinstance(value, torch.Tensor)])

    library().define(schema, tags=(torch.Tag.pt2_compliant_tag,))
    library().impl(name, run, operands[0].device.type.upper())
    backward = functools.partial(NotImplementedError, "an empty operation")
    torch.library.register_autograd(f"ridge_bench::{name}", backward, setup_context=setup_context, lib=library())
    return getattr(torch.ops.ridge_bench, name)


# ---- measuring -------------------------------------------------------------------------------------------------------
def host_us(call, operands, device):
    """µs of the host a call."""
    begin = time.perf_counter()
    for _ in range(CALLS):
        call(*operands)
    took = time.perf_counter() - begin
    if device == "cuda":
        torch.cuda.synchronize()
    return 1e6 * took / CALLS


def measure(name, device, liger, rounds):
    """{side: µs of a call}. "empty, gradient" and "ridge, gradient": where autograd records the call."""
    make, eager, liger_name = CASES[name]
    operands = [on(device, name, operand) for operand in make()]
    recorded = [operands[0].clone().requires_grad_(), *operands[1:]]
    empty, ridge_s = empty_like(name, operands), getattr(ridge.torch, name)
    takes = {
        "empty": (empty, operands),
        "ridge": (ridge_s, operands),
        "custom": (getattr(torch.ops.ridge, name), operands),
        "library": (of_library(name, operands), ()),
        "eager": (eager, operands),
        "empty, gradient": (empty, recorded),
        "ridge, gradient": (ridge_s, recorded),
        "custom, gradient": (getattr(torch.ops.ridge, name), recorded),
        "eager, gradient": (eager, recorded),
    }
    if liger_name in liger:
        takes["liger"] = liger[liger_name], operands
    samples = {side: [] for side in takes}
    for turn, side in sweep.turns(takes, rounds + 1):
        us = host_us(*takes[side], device)
        if turn:
            samples[side].append(us)
    return {side: min(values) for side, values in samples.items()}


@contextlib.contextmanager
def one_core():
    """Contexts that are made meanwhile have one thread, as PyTorch has."""
    cores, threads = os.sched_getaffinity(0), torch.get_num_threads()
    os.sched_setaffinity(0, {min(cores)})
    torch.set_num_threads(1)
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)
        torch.set_num_threads(threads)


def of_library(name, operands):
    """A function without arguments: the call that the operation hands to the library, made ready."""
    seen = _calls._Seen(ridge.Context())
    seen.kept = getattr(ridge, name)(*operands, context=seen)  # the memory that it writes
    return lambda: seen.call.start()


def machine(device):
    if device == "cuda":
        return sides.machine()
    model = [line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")]
    return {"device": model[0] if model else platform.machine(), "cores": len(model), "torch": torch.__version__}


SIDES = "empty", "custom", "ridge", "library", "eager", "liger"
RECORDED = "empty, gradient", "custom, gradient", "ridge, gradient", "eager, gradient"


def show(name, us):
    cells = [us.get(side) for side in (*SIDES, *RECORDED)]
    print(f"{name:22}" + "".join(f"{'-':>10}" if cell is None else f"{cell:10.2f}" for cell in cells), flush=True)


PAIRS = [  # ridge's side, and one that it should not be above
    ("ridge", "empty"),
    ("ridge", "eager"),
    ("ridge", "liger"),
    ("ridge, gradient", "empty, gradient"),
    ("ridge, gradient", "eager, gradient"),
]


def show_who_is_above(rows):
    """Of each pair of sides: in how many operations ridge's is not above the other, and where it is, by what factor."""
    print()
    for ours, other in PAIRS:
        ratios = {row["operation"]: row["us"][ours] / row["us"][other] for row in rows if other in row["us"]}
        above = [f"{name} {ratio:.2f}x" for name, ratio in ratios.items() if ratio > 1]
        if ratios:
            said = f"above in {', '.join(above)}" if above else "above in none"
            print(f"{ours} against {other}: not above in {len(ratios) - len(above)} of {len(ratios)}; {said}")


def main(arguments=None):
    parser = sides.arguments(__doc__, 15)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    o = parser.parse_args(arguments)
    torch.manual_seed(1)
    here, rows = machine(o.device), []
    liger = sides.liger_norms() if o.device == "cuda" else {}
    print(", ".join(map(str, here.values())))
    print(f"{'':82}   with a gradient to record")
    columns = [side.removesuffix(", gradient") for side in (*SIDES, *RECORDED)]
    print(f"{'µs of the host a call':22}" + "".join(f"{column:>10}" for column in columns))
    for name in CASES:
        if o.only and o.only not in name:
            continue
        with one_core() if o.device == "cpu" else contextlib.nullcontext():
            us = measure(name, o.device, liger, o.rounds)
        show(name, us)
        rows.append({"operation": name, "us": us})
    show_who_is_above(rows)
    if o.json:
        pathlib.Path(o.json).write_text(json.dumps({**here, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
