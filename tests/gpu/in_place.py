#!/usr/bin/env python3
"""Operations in place on a GPU: an output that is its input, where the descriptor allows it, has the bits of one apart.

    RIDGE_LIBRARY=build/libridge_ops.so python3 tests/gpu/in_place.py

What is allowed stands in the targets' descriptors (ridge_tensor_spec.in_place) and in ridge/ops.h. Row lengths lie on both
sides of every switch of kernels/cuda/rows/run.cuh, with rows aligned to 16 bytes and not, for every type and variant. An
overlap that is not allowed must be refused, and a view between an input's columns must be accepted.
Exit status: 0 all the same, 1 some differ, 77 PyTorch or the GPU is missing.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
try:
    import torch

    if not torch.cuda.is_available():
        raise ImportError("no GPU")
except ImportError as why:
    print(f"needs PyTorch and a GPU: {why}", file=sys.stderr)
    sys.exit(77)
import ridge  # noqa: E402

F32, BF16, F16 = torch.float32, torch.bfloat16, torch.float16
SUMS = [(0, None), (1, None), (None, 0), (None, 1), (0, 1), (1, 0)]
# target: the inputs that its outputs may be (None: memory of its own), other inputs by their shapes (n: columns), types
TARGETS = {
    "fused_l2norm": ([(0,)], [], [F32, BF16, F16]),
    "online_softmax": ([(0,)], [], [F32, BF16, F16]),
    "scaled_softmax": ([(0,)], [], [F32, BF16, F16]),
    "masked_softmax": ([(0,), (1,)], ["rows"], [F32, BF16, F16]),
    "norm_activation": ([(0,)], ["n", "n"], [F32, BF16, F16]),
    "norm_activation_rms": ([(0,)], ["n"], [F32, BF16, F16]),
    "l2_norm": ([(0,)], [], [F32, BF16, F16]),
    "layer_norm": ([(0,)], ["n", "n"], [F32, BF16, F16]),
    "rms_norm": ([(0,)], ["n"], [F32, BF16, F16]),
    "add_layer_norm": (SUMS, ["rows", "n", "n"], [F32, BF16, F16]),
    "add_rms_norm": (SUMS, ["rows", "n"], [F32, BF16, F16]),
    "memory_bound": ([(0,), (1,)], ["rows"], [F32, BF16, F16]),
    "vertical_fusion": ([(0,)], [], [F32, BF16, F16]),
    "compute_bound": ([(0,)], ["terms"], [F32]),
}
VARIANTS = ["cuda/baseline", "cuda/optimized"]
COLUMNS = [1, 7, 31, 63, 64, 65, 129, 256, 257, 513, 1024, 1025, 2048, 2049, 3073, 4096, 4097, 8192, 8193, 16384, 16385,
           32769, 65536, 65537, 131072, 131073, 262144, 262145]  # fmt: skip
ELEMENTS = 1 << 22


def tensors(target, rows, n, stride, dtype, skip):
    """Inputs, rows `stride` apart, the first of them `skip` elements behind an aligned address."""

    def matrix():
        pool = torch.randn(rows * stride + skip, device="cuda").to(dtype)
        return torch.as_strided(pool, (rows, n), (stride, 1), skip)

    shapes = {"n": (n,), "terms": (17,)}
    others = [matrix() if kind == "rows" else torch.randn(*shapes[kind], device="cuda").to(dtype)
              for kind in TARGETS[target][1]]  # fmt: skip
    return [matrix(), *others]


def like(x, skip):
    """Memory of its own, as x lies: the same stride, and the same place beside 16-byte boundaries."""
    rows, stride = x.shape[0], x.stride(0)
    pool = torch.full((rows * stride + skip,), float("nan"), device="cuda", dtype=x.dtype)
    return torch.as_strided(pool, x.shape, x.stride(), skip)


def differs(context, target, variant, inputs, places, skip):
    apart = [like(inputs[0], skip) for _ in places]
    there = [like(inputs[0], skip) if k is None else inputs[k] for k in places]
    context.apply(target, inputs, apart, variant=variant)
    context.apply(target, inputs, there, variant=variant)
    torch.cuda.synchronize()
    bits = torch.int32 if inputs[0].dtype == F32 else torch.int16
    return not all(torch.equal(a.contiguous().view(bits), b.contiguous().view(bits)) for a, b in zip(apart, there))


def check_target(context, target):
    allowed, _, types = TARGETS[target]
    bad = runs = 0
    for dtype in types:
        for n in COLUMNS:
            rows = max(1, min(301, ELEMENTS // n))
            for stride, skip in [(n, 0), (n + 8 - n % 8, 0), (n + 3, 1)]:
                for variant in VARIANTS:
                    for places in allowed:
                        inputs = tensors(target, rows, n, stride, dtype, skip)
                        runs += 1
                        if differs(context, target, variant, inputs, places, skip):
                            bad += 1
                            print(f"FAIL  {target} {variant} {rows}x{n} {dtype} stride {stride} in {places}", flush=True)
    print(f"{'FAIL' if bad else 'ok  '}  {target}: {runs} calls in place, {bad} with other bits", flush=True)
    return bad


def refused(context, target, inputs, outputs):
    try:
        context.apply(target, inputs, outputs)
    except ridge.Error as error:
        return "overlaps" in str(error) or "in place" in str(error)
    return False


def check_views(context):
    wide = torch.randn(64, 40, device="cuda")
    want = torch.softmax(wide[:, :16], 1)
    context.apply("online_softmax", [wide[:, :16]], [wide[:, 16:32]])
    bad = [] if torch.allclose(wide[:, 16:32], want, atol=1e-6) else ["columns of one matrix: wrong"]
    if not refused(context, "online_softmax", [wide[:, :16]], [wide[:, 15:31]]):
        bad.append("columns that overlap: accepted")
    if not refused(context, "online_softmax", [wide[:60, :16]], [wide[4:, :16]]):
        bad.append("rows that overlap: accepted")
    x, other, third = (torch.randn(8, 8, device="cuda") for _ in range(3))
    if not refused(context, "horizontal_fusion", [x], [x, other, third]):
        bad.append("horizontal_fusion in place: accepted")
    for text in bad:
        print(f"FAIL  {text}")
    return len(bad)


def main():
    torch.manual_seed(1)
    context = ridge.Context()
    bad = sum(check_target(context, target) for target in TARGETS) + check_views(context)
    print(f"{bad} differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
