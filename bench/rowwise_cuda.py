#!/usr/bin/env python3
"""ridge's row-wise kernels beside PyTorch eager, torch.compile and Liger's Triton kernels, on one GPU in one run.

    python3 bench/rowwise_cuda.py [--json FILE] [--rounds N] [--quick]

All sides get the same random data, in rounds of A B C … C B A. Operands rotate through sets that together exceed the L2 three
times. Times are medians: of single launches between CUDA events (large cases), and of launches inside a CUDA graph (all cases).
Every side's output is compared with fp64. Percentages refer to PyTorch's copy_ of as many bytes in the same rounds.

Needs PyTorch with CUDA; Liger (liger_kernel) is left out, and said to be, when it is not installed.
"""
import argparse
import json
import pathlib
import statistics
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))
import ridge  # noqa: E402

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
EPS = 1e-5


# ---- operations: what each side runs, and the reference in fp64 -----------------------------------------------------
def l2norm_eager(x):
    return x / torch.clamp(torch.linalg.vector_norm(x, dim=-1, keepdim=True), min=1e-12)


def rms_eager(x, gamma):
    h = torch.nn.functional.rms_norm(x, (x.shape[-1],), gamma, EPS)
    return torch.nn.functional.silu(h)


def norm_gelu_eager(x, gamma, beta):
    return torch.nn.functional.gelu(torch.nn.functional.layer_norm(x, (x.shape[-1],), gamma, beta, EPS))


def softmax_eager(x):
    return torch.softmax(x, dim=-1)


def sin_sqrt_eager(x):
    return torch.sqrt(2 + torch.sin(x))


def liger_sides():
    """Liger's kernels by operation: rms and layer norm come without the activation, which PyTorch adds."""
    try:
        from liger_kernel.ops.layer_norm import layer_norm_forward
        from liger_kernel.ops.rms_norm import rms_norm_forward
        from liger_kernel.ops.softmax import _softmax_forward
    except Exception as why:  # not installed, or of a version with other names
        print(f"note: no Liger: {type(why).__name__}: {why}", file=sys.stderr)
        return {}
    return {
        "rms_norm (alone)": lambda x, g: rms_norm_forward(x, g, EPS, 0.0, "llama", None)[0],
        "layer_norm (alone)": lambda x, g, b: layer_norm_forward(x, g, b, EPS)[0],
        "softmax": lambda x: _softmax_forward(x)[0],
    }


OPERATIONS = {
    # name: (ridge's target, parameters, eager, Liger's name)
    "l2norm": ("fused_l2norm", 0, l2norm_eager, None),
    "rms_norm+silu": ("norm_activation_rms", 1, rms_eager, "rms_norm (alone)"),
    "layer_norm+gelu": ("norm_activation", 2, norm_gelu_eager, "layer_norm (alone)"),
    "softmax": ("online_softmax", 0, softmax_eager, "softmax"),
    "sin+sqrt": ("vertical_fusion", 0, sin_sqrt_eager, None),
}
BIG = [(32768, 4096), (16384, 16384)]
CASES = (
    [(op, shape, dtype) for op in ("l2norm", "rms_norm+silu", "layer_norm+gelu", "softmax") for shape in BIG for dtype in ("f32", "bf16")]
    + [(op, (2048, 262144), "bf16") for op in ("l2norm", "rms_norm+silu", "layer_norm+gelu", "softmax")]
    + [("l2norm", (128, 4096), "f32"), ("sin+sqrt", (16384, 16384), "f32"), ("sin+sqrt", (16384, 16384), "bf16")]
)


# ---- measuring ------------------------------------------------------------------------------------------------------
class Operands:
    """Sets of tensors that rotate, so that none is in cache when its turn comes."""

    def __init__(self, shape, dtype, parameters):
        size = shape[0] * shape[1] * dtype.itemsize
        l2 = torch.cuda.get_device_properties(0).L2_cache_size
        self.n = max(2, min(128, 2 + int(3 * l2 / (2 * size))))
        self.x = [torch.rand(shape, device="cuda", dtype=torch.float32).mul_(2).sub_(1).to(dtype) for _ in range(self.n)]
        self.y = [torch.empty(shape, device="cuda", dtype=dtype) for _ in range(self.n)]
        self.parameters = [torch.rand(shape[1], device="cuda", dtype=torch.float32).mul_(2).sub_(1).to(dtype) for _ in range(parameters)]
        self.bytes = 2 * size


def error_against_fp64(got, eager, x, parameters, rows=64):
    """Largest |got - want| over the largest |want| of drawn rows."""
    index = torch.randint(0, x.shape[0], (rows,), device="cuda")
    want = eager(x[index].double(), *[p.double() for p in parameters])
    return float((got[index].double() - want).abs().max() / want.abs().max())


def graph_of(run, n):
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for i in range(min(3, n)):
            run(i)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for i in range(n):
            run(i)
    return graph


def measure(sides, ops, rounds):
    """Medians in microseconds: {side: (event, graph)}."""
    graphs = {}
    for name, run in sides.items():
        try:
            graphs[name] = graph_of(run, ops.n)
        except Exception as why:
            print(f"note: {name} is not captured: {why}", file=sys.stderr)
    events, in_graph = {s: [] for s in sides}, {s: [] for s in sides}
    order, turn = list(sides), 0
    for r in range(rounds):
        for name in order if r % 2 == 0 else order[::-1]:
            a, b, c, d = (torch.cuda.Event(enable_timing=True) for _ in range(4))
            torch.cuda._sleep(200_000)  # cycles: the GPU must not wait for the host between the events
            a.record()
            sides[name](turn % ops.n)
            b.record()
            turn += 1
            if name in graphs:
                c.record()
                graphs[name].replay()
                d.record()
            torch.cuda.synchronize()
            events[name].append(a.elapsed_time(b) * 1e3)
            if name in graphs:
                in_graph[name].append(c.elapsed_time(d) * 1e3 / ops.n)
    return {
        s: (statistics.median(events[s]), statistics.median(in_graph[s]) if in_graph[s] else None) for s in sides
    }


def sides_of(op, ops, liger):
    target, _, eager, liger_name = OPERATIONS[op]
    context = ridge.Context()
    compiled = torch.compile(eager, dynamic=False)
    p = ops.parameters
    kept = {}

    def keep(side, run):
        def call(i):
            kept[side] = (i, run(ops.x[i], *p))

        return call

    sides = {
        "copy": lambda i: ops.y[i].copy_(ops.x[i]),
        "ridge": lambda i: context.apply(target, [ops.x[i], *p], [ops.y[i]]),
        "eager": keep("eager", eager),
        "compile": keep("compile", compiled),
    }
    if liger_name in liger:
        sides["liger"] = keep("liger", liger[liger_name])
    return sides, kept


def run_case(op, shape, dtype, liger, rounds):
    torch._dynamo.reset()
    ops = Operands(shape, DTYPES[dtype], OPERATIONS[op][1])
    sides, kept = sides_of(op, ops, liger)
    usable, errors = {}, {}
    for name, run in sides.items():
        try:
            ops.y[0].fill_(float("nan"))
            run(0)
            torch.cuda.synchronize()
            got = ops.y[0] if name in ("ridge", "copy") else kept[name][1]
            eager = (lambda x: x) if name == "copy" else OPERATIONS[op][2]
            if name != "liger" or OPERATIONS[op][3] == "softmax":
                errors[name] = error_against_fp64(got, eager, ops.x[0], [] if name == "copy" else ops.parameters)
            usable[name] = run
        except Exception as why:
            print(f"note: {op} {shape} {dtype}: {name}: {why}", file=sys.stderr)
    times = measure(usable, ops, rounds)
    copy = min(t for t in times["copy"] if t)
    rows = []
    for name, (event, graph) in times.items():
        best = min(event, graph) if graph else event
        rows.append(
            {
                "operation": op, "shape": "x".join(map(str, shape)), "dtype": dtype, "side": name, "event_us": event,
                "graph_us": graph, "gbps": ops.bytes / best / 1e3, "of_copy": copy / best, "error": errors.get(name),
            }
        )  # fmt: skip
    del ops, sides, usable, kept
    torch.cuda.empty_cache()
    return rows


def show(rows):
    best = min((r["graph_us"] or r["event_us"] for r in rows if r["side"] not in ("ridge", "copy")), default=None)
    for r in rows:
        against = ""
        if r["side"] == "ridge" and best:
            against = f"  {best / (r['graph_us'] or r['event_us']):.2f}x the best of the others"
        graph = f"{r['graph_us']:10.2f}" if r["graph_us"] else "         -"
        error = f"{r['error']:.1e}" if r["error"] is not None else "-"
        print(
            f"{r['operation']:16} {r['shape']:>12} {r['dtype']:5} {r['side']:8} {r['event_us']:10.2f} {graph}"
            f" {r['gbps']:8.0f} {100 * r['of_copy']:6.1f} %  {error:>8}{against}",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", help="write all rows to this file")
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--only", help="only operations whose name contains this")
    parser.add_argument("--quick", action="store_true", help="the 32768x4096 cases alone")
    o = parser.parse_args()
    liger, rows = liger_sides(), []
    properties = torch.cuda.get_device_properties(0)
    print(f"{properties.name}, PyTorch {torch.__version__}, CUDA {torch.version.cuda}")
    print("operation               shape type  side       event us   graph us     GB/s  of copy     error")
    for op, shape, dtype in CASES:
        if (o.only and o.only not in op) or (o.quick and shape != (32768, 4096)):
            continue
        done = run_case(op, shape, dtype, liger, o.rounds)
        show(done)
        rows += done
    if o.json:
        record = {"device": properties.name, "torch": torch.__version__, "cuda": torch.version.cuda, "rows": rows}
        pathlib.Path(o.json).write_text(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
