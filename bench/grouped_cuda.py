#!/usr/bin/env python3
"""ridge's product of grouped rows on listed shapes, beside PyTorch's grouped product and a product for each group, on one GPU.

    bench/grouped_cuda.py [--only 64x] [--json rows.json]

Groups are drawn as routing leaves them: sizes of a multinomial over the experts. The products of "each" are torch.matmul calls
in one graph, whose sizes a program would have to bring back to the host first. As in gemm_cuda.py operands rotate, graphs are
replayed in turns, and each result is compared with fp64.
"""

import functools
import math

import sides
import torch

ridge = sides.import_ridge()

CASES = [  # groups, m (rows of all groups), n, k
    (64, 8192, 4096, 2048), (64, 8192, 2048, 4096), (4, 32768, 4096, 7168), (8, 32768, 7168, 2048), (32, 8192, 4096, 7168),
    (64, 256, 4096, 2048),
]  # fmt: skip
ROWS_CHECKED = 4


def ends_of(groups, m):
    drawn = torch.multinomial(torch.ones(groups), m, replacement=True)
    return torch.bincount(drawn, minlength=groups).cumsum(0).to(torch.int32)


def right(c, a, b, ends):
    first = 0
    for g, end in enumerate(ends.tolist()):
        rows = slice(first, min(end, first + ROWS_CHECKED))
        if end > first and not sides.relative_error(c[rows], a[rows].double() @ b[g].double()) < 2**-7:
            return False
        first = end
    return True


def run_case(groups, m, n, k, rounds):
    count = sides.sets_for(2 * (m * k + groups * k * n + m * n), sides.l2_bytes(), 8)
    sets, hosts = [], []
    for _ in range(count):
        a, b = sides.uniform((m, k), torch.bfloat16), sides.uniform((groups, k, n), torch.bfloat16)
        hosts.append(ends_of(groups, m))
        sets.append([a, b, hosts[-1].cuda(), torch.empty(m, n, device="cuda", dtype=torch.bfloat16)])
    a, b, _, c = sets[0]

    def each(i):
        a, b, _, c = sets[i]
        first = 0
        for g, end in enumerate(hosts[i].tolist()):
            if end > first:
                torch.mm(a[first:end], b[g], out=c[first:end])
            first = end

    def grouped(i):
        return torch._grouped_mm(sets[i][0], sets[i][1], offs=sets[i][2], out_dtype=torch.bfloat16)

    def ours(i):
        ridge.apply("grouped_gemm", sets[i][:3], [sets[i][3]], options=[1.0])

    runs = {"each": each, "torch": grouped, "ridge": ours}
    is_right = lambda result: right(c if result is None else result, a, b, hosts[0])  # noqa: E731
    return sides.medians_in_turns(runs, count, rounds, c, is_right, (ridge.Error, RuntimeError, TypeError))


def main():
    o = sides.arguments(__doc__, 15).parse_args()
    cases = [("x".join(map(str, c)), 2.0 * math.prod(c[1:]), functools.partial(run_case, *c)) for c in CASES]
    sides.run_listed(o, "TFLOP/s", cases)



if __name__ == "__main__":
    main()
