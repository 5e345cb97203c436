#!/usr/bin/env python3
"""Gradients of f16 are right where their range is not that of f16: rows that weigh very differently, infinite and NaN
ones, and probabilities beyond 1 of an lse that is not the logits' own.

    RIDGE_LIBRARY=build/libridge_ops.so python3 tests/gpu/f16_range.py

Exit status: 0 all right, 1 some wrong, 77 PyTorch or the GPU is missing.
"""
import sys

from same_bits import context_for, loss_case, poisoned

import torch

SHAPES = [(512, 256, 1000), (333, 257, 521), (256, 1024, 96), (300, 64, 5001)]
TARGETS = ("linear_cross_entropy_backward", "linear_cross_entropy_grad")


def weights(kind, rows):
    """dloss, and what is added to lse."""
    dloss, off = torch.ones(rows, device="cuda"), 0.0
    if kind == "spread":
        dloss = torch.exp2(12.0 - torch.arange(rows, device="cuda") % 28)
    elif kind == "tiny":
        dloss *= 1e-30
    elif kind == "zero":
        dloss[1:] = 0
    elif kind in ("inf", "nan"):
        dloss[rows // 2] = float(kind)
    elif kind == "beyond":
        off = -9.0
    return dloss, off


def reference(x, w, bias, labels, lse, dloss):
    x, w = x.double(), w.double()
    g = torch.exp(x @ w.T + bias.double() - lse.double()[:, None])
    g[torch.arange(len(g), device="cuda"), labels.long()] -= 1
    g *= dloss.double()[:, None]
    terms = g.abs() + 0
    terms[torch.arange(len(g), device="cuda"), labels.long()] += dloss.double().abs()
    size = terms.square()
    return (g @ w, size.sum(1).sqrt() * w.abs().max()), (g.T @ x, size.sum(0).sqrt() * x.abs().max()), g.sum(0)


def wrong(got, want, size):
    """Rows of `got` that are off, of those whose reference is finite and fits f16."""
    bad = (got.double() - want).abs() > 2**-8 * size[:, None] + 2**-24
    whole = want.isfinite().all(1) & (want.abs().amax(1) < 60000)
    return int((bad.any(1) & whole).sum()) + int((got.isfinite().all(1) & ~want.isfinite().all(1)).sum())


def fault_of(target, shape, kind):
    inputs, make = loss_case(target, *shape, torch.float16)
    dloss, off = weights(kind, shape[0])
    x, w, bias, labels = inputs[:4]
    lse = torch.logsumexp(x.double() @ w.double().T + bias.double(), 1).float() + off
    inputs = [x, w, bias, labels] + ([lse] if target == TARGETS[0] else []) + [dloss]
    y = poisoned(make())
    context_for("f16").apply(target, inputs, y, variant="cuda/optimized", options=[-100, 0, 0, 0])
    torch.cuda.synchronize()
    dx, dw, db = y[-3:]
    to_dx, to_dw, sums = reference(x, w, bias, labels, lse, dloss)
    faults = {"dx": wrong(dx, *to_dx), "dw": wrong(dw, *to_dw)}
    bad = (db.double() - sums).abs() > 2**-8 * to_dw[1] / x.abs().max() + 2**-24 * dloss.abs().max()
    faults["db"] = int((bad & sums.isfinite()).sum()) + int((db.isfinite() & ~sums.isfinite()).sum())
    return ", ".join(f"{n} lines of {name}" for name, n in faults.items() if n)


def main():
    torch.manual_seed(1)
    compared = bad = 0
    for target in TARGETS:
        for shape in SHAPES:
            for kind in ("even", "spread", "tiny", "zero", "inf", "nan", "beyond"):
                if kind == "beyond" and target != TARGETS[0]:
                    continue
                fault = fault_of(target, shape, kind)
                compared += 1
                bad += bool(fault)
                if fault:
                    print(f"FAIL  {target} {'x'.join(map(str, shape))} {kind}: {fault}", flush=True)
    print(f"{compared} compared, {bad} wrong")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
