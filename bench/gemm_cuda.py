#!/usr/bin/env python3
"""ridge's matrix product on listed shapes, beside torch.matmul (cuBLAS), on one GPU.

    bench/gemm_cuda.py                         # the way that ridge chooses
    bench/gemm_cuda.py --ways --only 4096x     # each of its ways, of shapes that contain this
    bench/gemm_cuda.py --json rows.json

Operands are uniform in [-1, 1), and sets of them rotate so that none is in the L2 when its turn comes. Each side's calls
on all sets are one CUDA graph; graphs are replayed in turns, A B C … C B A. Before a side is timed, rows of its result
are compared with fp64; a wrong one ends the program with status 1.
"""

import argparse
import statistics

import sides
import sweep_cuda
import torch
from sides import DTYPES

ridge = sides.import_ridge()

LARGE = [
    (4096, 4096, 4096), (8192, 8192, 8192), (4096, 4096, 8192), (8192, 8192, 1024), (16384, 16384, 16384),
    (8192, 28672, 4096), (8192, 4096, 14336),
]  # fmt: skip
CASES = (
    [(shape, dtype, "nn") for dtype in ("bf16", "f16") for shape in LARGE]
    + [((4096, 4096, 4096), "bf16", order) for order in ("nt", "tn", "tt")]
    + [((m, 8192, 8192), "bf16", "nt") for m in (1, 8, 16)]
    + [((2048, 2048, 2048), "bf16", "nn"), ((512, 512, 16384), "bf16", "nn"), ((1024, 1024, 4096), "bf16", "nn")]
    + [((1001, 3003, 2005), "bf16", "nn"), ((4096, 4096, 4096), "f32", "nn"), ((1024, 8192, 8192), "f32", "nn")]
)
ROWS_CHECKED = 64


def matrix(rows, columns, dtype, transposed):
    """t: column-major."""
    x = sides.uniform((columns, rows) if transposed else (rows, columns), dtype)
    return x.t() if transposed else x


def is_right(got, a, b):
    """Within what sums of 16-bit or fp32 products in fp32 may be off: far from a missing slice. fp32: cuBLAS's sums of 4096
    products were seen beyond 2^-19."""
    want = a[:ROWS_CHECKED].double() @ b.double()
    most = {torch.bfloat16: 2**-7, torch.float16: 2**-10, torch.float32: 2**-17}[got.dtype]
    return sides.relative_error(got[:ROWS_CHECKED], want) <= most


def runs_of(sets, ways):
    runs = {"torch": lambda i: torch.matmul(sets[i][0], sets[i][1], out=sets[i][2])}

    def of(variant):
        return lambda i: ridge.apply("gemm", sets[i][:2], sets[i][2:], variant=variant, options=[1.0])

    for way in ways:
        runs[f"ridge:{way}"] = of(f"cuda/optimized:{way}")
    return runs if ways else {**runs, "ridge": of(None)}


def run_case(shape, dtype, order, ways, rounds):
    m, n, k = shape
    t = DTYPES[dtype]
    size = torch.finfo(t).bits // 8 * (m * k + k * n + m * n)
    count = sides.sets_for(size, sides.l2_bytes(), 32)
    sets = [
        [matrix(m, k, t, order[0] == "t"), matrix(k, n, t, order[1] == "t"), torch.empty(m, n, device="cuda", dtype=t)]
        for _ in range(count)
    ]
    a, b, c = sets[0]
    failures = (ridge.Error, RuntimeError)
    median = sides.medians_in_turns(runs_of(sets, ways), count, rounds, c, lambda _: is_right(c, a, b), failures)
    case = {"shape": f"{m}x{n}x{k}", "dtype": dtype, "order": order}
    return [
        {**case, "side": s, "us": us, "tflops": 2.0 * m * n * k / us / 1e6, "ahead": median["torch"] / us}
        for s, us in median.items()
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE", help="write all rows to FILE")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", help="only cases whose shape, type and order contain this")
    parser.add_argument("--ways", action="store_true", help="every way of ridge by itself")
    o = parser.parse_args()
    rows, here = [], sides.machine()
    ways = sweep_cuda.ways_by_target()["gemm"] if o.ways else []
    print("{device}, PyTorch {torch}, CUDA {cuda}".format(**here))
    print("case                             side                   us  TFLOP/s  torch ÷ side")
    for shape, dtype, order in CASES:
        name = f"{'x'.join(map(str, shape))} {dtype} {order}"
        if o.only and o.only not in name:
            continue
        for r in run_case(shape, dtype, order, ways, o.rounds):
            print(f"{name:32} {r['side']:16} {r['us']:9.2f} {r['tflops']:8.1f} {r['ahead']:9.3f}", flush=True)
            rows.append(r)
        torch.cuda.empty_cache()
    ours = [r["ahead"] for r in rows if r["side"] == "ridge"]
    if ours:
        print(f"geometric mean {statistics.geometric_mean(ours):.3f}, worst {min(ours):.3f}")
    if o.json:
        sides.write_rows(o.json, rows)


if __name__ == "__main__":
    main()
