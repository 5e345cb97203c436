#!/usr/bin/env python3
"""ridge's attention over pages, as a server that generates text calls it, on one GPU, beside its own attention of the same keys
in rows, and PyTorch's of rows by cuDNN and FlashAttention-2.

    bench/paged_cuda.py [--only page16] [--json rows.json]
    bench/paged_cuda.py --drawn 20 --seed 7

Each sequence has the same number of keys, in pages that a random permutation spreads over the cache. Rows are given to the
others: what copying them out of pages costs is not counted. Data are normal, bf16. As in attention_cuda.py operands rotate,
graphs are replayed in turns, and rows of each result are compared with fp64. GB/s: keys and values once over the time.
"""

import functools
import math
import random

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
        inputs = [first(q), k, v, None, None, table, lengths]
        ridge.apply("attention_paged", inputs, [first(outs[i]), first(lse)], options=options)
        return outs[i]

    def of_rows(i):
        ridge.apply("attention", [*map(first, rows[i]), None, None], [first(outs[i]), first(lse)], options=options)
        return outs[i]

    runs = {"ridge": paged, "ridge rows": of_rows, "flash2 rows": lambda i: flash(*rows[i])}
    if case.m == 1:
        runs["cudnn rows"] = lambda i: cudnn(*rows[i])
    is_right = lambda result: case.right(rows[0], result)  # noqa: E731
    return sides.medians_in_turns(runs, len(sets), rounds, outs[0], is_right, (ridge.Error, RuntimeError, TypeError))


def drawn(count, seed):
    """Extents whose logarithms are uniform; keys to 1 GiB, and scores that fit in memory in fp64."""
    of, found = random.Random(seed), []
    extent = lambda low, high: round(low * (high / low) ** of.random())  # noqa: E731
    while len(found) < count:
        kv_heads, d, page = of.choice((1, 2, 4, 8)), of.choice((64, 96, 128, 256)), of.choice((8, 16, 32, 64, 128))
        heads, batch, n = kv_heads * of.choice((1, 4, 8)), extent(1, 128), extent(64, 32768)
        m = 1 if of.random() < 0.5 else min(n, extent(2, 1024))
        if 4 * batch * n * kv_heads * d <= 1 << 30 and heads * m * n <= 1 << 26:
            found.append((m, batch, heads, kv_heads, n, d, page))
    return found


def main():
    parser = sides.arguments(__doc__, 15)
    parser.add_argument("--drawn", type=int, metavar="N", help="N drawn shapes in place of the listed ones")
    parser.add_argument("--seed", type=int, default=1, help="of the data, and of drawn shapes")
    o = parser.parse_args()
    torch.manual_seed(o.seed)
    cases = [Case(*shape) for shape in (drawn(o.drawn, o.seed) if o.drawn else CASES)]
    sides.run_listed(o, "GB/s", [(c.name, c.bytes, functools.partial(run_case, c)) for c in cases])



if __name__ == "__main__":
    main()
