#!/usr/bin/env python3
"""Labels of 64 bits give the bits that labels of 32 bits give; what 32 bits cannot hold is no class.

    RIDGE_LIBRARY=build/libridge_ops.so python3 tests/gpu/wide_labels.py

Exit status: 0 all the same, 1 some differ, 77 PyTorch or the GPU is missing.
"""
import sys

from same_bits import TYPES, context_for, loss_case, poisoned

import ridge
import torch

ODD = [7, -1, -100, 2**31 - 1, -(2**31), 2**32 + 3, 2**32, -(2**40), -(2**32) + 5, 2**63 - 1, -(2**63), 2**32 + 7]
IGNORED = 7
SHAPES = [
    (256, 512, 50, "f32"), (300, 129, 1009, "f32"), (2048, 1024, 1000, "f32"), (2048, 1024, 1000, "f16"),
    (257, 520, 1009, "bf16"), (4096, 2048, 16384, "bf16"), (4104, 1032, 9001, "bf16"),
]  # fmt: skip
TARGETS = ("linear_cross_entropy", "linear_cross_entropy_backward", "linear_cross_entropy_grad")
VARIANTS = ("cuda/optimized", "cuda/unfused", "cuda/baseline")
OPTIONS = [IGNORED, 0.1, 1e-4, 0]


def labels_of(batch, classes):
    wide = torch.randint(0, classes, (batch,), device="cuda", dtype=torch.int64)
    odd = torch.tensor([*ODD, classes], device="cuda", dtype=torch.int64)
    wide[: len(odd)] = odd
    wide[-len(odd) :] = odd
    narrow = torch.where((wide >= 0) & (wide < classes), wide, torch.full_like(wide, -1)).to(torch.int32)
    return wide, narrow


def outputs(context, target, variant, inputs, make):
    y = poisoned(make())
    context.apply(target, inputs, y, variant=variant, options=OPTIONS)
    torch.cuda.synchronize()
    return y


def fault_of(context, target, variant, shape, dtype):
    """None: the same bits; "": the variant does not run here; else what is wrong."""
    inputs, make = loss_case(target, *shape, TYPES[dtype])
    wide, narrow = labels_of(shape[0], shape[2])
    by_labels = [inputs[:3] + [labels] + inputs[4:] for labels in (narrow, wide)]
    try:
        want = outputs(context, target, variant, by_labels[0], make)
    except ridge.Error as why:
        print(f"skip  {target} {variant}: {why}")
        return ""
    got = outputs(context, target, variant, by_labels[1], make)
    if not all(torch.equal(a.view(torch.uint8), b.view(torch.uint8)) for a, b in zip(want, got)):
        return "differ"
    if target != TARGETS[1] and not torch.equal(got[0] != 0, (narrow >= 0) & (narrow != IGNORED)):
        return "have losses where there is no class"
    return None


def main():
    torch.manual_seed(1)
    compared = bad = 0
    for target in TARGETS:
        for *shape, dtype in SHAPES:
            for variant in VARIANTS:
                fault = fault_of(context_for(dtype), target, variant, shape, dtype)
                compared += fault != ""
                bad += bool(fault)
                if fault:
                    print(f"FAIL  {target} {variant} {'x'.join(map(str, shape))} {dtype}: {fault}", flush=True)
            torch.cuda.empty_cache()
    print(f"{compared} compared, {bad} differ")
    return 1 if bad or compared < len(TARGETS) * len(SHAPES) else 0


if __name__ == "__main__":
    sys.exit(main())
