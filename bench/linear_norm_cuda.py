#!/usr/bin/env python3
"""ridge's gelu(layer_norm(x w + b)) beside torch.compile and eager PyTorch, on one GPU.

    bench/linear_norm_cuda.py                  # the way that ridge chooses
    bench/linear_norm_cuda.py --ways           # each of its ways, too
    bench/linear_norm_cuda.py --json rows.json --only 8192x4096x4096

x is uniform in [-1, 1), w the same over sqrt(k); sets of operands rotate so that none is in the L2 when its turn comes.
Each side's calls on all sets are one CUDA graph; graphs are replayed in turns, A B C … C B A. torch.compile is there as it
comes, and with max-autotune, which also tries products in Triton. Before a side is timed, rows of its result are compared with
fp64; a wrong one ends the program with status 1. Ahead: the quicker of the two compiled sides ÷ this one.
"""

import argparse

import sides
import sweep_cuda
import torch
from sides import DTYPES
from torch.nn import functional as F

ridge = sides.import_ridge()

CASES = [
    ((8192, 4096, 4096), "bf16", "n"), ((8192, 4096, 4096), "bf16", "t"), ((8192, 4096, 4096), "f16", "n"),
    ((8192, 1024, 1024), "bf16", "n"), ((4096, 8192, 8192), "bf16", "t"), ((16384, 2048, 2048), "bf16", "t"),
    ((4096, 4096, 4096), "f32", "n"),
]  # fmt: skip
ROWS_CHECKED = 64


def linear_norm_gelu(x, w, b, gamma, beta):
    return F.gelu(F.layer_norm(torch.addmm(b, x, w), (w.shape[1],), gamma, beta, sides.EPS))


def operands(shape, dtype, order):
    """x, w (t: column-major), b, gamma, beta, y."""
    m, n, k = shape
    w = sides.uniform((n, k) if order == "t" else (k, n), dtype).div_(k**0.5)
    lines = [sides.uniform((n,), dtype) for _ in range(3)]
    return [sides.uniform((m, k), dtype), w.t() if order == "t" else w, *lines, torch.empty(m, n, device="cuda", dtype=dtype)]


def runs_of(sets, ways):
    """{side: run(i)}; a run returns its result."""
    torch._dynamo.reset()
    functions = {
        "eager": linear_norm_gelu,
        "compile": torch.compile(lambda *t: linear_norm_gelu(*t), dynamic=False),
        "autotune": torch.compile(lambda *t: linear_norm_gelu(*t), dynamic=False, mode="max-autotune-no-cudagraphs"),
    }
    runs = {name: (lambda i, f=f: f(*sets[i][:5])) for name, f in functions.items()}

    def of(variant):
        def run(i):
            ridge.apply("linear_norm_activation", sets[i][:5], sets[i][5:], variant=variant)
            return sets[i][5]

        return run

    for way in ways:
        runs[f"ridge:{way}"] = of(f"cuda/optimized:{way}")
    return {**runs, "ridge": of(None)}


def is_right(got, set_):
    want = linear_norm_gelu(*(t.double() if t.dim() == 1 or i else t[:ROWS_CHECKED].double() for i, t in enumerate(set_[:5])))
    most = {torch.bfloat16: 2**-6, torch.float16: 2**-9, torch.float32: 2**-15}[got.dtype]
    return sides.relative_error(got[:ROWS_CHECKED], want) <= most


def run_case(shape, dtype, order, ways, rounds):
    m, n, k = shape
    t = DTYPES[dtype]
    size = torch.finfo(t).bits // 8 * (m * k + k * n + m * n)
    count = sides.sets_for(size, sides.l2_bytes(), 32)
    sets = [operands(shape, t, order) for _ in range(count)]
    failures = (ridge.Error, RuntimeError)
    median = sides.medians_in_turns(
        runs_of(sets, ways), count, rounds, sets[0][5], lambda got: is_right(got, sets[0]), failures
    )
    compiled = min((us for name, us in median.items() if name in ("compile", "autotune")), default=float("nan"))
    case = {"shape": f"{m}x{n}x{k}", "dtype": dtype, "order": order}
    return [{**case, "side": s, "us": us, "ahead": compiled / us} for s, us in median.items()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE", help="write all rows to FILE")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", help="only cases whose shape, type and order contain this")
    parser.add_argument("--ways", action="store_true", help="every way of ridge by itself, too")
    o = parser.parse_args()
    ways = sweep_cuda.ways_by_target()["linear_norm_activation"] if o.ways else []
    print("{device}, PyTorch {torch}, CUDA {cuda}".format(**sides.machine()))
    print("case                             side                   us  compile ÷ side")
    rows = []
    for shape, dtype, order in CASES:
        name = f"{'x'.join(map(str, shape))} {dtype} {order}"
        if o.only and o.only not in name:
            continue
        for r in run_case(shape, dtype, order, ways, o.rounds):
            print(f"{name:32} {r['side']:16} {r['us']:9.2f} {r['ahead']:9.3f}", flush=True)
            rows.append(r)
        torch.cuda.empty_cache()
    if o.json:
        sides.write_rows(o.json, rows)


if __name__ == "__main__":
    main()
