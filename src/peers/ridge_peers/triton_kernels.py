"""Kernels in Triton, in their usual form: a row in registers, and tiles by tl.dot with programs grouped for L2."""

import triton
import triton.language as tl

from ridge_peers.case import LEAST_NORM, Refused

MOST_COLUMNS = 65536  # of a row in registers
MOST_CLASSES = 256  # of a row of logits in registers


# ---- rows ------------------------------------------------------------------------------------------------------------
@triton.jit
def _l2norm_row(x, y, x_stride, y_stride, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * x_stride + at, mask=at < cols, other=0.0).to(tl.float32)
    norm = tl.maximum(tl.sqrt(tl.sum(v * v, 0)), eps, propagate_nan=tl.PropagateNan.ALL)
    tl.store(y + row * y_stride + at, v / norm, mask=at < cols)


@triton.jit
def _softmax_row(x, y, x_stride, y_stride, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * x_stride + at, mask=at < cols, other=-float("inf")).to(tl.float32)
    e = tl.exp(v - tl.max(v, 0))
    tl.store(y + row * y_stride + at, e / tl.sum(e, 0), mask=at < cols)


@triton.jit
def _bias_softmax_row(z, b, p, z_stride, p_stride, cols, BLOCK: tl.constexpr):
    """What follows a product that left its logits in memory, in fp32."""
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    v = tl.load(z + row * z_stride + at, mask=at < cols, other=-float("inf"))
    v += tl.load(b + at, mask=at < cols, other=0.0).to(tl.float32)
    e = tl.exp(v - tl.max(v, 0))
    tl.store(p + row * p_stride + at, e / tl.sum(e, 0), mask=at < cols)


def warps_of_row(block):
    return min(max(block // 512, 1), 16)


def _rows(case, kernel):
    cols = case.dim["cols"]
    if cols > MOST_COLUMNS:
        raise Refused(f"it holds rows of up to {MOST_COLUMNS}")
    block = triton.next_power_of_2(max(cols, 1))
    warps = warps_of_row(block)

    def run(ins, outs):
        (x,), (y,) = ins, outs
        if x.numel():
            kernel[(x.shape[0],)](x, y, x.stride(0), y.stride(0), cols, LEAST_NORM, BLOCK=block, num_warps=warps)

    return run


def fused_l2norm(case):
    return _rows(case, _l2norm_row)


def online_softmax(case):
    return _rows(case, _softmax_row)


# ---- products --------------------------------------------------------------------------------------------------------
@triton.jit
def _matmul_tile(a, b, c, m, n, k, a_row, a_col, b_row, b_col, c_row, c_col, alpha, M: tl.constexpr, N: tl.constexpr,
                 K: tl.constexpr, GROUP: tl.constexpr, PRECISION: tl.constexpr):  # fmt: skip
    """Programs go through GROUP rows of tiles at a time, which share the columns of b in L2."""
    program, columns = tl.program_id(0), tl.cdiv(n, N)
    first = program // (GROUP * columns) * GROUP
    height = tl.minimum(tl.cdiv(m, M) - first, GROUP)
    row = ((first + program % (GROUP * columns) % height) * M + tl.arange(0, M)).to(tl.int64)
    column = (program % (GROUP * columns) // height * N + tl.arange(0, N)).to(tl.int64)
    depth = tl.arange(0, K).to(tl.int64)
    total = tl.zeros((M, N), dtype=tl.float32)
    for at in range(0, k, K):
        left = k - at
        x = tl.load(a + row[:, None] * a_row + (at + depth)[None, :] * a_col, mask=(row[:, None] < m) & (depth[None, :] < left),
                    other=0.0)  # fmt: skip
        w = tl.load(b + (at + depth)[:, None] * b_row + column[None, :] * b_col,
                    mask=(depth[:, None] < left) & (column[None, :] < n), other=0.0)  # fmt: skip
        total = tl.dot(x, w, total, input_precision=PRECISION)
    tl.store(c + row[:, None] * c_row + column[None, :] * c_col, total * alpha,
             mask=(row[:, None] < m) & (column[None, :] < n))  # fmt: skip


# From large to small: of a tile, and how its kernel is compiled.
MATMUL_TILES = [
    ({"M": 128, "N": 128, "K": 64, "GROUP": 8}, {"num_warps": 8, "num_stages": 3}),
    ({"M": 64, "N": 64, "K": 64, "GROUP": 8}, {"num_warps": 4, "num_stages": 4}),
    ({"M": 32, "N": 32, "K": 64, "GROUP": 8}, {"num_warps": 4, "num_stages": 3}),
]
SMS = 132  # of an H100 or H200


def largest_that_fills(tiles, programs):
    """The largest tile of which every SM has one, or the smallest; programs(tile) counts them."""
    return next((tile for tile in tiles if programs(tile[0]) >= SMS), tiles[-1])


def in_type(tile, half):
    """Elements of 4 bytes have tiles of half the depth."""
    return {**tile, "K": tile["K"] if half else tile["K"] // 2, "PRECISION": "ieee"}


def _refuse_tf32(case):
    if case.dtype == "tf32":
        raise Refused("Triton's tf32 cuts operands off, which is beyond a bound for rounded ones")


def matmul(case):
    _refuse_tf32(case)
    alpha = float(case.option.get("alpha", 1))

    def run(ins, outs):
        (a, b), (c,) = ins, outs
        (m, k), n = a.shape, b.shape[1]
        programs = lambda tile: triton.cdiv(m, tile["M"]) * triton.cdiv(n, tile["N"])  # noqa: E731
        tile, launch = largest_that_fills(MATMUL_TILES, programs)
        if m and n:
            _matmul_tile[(programs(tile),)](a, b, c, m, n, k, *a.stride(), *b.stride(), *c.stride(), alpha,
                                            **in_type(tile, case.half), **launch)  # fmt: skip

    return run


_logits_tile = _matmul_tile  # with results in fp32, whatever its operands are


# ---- softmax(x w + b) ------------------------------------------------------------------------------------------------
@triton.jit
def _linear_softmax_rows(x, w, b, p, m, n, k, x_row, w_row, w_col, p_row, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
                         PRECISION: tl.constexpr):  # fmt: skip
    row = (tl.program_id(0) * M + tl.arange(0, M)).to(tl.int64)
    column, depth = tl.arange(0, N), tl.arange(0, K).to(tl.int64)
    z = tl.zeros((M, N), dtype=tl.float32)
    for at in range(0, k, K):
        left = k - at
        u = tl.load(x + row[:, None] * x_row + (at + depth)[None, :], mask=(row[:, None] < m) & (depth[None, :] < left), other=0.0)
        v = tl.load(w + (at + depth)[:, None] * w_row + column[None, :] * w_col,
                    mask=(depth[:, None] < left) & (column[None, :] < n), other=0.0)  # fmt: skip
        z = tl.dot(u, v, z, input_precision=PRECISION)
    z += tl.load(b + column, mask=column < n, other=0.0).to(tl.float32)[None, :]
    z = tl.where(column[None, :] < n, z, -float("inf"))
    e = tl.exp(z - tl.max(z, 1)[:, None])
    tl.store(p + row[:, None] * p_row + column[None, :], e / tl.sum(e, 1)[:, None],
             mask=(row[:, None] < m) & (column[None, :] < n))  # fmt: skip


CLASSIFIER_TILES = [
    ({"M": 64, "K": 64}, {"num_warps": 4, "num_stages": 3}),
    ({"M": 16, "K": 128}, {"num_warps": 4, "num_stages": 3}),
]


def linear_softmax(case):
    _refuse_tf32(case)
    classes = case.dim["classes"]
    if classes > MOST_CLASSES:
        raise Refused(f"it holds logits of up to {MOST_CLASSES} classes")
    columns = max(16, triton.next_power_of_2(classes))

    def run(ins, outs):
        (x, w, b), (p,) = ins, outs
        programs = lambda tile: triton.cdiv(x.shape[0], tile["M"])  # noqa: E731
        tile, launch = largest_that_fills(CLASSIFIER_TILES, programs)
        if x.shape[0]:
            _linear_softmax_rows[(programs(tile),)](x, w, b, p, *p.shape, x.shape[1], x.stride(0), *w.stride(), p.stride(0),
                                                    N=columns, **in_type(tile, case.half), **launch)  # fmt: skip

    return run
