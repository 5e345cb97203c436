/* Softmax of whole rows of logits whose tiles are in several blocks. */
#ifndef RIDGE_KERNELS_CUDA_EPILOGUE_PROBABILITIES_CUH
#define RIDGE_KERNELS_CUDA_EPILOGUE_PROBABILITIES_CUH

#include <float.h>

#include "cuda/epilogue/scale.cuh"
#include "cuda/mma/ffma.cuh"

namespace ridge {

/* Rows with infinite operands: an infinity has no lo part, so such rows are computed again by fp32 multiply-adds from
 * the operands as they are; a row by a warp. */
struct softmax_unsplit {
    const float *x, *w, *bias;
    float *p;
    int64_t x_line, w_line, w_step, w_head, bias_head, p_line, p_head;
    int depth, classes;

    __device__ void run(int head, int row) const {
        const float *values = x + row * x_line, *weight = w + head * w_head;
        float *to = p + head * p_head + row * p_line, most = -FLT_MAX, sum = 0.0f;
        const int lane = (int)threadIdx.x % 32;
        for (int j = lane; j < classes; j += 32) {
            const float z =
                ffma_chain(bias ? bias[head * bias_head + j] : 0.0f, values, weight + j * w_line, w_step, depth);
            to[j] = z;
            most = fmaxf(most, z);
        }
        for (int mask = 16; mask > 0; mask /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, mask));
        for (int j = lane; j < classes; j += 32) sum += expf(to[j] - most);
        for (int mask = 16; mask > 0; mask /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, mask);
        for (int j = lane; j < classes; j += 32) to[j] = expf(to[j] - most) / sum;
    }
};

/* The blocks that have a row's tiles run at the same time and exchange their parts through memory, while the
 * exponentials stay in registers: every probability is written once. A block waits only for tiles at most `tiles` after
 * its own, no more than there are blocks. */

template <typename T, int N, bool Scaled>
struct softmax_epilogue {
    const T *bias;
    T *p;
    int64_t stride;
    int64_t p_head, bias_head; /* from one head's to the next; columns and tiles are of one */
    int rows, columns, tiles;  /* tiles: of columns */
    bool pairs;                /* two neighbouring elements of p can be stored at once */
    softmax_part *parts;       /* [heads * tiles][rows] */
    unsigned *arrived;         /* [heads][groups of 64 rows], zero before; not used where tiles is 1 */
    int heads;
    const float *row_undo, *column_undo; /* Scaled */
    softmax_unsplit unsplit;             /* Scaled: for rows with a probability that is not a number */

    CUtensorMap map; /* of p in boxes, see make_heads_map */
    bool boxes;      /* it is there */

    static constexpr int bias_bytes = 1024, box_bytes = sizeof(T) == 4 ? 2048 : 0;
    static constexpr int scratch = bias_bytes + 8 * box_bytes;
    static_assert(bias_ahead<T, N, Scaled>::bytes <= bias_bytes, "room");
    bool waits(void) const { return tiles > 1; }
    struct state {
        bias_ahead<T, N, Scaled> bias;
        float low, high;
    };
    __device__ void prepare(uint32_t) const {}
    __device__ int head(const matmul_tile &tile) const { return tile.n / N / tiles; }
    /* Its first column within its head. */
    __device__ int column(const matmul_tile &tile) const { return tile.n - head(tile) * tiles * N; }
    __device__ state begin(const matmul_tile &tile, int group) const {
        const int row = tile.m + fragment_row(group), h = head(tile);
        state s = {bias_ahead<T, N, Scaled>(bias ? bias + h * bias_head : NULL, column(tile), h < heads ? columns : 0,
                                            Scaled ? column_undo + h * tiles * N : NULL),
                   1.0f, 1.0f};
        if constexpr (Scaled) {
            s.low = row < rows ? row_undo[row] : 0.0f;
            s.high = row + 8 < rows ? row_undo[row + 8] : 0.0f;
        }
        return s;
    }
    __device__ void tell(const matmul_tile &tile, int row, softmax_part mine) const {
        if (row < rows && threadIdx.x % 4 == 0)
            __stcg((float2 *)&parts[(int64_t)(tile.n / N) * rows + row], make_float2(mine.shift, mine.sum));
    }
    /* Waits until all tiles of these 64 rows have published their parts. */
    __device__ void meet(const matmul_tile &tile, int group) const {
        __threadfence();
        warpgroup_sync(group);
        if (thread_of_warpgroup() == 0) {
            unsigned *counter = &arrived[head(tile) * (rows / 64 + 4) + tile.m / 64 + group];
            red_release_add(counter, 1);
            while (ld_acquire(counter) < (unsigned)tiles) {
            }
        }
        warpgroup_sync(group);
    }
    /* What a row's exponentials are multiplied by. The four threads of a row share its parts. */
    __device__ float factor(int head, int row, softmax_part mine) const {
        if (tiles == 1) return 1.0f / mine.sum;
        softmax_part all = {-INFINITY, 0.0f};
        for (int i = (int)threadIdx.x % 4; i < tiles && row < rows; i += 4) {
            const float2 v = __ldcg((const float2 *)&parts[(int64_t)(head * tiles + i) * rows + row]);
            all = all.sum == 0.0f && all.shift == -INFINITY ? softmax_part{v.x, v.y} : merge_parts(all, {v.x, v.y});
        }
        const float shift = quad_max(all.shift);
        const float sum = quad_sum(all.shift == -INFINITY ? 0.0f : all.sum * exp2f(all.shift - shift));
        return exp2f(mine.shift - shift) / sum;
    }
    __device__ static bool is_odd(float factor) { return !(factor >= 0.0f); }
    /* All tiles of a row find it odd; the first tile computes the row again. row: the warp's first. */
    __device__ void repair(int head, int row, bool odd) const {
        for (unsigned left = __ballot_sync(0xffffffffu, odd); left; left &= left - 1) {
            const int lane = __ffs((int)left) - 1;
            if (lane % 4 == 0 && row + lane / 4 < rows) unsplit.run(head, row + lane / 4);
        }
    }
    template <int Which>
    __device__ void store(const float (&v)[N / 2], int head, int row, int n, float factor) const {
        if (row >= rows || (Scaled && is_odd(factor))) return;
        T *line = p + head * p_head + row * stride + n + fragment_column();
        const int left = columns - n - fragment_column();
#pragma unroll
        for (int j = 0; j < N / 8; j++) {
            const pack<T, 2> two = {from_float<T>(v[4 * j + 2 * Which] * factor),
                                    from_float<T>(v[4 * j + 2 * Which + 1] * factor)};
            if (pairs && 8 * j + 1 < left) {
                *(pack<T, 2> *)(line + 8 * j) = two;
            } else {
                if (8 * j < left) line[8 * j] = two.v[0];
                if (8 * j + 1 < left) line[8 * j + 1] = two.v[1];
            }
        }
    }
    /* The warp's 16 rows through shared memory, 32 columns at a time, two of these in flight: memory is written in
     * pieces longer than the 32 bytes of a row's four threads, and while the next tile is computed. */
    __device__ void store_boxes(const float (&v)[N / 2], int head, int row, int n, float low, float high,
                                uint32_t at) const {
        const int lane = (int)threadIdx.x % 32, line = lane / 4;
#pragma unroll
        for (int box = 0; box < (N + 31) / 32; box++) {
            const int column = n + box * 32;
            if (column >= columns || row >= rows) break;
            const uint32_t to = at + (uint32_t)(box % 2 * box_bytes);
            if (lane == 0) {
                if (box == 0)
                    cp_async_bulk_wait_group_read<0>();
                else
                    cp_async_bulk_wait_group_read<1>();
            }
            __syncwarp();
#pragma unroll
            for (int j = 0; j < 4 && box * 4 + j < N / 8; j++) {
                const float *s = &v[(box * 4 + j) * 4];
                const uint32_t mine = to + (uint32_t)(swizzle_128B(line, 2 * j + lane % 4 / 2) + lane % 2 * 8);
                st_shared_v2(mine, s[0] * low, s[1] * low);
                st_shared_v2(mine + 1024, s[2] * high, s[3] * high);
            }
            fence_proxy_async();
            __syncwarp();
            if (lane == 0) cp_async_bulk_tensor_store(&map, to, column, head, row), cp_async_bulk_commit_group();
        }
    }
    __device__ void finish(const matmul_tile &tile, const state &s, float (&sums)[N / 2], uint32_t at,
                           int group) const {
        const int row = tile.m + fragment_row(group), h = head(tile), n = column(tile);
        if (h >= heads) return; /* beyond the last tile of columns, where a cluster has several */
        s.bias.add(sums, at, group, s.low * log2_e, s.high * log2_e);
        const softmax_part first = exponentiate_row<0, 0>(sums), second = exponentiate_row<1, 0>(sums);
        if (tiles > 1) {
            tell(tile, row, first);
            tell(tile, row + 8, second);
            meet(tile, group);
        }
        const float low = factor(h, row, first), high = factor(h, row + 8, second);
        const int of_warp = row - (int)threadIdx.x % 32 / 4;
        if constexpr (box_bytes > 0)
            if (boxes && !(Scaled && __any_sync(0xffffffffu, is_odd(low) || is_odd(high)))) {
                const uint32_t warp = (uint32_t)(thread_of_warpgroup() / 32);
                store_boxes(sums, h, of_warp, n, low, high, at + bias_bytes + warp * 2 * box_bytes);
                return;
            }
        store<0>(sums, h, row, n, low);
        store<1>(sums, h, row + 8, n, high);
        if constexpr (Scaled) {
            if (n > 0) return;
            repair(h, of_warp, is_odd(low));
            repair(h, of_warp + 8, is_odd(high));
        }
    }
    __device__ void end(void) const {
        if (box_bytes > 0 && threadIdx.x % 32 == 0) cp_async_bulk_wait_group();
    }
};

}  // namespace ridge

#endif
