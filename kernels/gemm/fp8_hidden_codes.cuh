/* Hidden values of fp8_hidden.cuh on their way from sums to codes, past the threads that multiply.
 *
 *     hidden_slot     a warpgroup's 64 x 64 values of a tile, and what is largest in their rows, in shared memory
 *     hidden_codes    one warp of the block: codes and scales of both warpgroups' slots, tile after tile
 *
 * 128 values of a row share a scale, and are in the tiles of the two blocks of a cluster. Warpgroups send what is largest in their
 * rows to the other block (pipe/pair_rows.cuh) and do not wait for an answer. Only codes and scales leave the SM. */
#ifndef RIDGE_GEMM_FP8_HIDDEN_CODES_CUH
#define RIDGE_GEMM_FP8_HIDDEN_CODES_CUH

#include "cuda/pipe/pair_rows.cuh"
#include "cuda/pipe/schedule.cuh"
#include "cuda/tile/fragment.cuh"
#include "quantize/fp8.cuh"

namespace ridge {

/* ready: its four warps have written the slot; vacant: the warp has read it. Pieces of 16 bytes change places within a line, so that
 * neither eight rows of a fragment nor four pieces of each of two lines meet in a bank. Magnitudes are kept as their bits, among
 * which those of NaN and infinity come last. */
struct hidden_slot {
    static constexpr unsigned MAGNITUDE = 0x7fffffffu;
    static constexpr int rows = 64, columns = 64, line = columns * 4;
    static constexpr int ready_at = rows * line, vacant_at = ready_at + 8, own_at = ready_at + 16,
                         pair_at = own_at + pair_rows::set_bytes, bytes = ready_at + 1024;
    static_assert(pair_at + pair_rows::bytes <= bytes, "room for maxima");
    uint32_t at;

    __device__ uint32_t ready(void) const { return at + ready_at; }
    __device__ uint32_t vacant(void) const { return at + vacant_at; }
    __device__ pair_rows pair(void) const { return {at + pair_at}; }
    __device__ uint32_t piece(int row, int p) const {
        return at + (uint32_t)(row * line + 16 * (p ^ p / 8 ^ row % 4 * 2));
    }
    /* By the warpgroup, before the blocks of a cluster meet. */
    __device__ void init(void) const {
        if (thread_of_warpgroup() != 0) return;
        mbarrier_init(ready(), 4), mbarrier_init(vacant(), 1);
        pair().init();
    }
    /* The largest magnitude of one of the thread's two rows. */
    template <int Which>
    __device__ static float largest(const float (&v)[columns / 2]) {
        unsigned max = 0;
#pragma unroll
        for (int i = 0; i < columns / 4; i++)
            max = umax(max, __float_as_uint(v[i / 2 * 4 + 2 * Which + i % 2]) & MAGNITUDE);
        max = umax(max, __shfl_xor_sync(0xffffffffu, max, 1));
        return __uint_as_float(umax(max, __shfl_xor_sync(0xffffffffu, max, 2)));
    }
    /* By the warpgroup: its values of the block's tile number `tile`, as fragments. */
    __device__ void put(const float (&v)[columns / 2], int tile, int other) const {
        const int row = fragment_row(0), lane = (int)threadIdx.x % 4;
        const float2 top = make_float2(largest<0>(v), largest<1>(v));
        mbarrier_wait_parity(vacant(), tile % 2 ^ 1); /* a new barrier lets pass */
        pair().send(top, tile, other);
        if (lane == 0) st_shared_v2(own(row), top.x, top.y);
#pragma unroll
        for (int i = 0; i < columns / 4; i++) {
            const float *const two = &v[i / 2 * 4 + i % 2 * 2]; /* of row + 8 in every second turn */
            st_shared_v2(piece(row + i % 2 * 8, i / 2 * 2 + lane / 2) + (uint32_t)(lane % 2 * 8), two[0], two[1]);
        }
        __syncwarp();
        if (threadIdx.x % 32 == 0) mbarrier_arrive(ready());
    }
    __device__ uint32_t own(int row) const { return at + own_at + pair_rows::of_row(row); }
    /* By another warp, once values of both blocks have come: the largest magnitude of a row in both. */
    __device__ unsigned largest_of(int row, int tile) const {
        return umax(ld_shared_u32(own(row)), ld_shared_u32(pair().set(tile) + pair_rows::of_row(row)));
    }
};

/* codes: in lines of whole 16-byte pieces. A row is four lanes', 16 neighbours each. */
struct hidden_codes {
    int rows;
    unsigned char *codes;
    int64_t line;
    float *scales;
    int64_t scales_line;

    /* Row r of a slot, which is `row` of all: its scale, and in the place of its maximum what its values are multiplied by; below 0
     * where they have no codes. */
    __device__ void scale(const hidden_slot &from, int r, int tile, int row, int column) const {
        const unsigned max = from.largest_of(r, tile);
        const bool odd = max >= 0x7f800000u;
        const float top = __uint_as_float(odd ? hidden_slot::MAGNITUDE : max);
        st_shared(from.own(r), odd ? -1.0f : rule_fp8_factor(top));
        if (row < rows && column % FP8_BLOCK == 0)
            scales[row * scales_line + column / FP8_BLOCK] = odd ? top : rule_fp8_scale(top);
    }
    /* The lane's codes of the row. */
    __device__ void put(const hidden_slot &from, int r, int row, int column) const {
        const int lane = (int)threadIdx.x % 4;
        const float by = __uint_as_float(ld_shared_u32(from.own(r)));
        unsigned words[4];
#pragma unroll
        for (int p = 0; p < 4; p++) {
            const uint4 v = ld_shared_v4(from.piece(r, 4 * lane + p));
            const auto two = [&](unsigned left, unsigned right) {
                return fp8_pair<RIDGE_E4M3>(__uint_as_float(left) * by, __uint_as_float(right) * by);
            };
            words[p] = by < 0.0f ? 0 : two(v.x, v.y) | two(v.z, v.w) << 16;
        }
        if (row < rows)
            *(uint4 *)(codes + row * line + column + 16 * lane) = make_uint4(words[0], words[1], words[2], words[3]);
    }
    /* By a warp: both warpgroups' values of the block's tile number `number`. */
    __device__ void of_tile(const matmul_tile &tile, uint32_t slots, int number) const {
        const int lane = (int)threadIdx.x % 32;
#pragma unroll 1 /* registers of the first warpgroup are few */
        for (int group = 0; group < 2; group++) {
            const hidden_slot from = {slots + (uint32_t)(group * hidden_slot::bytes)};
            const int first = tile.m + group * hidden_slot::rows;
            mbarrier_wait_parity(from.ready(), number % 2);
            from.pair().receive(number);
#pragma unroll 1
            for (int r = lane; r < hidden_slot::rows; r += 32) scale(from, r, number, first + r, tile.n);
            __syncwarp();
#pragma unroll 1
            for (int r = lane / 4; r < hidden_slot::rows; r += 8) put(from, r, first + r, tile.n);
            __syncwarp(); /* all lanes have read */
            if (lane == 0) mbarrier_arrive(from.vacant());
        }
    }
};

}  // namespace ridge

#endif
