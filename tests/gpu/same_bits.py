#!/usr/bin/env python3
"""The same bits on every run: what the READMEs of the linear targets promise of one machine, and what a race would break.

    RIDGE_LIBRARY=build/libridge_ops.so python3 tests/gpu/same_bits.py

Each operation runs many times on the same data: alone, behind other work, inside a graph, and on two streams at once (where
kernels whose blocks wait for each other must not starve one another). Every output must have the bits of the first run.
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

TYPES = {"f32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
RUNS, LAUNCHES = 6, 8


def normal(*shape, dtype=torch.float32, scale=1.0):
    return (torch.randn(*shape, device="cuda") * scale).to(dtype)


def softmax_case(heads, b, d, c, dtype, turned):
    x, bias = normal(b, d, dtype=dtype), normal(*heads, c, dtype=dtype)
    w = normal(c, d, dtype=dtype, scale=d**-0.5).T if turned else normal(*heads, d, c, dtype=dtype, scale=d**-0.5)
    return [x, w, bias], lambda: [x.new_empty(b, *heads, c)]


def loss_case(target, b, d, c, dtype):
    x, w, bias = normal(b, d, dtype=dtype), normal(c, d, dtype=dtype, scale=d**-0.5), normal(c)
    labels = torch.randint(0, c, (b,), device="cuda", dtype=torch.int32)
    dloss, lse = torch.full((b,), 1.0 / b, device="cuda"), torch.logsumexp(x.float() @ w.float().T + bias, 1)
    rows, gradients = lambda: [normal(b), normal(b)], lambda: [x.new_empty(x.shape), w.new_empty(w.shape), normal(c)]
    return {
        "linear_cross_entropy": ([x, w, bias, labels], rows),
        "linear_cross_entropy_backward": ([x, w, bias, labels, lse, dloss], gradients),
        "linear_cross_entropy_grad": ([x, w, bias, labels, dloss], lambda: rows() + gradients()),
    }[target]


def cases():
    for b, d, c, dtype, turned in [
        (64, 128, 10, "f32", False), (256, 512, 50, "f32", False), (1024, 1024, 100, "f32", False),
        (1000, 1028, 1001, "f32", True), (2100, 1028, 1000, "f32", False), (8192, 4096, 1000, "f32", False),
        (2048, 1024, 1000, "tf32", False), (2048, 1024, 1000, "tf32", True), (2048, 1024, 1000, "bf16", False),
        (2100, 1032, 4096, "bf16", True), (2048, 1024, 1000, "f16", True), (100, 64, 9000, "bf16", False),
    ]:  # fmt: skip
        yield "linear_softmax", (b, d, c), dtype, *softmax_case((), b, d, c, TYPES[dtype], turned)
    for dtype, (b, heads, d, c) in (("f32", (1024, 16, 1024, 100)), ("bf16", (1024, 16, 1024, 100)), ("f16", (2000, 5, 1000, 300)), ("bf16", (500, 9, 4097, 3))):  # fmt: skip
        yield "multihead_linear_softmax", (b, heads, d, c), dtype, *softmax_case((heads,), b, d, c, TYPES[dtype], False)
    for target in ("linear_cross_entropy", "linear_cross_entropy_backward", "linear_cross_entropy_grad"):
        for b, d, c, dtype in [
            (256, 512, 50, "f32"), (300, 129, 1009, "f32"), (2048, 1024, 1000, "f16"), (257, 520, 1009, "bf16"),
            (4096, 2048, 16384, "bf16"), (4104, 1032, 9001, "bf16"), (4096, 1024, 131072, "bf16"),
        ]:  # fmt: skip
            yield target, (b, d, c), dtype, *loss_case(target, b, d, c, TYPES[dtype])


def context_for(dtype):
    context = ridge.Context()
    context.allow_tf32(dtype == "tf32")
    return context


def poisoned(outputs):
    for y in outputs:
        y.fill_(float("nan"))
    return outputs


def captured(context, target, inputs, outputs):
    """A graph of LAUNCHES launches: what only works outside of one would show here."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(LAUNCHES):
            context.apply(target, inputs, outputs)
    graph.replay()
    return graph


def on_two_streams(contexts, target, inputs, outputs):
    streams = [torch.cuda.Stream(), torch.cuda.Stream()]
    torch.cuda.synchronize()
    for _ in range(LAUNCHES):
        for stream, context, y in zip(streams, contexts, outputs):
            with torch.cuda.stream(stream):
                context.apply(target, inputs, y)
    torch.cuda.synchronize()


def differing(target, dtype, inputs, make):
    """In which circumstances bits differed."""
    context, other = context_for(dtype), context_for(dtype)
    first, noise, bad = poisoned(make()), normal(1 << 24), set()
    context.apply(target, inputs, first)
    torch.cuda.synchronize()
    if not all(bool(torch.isfinite(y).all()) for y in first):
        bad.add("not finite")

    def check(outputs, where):
        torch.cuda.synchronize()
        if not all(torch.equal(a.view(torch.uint8), b.view(torch.uint8)) for a, b in zip(first, outputs)):
            bad.add(where)

    for run in range(RUNS):
        y = poisoned(make())
        if run % 2:
            noise.sin_()  # still running when the operation starts
        context.apply(target, inputs, y)
        check(y, "behind other work" if run % 2 else "alone")
    y = poisoned(make())
    graph = captured(context, target, inputs, y)
    check(y, "in a graph")
    del graph
    both = [poisoned(make()), poisoned(make())]
    on_two_streams([context, other], target, inputs, both)
    for y in both:
        check(y, "on two streams")
    return bad


def main():
    torch.manual_seed(1)
    bad = 0
    for target, shape, dtype, inputs, make in cases():
        name = f"{target} {'x'.join(map(str, shape))} {dtype}"
        found = differing(target, dtype, inputs, make)
        bad += bool(found)
        print(f"{'FAIL' if found else 'ok  '}  {name}{': ' + ', '.join(sorted(found)) if found else ''}", flush=True)
        del inputs, make
        torch.cuda.empty_cache()
    print(f"{bad} cases differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
