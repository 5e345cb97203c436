#!/usr/bin/env python3
"""ridge's SwiGLU layer on listed shapes, beside PyTorch's eagerly and by torch.compile, on one GPU.

    bench/ffn_cuda.py [--only 65536] [--json rows.json]

Operands are normal, weights divided by the root of what they are multiplied with. As in gemm_cuda.py operands rotate, graphs
are replayed in turns, and rows of each result are compared with fp64.
"""

import argparse

import sides
import torch
from torch.nn import functional as F

ridge = sides.import_ridge()

CASES = [(65536, 6144, 24576), (8192, 4096, 14336), (4096, 2048, 8192), (512, 4096, 14336), (16, 4096, 14336)]
ROWS_CHECKED = 16


def ffn(x, w1, w2):
    gate, up = F.linear(x, w1).chunk(2, dim=-1)
    return F.linear(F.silu(gate) * up, w2)


def operands(m, d, f):
    def normal(rows, columns, over=1.0):
        return torch.randn(rows, columns, device="cuda", dtype=torch.bfloat16) * over**-0.5

    return [normal(m, d), normal(2 * f, d, d), normal(d, f, f), torch.empty(m, d, device="cuda", dtype=torch.bfloat16)]


def run_case(m, d, f, rounds):
    count = sides.sets_for(2 * (2 * m * d + 3 * d * f), sides.l2_bytes(), 8)
    sets = [operands(m, d, f) for _ in range(count)]
    x, w1, w2, y = sets[0]
    want = ffn(*(t.double() for t in (x[:ROWS_CHECKED], w1, w2)))
    compiled = torch.compile(ffn, dynamic=False)

    def ours(variant):
        return lambda i: ridge.apply("swiglu_ffn", sets[i][:3], [sets[i][3]], variant=variant)

    runs = {
        "eager": lambda i: ffn(*sets[i][:3]),
        "torch.compile": lambda i: compiled(*sets[i][:3]),
        "ridge baseline": ours("cuda/baseline"),
        "ridge": ours(None),
    }

    def right(result):
        got = y if result is None else result
        return sides.relative_error(got[:ROWS_CHECKED], want) < 2**-5

    return sides.medians_in_turns(runs, count, rounds, y, right, (ridge.Error, RuntimeError))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE", help="write all rows to FILE")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", help="only cases whose name contains this")
    o = parser.parse_args()
    print("{device}, PyTorch {torch}, CUDA {cuda}".format(**sides.machine()))
    rows = []
    for m, d, f in CASES:
        name = f"{m}x{d}x{f}"
        if o.only and o.only not in name:
            continue
        for side, us in run_case(m, d, f, o.rounds).items():
            print(f"{name:20} {side:16} {us:11.2f} us {6.0 * m * d * f / us / 1e6:8.1f} TFLOP/s", flush=True)
            rows.append({"shape": name, "side": side, "us": us})
        torch.cuda.empty_cache()
    if o.json:
        sides.write_rows(o.json, rows)


if __name__ == "__main__":
    main()
