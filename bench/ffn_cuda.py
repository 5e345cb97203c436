#!/usr/bin/env python3
"""ridge's SwiGLU layer on listed shapes, beside PyTorch's eagerly and by torch.compile, on one GPU.

    bench/ffn_cuda.py [--only 65536] [--json rows.json]
    bench/ffn_cuda.py --backward              # its gradients, from gate and up values that were kept

Beside the dense layer, of the same x, w1 and w2: fp8_ffn (e4m3 with scales of 1 x 128 and 128 x 128; hidden values are quantized
within) and structured_sparsity_ffn (the weights pruned to 2:4). Quantizing x and pruning are not counted. Operands are normal, weights divided by the root of what they are multiplied with. As in gemm_cuda.py operands rotate, graphs
are replayed in turns, and rows of each result are compared with fp64.
"""

import argparse

import sides
import torch
from torch.nn import functional as F

ridge = sides.import_ridge()

CASES = [(65536, 6144, 24576), (8192, 4096, 14336), (4096, 2048, 8192), (512, 4096, 14336), (16, 4096, 14336)]
ROWS_CHECKED = 16
BELOW = {"ridge fp8": 2**-4}  # of the largest value: hidden values have 3 bits behind the leading one; others 2**-5
FAILURES = (ridge.Error, RuntimeError)


def ffn(x, w1, w2):
    gate, up = F.linear(x, w1).chunk(2, dim=-1)
    return F.linear(F.silu(gate) * up, w2)


def ffn_backward(x, w1, w2, gates, dy):
    gate, up = gates.chunk(2, dim=-1)
    dh, opened = dy @ w2, F.silu(gate)
    both = torch.cat((torch.ops.aten.silu_backward(dh * up, gate), dh * opened), -1)
    return both @ w1, both.mT @ x, dy.mT @ (opened * up)


def normal(rows, columns, over=1.0):
    return torch.randn(rows, columns, device="cuda", dtype=torch.bfloat16) * over**-0.5


def operands(m, d, f):
    return [normal(m, d), normal(2 * f, d, d), normal(d, f, f), torch.empty(m, d, device="cuda", dtype=torch.bfloat16)]


def backward_case(m, d, f, rounds):
    count = sides.sets_for(2 * (3 * m * d + 2 * m * f + 6 * d * f), sides.l2_bytes(), 4)
    sets = []
    for _ in range(count):
        x, w1, w2, _ = operands(m, d, f)
        sets.append(([x, w1, w2, F.linear(x, w1), normal(m, d)], [torch.empty_like(t) for t in (x, w1, w2)]))
    (x, w1, w2, gates, dy), (dx, dw1, dw2) = sets[0]
    some = slice(0, ROWS_CHECKED)  # rows of dx, and of dw1 and dw2 those and columns that the same hidden values are in
    want_dx = ffn_backward(*(t.double() for t in (x[some], w1, w2, gates[some], dy[some])))[0]
    few = torch.cat((gates[:, some], gates[:, f : f + ROWS_CHECKED]), -1)
    few_w1 = torch.cat((w1[some], w1[f : f + ROWS_CHECKED]))
    _, want_dw1, want_dw2 = ffn_backward(*(t.double() for t in (x, few_w1, w2[:, some], few, dy)))
    compiled = torch.compile(ffn_backward, dynamic=False)

    def ours(variant):
        return lambda i: ridge.apply("swiglu_ffn_backward", *sets[i], variant=variant)

    def right(result):
        got_dx, got_dw1, got_dw2 = (dx, dw1, dw2) if result is None else result
        pairs = (got_dx[some], want_dx), (got_dw1[some], want_dw1[some]), (got_dw2[:, some], want_dw2)
        return all(sides.relative_error(got, want) < 2**-5 for got, want in pairs)

    runs = {
        "eager": lambda i: ffn_backward(*sets[i][0]),
        "torch.compile": lambda i: compiled(*sets[i][0]),
        "ridge baseline": ours("cuda/baseline"),
        "ridge": ours(None),
    }
    return sides.medians_in_turns(runs, count, rounds, dx, right, FAILURES)


def quantized(target, x, across):
    """e4m3 codes of x and a scale for each 128 columns of `across` rows."""
    rows, columns = x.shape
    codes = torch.empty(rows, columns, device="cuda", dtype=torch.float8_e4m3fn)
    scales = torch.empty(-(-rows // across), -(-columns // 128), device="cuda")
    ridge.apply(target, [x], [codes, scales])
    return codes, scales


def decoded(codes, scales, across):
    wide = scales.double().repeat_interleave(across, 0).repeat_interleave(128, 1)
    return codes.double() * wide[: codes.shape[0], : codes.shape[1]]


def pruned(w):
    rows, columns = w.shape
    kept = torch.empty(rows, columns // 2, device="cuda", dtype=w.dtype)
    codes = torch.empty(rows, columns // 32, device="cuda", dtype=torch.int32)
    ridge.apply("prune_2_4", [w], [kept, codes])
    return kept, codes


def expanded(kept, codes):
    """Of each four columns the two that a code of 4 bits places."""
    rows, words = codes.shape
    nibbles = (codes[..., None] >> torch.arange(0, 32, 4, device="cuda")) & 15
    places = torch.stack((nibbles & 3, nibbles >> 2), -1).long()
    whole = torch.zeros(rows, words, 8, 4, device="cuda", dtype=torch.float64)
    return whole.scatter_(-1, places, kept.double().view(rows, words, 8, 2)).view(rows, -1)


def low_precision(sets):
    """{side: (target, inputs of each set, dense inputs in fp64 of the first set's result)}."""
    eights, halves = [], []
    for x, w1, w2, _ in sets:
        parts = (quantized("quantize_fp8_blocks", x, 1), *(quantized("quantize_fp8_squares", w, 128) for w in (w1, w2)))
        eights.append([t for pair in parts for t in pair])
        halves.append([x, *pruned(w1), *pruned(w2)])
    xq, xs, *weights = eights[0]
    some = slice(0, ROWS_CHECKED)
    dense8 = (decoded(xq[some], xs[some], 1), decoded(*weights[:2], 128), decoded(*weights[2:], 128))
    x, *weights = halves[0]
    dense24 = (x[some].double(), expanded(*weights[:2]), expanded(*weights[2:]))
    return {
        "ridge fp8": ("fp8_ffn", eights, ffn(*dense8)),
        "ridge 2:4": ("structured_sparsity_ffn", halves, ffn(*dense24)),
    }


def run_case(m, d, f, rounds):
    count = sides.sets_for(2 * (2 * m * d + 3 * d * f), sides.l2_bytes(), 8)
    sets = [operands(m, d, f) for _ in range(count)]
    x, w1, w2, y = sets[0]
    want = ffn(*(t.double() for t in (x[:ROWS_CHECKED], w1, w2)))
    compiled = torch.compile(ffn, dynamic=False)
    lower = low_precision(sets)

    def ours(variant):
        return lambda i: ridge.apply("swiglu_ffn", sets[i][:3], [sets[i][3]], variant=variant)

    def of(side):
        target, inputs, _ = lower[side]
        return lambda i: (ridge.apply(target, inputs[i], [sets[i][3]]), side)[1]

    runs = {
        "eager": lambda i: ffn(*sets[i][:3]),
        "torch.compile": lambda i: compiled(*sets[i][:3]),
        "ridge baseline": ours("cuda/baseline"),
        "ridge": ours(None),
        **{side: of(side) for side in lower},
    }

    def right(result):
        side = result if isinstance(result, str) else None
        got = y if side or result is None else result
        error = sides.relative_error(got[:ROWS_CHECKED], lower[side][2] if side else want)
        return error < BELOW.get(side, 2**-5)

    return sides.medians_in_turns(runs, count, rounds, y, right, FAILURES)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE", help="write all rows to FILE")
    parser.add_argument("--backward", action="store_true", help="the gradients")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", help="only cases whose name contains this")
    o = parser.parse_args()
    print("{device}, PyTorch {torch}, CUDA {cuda}".format(**sides.machine()))
    rows = []
    for m, d, f in CASES:
        name = f"{m}x{d}x{f}"
        if o.only and o.only not in name:
            continue
        flops = (12.0 if o.backward else 6.0) * m * d * f
        for side, us in (backward_case if o.backward else run_case)(m, d, f, o.rounds).items():
            print(f"{name:20} {side:16} {us:11.2f} us {flops / us / 1e6:8.1f} TFLOP/s", flush=True)
            rows.append({"shape": name, "side": side, "us": us})
        torch.cuda.empty_cache()
    if o.json:
        sides.write_rows(o.json, rows)


if __name__ == "__main__":
    main()
