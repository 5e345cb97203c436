#!/usr/bin/env python3
"""ridge's row-wise kernels beside PyTorch eager, torch.compile and Liger's Triton kernels, on one GPU in one run.

    python3 bench/rowwise_cuda.py [--json FILE] [--rounds N] [--quick]

All sides get the same random data, in rounds of A B C … C B A. Operands rotate through sets that together exceed the L2 three
times. Times are medians: of single launches between CUDA events (large cases), and of launches inside a CUDA graph (all cases).
Every side's output is compared with fp64. Percentages refer to PyTorch's copy_ of as many bytes in the same rounds.

Needs PyTorch with CUDA; Liger (liger_kernel) is left out, and said to be, when it is not installed.
"""
import argparse

import torch

import sides
from sides import DTYPES, note
from sweep import turns

ridge = sides.import_ridge()

OPERATIONS = {
    # name: (ridge's target, parameters, eager, Liger's name: its norms come without the activation)
    "l2norm": ("fused_l2norm", 0, sides.l2norm, None),
    "rms_norm": ("rms_norm", 1, sides.rms_norm, "rms_norm"),
    "layer_norm": ("layer_norm", 2, sides.layer_norm, "layer_norm"),
    "rms_norm+silu": ("norm_activation_rms", 1, sides.rms_norm_silu, "rms_norm"),
    "layer_norm+gelu": ("norm_activation", 2, sides.layer_norm_gelu, "layer_norm"),
    "softmax": ("online_softmax", 0, sides.softmax, "softmax"),
    "sin+sqrt": ("vertical_fusion", 0, sides.sin_sqrt, None),
}
BIG = [(32768, 4096), (16384, 16384)]
ROWS = ("l2norm", "rms_norm", "layer_norm", "rms_norm+silu", "layer_norm+gelu", "softmax")
CASES = (
    [(op, shape, dtype) for op in ROWS for shape in BIG for dtype in ("f32", "bf16")]
    + [(op, (2048, 262144), "bf16") for op in ROWS]
    + [("l2norm", (128, 4096), "f32"), ("sin+sqrt", (16384, 16384), "f32"), ("sin+sqrt", (16384, 16384), "bf16")]
)


# ---- measuring ------------------------------------------------------------------------------------------------------
class Operands:
    """Sets of tensors that rotate, so that none is in cache when its turn comes."""

    def __init__(self, shape, dtype, parameters):
        size = shape[0] * shape[1] * dtype.itemsize
        self.n = sides.sets_for(2 * size, sides.l2_bytes())
        self.x = [sides.uniform(shape, dtype) for _ in range(self.n)]
        self.y = [torch.empty(shape, device="cuda", dtype=dtype) for _ in range(self.n)]
        self.parameters = [sides.uniform((shape[1],), dtype) for _ in range(parameters)]
        self.bytes = 2 * size


def error_against_fp64(got, eager, x, parameters, rows=64):
    """Of drawn rows."""
    index = torch.randint(0, x.shape[0], (rows,), device="cuda")
    return sides.relative_error(got[index], eager(x[index].double(), *[p.double() for p in parameters]))


def measure(runs, ops, rounds):
    """Medians in microseconds: {side: (event, graph)}."""
    graphs = {}
    for name, run in runs.items():
        try:
            graphs[name] = sides.graph_of(run, ops.n)
        except Exception as why:
            note(f"{name} is not captured: {why}")
    single, in_graph, turn = {s: [] for s in runs}, {s: [] for s in runs}, 0
    for _, name in turns(runs, rounds):
        single[name].append(sides.elapsed(lambda: runs[name](turn % ops.n)))
        turn += 1
        if name in graphs:
            in_graph[name].append(sides.elapsed(graphs[name].replay) / ops.n)
    single, in_graph = sides.medians(single), sides.medians(in_graph)
    return {s: (single[s], in_graph[s]) for s in runs}


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

    runs = {
        "copy": lambda i: ops.y[i].copy_(ops.x[i]),
        "ridge": lambda i: context.apply(target, [ops.x[i], *p], [ops.y[i]]),
        "eager": keep("eager", eager),
        "compile": keep("compile", compiled),
    }
    if liger_name in liger:
        runs["liger"] = keep("liger", liger[liger_name])
    return runs, kept


def run_case(op, shape, dtype, liger, rounds):
    torch._dynamo.reset()
    ops = Operands(shape, DTYPES[dtype], OPERATIONS[op][1])
    runs, kept = sides_of(op, ops, liger)
    usable, errors = {}, {}
    for name, run in runs.items():
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
            note(f"{op} {shape} {dtype}: {name}: {why}")
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
    del ops, runs, usable, kept
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
    liger, rows, here = sides.liger_norms(), [], sides.machine()
    print("{device}, PyTorch {torch}, CUDA {cuda}".format(**here))
    print("operation               shape type  side       event us   graph us     GB/s  of copy     error")
    for op, shape, dtype in CASES:
        if (o.only and o.only not in op) or (o.quick and shape != (32768, 4096)):
            continue
        done = run_case(op, shape, dtype, liger, o.rounds)
        show(done)
        rows += done
    if o.json:
        sides.write_rows(o.json, rows)


if __name__ == "__main__":
    main()
