#!/usr/bin/env python3
"""ridge's attention of sequences of different lengths, beside PyTorch's FlashAttention-2 for such, and cuDNN on a padded batch,
on one GPU.

    bench/varlen_cuda.py [--only D64] [--json rows.json]

Lengths are drawn log-uniform between 1/16 of the longest and the longest, the same for queries and keys, until they fill the
tokens. Data are normal, bf16. The padded batch is given: what making it costs is not counted. As in attention_cuda.py
operands rotate, graphs are replayed in turns, and each result is compared with fp64. TFLOP/s: of the scores that a mask lets
through.
"""

import functools
import math

import sides
import torch
from torch.nn.attention import SDPBackend

ridge = sides.import_ridge()

CASES = [  # tokens, longest, heads, kv_heads, d, causal
    (16384, 4096, 16, 16, 128, True), (16384, 4096, 16, 16, 128, False), (32768, 8192, 32, 8, 128, True),
    (32768, 2048, 16, 16, 64, True), (16384, 1024, 16, 16, 64, False), (32768, 512, 32, 8, 128, True),
    (16384, 4096, 8, 8, 256, True),
]  # fmt: skip
ROWS_CHECKED = 3


def lengths_of(tokens, longest):
    lengths = []
    while sum(lengths) < tokens:
        drawn = int(longest * 16 ** (torch.rand(()).item() - 1))
        lengths.append(min(max(1, drawn), tokens - sum(lengths)))
    return lengths


def flop_of(lengths, heads, d, causal):
    return sum(4.0 * heads * d * (n * (n + 1) / 2 if causal else n * n) for n in lengths)


class Case:
    def __init__(self, tokens, longest, heads, kv_heads, d, causal):
        self.heads, self.kv_heads, self.d, self.causal = heads, kv_heads, d, causal
        self.lengths = lengths_of(tokens, longest)
        self.longest = max(self.lengths)
        offsets = torch.tensor([0, *self.lengths]).cumsum(0).to(torch.int32)
        self.offsets = offsets.cuda()
        self.ends = self.offsets[1:].clone()
        self.flop = flop_of(self.lengths, heads, d, causal)
        mask = " causal" if causal else ""
        self.name = f"{len(self.lengths)} of {tokens}, H{heads}/{kv_heads} D{d}{mask}"

    def operands(self):
        tokens = sum(self.lengths)
        shapes = [(tokens, heads, self.d) for heads in (self.heads, self.kv_heads, self.kv_heads)]
        return [torch.randn(s, device="cuda", dtype=torch.float32).to(torch.bfloat16) for s in shapes]

    def padded(self, x):
        """[sequences, heads, longest, d]; zeros behind a sequence's end."""
        made = x.new_zeros(len(self.lengths), x.shape[1], self.longest, self.d)
        first = 0
        for s, n in enumerate(self.lengths):
            made[s, :, :n] = x[first : first + n].transpose(0, 1)
            first += n
        return made

    def packed(self, out):
        if out.dim() == 3:
            return out
        return torch.cat([out[s, :, :n].transpose(0, 1) for s, n in enumerate(self.lengths)])

    def right(self, operands, got):
        q, k, v = operands
        got, first, group = self.packed(got), 0, self.heads // self.kv_heads
        for n in self.lengths:
            for i in {0, n - 1, *torch.randint(n, (ROWS_CHECKED,)).tolist()}:
                keys = slice(first, first + (i + 1 if self.causal else n))
                kk, vv = (x[keys].double().repeat_interleave(group, 1) for x in (k, v))
                scores = torch.einsum("hd,nhd->hn", q[first + i].double(), kk) / math.sqrt(self.d)
                want = torch.einsum("hn,nhd->hd", torch.softmax(scores, -1), vv)
                if not sides.relative_error(got[first + i], want) < 2**-6:
                    return False
            first += n
        return True


def run_case(case, rounds):
    count = sides.sets_for(4 * sum(case.lengths) * (case.heads + case.kv_heads) * case.d, sides.l2_bytes(), 8)
    sets = [case.operands() for _ in range(count)]
    batches = [[case.padded(x) for x in operands] for operands in sets]
    cudnn = sides.attention_by(SDPBackend.CUDNN_ATTENTION, case.heads != case.kv_heads, is_causal=case.causal)

    outs = [torch.empty_like(q) for q, _, _ in sets]
    lse = [torch.empty(sum(case.lengths), 1, case.heads, device="cuda") for _ in sets]

    def ours(i):
        inputs = [*(x[:, None] for x in sets[i]), None, None, case.ends, case.ends]
        options = [0, int(case.causal), -1, -1]  # scale, causal, left, right
        ridge.apply("attention_varlen", inputs, [outs[i][:, None], lse[i]], options=options)
        return outs[i]

    def flash(i):
        q, k, v = sets[i]
        n, at = case.longest, case.offsets
        return torch.ops.aten._flash_attention_forward(q, k, v, at, at, n, n, 0.0, case.causal, False)[0]

    runs = {"ridge": ours, "flash2": flash, "cudnn padded": lambda i: cudnn(*batches[i])}
    is_right = lambda result: case.right(sets[0], result)  # noqa: E731
    return sides.medians_in_turns(runs, count, rounds, outs[0], is_right, (ridge.Error, RuntimeError, TypeError))


def main():
    parser = sides.arguments(__doc__, 15)
    parser.add_argument("--seed", type=int, default=1, help="of the lengths and data")
    o = parser.parse_args()
    torch.manual_seed(o.seed)
    cases = [Case(*shape) for shape in CASES]
    sides.run_listed(o, "TFLOP/s", [(c.name, c.flop, functools.partial(run_case, c)) for c in cases])



if __name__ == "__main__":
    main()
