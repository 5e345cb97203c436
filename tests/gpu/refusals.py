#!/usr/bin/env python3
"""What a program is told when it is the GPU that cannot go on: each in a process of its own.

    RIDGE_LIBRARY=build/libridge_ops.so python3 tests/gpu/refusals.py [CASE…]

    forked    a child of fork() that uses the GPU its parent used is refused, also when ridge was not what used it
    earlier   a kernel of the program that failed is not taken for ridge's
    memory    a call for whose scratch memory there is no room says so; the next one that needs less runs

Exit status: 0 as it should be, 1 not so, 77 PyTorch or the GPU is missing.
"""
import os
import pathlib
import signal
import subprocess
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


def refusal(call):
    """The text of the error that a call raises."""
    try:
        call()
    except ridge.Error as error:
        return str(error)
    raise SystemExit("the call was not refused")


def in_child(check):
    """Exit status of a forked child that runs `check`; one that hangs is killed."""
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            os._exit(0 if check() else 1)
        except BaseException as error:  # nothing of the parent's may run here
            print(f"child: {error}", flush=True)
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def forked():
    x = torch.randn(64, 512, device="cuda")
    y, context = torch.empty_like(x), ridge.Context()
    torch.cuda.synchronize()

    def is_refused(context):
        # stream 0: asking PyTorch for its current one is refused by PyTorch
        why = refusal(lambda: context.apply("fused_l2norm", [x], [y], stream=0))
        print(why, flush=True)
        return "fork" in why

    assert in_child(lambda: is_refused(ridge.Context())) == 0, "where PyTorch alone used the GPU"
    context.apply("fused_l2norm", [x], [y])
    torch.cuda.synchronize()
    assert in_child(lambda: is_refused(context)) == 0, "where ridge used it"

    def destroys():
        nonlocal context
        del context
        return True

    assert in_child(destroys) == 0, "destroying the context"
    context.apply("fused_l2norm", [x], [y])  # the parent goes on
    torch.cuda.synchronize()
    assert torch.allclose(y.norm(dim=1), torch.ones(64, device="cuda"), atol=1e-3)


def earlier():
    x, table = torch.randn(64, 512, device="cuda"), torch.zeros(4, device="cuda")
    y, context = torch.empty_like(x), ridge.Context()
    context.apply("fused_l2norm", [x], [y])
    table[torch.tensor([1 << 40], device="cuda")]  # PyTorch's kernel asserts that indices are in range
    try:
        torch.cuda.synchronize()
    except RuntimeError:
        pass
    why = refusal(lambda: context.apply("fused_l2norm", [x], [y], stream=0))
    print(why)
    assert "an earlier launch failed" in why and "assert" in why, why
    os._exit(0)  # PyTorch's own end would meet the error again


def memory():
    context = ridge.Context()
    x, w = torch.randn(65536, 64, device="cuda"), torch.randn(200000, 64, device="cuda")
    b, labels = torch.zeros(200000, device="cuda"), torch.zeros(65536, device="cuda", dtype=torch.int32)
    outputs = [torch.empty(65536, device="cuda") for _ in range(2)]
    torch.cuda.synchronize()
    held = [torch.empty(torch.cuda.mem_get_info()[0] - (64 << 20), dtype=torch.uint8, device="cuda")]
    why = refusal(lambda: context.apply("linear_cross_entropy", [x, w, b, labels], outputs, variant="cuda/unfused"))
    print(why)
    assert "no GPU memory for" in why, why
    del held
    torch.cuda.empty_cache()
    context.apply("linear_cross_entropy", [x, w, b, labels], outputs)
    torch.cuda.synchronize()
    assert bool(torch.isfinite(outputs[0]).all())


CASES = {"forked": forked, "earlier": earlier, "memory": memory}


def main():
    names = sys.argv[1:] or list(CASES)
    if len(names) == 1:
        CASES[names[0]]()
        return 0
    failed = [name for name in names if subprocess.run([sys.executable, __file__, name]).returncode]
    print(f"{len(names) - len(failed)} of {len(names)} told as they should be" + (f"; not {failed}" if failed else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
