#!/usr/bin/env python3
"""Gradients of RMS norm and layer norm beside PyTorch's on one GPU, and a copy of as many bytes.

    bench/norm_backward_cuda.py                      # all
    bench/norm_backward_cuda.py --drawn 20 --seed 7  # drawn shapes in place of the listed ones

PyTorch's backward ("torch", aten's) and torch.compile of the formulas are given the statistics of rows that a forward would have
saved; ridge makes them again. Operands rotate, graphs are replayed in turns, and results are compared with fp64.
"""

import functools
import math
import random

import sides
import torch

ridge = sides.import_ridge()

SHAPES = [(4096, 4096), (16384, 4096), (8192, 8192), (32768, 2048), (65536, 1024), (131072, 256), (4096, 16384), (512, 4096)]
TYPES = {"bf16": torch.bfloat16, "f32": torch.float32}
FAILURES = (ridge.Error, RuntimeError, ValueError, TypeError, AttributeError, torch._dynamo.exc.TorchDynamoException)
EPS = 1e-5


def drawn(count, seed):
    """Extents whose logarithms are uniform: rows of whole 8s, to 16384, of matrices to 2^27 elements."""
    deck, shapes = random.Random(seed), []
    while len(shapes) < count:
        rows, cols = (math.exp(deck.uniform(math.log(low), math.log(high))) for low, high in ((16, 262144), (64, 16384)))
        if 2**18 < rows * cols < 2**27:
            shapes.append((round(rows), max(1, round(cols / 8)) * 8))
    return shapes


def statistics(x, centered):
    wide = x.float()
    mean = wide.mean(-1, keepdim=True) if centered else torch.zeros_like(wide[:, :1])
    return mean, ((wide - mean).square().mean(-1, keepdim=True) + EPS).rsqrt()


def formula(centered, x, gamma, dy, mean, inverse):
    n, g = (x.float() - mean) * inverse, dy.float() * gamma.float()
    dx = g - n * (g * n).mean(-1, keepdim=True)
    if centered:
        dx = dx - g.mean(-1, keepdim=True)
    sums = (dy.float() * n).sum(0), dy.float().sum(0)
    return ((dx * inverse).to(x.dtype), *(sums if centered else sums[:1]))


def aten(centered, x, gamma, dy, mean, inverse):
    ops, shape = torch.ops.aten, [x.shape[-1]]
    if centered:
        return ops.native_layer_norm_backward(dy, x, shape, mean, inverse, gamma, gamma, [True, True, True])
    return ops._fused_rms_norm_backward(dy, x, shape, inverse, gamma, [True, True])


def case(centered, dtype, shape, rounds):
    rows, cols = shape
    size = torch.empty(0, dtype=dtype).element_size()
    moved = 3 * rows * cols * size
    count = sides.sets_for(moved, sides.l2_bytes(), 16)
    sets = []
    for _ in range(count):
        x, dy = (torch.randn(rows, cols, device="cuda", dtype=dtype) for _ in range(2))
        gamma = torch.randn(cols, device="cuda", dtype=dtype)
        sums = [torch.empty(cols, device="cuda") for _ in range(2 if centered else 1)]
        sets.append((x, gamma, dy, *statistics(x, centered), [torch.empty_like(x), *sums]))
    bytes_of = lambda: torch.empty(moved // 2, device="cuda", dtype=torch.uint8).random_()  # noqa: E731
    copies = [(bytes_of(), bytes_of()) for _ in range(count)]
    want = formula(centered, *(t.double() for t in sets[0][:3]), *statistics(sets[0][0].double(), centered))
    compiled = torch.compile(formula, dynamic=False)
    name = "layer_norm_backward" if centered else "rms_norm_backward"

    def right(result):
        if result is copies[0][0]:
            return torch.equal(*copies[0])
        got = result if isinstance(result, tuple) else sets[0][5]
        return all(sides.relative_error(g, w) < (2**-7 if size == 2 else 2**-14) for g, w in zip(got, want))

    runs = {
        "copy": lambda i: copies[i][0].copy_(copies[i][1]),
        "torch": lambda i: aten(centered, *sets[i][:5]),
        "torch.compile": lambda i: compiled(centered, *sets[i][:5]),
        "ridge baseline": lambda i: ridge.apply(name, [*sets[i][:3], None], sets[i][5], options=[EPS], variant="cuda/baseline"),
        "ridge": lambda i: ridge.apply(name, [*sets[i][:3], None], sets[i][5], options=[EPS]),
    }
    torch._dynamo.reset()
    return sides.medians_in_turns(runs, count, rounds, sets[0][5][0], right, FAILURES)


def main():
    parser = sides.arguments(__doc__, 11)
    parser.add_argument("--drawn", type=int, metavar="N", help="N drawn shapes in place of the listed ones")
    parser.add_argument("--seed", type=int, default=1)
    o = parser.parse_args()
    cases = []
    for norm in ("rms", "layer"):
        for kind, dtype in TYPES.items():
            for shape in drawn(o.drawn, o.seed) if o.drawn else SHAPES:
                moved = 3 * shape[0] * shape[1] * torch.empty(0, dtype=dtype).element_size()
                run = functools.partial(case, norm == "layer", dtype, shape)
                cases.append((f"{norm}_{kind} {'x'.join(map(str, shape))}", moved, run))
    sides.run_listed(o, "GB/s", cases)


if __name__ == "__main__":
    main()
