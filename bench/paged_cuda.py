#!/usr/bin/env python3
"""ridge's attention over pages, as a server that generates text calls it, beside its own attention of the same keys in rows and
PyTorch's of rows by cuDNN and FlashAttention-2, on one GPU.

    bench/paged_cuda.py [--only page16] [--json rows.json]

Each sequence has the same number of keys, in pages that a random permutation spreads over the cache. Rows are given to the others:
what copying them out of pages costs is not counted. Data are normal, bf16. As in attention_cuda.py operands rotate, graphs are
replayed in turns, and rows of each result are compared with fp64. GB/s: keys and values once over the time.
"""

import argparse
import math

import sides
import torch
from torch.nn.attention import SDPBackend

ridge = sides.import_ridge()

CASES = [  # queries a sequence, sequences, heads, kv_heads, keys, d, page
    (1, 64, 32, 8, 4096, 128, 16), (1, 64, 32, 8, 4096, 128, 64), (1, 64, 32, 8, 4096, 128, 128),
    (1, 16, 32, 8, 8192, 128, 16), (1, 16, 32, 8, 8192, 128, 64), (1, 128, 64, 8, 2048, 128, 64),
    (1, 1, 32, 8, 32768, 128, 16), (1, 8, 32, 8, 1024, 128, 64), (4, 128, 16, 2, 4096, 64, 32),
    (512, 4, 32, 8, 8192, 128, 16),
]  # fmt: skip
SEQUENCES_CHECKED = 2


class Case:
    def __init__(self, m, batch, heads, kv_heads, n, d, page):
        self.m, self.batch, self.heads, self.kv_heads, self.n, self.d, self.page = m, batch, heads, kv_heads, n, d, page
        self.bytes = 4.0 * batch * n * kv_heads * d
        self.name = f"{m} of {batch}x{n}, H{heads}/{kv_heads} D{d} page{page}"

    def operands(self):
        """q, keys and values in pages, the table, lengths, and keys and values in rows."""
        blocks = -(-self.n // self.page)
        q = torch.randn(self.batch, self.heads, self.m, self.d, device="cuda", dtype=torch.bfloat16)
        shape = (self.batch * blocks, self.page, self.kv_heads, self.d)
        k, v = (torch.randn(shape, device="cuda", dtype=torch.bfloat16) for _ in range(2))
        table = torch.randperm(self.batch * blocks, device="cuda", dtype=torch.int32).view(self.batch, blocks)
        lengths = torch.full((self.batch,), self.n, device="cuda", dtype=torch.int32)
        rows = [self.rows(x, table) for x in (k, v)]
        return (q, k, v, table, lengths), (q, *rows)

    def rows(self, pages, table):
        """[batch, kv_heads, keys, d]"""
        together = pages[table.long()].view(self.batch, -1, self.kv_heads, self.d)[:, : self.n]
        return together.transpose(1, 2).contiguous()

    def right(self, operands, got):
        q, k, v = (x[:SEQUENCES_CHECKED].double() for x in operands)
        k, v = (x.repeat_interleave(self.heads // self.kv_heads, 1) for x in (k, v))
        scores = q @ k.mT / math.sqrt(self.d)
        behind = torch.ones(self.m, self.n, device="cuda", dtype=torch.bool).triu(self.n - self.m + 1)
        want = torch.softmax(scores.masked_fill(behind, -math.inf), -1) @ v
        return sides.relative_error(got[:SEQUENCES_CHECKED], want) < 2**-6


def run_case(case, rounds):
    sets = [case.operands() for _ in range(sides.sets_for(case.bytes, sides.l2_bytes(), 8))]
    share, rows = case.heads != case.kv_heads, [of_rows for _, of_rows in sets]
    outs = [torch.empty_like(q) for q, _, _ in rows]
    lse = torch.empty(case.batch, case.heads, case.m, device="cuda")
    cudnn = sides.attention_by(SDPBackend.CUDNN_ATTENTION, share)
    flash = sides.attention_lower_right(share, case.m, case.n)
    options = [0, 1, -1, -1]  # scale, causal, left, right

    def first(x):
        return x.permute(2, 0, 1, *range(3, x.dim()))

    def paged(i):
        q, k, v, table, lengths = sets[i][0]
        ridge.apply("attention_paged", [first(q), k, v, None, None, table, lengths], [first(outs[i]), first(lse)], options=options)
        return outs[i]

    def of_rows(i):
        ridge.apply("attention", [*map(first, rows[i]), None, None], [first(outs[i]), first(lse)], options=options)
        return outs[i]

    runs = {"ridge": paged, "ridge rows": of_rows, "flash2 rows": lambda i: flash(*rows[i])}
    if case.m == 1:
        runs["cudnn rows"] = lambda i: cudnn(*rows[i])
    is_right = lambda result: case.right(rows[0], result)  # noqa: E731
    return sides.medians_in_turns(runs, len(sets), rounds, outs[0], is_right, (ridge.Error, RuntimeError, TypeError))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE", help="write all rows to FILE")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seed", type=int, default=1, help="of the data")
    parser.add_argument("--only", help="only cases whose name contains this")
    o = parser.parse_args()
    print("{device}, PyTorch {torch}, CUDA {cuda}".format(**sides.machine()))
    torch.manual_seed(o.seed)
    rows, ratios = [], {}
    for shape in CASES:
        case = Case(*shape)
        if o.only and o.only not in case.name:
            continue
        median = run_case(case, o.rounds)
        for side, us in median.items():
            print(f"{case.name:36} {side:13} {us:9.2f} us {case.bytes / us / 1e3:8.1f} GB/s", flush=True)
            rows.append({"case": case.name, "side": side, "us": us, "gbps": case.bytes / us / 1e3})
            if side != "ridge":
                ratios.setdefault(side, []).append(us / median["ridge"])
        torch.cuda.empty_cache()
    for peer, values in ratios.items():
        sides.print_ratios(f"{peer} / ridge", values)
    if o.json:
        sides.write_rows(o.json, rows)


if __name__ == "__main__":
    main()
