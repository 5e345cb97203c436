#!/usr/bin/env python3
"""ridge's products of 2:4 sparse matrices and of weights in NVFP4 on listed shapes, beside PyTorch's, on one GPU.

    bench/packed_cuda.py                      # all: sparse, sparse_fp8, nvfp4
    bench/packed_cuda.py --only nvfp4         # cases whose name contains this
    bench/packed_cuda.py --drawn 20 --seed 7  # shapes drawn with this seed in place of the listed ones
    bench/packed_cuda.py --json rows.json

Sparse: normal random operands in bf16, one of which is pruned; beside it cuSPARSELt with its default algorithm and with the one
that its search finds, cuBLASLt's dense product, and the pruning alone. In e4m3 (sparse_fp8): the same without the pruning, with
scales of 1, results in bf16, and fast sums of the dense product. NVFP4: cuBLASLt's product of the same weights in bf16, and
dequantization (compiled by torch.compile) before that product. Operands rotate, graphs are replayed in turns, and rows of each
result are compared with fp64, as in gemm_cuda.py.
"""

import argparse
import random

import sides
import torch

ridge = sides.import_ridge()

SPARSE = [
    (4096, 4096, 4096), (8192, 8192, 8192), (16384, 16384, 16384), (4096, 32768, 4096), (2048, 2048, 2048), (1024, 1024, 1024),
    (8192, 1024, 8192), (8192, 128, 8192), (6144, 8192, 24576),
]  # fmt: skip
NVFP4 = [
    (m, n, k) for n, k in ((8192, 8192), (28672, 8192)) for m in (1, 8, 16, 32, 64, 128, 256, 512, 2048)
]  # fmt: skip
ROWS_CHECKED = 64


def drawn(count, seed):
    """Extents whose logarithms are uniform: sparse multiples of 64, which cuSPARSELt takes; NVFP4 up to 1024 rows."""
    of = random.Random(seed)
    extent = lambda low, high, unit: max(unit, round(low * (high / low) ** of.random() / unit) * unit)  # noqa: E731
    sparse = [(extent(256, 16384, 64), extent(64, 16384, 64), extent(256, 16384, 64)) for _ in range(count)]
    return sparse, [(extent(1, 1024, 1), extent(512, 32768, 8), extent(512, 16384, 64)) for _ in range(count)]


FAILURES = (ridge.Error, RuntimeError, ValueError, TypeError, AttributeError, torch._dynamo.exc.TorchDynamoException)


def normal(*shape):
    return torch.randn(shape, device="cuda", dtype=torch.bfloat16)


def expanded(values, codes, k):
    """The matrix whose two of each four are `values`."""
    shifts = torch.arange(0, 32, 4, device="cuda", dtype=torch.int32)
    code = (codes[:, :, None] >> shifts & 15).flatten(1)
    fours = torch.zeros(values.shape[0], k // 4, 4, device="cuda", dtype=values.dtype)
    pairs = values.unflatten(1, (-1, 2))
    fours.scatter_(2, (code & 3).long()[:, :, None], pairs[:, :, :1])
    return fours.scatter_(2, (code >> 2).long()[:, :, None], pairs[:, :, 1:]).flatten(1)


def sparse_case(shape, rounds):
    m, n, k = shape
    count = sides.sets_for(2 * (m * k + n * k + m * n), sides.l2_bytes(), 8)
    dense = [normal(m, k) for _ in range(count)]
    b = [normal(n, k) for _ in range(count)]
    c = [torch.empty(m, n, device="cuda", dtype=torch.bfloat16) for _ in range(count)]
    pruned = [ridge.prune_2_4(x) for x in dense]
    whole = [expanded(*pruned[i], k) for i in range(count)]
    halves = [tuple(torch.empty_like(t) for t in pruned[i]) for i in range(count)]
    packed = [torch._cslt_compress(whole[i]) for i in range(count)]
    found = torch._cslt_sparse_mm_search(packed[0], b[0].t())
    found = found[0] if isinstance(found, tuple) else found
    want = whole[0][:ROWS_CHECKED].double() @ b[0].double().t()
    runs = {
        "cuBLASLt dense": lambda i: torch.mm(whole[i], b[i].t(), out=c[i]),
        "cuSPARSELt": lambda i: torch._cslt_sparse_mm(packed[i], b[i].t()),
        "cuSPARSELt search": lambda i: torch._cslt_sparse_mm(packed[i], b[i].t(), alg_id=found),
        "ridge baseline": lambda i: ridge.apply("structured_sparsity", [*pruned[i], b[i]], [c[i]], variant="cuda/baseline"),
        "ridge": lambda i: ridge.apply("structured_sparsity", [*pruned[i], b[i]], [c[i]]),
    }

    def right(result):
        got = result if isinstance(result, torch.Tensor) and result.shape == (m, n) else c[0]
        return sides.relative_error(got[:ROWS_CHECKED], want) < 2**-7

    for name, us in sides.medians_in_turns(runs, count, rounds, c[0], right, FAILURES).items():
        yield name, us, f"{2.0 * m * n * k / us / 1e6:8.1f} TFLOP/s of the dense product"
    marker = torch.empty(1, device="cuda")
    prunes = {"prune": lambda i: ridge.apply("prune_2_4", [dense[i]], list(halves[i]))}
    same = lambda _: all(torch.equal(x, y) for x, y in zip(halves[0], pruned[0]))  # noqa: E731
    for name, us in sides.medians_in_turns(prunes, count, rounds, marker, same, FAILURES).items():
        yield name, us, f"{3.125 * m * k / us / 1e3:8.0f} GB/s"


E4M3 = torch.float8_e4m3fn


def sparse_fp8_sides(a, codes, whole, b, c, one):
    """Runs by set. What this PyTorch's cuSPARSELt does not take is left out and told."""
    name = "fp8_structured_sparsity"
    runs = {
        "cuBLASLt dense": lambda i: torch._scaled_mm(
            whole[i], b[i].t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=True, out=c[i]
        ),
        "ridge": lambda i: ridge.apply(name, [a[i], codes[i], one, b[i], one], [c[i]]),
    }
    try:
        packed = [torch._cslt_compress(x) for x in whole]
        found = torch._cslt_sparse_mm_search(packed[0], b[0].t(), out_dtype=torch.bfloat16)
    except FAILURES as error:
        print(f"cuSPARSELt: {error}", flush=True)
        return runs
    found = found[0] if isinstance(found, tuple) else found
    multiply = lambda i, **how: torch._cslt_sparse_mm(packed[i], b[i].t(), out_dtype=torch.bfloat16, **how)  # noqa: E731
    runs["cuSPARSELt"] = multiply
    runs["cuSPARSELt search"] = lambda i: multiply(i, alg_id=found)
    return runs


def sparse_fp8_case(shape, rounds):
    """Operands are rounded to e4m3 as they are, with scales of 1."""
    m, n, k = shape
    count = sides.sets_for(m * k + n * k + 2 * m * n, sides.l2_bytes(), 8)
    a, codes = zip(*(ridge.prune_2_4(normal(m, k).to(E4M3)) for _ in range(count)))
    whole = [expanded(a[i].to(torch.bfloat16), codes[i], k).to(E4M3) for i in range(count)]
    b = [normal(n, k).to(E4M3) for _ in range(count)]
    c = [torch.empty(m, n, device="cuda", dtype=torch.bfloat16) for _ in range(count)]
    runs = sparse_fp8_sides(a, codes, whole, b, c, torch.ones(1, device="cuda"))
    want = whole[0][:ROWS_CHECKED].double() @ b[0].double().t()

    def right(result):
        got = result if isinstance(result, torch.Tensor) and result.shape == (m, n) else c[0]
        # What sums of a long K lose in the tensor cores grows with it.
        return sides.relative_error(got[:ROWS_CHECKED], want) < max(2**-7, k * 2**-19)

    for name, us in sides.medians_in_turns(runs, count, rounds, c[0], right, FAILURES).items():
        yield name, us, f"{2.0 * m * n * k / us / 1e6:8.1f} TFLOP/s of the dense product"


VALUES = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0]


def dequantized(q, s, tensor, table, where):
    """Weights in bf16. where: of each block its scale's place in s."""
    codes = torch.stack((q & 15, q >> 4), -1).flatten(1)
    scales = s.flatten().view(torch.float8_e4m3fn).float()[where]
    return ((table[codes.long()].unflatten(1, (-1, 16)) * scales[:, :, None]).flatten(1) * tensor).to(torch.bfloat16)


def places(n, k):
    row, block = torch.arange(n, device="cuda")[:, None], torch.arange(k // 16, device="cuda")[None]
    across = 512 * -(-k // 64)
    return row // 128 * across + block // 4 * 512 + row % 32 * 16 + row % 128 // 32 * 4 + block % 4


def nvfp4_case(shape, rounds):
    m, n, k = shape
    moved = 2 * m * k + n * k * 9 // 16 + 2 * m * n
    count = sides.sets_for(moved, sides.l2_bytes(), 8)
    table, where = torch.tensor(VALUES, device="cuda"), places(n, k)
    x, c, packed, plain = [], [], [], []
    for _ in range(count):
        w = normal(n, k)
        tensor = (w.abs().amax().float() / 2688).view(1)
        x.append(normal(m, k))
        c.append(torch.empty(m, n, device="cuda", dtype=torch.bfloat16))
        packed.append((*ridge.quantize_nvfp4(w, tensor), tensor))
        plain.append(dequantized(*packed[-1], table, where))
    torch._dynamo.reset()  # it stops compiling one function for ever more shapes
    compiled = torch.compile(dequantized, dynamic=False)
    want = x[0].double() @ plain[0].double().t()
    runs = {
        "bf16": lambda i: torch.mm(x[i], plain[i].t(), out=c[i]),
        "dequantize, bf16": lambda i: torch.mm(x[i], compiled(*packed[i], table, where).t(), out=c[i]),
        "ridge baseline": lambda i: ridge.apply("nvfp4_gemm", [x[i], *packed[i]], [c[i]], variant="cuda/baseline"),
        "ridge": lambda i: ridge.apply("nvfp4_gemm", [x[i], *packed[i]], [c[i]]),
    }
    right = lambda _: sides.relative_error(c[0], want) < 2**-7  # noqa: E731
    for name, us in sides.medians_in_turns(runs, count, rounds, c[0], right, FAILURES).items():
        yield name, us, f"{moved / us / 1e3:8.0f} GB/s {2.0 * m * n * k / us / 1e6:8.1f} TFLOP/s"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE", help="write all rows to FILE")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", help="only cases whose name contains this")
    parser.add_argument("--drawn", type=int, metavar="N", help="N drawn shapes of each in place of the listed ones")
    parser.add_argument("--seed", type=int, default=1)
    o = parser.parse_args()
    sparse, nvfp4 = drawn(o.drawn, o.seed) if o.drawn else (SPARSE, NVFP4)
    print("{device}, PyTorch {torch}, CUDA {cuda}".format(**sides.machine()))
    cases = [(f"sparse {'x'.join(map(str, s))}", sparse_case, s) for s in sparse]
    cases += [(f"sparse_fp8 {'x'.join(map(str, s))}", sparse_fp8_case, s) for s in sparse]
    cases += [(f"nvfp4 {'x'.join(map(str, s))}", nvfp4_case, s) for s in nvfp4]
    rows, ratios = [], {}
    for title, run, shape in cases:
        if o.only and o.only not in title:
            continue
        times = {}
        for side, us, rate in run(shape, o.rounds):
            print(f"{title:28} {side:18} {us:9.2f} us {rate}", flush=True)
            rows.append({"case": title, "side": side, "us": us})
            times[side] = us
        for theirs in ("cuBLASLt dense", "cuSPARSELt", "cuSPARSELt search", "bf16", "dequantize, bf16"):
            if "ridge" in times and theirs in times:
                ratios.setdefault(f"{title.split()[0]}: {theirs} / ridge", []).append(times[theirs] / times["ridge"])
        torch.cuda.empty_cache()
    for pair, values in ratios.items():
        sides.print_ratios(pair, values)
    if o.json:
        sides.write_rows(o.json, rows)


if __name__ == "__main__":
    main()
