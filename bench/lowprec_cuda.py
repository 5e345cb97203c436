#!/usr/bin/env python3
"""ridge's products of 8 bits and quantizers on listed shapes, beside PyTorch's (cuBLASLt; torch.compile), on one GPU.

    bench/lowprec_cuda.py                      # all
    bench/lowprec_cuda.py --only squares       # cases whose name contains this
    bench/lowprec_cuda.py --drawn 20 --seed 7  # drawn shapes of the products in place of the listed ones
    bench/lowprec_cuda.py --json rows.json

Products of normal random operands, quantized as their scales say: one scale a tensor, or 1x128 of A with 128x128 of B. Each
has peers that sum as the tensor cores do ("fast"), and that promote. Quantizers stand beside a copy of as many bytes.
Operands rotate, graphs are replayed in turns, and rows of each result are compared with fp64, as in gemm_cuda.py.
"""

import argparse

import math
import random

import sides
import torch

ridge = sides.import_ridge()

E4M3, LARGEST = torch.float8_e4m3fn, 448.0
PRODUCTS = [
    (8192, 8192, 8192), (4096, 4096, 4096), (4096, 7168, 2048), (4096, 2112, 7168), (4096, 7168, 16384), (1024, 8192, 8192),
    (128, 7168, 4096), (64, 7168, 4096),
]  # fmt: skip
QUANTIZED = [(8192, 8192), (4096, 7168), (65536, 6144), (512, 4096)]
ROWS_CHECKED = 64
FAILURES = (ridge.Error, RuntimeError, ValueError, TypeError, AttributeError, torch._dynamo.exc.TorchDynamoException)


# ---- quantizers in PyTorch ----
def by_rows(x):
    blocks = x.float().unflatten(-1, (-1, 128))
    scale = blocks.abs().amax(-1).clamp(min=2.0**-100) / LARGEST
    return (blocks / scale[..., None]).clamp(-LARGEST, LARGEST).to(E4M3).flatten(-2), scale


def by_squares(x):
    rows, columns = x.shape
    down, across = -(-rows // 128), -(-columns // 128)
    whole = torch.nn.functional.pad(x.float(), (0, 128 * across - columns, 0, 128 * down - rows))
    blocks = whole.view(down, 128, across, 128)
    scale = blocks.abs().amax((1, 3)).clamp(min=2.0**-100) / LARGEST
    codes = (blocks / scale[:, None, :, None]).clamp(-LARGEST, LARGEST).to(E4M3)
    return codes.view(128 * down, 128 * across)[:rows, :columns].contiguous(), scale


def by_tensor(x):
    scale = x.abs().amax().float().view(1, 1) / LARGEST
    return (x.float() / scale).to(E4M3), scale


# ---- products ----
def drawn(count, seed):
    """Shapes whose extents are log-uniform: any number of rows, n of whole 16s, k of whole 128s, as peers take them."""
    deck = random.Random(seed)

    def extent(least, most, grain):
        return max(1, round(math.exp(deck.uniform(math.log(least), math.log(most))) / grain)) * grain

    shapes = []
    while len(shapes) < count:
        m, n, k = extent(17, 8192, 1), extent(256, 16384, 16), extent(512, 16384, 128)
        if 2.0 * m * n * k < 1e12:
            shapes.append((m, n, k))
    return shapes


def padded_columns(scale):
    """As cuBLASLt takes scales of squares: lines along K, of a multiple of four."""
    rows, columns = scale.shape
    room = torch.zeros(rows, -(-columns // 4) * 4, device=scale.device)
    room[:, :columns] = scale
    return room[:, :columns]


def peers(kind, sets):
    def scaled(i, fast):
        a, sa, b, sb, c = sets[i][:5]
        if kind == "rows":
            sa, sb = sets[i][5], sets[i][6].t()
        return torch._scaled_mm(a, b.t(), sa, sb, out_dtype=torch.bfloat16, use_fast_accum=fast, out=c)

    fast = {"torch fast": lambda i: scaled(i, True)} if kind == "tensors" else {}
    return {"torch": lambda i: scaled(i, False), **fast}


def product_sets(kind, shape, count):
    m, n, k = shape
    sets = []
    for _ in range(count):
        a, sa = (by_rows if kind == "rows" else by_tensor)(torch.randn(m, k, device="cuda", dtype=torch.bfloat16))
        b, sb = (by_squares if kind == "rows" else by_tensor)(torch.randn(n, k, device="cuda", dtype=torch.bfloat16))
        down = sa.t().contiguous().t()
        c = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
        sets.append([a, sa, b, sb, c, down, padded_columns(sb)])
    return sets


def decoded(q, scale, kind):
    if kind == "tensors":
        return q.double() * scale.double()
    down = 1 if scale.shape[0] == q.shape[0] else 128
    wide = scale.double().repeat_interleave(down, 0)[: q.shape[0]].repeat_interleave(128, 1)
    return q.double() * wide[:, : q.shape[1]]


def product_case(kind, shape, rounds):
    m, n, k = shape
    count = sides.sets_for(m * k + n * k + 2 * m * n, sides.l2_bytes(), 16)
    sets = product_sets(kind, shape, count)
    a, sa, b, sb, c = sets[0][:5]
    want = decoded(a[:ROWS_CHECKED], sa if kind == "tensors" else sa[:ROWS_CHECKED], kind) @ decoded(b, sb, kind).t()
    runs = peers(kind, sets)

    def of(fast):
        return lambda i: ridge.apply("fp8_gemm", sets[i][:4], [sets[i][4]], options=[fast])

    runs["ridge"] = of(0)
    if kind == "tensors":
        runs["ridge fast"] = of(1)
    # What fast sums of a long K lose grows with it: 13 bits of the largest sum so far, each time 32 products are added.
    right = lambda _: sides.relative_error(c[:ROWS_CHECKED], want) < max(2**-7, k * 2**-19)  # noqa: E731
    for name, us in sides.medians_in_turns(runs, count, rounds, c, right, FAILURES).items():
        yield name, us, f"{2.0 * m * n * k / us / 1e6:8.1f} TFLOP/s"


@torch.compile(dynamic=False)
def scaled_integers(a, sa, b, sb):
    return (torch._int_mm(a, b.t()) * sa[:, None] * sb).to(torch.bfloat16)


def integer_case(_, shape, rounds):
    """Beside the product alone (cuBLASLt, sums of 32 bits), and with scales by torch.compile."""
    m, n, k = shape
    count = sides.sets_for(m * k + n * k + 2 * m * n, sides.l2_bytes(), 16)
    whole = lambda rows: torch.randint(-127, 128, (rows, k), device="cuda", dtype=torch.int8)  # noqa: E731
    scales = lambda rows: torch.rand(rows, device="cuda") / k  # noqa: E731
    sets = [(whole(m), scales(m), whole(n), scales(n), torch.empty(m, n, device="cuda", dtype=torch.bfloat16)) for _ in range(count)]
    a, sa, b, sb, c = sets[0]
    sums = a[:ROWS_CHECKED].double() @ b.double().t()
    want = sums * sa[:ROWS_CHECKED, None] * sb
    runs = {
        "torch": lambda i: torch._int_mm(sets[i][0], sets[i][2].t()),
        "torch.compile": lambda i: scaled_integers(*sets[i][:4]),
        "ridge": lambda i: ridge.apply("int8_gemm", sets[i][:4], [sets[i][4]]),
    }

    def right(result):
        got = (result if isinstance(result, torch.Tensor) else c)[:ROWS_CHECKED]
        return bool((got == sums).all()) if got.dtype == torch.int32 else sides.relative_error(got, want) < 2**-7

    for name, us in sides.medians_in_turns(runs, count, rounds, c, right, FAILURES).items():
        yield name, us, f"{2.0 * m * n * k / us / 1e6:8.1f} TOP/s"


# ---- quantizers ----
def quantizers(x, tensor_scale):
    rows, cols = x.shape
    codes = torch.empty(rows, cols, device="cuda", dtype=E4M3)
    packed = torch.empty(rows, cols // 2, device="cuda", dtype=torch.uint8)
    blocks = torch.empty(rows, -(-cols // 128), device="cuda")
    squares = torch.empty(-(-rows // 128), -(-cols // 128), device="cuda")
    tiles = torch.empty(-(-rows // 128), 512 * -(-cols // 64), device="cuda", dtype=E4M3)
    powers = torch.empty(-(-rows // 128), 512 * -(-cols // 128), device="cuda", dtype=torch.uint8)
    return {
        "quantize_fp8_blocks": ([x], [codes, blocks], by_rows),
        "quantize_fp8_squares": ([x], [codes, squares], by_squares),
        "quantize_nvfp4": ([x, tensor_scale], [packed, tiles], None),
        "quantize_mxfp8": ([x], [codes, powers], None),
        "quantize_mxfp8_e5m2": ([x], [codes.view(torch.float8_e5m2), powers], None),
        "quantize_mxfp4": ([x], [packed, powers], None),
    }


def bytes_of(tensors):
    return sum(t.numel() * t.element_size() for t in tensors)


def quantizer_case(name, shape, rounds):
    probe = torch.randn(shape, device="cuda", dtype=torch.bfloat16)
    scale = (probe.abs().amax().float() / 2688).view(1)
    moved = bytes_of(quantizers(probe, scale)[name][0] + quantizers(probe, scale)[name][1])
    count = sides.sets_for(moved, sides.l2_bytes(), 32)
    sets = [quantizers(torch.randn_like(probe), scale)[name] for _ in range(count)]
    ins, outs, formula = sets[0]
    half = moved // 512 * 256
    copied = [(torch.empty(half, device="cuda", dtype=torch.uint8), torch.ones(half, device="cuda", dtype=torch.uint8))
              for _ in range(count)]  # fmt: skip
    runs = {
        "copy": lambda i: copied[i][0].copy_(copied[i][1]),
        "ridge": lambda i: ridge.apply(name, sets[i][0], sets[i][1]),
        "ridge baseline": lambda i: ridge.apply(name, sets[i][0], sets[i][1], variant="cuda/baseline"),
    }
    if formula:
        compiled = torch.compile(formula, dynamic=False)
        runs["torch.compile"] = lambda i: compiled(sets[i][0][0])

    def right(result):
        if result is copied[0][0]:
            return torch.equal(result, copied[0][1])
        q, s = result if isinstance(result, tuple) else [t.clone() for t in outs]
        for t in outs:  # the next side finds nothing of this one's
            t.view(torch.uint8).zero_()
        if not formula:  # of another kernel, whose codes `ridge verify` compares with the oracle's
            ridge.apply(name, ins, outs, variant="cuda/baseline")
            same = all(torch.equal(mine.view(torch.uint8), t.view(torch.uint8)) for mine, t in zip((q, s), outs))
            for t in outs:
                t.view(torch.uint8).zero_()
            return same
        x = ins[0][:ROWS_CHECKED].double()
        got = decoded(q, s, "rows")[:ROWS_CHECKED] if formula is by_squares else decoded(q[:ROWS_CHECKED], s[:ROWS_CHECKED], "rows")
        return bool(((got - x).abs() <= x.abs() * 2**-4 + 2**-9 * float(s.max())).all())

    marker = torch.empty(1, device="cuda")
    for side, us in sides.medians_in_turns(runs, count, rounds, marker, right, FAILURES).items():
        yield side, us, f"{moved / us / 1e3:8.0f} GB/s"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE", help="write all rows to FILE")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", help="only cases whose name contains this")
    parser.add_argument("--drawn", type=int, metavar="N", help="N drawn shapes of the products in place of the listed ones")
    parser.add_argument("--seed", type=int, default=1)
    o = parser.parse_args()
    products = drawn(o.drawn, o.seed) if o.drawn else PRODUCTS
    print("{device}, PyTorch {torch}, CUDA {cuda}".format(**sides.machine()))
    cases = [(f"fp8_gemm {kind} {'x'.join(map(str, s))}", product_case, kind, s) for kind in ("tensors", "rows") for s in products]
    cases += [(f"int8_gemm {'x'.join(map(str, s))}", integer_case, "", s) for s in products]
    for name in quantizers(torch.empty(128, 128, device="cuda"), None):
        cases += [(f"{name} {'x'.join(map(str, s))}", quantizer_case, name, s) for s in QUANTIZED]
    rows, ratios = [], {}
    for title, run, what, shape in cases:
        if o.only and o.only not in title:
            continue
        found = list(run(what, shape, o.rounds))
        times = {side: us for side, us, _ in found}
        for side, us, rate in found:
            print(f"{title:42} {side:16} {us:9.2f} us {rate}", flush=True)
            rows.append({"case": title, "side": side, "us": us})
        for ours, theirs in (("ridge", "torch"), ("ridge fast", "torch fast"), ("ridge", "torch.compile"), ("ridge", "copy")):
            if ours in times and theirs in times:
                ratios.setdefault(f"{title.split()[0]} {what}: {theirs} / {ours}", []).append(times[theirs] / times[ours])
        torch.cuda.empty_cache()
    for pair, values in ratios.items():
        sides.print_ratios(pair, values)
    if o.json:
        sides.write_rows(o.json, rows)


if __name__ == "__main__":
    main()
