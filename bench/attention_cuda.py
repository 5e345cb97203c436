#!/usr/bin/env python3
"""ridge's attention, or its gradients, on listed shapes, beside PyTorch's: cuDNN, FlashAttention-2, flex_attention, on one
GPU.

    bench/attention_cuda.py                          # listed: long and short sequences, one query, windows
    bench/attention_cuda.py --only D128 --ways       # each of ridge's ways, of cases whose name contains this
    bench/attention_cuda.py --backward               # gradients
    bench/attention_cuda.py --json rows.json

Operands are normal; sets of them rotate so that none is in the L2 when its turn comes. Each side's calls on all sets
are one CUDA graph; graphs are replayed in turns, A B C … C B A. Before a side is timed, rows of its result are compared
with fp64: a wrong peer is left out, ridge being wrong ends the program with status 1. FLOP: 2 (d + v) a score that the
mask lets through. GB/s: of keys and values. torch.compile makes flex_attention's kernels, for windows alone.
"""

import argparse
import dataclasses
import functools
import math
import random
import statistics

import sides
import sweep
import sweep_cuda
import torch
from sides import DTYPES, note
from torch.nn.attention import SDPBackend

ridge = sides.import_ridge()
ROWS_CHECKED, HEADS_CHECKED = 64, 4
TOLERANCE = {"bf16": 2**-7, "f16": 2**-10}  # over the largest result; gemm_cuda.py's; gradients: four times


@dataclasses.dataclass(frozen=True)
class Case:
    batch: int
    heads: int
    kv_heads: int
    m: int
    n: int
    d: int
    causal: bool = False
    left: int = -1  # keys that a query sees before its own
    dtype: str = "bf16"
    backward: bool = False
    v: int = 0  # columns of values; 0: d

    @property
    def name(self):
        mask = f"window{self.left}" if self.left >= 0 else "causal" if self.causal else "full"
        lengths = f"S{self.n}" if self.m == self.n else f"M{self.m}N{self.n}"
        depths = f"D{self.d}/{self.v}" if self.v else f"D{self.d}"
        gradients = " backward" if self.backward else ""
        return f"B{self.batch} H{self.heads}/{self.kv_heads} {lengths} {depths} {mask} {self.dtype}{gradients}"

    def span(self, i):
        """Keys [first, last) of query i: aligned at the bottom right."""
        last = min(self.n, i + self.n - self.m + 1) if self.causal else self.n
        first = max(0, i + self.n - self.m - self.left) if self.left >= 0 else 0
        return first, max(first, last)

    @property
    def values(self):
        return self.v or self.d

    @property
    def flop(self):
        scores = sum(last - first for first, last in map(self.span, range(self.m)))
        products = 6.0 * self.d + 4.0 * self.values if self.backward else 2.0 * (self.d + self.values)
        return products * self.batch * self.heads * scores

    @property
    def key_bytes(self):
        return 2.0 * self.batch * self.kv_heads * self.n * (self.d + self.values)

    @property
    def bytes(self):
        forward = self.key_bytes + 2.0 * self.batch * self.heads * self.m * (self.d + self.values)
        return 2 * forward if self.backward else forward


LONG = [
    (4, 16, 16, 4096, 128), (1, 16, 16, 16384, 128), (1, 64, 8, 8192, 128), (16, 16, 16, 1024, 64), (2, 32, 32, 8192, 64),
    (4, 8, 8, 4096, 256), (32, 32, 8, 512, 128),
]  # fmt: skip
DECODE = [(1, 32, 8, 32768, 128), (16, 32, 8, 8192, 128), (64, 32, 8, 4096, 128), (128, 64, 8, 2048, 128), (8, 32, 8, 1024, 128)]
LISTED = (
    [Case(b, h, g, s, s, d, causal) for b, h, g, s, d in LONG for causal in (False, True)]
    + [Case(4, 16, 16, 4096, 4096, 192, causal, v=128) for causal in (False, True)]
    + [Case(b, h, g, 1, s, d) for b, h, g, s, d in DECODE]
    + [Case(1, 16, 16, 16384, 16384, 128, True, 1024), Case(2, 32, 32, 8192, 8192, 64, True, 1024)]
)


# ---- sides ----------------------------------------------------------------------------------------------------------
def torch_side(case, sets, backend):
    """PyTorch's causal mask is aligned at the top left: ridge's where there are as many queries as keys."""
    attention = sides.attention_by(backend, case.heads != case.kv_heads, is_causal=case.causal)
    return lambda i: attention(*sets[i])


def flex_side(case, sets):
    compiler = functools.partial(torch.compile, dynamic=False)
    attention = sides.flex_window(compiler, case.m, case.n, case.left, case.heads != case.kv_heads)
    return lambda i: attention(*sets[i])


def variant_of(way):
    return None if way is None else "cuda/baseline" if way == "baseline" else f"cuda/optimized:{way}"


def ridge_side(case, sets, way=None):
    context = ridge.Context()  # its own: a graph holds on to its scratch memory
    variant = variant_of(way)
    options = [0, int(case.causal), case.left, -1]  # scale, causal, left, right; those behind are 0
    out = [torch.full((*q.shape[:3], case.values), math.nan, dtype=q.dtype, device="cuda") for q, _, _ in sets]
    lse = [torch.empty(case.m, case.batch, case.heads, device="cuda") for _ in sets]

    def run(i):
        inputs = [x.permute(2, 0, 1, 3) for x in sets[i]]
        results = [out[i].permute(2, 0, 1, 3), lse[i]]
        context.apply("attention", [*inputs, None, None], results, variant, options=options)
        return out[i]

    run.lse, run.context = lse, context
    return run


# ---- gradients: each side on the output and the lse of ridge's forward pass, or of its own ----
def ridge_backward(case, sets, way=None):
    context = ridge.Context()
    variant = variant_of(way)
    options = [0, int(case.causal), case.left, -1]
    forward = ridge_side(case, [s[:3] for s in sets])
    made = []
    for i, (q, k, v, dout) in enumerate(sets):
        out = forward(i)
        grads = [torch.full_like(x, math.nan) for x in (q, k, v)]
        made.append((out, forward.lse[i], grads, torch.empty(case.heads, device="cuda")))

    def turned(x):
        return x.permute(2, 0, 1, 3)

    def run(i):
        q, k, v, dout = map(turned, sets[i])
        out, lse, grads, dsink = made[i]
        inputs = [q, k, v, turned(out), lse, dout, None, None]
        context.apply("attention_backward", inputs, [*map(turned, grads), dsink], variant, options=options)
        return grads

    run.context = context
    return run


def torch_backward(case, sets, backend):
    """The gradient function of PyTorch's own graph, kept, so that only its kernels run."""
    saved, stream = [], torch.cuda.Stream()
    attention = sides.attention_by(backend, case.heads != case.kv_heads, is_causal=case.causal)
    stream.wait_stream(torch.cuda.current_stream())
    for q, k, v, dout in sets:
        leaves = [x.detach().requires_grad_() for x in (q, k, v)]
        with torch.cuda.stream(stream):
            out = attention(*leaves)
        saved.append((out, leaves, dout))

    def run(i):
        out, leaves, dout = saved[i]
        with torch.cuda.stream(stream):
            return torch.autograd.grad(out, leaves, dout, retain_graph=True)

    run.stream = stream
    return run


def backward_sides(case, sets, ways):
    runs = {"ridge": ridge_backward(case, sets)}
    runs.update({f"ridge:{way}": ridge_backward(case, sets, way) for way in ways})
    for name, backend in (("cudnn", SDPBackend.CUDNN_ATTENTION), ("flash2", SDPBackend.FLASH_ATTENTION)):
        try:
            runs[name] = torch_backward(case, sets, backend)
        except RuntimeError as why:
            note(f"{case.name}: {name}: {sweep_cuda.first_line(why)}")
    return runs


def sides_of(case, sets, ways):
    runs = {"ridge": ridge_side(case, sets)}
    runs.update({f"ridge:{way}": ridge_side(case, sets, way) for way in ways})
    if case.left >= 0:
        runs["flex"] = flex_side(case, sets)
    else:
        runs["cudnn"] = torch_side(case, sets, SDPBackend.CUDNN_ATTENTION)
        runs["flash2"] = torch_side(case, sets, SDPBackend.FLASH_ATTENTION)
    return runs


# ---- one case ---------------------------------------------------------------------------------------------------------
def error_of(case, operands, got):
    """Of some rows of some heads, over the largest of what is right."""
    q, k, v = operands
    worst = 0.0
    for _ in range(HEADS_CHECKED):
        b, h = random.randrange(case.batch), random.randrange(case.heads)
        g = h // (case.heads // case.kv_heads)
        rows = sorted({0, case.m - 1, *(random.randrange(case.m) for _ in range(ROWS_CHECKED))})
        keys = torch.arange(case.n, device="cuda")
        spans = torch.tensor([case.span(i) for i in rows], device="cuda")
        hidden = (keys < spans[:, :1]) | (keys >= spans[:, 1:])
        scores = (q[b, h, rows].double() @ k[b, g].double().T / math.sqrt(case.d)).masked_fill(hidden, -math.inf)
        want = torch.softmax(scores, -1).nan_to_num(0) @ v[b, g].double()
        error = (got[b, h, rows].double() - want).abs().max() / max(1e-30, float(want.abs().max()))
        worst = max(worst, float(error)) if error == error else math.nan
    return worst


def gradient_error(case, operands, got):
    """Of all of dq, dk and dv of some heads of keys, each over its largest value."""
    q, k, v, dout = operands
    worst, group = 0.0, case.heads // case.kv_heads
    scale, rows = 1 / math.sqrt(case.d), max(1, 2**25 // case.n)
    seen = torch.tensor([case.span(i) for i in range(case.m)], device="cuda")
    keys = torch.arange(case.n, device="cuda")
    for _ in range(2):
        b, g = random.randrange(case.batch), random.randrange(case.kv_heads)
        kk, vv = k[b, g].double(), v[b, g].double()
        dk, dv = torch.zeros_like(kk), torch.zeros_like(vv)
        for h in range(g * group, (g + 1) * group):
            dq = torch.empty(case.m, case.d, device="cuda", dtype=torch.float64)
            for first in range(0, case.m, rows):
                some = slice(first, first + rows)
                hidden = (keys < seen[some, :1]) | (keys >= seen[some, 1:])
                qq, oo = q[b, h, some].double(), dout[b, h, some].double()
                p = torch.softmax((qq @ kk.T * scale).masked_fill(hidden, -math.inf), -1).nan_to_num(0)
                dp = oo @ vv.T
                ds = p * (dp - (p * dp).sum(-1, keepdim=True)) * scale
                dq[some] = ds @ kk
                dk += ds.T @ qq
                dv += p.T @ oo
            worst = worse(worst, got[0][b, h], dq)
        worst = worse(worse(worst, got[1][b, g], dk), got[2][b, g], dv)
    return worst


def worse(worst, got, want):
    error = float((got.double() - want).abs().max() / want.abs().max().clamp_min(1e-30))
    return max(worst, error) if error == error and worst == worst else math.nan


def run_case(case, ways, seconds):
    t = DTYPES[case.dtype]
    count = sides.sets_for(case.bytes, sides.l2_bytes(), 32)

    def normal(heads, rows, columns):
        return torch.randn(case.batch, heads, rows, columns, device="cuda", dtype=torch.float32).to(t)

    def operands():
        keys, values = normal(case.kv_heads, case.n, case.d), normal(case.kv_heads, case.n, case.values)
        made = (normal(case.heads, case.m, case.d), keys, values)
        return (*made, normal(case.heads, case.m, case.values)) if case.backward else made

    sets = [operands() for _ in range(count)]
    takes, chosen = {}, None
    runs = (backward_sides if case.backward else sides_of)(case, sets, ways)  # graphs do not hold what they point to
    for name, run in runs.items():
        try:
            got = run(0)
            torch.cuda.synchronize()
            error = (gradient_error if case.backward else error_of)(case, sets[0], got)
            if name == "ridge":
                chosen = run.context.last_way
            if not error <= TOLERANCE[case.dtype] * (4 if case.backward else 1):
                if name.startswith("ridge"):
                    raise SystemExit(f"{name} is wrong: {case.name}: {error:.2e}")
                raise RuntimeError(f"wrong, {error:.1e}")
            graph = sides.graph_of(run, count, stream=getattr(run, "stream", None))
            takes[name] = lambda replay=graph.replay: sides.elapsed(replay) / count
        except (ridge.Error, RuntimeError) as why:
            note(f"{case.name}: {name}: {sweep_cuda.first_line(why)}")
    median = sides.medians(sweep.interleave(takes, seconds))
    best = min((us for name, us in median.items() if not name.startswith("ridge")), default=None)
    return [
        {
            **dataclasses.asdict(case), "case": case.name, "side": name, "us": us, "tflops": case.flop / us / 1e6,
            "key_gbps": case.key_bytes / us / 1e3, "way": chosen if name == "ridge" else None,
            "ahead": best / us if best else None,
        }
        for name, us in median.items()
    ]  # fmt: skip


def mean_line(title, rows, against):
    by_case = {}
    for r in rows:
        by_case.setdefault(r["case"], {})[r["side"]] = r["us"]
    ratios = [times[against] / times["ridge"] for times in by_case.values() if against in times and "ridge" in times]
    if ratios:
        mean = statistics.geometric_mean(ratios)
        print(f"{title}: {against} ÷ ridge: geometric mean {mean:.3f}, worst {min(ratios):.3f} of {len(ratios)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE", help="write all rows to FILE")
    parser.add_argument("--seconds", type=float, default=1.0, help="of rounds a case (at least 5 rounds, at most 20)")
    parser.add_argument("--only", help="only cases whose name contains this")
    parser.add_argument("--backward", action="store_true", help="gradients, of the cases with as many queries as keys")
    parser.add_argument("--ways", action="store_true", help="the baseline, and every way of ridge by itself")
    o = parser.parse_args()
    target = "attention_backward" if o.backward else "attention"
    ways = ["baseline", *sweep_cuda.ways_by_target()[target]] if o.ways else []
    rows = []
    print("{device}, PyTorch {torch}, CUDA {cuda}".format(**sides.machine()))
    print(f"{'case':53} {'side':18} {'us':>10} TFLOP/s    GB/s  best peer ÷ side")
    cases = LISTED
    if o.backward:
        cases = [dataclasses.replace(c, backward=True) for c in LISTED if c.m == c.n and c.left < 0]
    for case in cases:
        if o.only and o.only not in case.name:
            continue
        for r in run_case(case, ways, o.seconds):
            ahead = f"{r['ahead']:9.3f}" if r["ahead"] else ""
            print(
                f"{case.name:53} {r['side']:18} {r['us']:10.2f} {r['tflops']:7.1f} {r['key_gbps']:7.0f} {ahead}"
                f"  {r['way'] or ''}",
                flush=True,
            )
            rows.append(r)
        torch.cuda.empty_cache()
    long = [r for r in rows if r["m"] > 1 and r["left"] < 0]
    for title, some in (("long", long), ("one query", [r for r in rows if r["m"] == 1])):
        for peer in ("cudnn", "flash2"):
            mean_line(title, some, peer)
    mean_line("windows", [r for r in rows if r["left"] >= 0], "flex")
    ours = [r["ahead"] for r in rows if r["side"] == "ridge" and r["ahead"]]
    if ours:
        print(f"best peer ÷ ridge: geometric mean {statistics.geometric_mean(ours):.3f}, worst {min(ours):.3f}")
    if o.json:
        sides.write_rows(o.json, rows)


if __name__ == "__main__":
    main()
