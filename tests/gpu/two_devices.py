#!/usr/bin/env python3
"""Two GPUs in one process: what ridge found out about the first must not be taken for true of the second.

    RIDGE_LIBRARY=build/libridge_ops.so python3 tests/gpu/two_devices.py [ORDER…]

Every operation runs on both devices, each time with the other one current, in one context, and must give the bits that it gives
on cuda:0 when that is current; the caller's current device must stay what it was, also when a call is refused. Each ORDER has a
process of its own, so that either device comes first once:

    0,1   cuda:0, then cuda:1      1,0   the other way round      threads   both at once, from two threads

Exit status: 0 all the same, 1 some differ, 77 there are not two GPUs of one model, or PyTorch is missing.
"""
import pathlib
import subprocess
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
try:
    import torch

    if torch.cuda.device_count() < 2:
        raise ImportError("there is one GPU at most")
    if len({torch.cuda.get_device_name(i) for i in (0, 1)}) > 1:
        raise ImportError("the first two GPUs are of two models, whose bits may differ")
except ImportError as why:
    print(f"needs PyTorch and two GPUs: {why}", file=sys.stderr)
    sys.exit(77)
import ridge  # noqa: E402

from same_bits import TYPES, context_for, normal  # noqa: E402
from same_bits import cases as linear_cases  # noqa: E402

ORDERS = ("0,1", "1,0", "threads")
# Rows of a warp's part, of a block, of clusters, of clusters that stay, and of more.
SHAPES = [(1, 4), (300, 1000), (259, 4096), (128, 4096), (40, 16384), (64, 65536), (600, 131072), (7, 262145)]
PARAMETERS = {"norm_activation": 2, "norm_activation_rms": 1}
ROW_WISE = ["fused_l2norm", "online_softmax", *PARAMETERS]
ELEMENTWISE = ["horizontal_fusion", "memory_bound", "vertical_fusion"]  # the extents of others are not all in their tensors


def row_cases():
    for target in ROW_WISE + ELEMENTWISE:
        for dtype in ("f32", "bf16"):
            for rows, columns in SHAPES if target in ROW_WISE else SHAPES[:3]:
                x = normal(rows, columns, dtype=TYPES[dtype]).abs() + 0.5
                vectors = [normal(columns, dtype=TYPES[dtype]) for _ in range(PARAMETERS.get(target, 0))]
                more = [x + 1] if target == "memory_bound" else vectors
                outputs = 3 if target == "horizontal_fusion" else 1
                yield target, (rows, columns), dtype, [x, *more], lambda x=x, n=outputs: [torch.empty_like(x) for _ in range(n)]
    x = normal(300, 1000)
    yield "compute_bound", (300, 1000, 17), "f32", [x, normal(17)], lambda: [torch.empty_like(x)]


def cases():
    """Operands on cuda:0, the same in every process."""
    torch.manual_seed(1)
    with torch.cuda.device(0):
        yield from row_cases()
        yield from linear_cases()


def outputs_on(device, make):
    with torch.cuda.device(0):
        return [torch.full_like(y, float("nan"), device=device) for y in make()]


def run(context, target, inputs, make, device, current):
    """The outputs of a call on `device` while `current` is current, and whether it still is."""
    inputs = [t.to(f"cuda:{device}") for t in inputs]
    outputs = outputs_on(f"cuda:{device}", make)
    for each in (0, 1):
        torch.cuda.synchronize(each)
    with torch.cuda.device(current):
        context.apply(target, inputs, outputs)
        kept = torch.cuda.current_device() == current
    torch.cuda.synchronize(device)
    return [y.to("cuda:0") for y in outputs], kept


def same(a, b):
    return all(torch.equal(u.contiguous().view(torch.uint8), v.contiguous().view(torch.uint8)) for u, v in zip(a, b))


def faults_of(contexts, target, dtype, inputs, make, order):
    context, bad = contexts[dtype == "tf32"], []
    results = {}
    for device in order:
        results[device], kept = run(context, target, inputs, make, device, 1 - device)
        if not kept:
            bad.append(f"cuda:{1 - device} was current and is no longer")
    plain, _ = run(context, target, inputs, make, 0, 0)
    bad += [f"cuda:{device} differs" for device in order if not same(results[device], plain)]
    again, _ = run(context, target, inputs, make, order[0], order[1])
    return bad + ([] if same(again, plain) else [f"cuda:{order[0]} differs after cuda:{order[1]}"])


def refused(context):
    """A call that is refused after the device was made current leaves the caller's current, too."""
    x = torch.ones(4, 8, device="cuda:1")
    with torch.cuda.device(0):
        try:
            context.apply("fused_l2norm", [x], [torch.empty_like(x)], variant="cuda/none")
        except ridge.Error:
            return [] if torch.cuda.current_device() == 0 else ["a refused call left the other device current"]
    return ["a call of a variant that does not exist was not refused"]


def say(faults, target, shape, dtype):
    print(f"{'FAIL' if faults else 'ok  '}  {target} {'x'.join(map(str, shape))} {dtype} {'; '.join(faults)}", flush=True)


def in_order(order):
    contexts, bad = (context_for("f32"), context_for("tf32")), 0
    for target, shape, dtype, inputs, make in cases():
        found = faults_of(contexts, target, dtype, inputs, make, order)
        bad += bool(found)
        say(found, target, shape, dtype)
        del inputs, make
        torch.cuda.empty_cache()
    found = refused(contexts[0])
    print("\n".join(found), end="")
    return bad + len(found)


def from_threads():
    """Two threads make the first call of every operation at the same time, each on its device."""
    bad = 0
    for target, shape, dtype, inputs, make in cases():
        contexts, results, failed, gate = [context_for(dtype) for _ in (0, 1)], {}, [], threading.Barrier(2)

        def work(device):
            try:
                gate.wait()
                results[device], _ = run(contexts[device], target, inputs, make, device, device)  # noqa: B023
            except Exception as error:  # the other thread goes on
                failed.append(f"cuda:{device}: {error}")  # noqa: B023

        threads = [threading.Thread(target=work, args=(device,)) for device in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if not failed and not same(results[0], results[1]):
            failed.append("the two differ")
        bad += bool(failed)
        say(failed, "threads: " + target, shape, dtype)
        del inputs, make
        torch.cuda.empty_cache()
    return bad


def main():
    orders = sys.argv[1:] or ORDERS
    if len(orders) > 1:
        failed = [o for o in orders if subprocess.run([sys.executable, __file__, o]).returncode]
        print(f"{len(orders) - len(failed)} of {len(orders)} orders the same" + (f"; not {failed}" if failed else ""))
        return 1 if failed else 0
    bad = from_threads() if orders[0] == "threads" else in_order([int(d) for d in orders[0].split(",")])
    print(f"{orders[0]}: {bad} faults")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
