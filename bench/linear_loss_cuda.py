#!/usr/bin/env python3
"""Cross-entropy of a linear layer, forward and forward + backward: ridge beside PyTorch and Liger, on one GPU in one run.

    python3 bench/linear_loss_cuda.py [--json FILE] [--rounds N] [--shape BxDxC]

All sides get the same data (x normal, w normal / sqrt(D), bf16), in rounds of A B C … C B A. Each side has two times, medians of
CUDA events around single calls: after a rest, when the GPU may take its highest clock, and the last of several calls back to
back, when the power limit lowers the clock. Errors are differences from fp64 over the largest value, of losses and dx at random
rows and of dw at random classes. Extra memory is what a call needs beside operands and results.

Needs PyTorch with CUDA; Liger (liger_kernel) is left out, and said to be, when it is not installed.
"""
import argparse
import statistics
import time

import torch

import sides
from sides import note, relative_error
from sweep import turns

ridge = sides.import_ridge()

REST, IN_A_ROW, DRAWN = 0.5, 6, 32


class Problem:
    def __init__(self, rows, depth, classes):
        torch.manual_seed(1)
        self.x = torch.randn(rows, depth, device="cuda").bfloat16()
        self.w = (torch.randn(classes, depth, device="cuda") / depth**0.5).bfloat16()
        self.b = torch.zeros(classes, device="cuda")
        self.labels = torch.randint(0, classes, (rows,), device="cuda")
        self.labels32 = self.labels.int()
        self.dloss = torch.full((rows,), 1.0 / rows, device="cuda")
        self.loss, self.lse = torch.empty(rows, device="cuda"), torch.empty(rows, device="cuda")
        self.dx, self.dw, self.db = torch.empty_like(self.x), torch.empty_like(self.w), torch.empty_like(self.b)

    def reference(self):
        """In fp64: mean loss, rows of dx, rows of dw."""
        rows, classes = self.x.shape[0], self.w.shape[0]
        self.some_rows = torch.randint(0, rows, (DRAWN,), device="cuda")
        self.some_classes = torch.cat([self.labels[:DRAWN], torch.randint(0, classes, (DRAWN,), device="cuda")])
        w, lse, picked, dw = self.w.double(), [], [], 0
        for begin in range(0, rows, 1024):
            part = slice(begin, begin + 1024)
            z = self.x[part].double() @ w.T
            lse.append(torch.logsumexp(z, 1))
            picked.append(z.gather(1, self.labels[part, None])[:, 0])
            p = torch.exp(z[:, self.some_classes] - lse[-1][:, None])
            g = (p - (self.labels[part, None] == self.some_classes[None]).double()) / rows
            dw = dw + g.T @ self.x[part].double()
        self.want_loss = torch.cat(lse) - torch.cat(picked)
        z = self.x[self.some_rows].double() @ w.T
        g = torch.softmax(z, 1)
        g[torch.arange(DRAWN), self.labels[self.some_rows]] -= 1
        self.want_dx, self.want_dw = g @ w / rows, dw

    def errors(self, loss, dx=None, dw=None):
        want = self.want_loss.mean() if loss.dim() == 0 else self.want_loss
        found = [relative_error(loss, want)]
        if dx is not None:
            found += [relative_error(dx[self.some_rows], self.want_dx), relative_error(dw[self.some_classes], self.want_dw)]
        return found


class Ours:
    """A variant of ridge, in a context of its own: scratch memory is not shared between sides."""

    def __init__(self, calls, results):
        self.calls, self.results, self.context = calls, results, ridge.Context()

    def __call__(self):
        for target, inputs, outputs, variant in self.calls:
            self.context.apply(target, inputs, outputs, variant=variant)
        return self.results

    def renew(self):
        self.context = None  # gives the old one's memory back first
        self.context = ridge.Context()


def forward_sides(p):
    compiled = torch.compile(lambda x, w, y: sides.cross_entropy(x, w, y), dynamic=False)
    inputs = [p.x, p.w, p.b, p.labels32]

    def ours(variant):
        return Ours([("linear_cross_entropy", inputs, [p.loss, p.lse], variant)], (p.loss,))

    return {
        "ridge": ours(None),
        "ridge unfused": ours("cuda/unfused"),
        "ridge cuBLASLt": ours("cuda/baseline"),
        "eager": lambda: (sides.cross_entropy(p.x, p.w, p.labels),),
        "compile": lambda: (compiled(p.x, p.w, p.labels),),
    }


def gradient_sides(p):
    x, w = p.x.detach().requires_grad_(), p.w.detach().requires_grad_()
    compiled = torch.compile(lambda x, w, y: sides.cross_entropy(x, w, y), dynamic=False)

    def torch_side(loss_of):
        def run():
            loss = loss_of(x, w, p.labels)
            loss.backward()
            results = loss.detach(), x.grad, w.grad
            x.grad = w.grad = None
            return results

        return run

    given, results = [p.x, p.w, p.b, p.labels32], (p.loss, p.dx, p.dw)
    gradients = [p.dx, p.dw, p.db]

    def in_one(variant):
        all_of_it = [p.loss, p.lse, *gradients]
        return Ours([("linear_cross_entropy_grad", [*given, p.dloss], all_of_it, variant)], results)

    in_two = Ours(
        [
            ("linear_cross_entropy", given, [p.loss, p.lse], None),
            ("linear_cross_entropy_backward", [*given, p.lse, p.dloss], gradients, None),
        ],
        results,
    )
    runs = {
        "ridge": in_one(None),
        "ridge in two": in_two,
        "ridge unfused": in_one("cuda/unfused"),
        "ridge cuBLASLt": in_one("cuda/baseline"),
        "eager": torch_side(sides.cross_entropy),
        "compile": torch_side(compiled),
    }
    liger = sides.liger_loss()
    if liger:
        runs["liger"] = torch_side(liger["loss"])
    return runs


def extra_memory(run):
    """MiB beside operands and results, as PyTorch's allocator counts them or, for ridge, the device."""
    if isinstance(run, Ours):
        run()  # its code goes to the device, where it stays
        torch.cuda.synchronize()
        run.renew()
        free = torch.cuda.mem_get_info()[0]
        run()
        torch.cuda.synchronize()
        return (free - torch.cuda.mem_get_info()[0]) / 2**20
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    results = run()
    torch.cuda.synchronize()
    peak = torch.cuda.max_memory_allocated() - before
    kept = sum(t.numel() * t.element_size() for t in results if t is not None and t.dim() == 2)
    return (peak - kept) / 2**20


def one(run):
    a, b = sides.events()
    a.record()
    run()
    b.record()
    return a, b


def measure(runs, rounds):
    rested, sustained = {s: [] for s in runs}, {s: [] for s in runs}
    for _, name in turns(runs, rounds):
        torch.cuda.synchronize()
        time.sleep(REST)
        pairs = [one(runs[name]) for _ in range(IN_A_ROW)]
        torch.cuda.synchronize()
        times = [a.elapsed_time(b) for a, b in pairs]
        rested[name].append(times[0])
        sustained[name].append(times[-1])
    return rested, sustained


def run_task(task, runs, p, rounds, flops):
    rows, usable, memory, errors = [], {}, {}, {}
    for name, run in runs.items():
        try:
            memory[name] = extra_memory(run)
            errors[name] = p.errors(*run())
            torch.cuda.empty_cache()
            usable[name] = run
        except Exception as why:
            note(f"{task}: {name}: {why}")
    rested, sustained = measure(usable, rounds)
    for name in usable:
        first, last = statistics.median(rested[name]), statistics.median(sustained[name])
        row = {"task": task, "side": name, "rested_ms": first, "sustained_ms": last, "rested_all_ms": rested[name],
               "sustained_all_ms": sustained[name], "tflops": flops / first / 1e9, "extra_mib": memory[name],
               "errors": errors[name]}  # fmt: skip
        rows.append(row)
        said = "  ".join(f"{e:.1e}" for e in errors[name])
        print(f"{task:18} {name:14} {first:8.2f} {last:8.2f} {row['tflops']:7.0f} {memory[name]:9.0f}   {said}", flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", help="write all rows to this file")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--shape", default="8192x4096x131072")
    o = parser.parse_args()
    shape = [int(n) for n in o.shape.split("x")]
    p = Problem(*shape)
    p.reference()
    torch.cuda.empty_cache()
    print("{device}, PyTorch {torch}, CUDA {cuda}, {shape} bf16".format(**sides.machine(), shape=o.shape))
    print("task               side             rested  back to  TFLOP/s extra MiB   errors: loss, dx, dw")
    print("                                    ms      back ms  rested")
    flops = 2.0 * shape[0] * shape[1] * shape[2]
    rows = run_task("forward", forward_sides(p), p, o.rounds, flops)
    torch._dynamo.reset()
    rows += run_task("forward + backward", gradient_sides(p), p, o.rounds, 3 * flops)
    if o.json:
        sides.write_rows(o.json, rows, shape=o.shape)


if __name__ == "__main__":
    main()
