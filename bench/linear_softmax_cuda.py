#!/usr/bin/env python3
"""ridge's softmax(x w + b) beside PyTorch, torch.compile and Triton, unfused and fused, on one GPU in one run.

    python3 bench/linear_softmax_cuda.py [--json FILE] [--rounds N] [--only B,D,C] [--heads H]

x is normal, w normal / sqrt(depth), b normal. All sides get the same data, in rounds of A B C … C B A. Operands rotate through
sets that together exceed the L2 three times. Each side has three times, all medians: a launch inside a CUDA graph, a single
launch between CUDA events, and an eager call in a sequence of calls by the host's clock. Every side's output is compared with
fp64: the error is the largest difference over the largest probability.

Sides: ridge (its optimized, unfused and library variants), ridge tf32 where the library has it, PyTorch eager in fp32 and tf32,
torch.compile in both, Triton with a product and a softmax kernel, Triton in one kernel (both in fp32 and tf32).
"""
import argparse

import torch
import triton
import triton.language as tl

import sides
from sides import allow_tf32, note
from sweep import turns

ridge = sides.import_ridge()

SHAPES = [(64, 128, 10), (256, 512, 50), (1024, 1024, 100), (8192, 4096, 1000)]


# ---- Triton ---------------------------------------------------------------------------------------------------------
@triton.jit
def fused_kernel(x, w, b, p, rows, depth, classes, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PRECISION: tl.constexpr):
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k0 in range(0, depth, BK):
        k = k0 + tl.arange(0, BK)
        xt = tl.load(x + r[:, None] * depth + k[None, :], mask=(r[:, None] < rows) & (k[None, :] < depth), other=0.0)
        wt = tl.load(w + k[:, None] * classes + n[None, :], mask=(k[:, None] < depth) & (n[None, :] < classes), other=0.0)
        acc = tl.dot(xt, wt, acc, input_precision=PRECISION)
    z = acc + tl.load(b + n, mask=n < classes, other=0.0)[None, :]
    z = tl.where(n[None, :] < classes, z, float("-inf"))
    e = tl.exp(z - tl.max(z, 1)[:, None])
    e = e / tl.sum(e, 1)[:, None]
    tl.store(p + r[:, None] * classes + n[None, :], e, mask=(r[:, None] < rows) & (n[None, :] < classes))


@triton.jit
def product_kernel(x, w, b, z, rows, depth, classes, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PRECISION: tl.constexpr):
    tiles = tl.cdiv(classes, BN)
    r = (tl.program_id(0) // tiles) * BM + tl.arange(0, BM)
    n = (tl.program_id(0) % tiles) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k0 in range(0, depth, BK):
        k = k0 + tl.arange(0, BK)
        xt = tl.load(x + r[:, None] * depth + k[None, :], mask=(r[:, None] < rows) & (k[None, :] < depth), other=0.0)
        wt = tl.load(w + k[:, None] * classes + n[None, :], mask=(k[:, None] < depth) & (n[None, :] < classes), other=0.0)
        acc = tl.dot(xt, wt, acc, input_precision=PRECISION)
    acc += tl.load(b + n, mask=n < classes, other=0.0)[None, :]
    tl.store(z + r[:, None] * classes + n[None, :], acc, mask=(r[:, None] < rows) & (n[None, :] < classes))


@triton.jit
def softmax_kernel(z, p, classes, BN: tl.constexpr):
    row = tl.program_id(0)
    n = tl.arange(0, BN)
    v = tl.load(z + row * classes + n, mask=n < classes, other=float("-inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(p + row * classes + n, e / tl.sum(e, 0), mask=n < classes)


TILES = [
    triton.Config({"BM": bm, "BN": bn, "BK": bk}, num_warps=warps, num_stages=stages)
    for bm, bn, bk, warps, stages in [
        (16, 16, 64, 4, 3), (32, 32, 64, 4, 3), (64, 32, 32, 4, 4), (64, 64, 32, 4, 4), (128, 64, 32, 8, 3), (128, 128, 32, 8, 3),
    ]
]  # fmt: skip
ROWS = [
    triton.Config({"BM": bm, "BK": bk}, num_warps=warps, num_stages=stages)
    for bm, bk, warps, stages in [(16, 32, 4, 3), (16, 64, 4, 3), (16, 128, 4, 2), (32, 32, 4, 3), (32, 64, 8, 2), (64, 32, 8, 2)]
]
product_tuned = triton.autotune(TILES, key=["rows", "depth", "classes", "PRECISION"])(product_kernel)
fused_tuned = triton.autotune(ROWS, key=["rows", "depth", "classes", "PRECISION"])(fused_kernel)


def triton_unfused(precision):
    def run(x, w, b, p):
        (rows, depth), classes = x.shape, w.shape[1]
        z = torch.empty_like(p)
        grid = lambda m: (triton.cdiv(rows, m["BM"]) * triton.cdiv(classes, m["BN"]),)  # noqa: E731
        product_tuned[grid](x, w, b, z, rows, depth, classes, PRECISION=precision)
        softmax_kernel[(rows,)](z, p, classes, BN=triton.next_power_of_2(classes))

    return run


def triton_fused(precision):
    def run(x, w, b, p):
        (rows, depth), classes = x.shape, w.shape[1]
        grid = lambda m: (triton.cdiv(rows, m["BM"]),)  # noqa: E731
        fused_tuned[grid](x, w, b, p, rows, depth, classes, BN=max(16, triton.next_power_of_2(classes)), PRECISION=precision)

    return run


# ---- sides ----------------------------------------------------------------------------------------------------------
class Operands:
    """Sets of tensors that rotate, so that none is in cache when its turn comes."""

    def __init__(self, rows, depth, classes):
        size = 4 * (rows * depth + depth * classes + rows * classes)
        self.n = sides.sets_for(size, sides.l2_bytes())
        normal = lambda *shape: torch.randn(*shape, device="cuda")  # noqa: E731
        self.sets = [
            (normal(rows, depth), normal(depth, classes) / depth**0.5, normal(classes), torch.empty(rows, classes, device="cuda"))
            for _ in range(self.n)
        ]


def sides_of(ops, shape):
    """{name: (run(i), tf32 allowed)}; what run leaves in kept[name] is its output."""
    kept, runs = {}, {}
    exact, loose = ridge.Context(), ridge.Context()

    def writes(name, run, tf32=False):
        def call(i):
            run(*ops.sets[i])
            kept[name] = ops.sets[i][3]

        runs[name] = (call, tf32)

    def returns(name, run, tf32):
        def call(i):
            kept[name] = run(*ops.sets[i][:3])

        runs[name] = (call, tf32)

    for variant in ("optimized", "unfused", "baseline"):
        name = "ridge" if variant == "optimized" else f"ridge {variant}"
        writes(name, lambda x, w, b, p, v=variant: exact.apply("linear_softmax", [x, w, b], [p], variant=f"cuda/{v}"))
    if hasattr(loose, "allow_tf32"):
        loose.allow_tf32(True)
        writes("ridge tf32", lambda x, w, b, p: loose.apply("linear_softmax", [x, w, b], [p]))
    for tf32 in (False, True):
        kind = " tf32" if tf32 else ""
        returns("eager" + kind, sides.linear_softmax, tf32)
        returns("compile" + kind, torch.compile(lambda x, w, b: sides.linear_softmax(x, w, b), dynamic=False), tf32)
        precision = "tf32" if tf32 else "ieee"
        writes("triton unfused" + kind, triton_unfused(precision))
        if shape[2] <= 256:  # a block must hold all classes of its rows
            writes("triton fused" + kind, triton_fused(precision))
    return runs, kept


# ---- measuring ------------------------------------------------------------------------------------------------------
def calls(run, n, count=50):
    def all_of_them():
        for i in range(count):
            run(i % n)

    return sides.host_us(all_of_them) / count


def measure(runs, n, rounds):
    graphs, times = {}, {name: {"graph": [], "event": [], "eager": []} for name in runs}
    for name, (run, tf32) in runs.items():
        allow_tf32(tf32)
        graphs[name] = sides.graph_of(run, n)
    for r, name in turns(runs, rounds):
        run, tf32 = runs[name]
        allow_tf32(tf32)
        times[name]["graph"].append(sides.elapsed(graphs[name].replay) / n)
        times[name]["event"].append(sides.elapsed(lambda: run(r % n)))
        times[name]["eager"].append(calls(run, n))
    return {name: sides.medians(t) for name, t in times.items()}


def run_shape(shape, rounds):
    torch._dynamo.reset()
    ops = Operands(*shape)
    runs, kept = sides_of(ops, shape)
    x, w, b, _ = ops.sets[0]
    want = sides.linear_softmax(x.double(), w.double(), b.double())
    errors, usable = {}, {}
    for name, (run, tf32) in runs.items():
        allow_tf32(tf32)
        try:
            ops.sets[0][3].fill_(float("nan"))
            run(0)
            torch.cuda.synchronize()
            errors[name] = sides.relative_error(kept[name], want)
            usable[name] = (run, tf32)
        except Exception as why:
            note(f"{shape}: {name}: {str(why)[:200]}")
    times = measure(usable, ops.n, rounds)
    return [{"shape": "x".join(map(str, shape)), "side": s, **times[s], "error": errors[s]} for s in usable]


def run_heads(heads, rounds):
    """Several classifiers over one x, against one."""
    rows, depth, classes = 1024, 1024, 100
    context, normal, n = ridge.Context(), (lambda *s: torch.randn(*s, device="cuda")), 16
    sets = [
        (normal(rows, depth), normal(heads, depth, classes) / depth**0.5, normal(heads, classes), torch.empty(rows, heads, classes, device="cuda"))
        for _ in range(n)
    ]
    runs = {}
    for variant in ("optimized", "launches", "baseline"):
        runs["ridge " + variant] = (
            lambda i, v=variant: context.apply("multihead_linear_softmax", list(sets[i][:3]), [sets[i][3]], variant=f"cuda/{v}"), False)  # fmt: skip
    for tf32 in (False, True):
        runs["eager" + " tf32" * tf32] = (
            lambda i: sides.multihead(*sets[i][:3]), tf32)  # fmt: skip
    x, w, b, p = sets[0]
    want = sides.multihead(x.double(), w.double(), b.double())
    errors = {}
    for name, (run, tf32) in list(runs.items()):
        allow_tf32(tf32)
        try:
            got = run(0)
            got = p if got is None else got
            errors[name] = sides.relative_error(got, want)
        except Exception as why:
            note(f"heads: {name}: {str(why)[:200]}")
            del runs[name]
    times = measure(runs, n, rounds)
    return [{"shape": f"{heads} heads of {rows}x{depth}x{classes}", "side": s, **times[s], "error": errors[s]} for s in runs]


def show(rows):
    for column in ("graph", "event", "eager"):
        others = [r[column] for r in rows if not r["side"].startswith("ridge")]
        for r in rows:
            if r["side"] == "ridge" and others:
                r["ahead_" + column] = min(others) / r[column]
    for r in rows:
        ahead = "".join(f"  {k[6:]} {v:.2f}x" for k, v in r.items() if k.startswith("ahead_"))
        print(f"{r['shape']:>24} {r['side']:20} {r['graph']:9.2f} {r['event']:9.2f} {r['eager']:9.2f}  {r['error']:8.1e}{ahead}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", help="write all rows to this file")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--only", action="append", help="B,D,C: these shapes alone")
    parser.add_argument("--heads", type=int, default=16, help="0: leave the heads out")
    o = parser.parse_args()
    print("{device}, PyTorch {torch}, Triton {triton}, CUDA {cuda}".format(**sides.machine(), triton=triton.__version__))
    print("                   shape side                 graph us  event us  eager us     error  ahead of the best of the others")
    rows = []
    for shape in [tuple(map(int, s.split(","))) for s in o.only] if o.only else SHAPES:
        done = run_shape(shape, o.rounds)
        show(done)
        rows += done
        torch.cuda.empty_cache()
    if o.heads:
        done = run_heads(o.heads, o.rounds)
        show(done)
        rows += done
    if o.json:
        sides.write_rows(o.json, rows, triton=triton.__version__)


if __name__ == "__main__":
    main()
