#!/usr/bin/env python3
"""ridge's attention of e4m3, on one GPU, beside its own attention of the same numbers in bf16, and PyTorch's by cuDNN and
FlashAttention-2, which have no fp8 there.

    bench/fp8_attention_cuda.py [--only 16384] [--json rows.json]
    bench/fp8_attention_cuda.py --drawn 20 --seed 7

Data are normal; q, k and v are quantized once, with a scale for each head, which is not timed. As in attention_cuda.py operands
rotate, graphs are replayed in turns, and rows of each result are compared with fp64 of what codes stand for. The error line is
against fp64 of the numbers before they were quantized: the root of the mean square over that of the result.
"""

import functools
import math
import random

import sides
import torch
from torch.nn.attention import SDPBackend

ridge = sides.import_ridge()

E4M3, LARGEST = torch.float8_e4m3fn, 448.0
CASES = [  # batch, heads, kv_heads, queries and keys, d, causal
    (4, 16, 16, 4096, 128, 0), (4, 16, 16, 4096, 128, 1), (1, 16, 16, 16384, 128, 0), (1, 16, 16, 16384, 128, 1),
    (1, 64, 8, 8192, 128, 0), (1, 64, 8, 8192, 128, 1), (16, 16, 16, 1024, 64, 0), (16, 16, 16, 1024, 64, 1),
    (2, 32, 32, 8192, 64, 0), (2, 32, 32, 8192, 64, 1), (32, 32, 8, 512, 128, 0), (32, 32, 8, 512, 128, 1),
]  # fmt: skip
ROWS_CHECKED = 64


def quantized(x):
    scale = x.float().abs().amax((-2, -1)) / LARGEST
    return (x.float() / scale[..., None, None]).clamp(-LARGEST, LARGEST).to(E4M3), scale


class Case:
    def __init__(self, batch, heads, kv_heads, n, d, causal):
        self.batch, self.heads, self.kv_heads, self.n, self.d, self.causal = batch, heads, kv_heads, n, d, causal
        self.flops = 4.0 * batch * heads * n * n * d * (0.5 if causal else 1)
        self.name = f"B{batch} H{heads}/{kv_heads} S{n} D{d}{' causal' if causal else ''}"

    def operands(self):
        def of(heads):
            return torch.randn(self.batch, heads, self.n, self.d, device="cuda", dtype=torch.bfloat16)

        exact = of(self.heads), of(self.kv_heads), of(self.kv_heads)
        codes, scales = zip(*map(quantized, exact))
        return exact, codes, scales

    def want(self, operands):
        """Of the last rows of the first batch's first and last head."""
        q, k, v = (x[:1].double() for x in operands)
        group = self.heads // self.kv_heads
        k, v = (x.repeat_interleave(group, 1)[:, [0, -1]] for x in (k, v))
        scores = q[:, [0, -1], -ROWS_CHECKED:] @ k.mT / math.sqrt(self.d)
        if self.causal:
            rows = min(ROWS_CHECKED, self.n)
            behind = torch.ones(rows, self.n, device="cuda", dtype=torch.bool).triu(self.n - rows + 1)
            scores = scores.masked_fill(behind, -math.inf)
        return torch.softmax(scores, -1) @ v


def checked(out):
    return out[:1, [0, -1], -ROWS_CHECKED:]


def run_case(case, rounds):
    count = sides.sets_for(case.batch * case.n * case.d * (case.heads + 2 * case.kv_heads), sides.l2_bytes(), 8)
    sets = [case.operands() for _ in range(count)]
    outs = [torch.empty_like(exact[0]) for exact, _, _ in sets]
    lse = torch.empty(case.batch, case.heads, case.n, device="cuda")
    share, options = case.heads != case.kv_heads, [0, case.causal, -1, -1]  # scale, causal, left, right
    torch_causal = {"is_causal": bool(case.causal)}
    cudnn = sides.attention_by(SDPBackend.CUDNN_ATTENTION, share, **torch_causal)
    flash = sides.attention_by(SDPBackend.FLASH_ATTENTION, share, **torch_causal)

    def first(x):
        return x.permute(2, 0, 1, *range(3, x.dim()))

    def of_codes(i):
        _, codes, scales = sets[i]
        ridge.apply("fp8_attention", [*map(first, codes), None, None, *scales], [first(outs[i]), first(lse)], options=options)
        return outs[i]

    def of_bf16(i):
        ridge.apply("attention", [*map(first, sets[i][0]), None, None], [first(outs[i]), first(lse)], options=options)
        return outs[i]

    exact, codes, scales = sets[0]
    of_values = case.want(exact)
    stood_for = case.want([c.double() * s.double()[..., None, None] for c, s in zip(codes, scales)])

    def is_right(result):  # of codes, whose P is rounded to e4m3, or of bf16
        got = checked(result)
        return min(sides.relative_error(got, stood_for) / 2**-3, sides.relative_error(got, of_values) / 2**-6) < 1

    def error(result):
        return float((checked(result).double() - of_values).square().mean().sqrt() / of_values.square().mean().sqrt())

    print(f"{case.name:40} error: codes {error(of_codes(0)):.4f}, bf16 {error(of_bf16(0)):.4f}")
    runs = {
        "ridge": of_codes,
        "ridge bf16": of_bf16,
        "cudnn bf16": lambda i: cudnn(*sets[i][0]),
        "flash2 bf16": lambda i: flash(*sets[i][0]),
    }
    return sides.medians_in_turns(runs, count, rounds, outs[0], is_right, (ridge.Error, RuntimeError, TypeError))


def drawn(count, seed):
    """Extents whose logarithms are uniform; work to 4 10^12 FLOP."""
    of, found = random.Random(seed), []
    extent = lambda low, high: round(low * (high / low) ** of.random())  # noqa: E731
    while len(found) < count:
        kv_heads, d = of.choice((1, 2, 4, 8, 16)), of.choice((64, 96, 128))
        heads, batch, n = kv_heads * of.choice((1, 2, 4, 8)), extent(1, 32), extent(256, 16384)
        if 1e10 <= 4.0 * batch * heads * n * n * d <= 4e12:
            found.append((batch, heads, kv_heads, n, d, of.randrange(2)))
    return found


def main():
    parser = sides.arguments(__doc__, 11)
    parser.add_argument("--drawn", type=int, metavar="N", help="N drawn shapes in place of the listed ones")
    parser.add_argument("--seed", type=int, default=1, help="of the data, and of drawn shapes")
    o = parser.parse_args()
    torch.manual_seed(o.seed)
    cases = [Case(*shape) for shape in (drawn(o.drawn, o.seed) if o.drawn else CASES)]
    sides.run_listed(o, "TFLOP/s", [(c.name, c.flops, functools.partial(run_case, c)) for c in cases])


if __name__ == "__main__":
    main()
