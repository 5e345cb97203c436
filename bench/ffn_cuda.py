#!/usr/bin/env python3
"""ridge's SwiGLU layer on listed shapes, beside PyTorch's eagerly and by torch.compile, on one GPU.

    bench/ffn_cuda.py [--only 65536] [--json rows.json]
    bench/ffn_cuda.py --backward              # its gradients, from gate and up values that were kept

Beside the dense layer, of the same x, w1 and w2: fp8_ffn (e4m3 with scales of 1 x 128 and 128 x 128, and with one scale a
tensor; hidden values are quantized within), PyTorch's layer of scaled_mm with one scale a tensor, hidden values too, by
torch.compile, and structured_sparsity_ffn (the weights pruned to 2:4). Quantizing x and pruning are not counted. Operands are
normal, weights divided by the root of what they are multiplied with. As in gemm_cuda.py operands rotate, graphs are replayed in
turns, and rows of each result are compared with fp64.
"""

import functools
import math

import sides
import torch
from lowprec_cuda import by_rows, decoded
from packed_cuda import expanded
from torch.nn import functional as F

ridge = sides.import_ridge()

CASES = [(65536, 6144, 24576), (8192, 4096, 14336), (4096, 2048, 8192), (512, 4096, 14336), (16, 4096, 14336)]
ROWS_CHECKED = 16
FAILURES = (ridge.Error, RuntimeError)


def hidden(x, w1):
    gate, up = F.linear(x, w1).chunk(2, dim=-1)
    return F.silu(gate) * up


def ffn(x, w1, w2):
    return F.linear(hidden(x, w1), w2)


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


def squares(w):
    codes = torch.empty(w.shape, device="cuda", dtype=torch.float8_e4m3fn)
    scales = torch.empty([-(-extent // 128) for extent in w.shape], device="cuda")
    ridge.apply("quantize_fp8_squares", [w], [codes, scales])
    return codes, scales


def eights(x, w1, w2):
    """Inputs of fp8_ffn."""
    return [*ridge.quantize_fp8_blocks(x), *squares(w1), *squares(w2)]


def whole(t):
    """Codes with one scale for all of t."""
    scale = t.abs().max().float() / 448
    return (t / scale).to(torch.float8_e4m3fn), scale.reshape(1, 1)


def wholes(x, w1, w2):
    """Inputs of fp8_ffn with one scale a tensor."""
    return [part for t in (x, w1, w2) for part in whole(t)]


def scaled_ffn(x, x_scale, w1, w1_scale, w2, w2_scale):
    """The same by PyTorch, which gives hidden values one scale, too."""
    product = functools.partial(torch._scaled_mm, out_dtype=torch.bfloat16, use_fast_accum=True)
    gate, up = product(x, w1.t(), scale_a=x_scale, scale_b=w1_scale).chunk(2, dim=-1)
    values = F.silu(gate) * up
    scale = (values.abs().amax().float() / 448).reshape(1, 1)
    codes = (values / scale).clamp(-448, 448).to(torch.float8_e4m3fn)
    return product(codes, w2.t(), scale_a=scale, scale_b=w2_scale)


def halves(x, w1, w2):
    """Inputs of structured_sparsity_ffn."""
    return [x, *ridge.prune_2_4(w1), *ridge.prune_2_4(w2)]


def wanted_of_eights(x, x_scale, w1, w1_scale, w2, w2_scale):
    values = hidden(decoded(x, x_scale, "rows"), decoded(w1, w1_scale, "squares"))
    return F.linear(decoded(*by_rows(values), "rows"), decoded(w2, w2_scale, "squares"))


def wanted_of_wholes(x, x_scale, w1, w1_scale, w2, w2_scale):
    values = hidden(x.double() * x_scale, w1.double() * w1_scale)
    return F.linear(decoded(*by_rows(values), "rows"), w2.double() * w2_scale)


def wanted_of_scaled(x, x_scale, w1, w1_scale, w2, w2_scale):
    """Of one scale for all hidden values only who has all of them knows it: before they are quantized."""
    return ffn(x.double() * x_scale, w1.double() * w1_scale, w2.double() * w2_scale)


def wanted_of_halves(x, w1, w1_codes, w2, w2_codes):
    d, f = w2.shape[0], 2 * w2.shape[1]
    return ffn(x.double(), expanded(w1, w1_codes, d).double(), expanded(w2, w2_codes, f).double())


def run_case(m, d, f, rounds):
    count = sides.sets_for(2 * (2 * m * d + 3 * d * f), sides.l2_bytes(), 8)
    sets = [operands(m, d, f) for _ in range(count)]
    x, w1, w2, y = sets[0]
    some = slice(0, ROWS_CHECKED)
    want = ffn(x[some].double(), w1.double(), w2.double())
    eight, one, half = ([of(*inputs[:3]) for inputs in sets] for of in (eights, wholes, halves))
    want_eight = wanted_of_eights(*(t[some] for t in eight[0][:2]), *eight[0][2:])
    want_one, want_scaled = (of(one[0][0][some], *one[0][1:]) for of in (wanted_of_wholes, wanted_of_scaled))
    want_half = wanted_of_halves(half[0][0][some], *half[0][1:])
    compiled, scaled = (torch.compile(f, dynamic=False) for f in (ffn, scaled_ffn))

    def ours(target, inputs, wanted, variant=None):
        def run(i):
            ridge.apply(target, inputs[i], [sets[i][3]], variant=variant)
            return sets[i][3], wanted

        return run

    dense = [inputs[:3] for inputs in sets]
    runs = {
        "eager": lambda i: (ffn(*dense[i]), want),
        "torch.compile": lambda i: (compiled(*dense[i]), want),
        "ridge baseline": ours("swiglu_ffn", dense, want, "cuda/baseline"),
        "ridge": ours("swiglu_ffn", dense, want),
        "ridge fp8": ours("fp8_ffn", eight, want_eight),
        "compile fp8, tensors": lambda i: (scaled(*one[i]), want_scaled),
        "ridge fp8, tensors": ours("fp8_ffn", one, want_one),
        "ridge 2:4": ours("structured_sparsity_ffn", half, want_half),
    }
    right = lambda result: sides.relative_error(result[0][some], result[1]) < 2**-5  # noqa: E731
    return sides.medians_in_turns(runs, count, rounds, y, right, FAILURES)


def main():
    parser = sides.arguments(__doc__, 9)
    parser.add_argument("--backward", action="store_true", help="the gradients")
    o = parser.parse_args()
    run, flops = (backward_case, 12.0) if o.backward else (run_case, 6.0)
    cases = [("x".join(map(str, c)), flops * math.prod(c), functools.partial(run, *c)) for c in CASES]
    sides.run_listed(o, "TFLOP/s", cases)



if __name__ == "__main__":
    main()
