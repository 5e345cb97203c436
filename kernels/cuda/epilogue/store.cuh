/* C = the sums, or C += the sums: by TMA through shared memory (16 bits), in pairs (fp32), or by elements. */
#ifndef RIDGE_KERNELS_CUDA_EPILOGUE_STORE_CUH
#define RIDGE_KERNELS_CUDA_EPILOGUE_STORE_CUH

#include <type_traits>

#include "cuda/host/view.cuh"
#include "cuda/pipe/schedule.cuh"
#include "cuda/ptx/bulk.cuh"
#include "cuda/ptx/global.cuh"
#include "cuda/ptx/mbarrier.cuh"
#include "cuda/ptx/shared.cuh"
#include "cuda/ptx/tensor.cuh"
#include "cuda/tile/fragment.cuh"
#include "cuda/tile/pack.cuh"
#include "cuda/tile/swizzle.cuh"

namespace ridge {

/* ---- wgmma fragments: 128 bytes of each row at a time through shared memory, two of them in flight ---- */

constexpr int tile_store_bytes = 2 * 64 * 128;
template <typename T>
constexpr int chunk_columns = 128 / sizeof(T);

/* The thread's part of a chunk of a warpgroup's sums to a buffer of 64 swizzled lines: of fp32, or rounded to 16 bits. */
template <int Sums>
__device__ inline void put_chunk_fp32(uint32_t buffer, const float (&v)[Sums], int chunk) {
    const uint32_t at = buffer + (uint32_t)(fragment_column() % 4 * 4);
#pragma unroll
    for (int j = 0; j < 4; j++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const float *s = &v[(chunk * 4 + j) * 4 + 2 * half];
            const int place = swizzle_128B(fragment_row(0) + 8 * half, 2 * j + fragment_column() / 4);
            st_shared_v2(at + (uint32_t)place, s[0], s[1]);
        }
}
template <typename T, int Sums>
__device__ inline void put_chunk(uint32_t buffer, const float (&v)[Sums], int chunk) {
    if constexpr (sizeof(T) == 4) {
        put_chunk_fp32(buffer, v, chunk);
    } else {
        const int lane = (int)threadIdx.x % 32, line = thread_of_warpgroup() / 32 * 16 + lane % 16;
#pragma unroll
        for (int j = 0; j < 8; j += 2) {
            const float *s = &v[(chunk * 8 + j) * 4];
            stmatrix_x4(buffer + (uint32_t)swizzle_128B(line, j + lane / 16), cvt_rn_x2(T(), s[0], s[1]),
                        cvt_rn_x2(T(), s[2], s[3]), cvt_rn_x2(T(), s[4], s[5]), cvt_rn_x2(T(), s[6], s[7]));
        }
    }
}

template <typename T, int N, bool Add>
__device__ inline void tile_store(const CUtensorMap *map, int m, int n, const float (&v)[N / 2], uint32_t scratch,
                                  int group) {
#pragma unroll
    for (int chunk = 0; chunk < N / 64; chunk++) {
        const uint32_t buffer = scratch + (uint32_t)(chunk % 2 * 64 * 128);
        /* An odd number of chunks: the tile before ended with the buffer that this one begins with. */
        constexpr bool odd = N / 64 % 2 != 0;
        if (thread_of_warpgroup() == 0) {
            if (odd && chunk == 0)
                cp_async_bulk_wait_group_read<0>();
            else
                cp_async_bulk_wait_group_read<1>();
        }
        warpgroup_sync(group);
        put_chunk<T>(buffer, v, chunk);
        fence_proxy_async();
        warpgroup_sync(group);
        if (thread_of_warpgroup() == 0) {
            if constexpr (Add)
                cp_reduce_async_bulk_tensor_add(map, buffer, n + chunk * 64, m + group * 64);
            else
                cp_async_bulk_tensor_store(map, buffer, n + chunk * 64, m + group * 64);
            cp_async_bulk_commit_group();
        }
    }
}

/* C (+)= the sums. */
template <typename T, int N, bool Add>
struct store_epilogue {
    CUtensorMap map;
    static constexpr int scratch = tile_store_bytes;
    static bool waits(void) { return false; }
    struct state {};
    __device__ void prepare(uint32_t) const {}
    __device__ state begin(const matmul_tile &, int) const { return {}; }
    __device__ void finish(const matmul_tile &tile, const state &, const float (&sums)[N / 2], uint32_t at,
                           int group) const {
        tile_store<T, N, Add>(&map, tile.m, tile.n, sums, at, group);
    }
    __device__ void end(void) const {
        if (thread_of_warpgroup() == 0) cp_async_bulk_wait_group();
    }
};

/* ---- the same by a thread of its own, so that nobody who multiplies waits for TMA ---- */

/* A warpgroup's two slots of 64 lines of 128 bytes on their way to C. Chunks of all its tiles take turns: number c has slot
 * c % 2.
 *
 *   ready     its four warps have written the slot     vacant    TMA has read it */
template <typename T, int N>
struct store_slots {
    static constexpr int width = chunk_columns<T>, chunks = N / width, bytes = tile_store_bytes + 1024;
    uint32_t at;

    __device__ uint32_t slot(int c) const { return at + (uint32_t)(c % 2 * 64 * 128); }
    __device__ uint32_t ready(int c) const { return at + (uint32_t)(tile_store_bytes + c % 2 * 16); }
    __device__ uint32_t vacant(int c) const { return ready(c) + 8; }
    __device__ static int turn(int c) { return c / 2 % 2; }

    __device__ void init(void) const {
        if (thread_of_warpgroup() != 0) return;
        for (int c = 0; c < 2; c++) mbarrier_init(ready(c), 4), mbarrier_init(vacant(c), 1);
        fence_mbarrier_init();
    }
    /* By the warpgroup: Count chunks of the block's tile number `tile`, each by write(slot, chunk). */
    template <int Count, typename Write>
    __device__ void each(int tile, const Write &write) const {
#pragma unroll
        for (int chunk = 0; chunk < Count; chunk++) {
            const int c = tile * Count + chunk;
            mbarrier_wait_parity(vacant(c), turn(c) ^ 1); /* a new barrier lets pass */
            write(slot(c), chunk);
            fence_proxy_async(); /* TMA reads what this thread has written */
            __syncwarp();
            if (threadIdx.x % 32 == 0) mbarrier_arrive(ready(c));
        }
    }
    /* Its rows of the tile. */
    __device__ void put(const float (&v)[N / 2], int tile) const {
        each<chunks>(tile, [&](uint32_t to, int chunk) { put_chunk<T>(to, v, chunk); });
    }
    /* Column and row of C where a chunk of a warpgroup's begins. */
    __device__ static int2 place(const matmul_tile &tile, int group, int chunk) {
        return make_int2(tile.n + chunk * width, tile.m + group * 64);
    }
};

struct store_silently {
    __device__ void operator()(const matmul_tile &) const {}
};
/* By one thread: the tiles of both warpgroups, whose slots are `bytes` apart. A slot is vacant when the store behind its
 * own is under way, or there is none. done(tile): all stores of the tile have read their slots. */
template <class S, typename slots, typename Done = store_silently>
__device__ inline void store_tiles_of(const CUtensorMap *map, const matmul_plan &plan, int rank, uint32_t scratch,
                                      Done done = {}) {
    uint32_t before = 0;
    int number = 0;
    for (matmul_schedule<S> schedule(plan, rank); schedule.more(); schedule.next()) {
        const matmul_tile tile = schedule.tile();
        if (!schedule.exists(tile) || !schedule.is_whole(tile)) continue;
        for (int u = 0; u < 2 * slots::chunks; u++) {
            const slots group = {scratch + (uint32_t)(u % 2 * slots::bytes)};
            const int c = number * slots::chunks + u / 2;
            mbarrier_wait_parity(group.ready(c), slots::turn(c));
            const int2 at = slots::place(tile, u % 2, u / 2);
            if constexpr (S::batched)
                cp_async_bulk_tensor_store(map, group.slot(c), at.x, at.y, tile.batch);
            else
                cp_async_bulk_tensor_store(map, group.slot(c), at.x, at.y);
            cp_async_bulk_commit_group();
            cp_async_bulk_wait_group_read<1>();
            if (before) mbarrier_arrive(before);
            before = group.vacant(c);
        }
        cp_async_bulk_wait_group_read<0>();
        mbarrier_arrive(before);
        before = 0;
        number++;
        done(tile);
    }
    cp_async_bulk_wait_group();
}

template <class S, typename T, typename Done = store_silently>
__device__ inline void store_tiles(const CUtensorMap *map, const matmul_plan &plan, int rank, uint32_t scratch,
                                   Done done = {}) {
    store_tiles_of<S, store_slots<T, S::columns>>(map, plan, rank, scratch, done);
}

/* A tile of sums to 16 bits, in pairs, up to the tile's end: c's lines have room for an even number of elements, as TMA's. */
template <typename T, int N>
__device__ inline void store_pairs_to_end(T *c, int64_t stride, int columns, const matmul_tile &tile,
                                          const float (&v)[N / 2], int group) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int row = tile.m + fragment_row(group) + 8 * half, left = columns - tile.n - fragment_column();
        T *const line = c + row * stride + tile.n + fragment_column();
        if (row >= tile.end) continue;
#pragma unroll
        for (int j = 0; j < N / 8; j++)
            if (8 * j < left)
                *(unsigned *)(line + 8 * j) = cvt_rn_x2(T(), v[4 * j + 2 * half], v[4 * j + 2 * half + 1]);
    }
}

/* A tile of sums to fp32, in pairs where c's lines begin at multiples of 8 bytes; else one by one. */
template <int N>
__device__ inline void store_pairs(float *c, int64_t stride, int rows, int columns, const matmul_tile &tile,
                                   const float (&v)[N / 2], int group, bool pairs = true) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int row = tile.m + fragment_row(group) + 8 * half, left = columns - tile.n - fragment_column();
        float *line = c + row * stride + tile.n + fragment_column();
        if (row >= rows) continue;
#pragma unroll
        for (int j = 0; j < N / 8; j++) {
            const float2 two = make_float2(v[4 * j + 2 * half], v[4 * j + 2 * half + 1]);
            if (pairs && 8 * j + 1 < left) {
                *(float2 *)(line + 8 * j) = two;
            } else {
                if (8 * j < left) line[8 * j] = two.x;
                if (8 * j + 1 < left) line[8 * j + 1] = two.y;
            }
        }
    }
}

/* ---- tiles of fp32 multiply-adds: v[i][j] is of place.row(i) and place.column(j) ---- */

/* The thread's columns of a row, from c[column(0)] on, where they are `inside` the matrix: up to four at a time.
 * A pack of 16 bytes leaves by one store: an assignment is merged with the stores of single elements, and three sectors then
 * leave for each one. */
template <typename T, class Place, int N>
__device__ inline void any_put(T *c, const float (&v)[N], const Place &place, int64_t columns, bool wide) {
    constexpr int W = N < 4 ? N : 4;
#pragma unroll
    for (int j = 0; j < N; j += W) {
        const int64_t column = place.column(j);
        pack<T, W> some;
#pragma unroll
        for (int e = 0; e < W; e++) some.v[e] = from_float<T>(v[j + e]);
        if (wide && column + W <= columns) {
            if constexpr (sizeof(some) == 16)
                st_global_v4(c + column, *(const uint4 *)some.v);
            else
                *(pack<T, W> *)(c + column) = some;
        } else {
#pragma unroll
            for (int e = 0; e < W; e++)
                if (column + e < columns) c[column + e] = some.v[e];
        }
    }
}
/* Whether packs of four fit lines of memory. */
template <typename T>
bool any_is_wide(const T *base, int64_t line) {
    return (uintptr_t)base % sizeof(pack<T, 4>) == 0 && line % 4 == 0;
}

/* Split-K: the sums of each share, `next` elements behind those of the one before; lines of whole packs. */
struct any_sums_store {
    static constexpr bool of_share = true;
    float *sums;
    int64_t line, next, rows, columns;

    template <class Place>
    __device__ void tile(float (&v)[Place::rows][Place::columns], const Place &place) const {
#pragma unroll
        for (int i = 0; i < Place::rows; i++)
            if (place.row(i) < rows)
                any_put(sums + blockIdx.z * next + place.row(i) * line, v[i], place, columns, true);
    }
};

/* C (+)= the sums. */

template <typename T>
struct any_store {
    T *c;
    int64_t line, step, rows, columns;
    bool add, wide;
    const float *undo; /* of f16: NULL, or what the sums are multiplied by */

    any_store(const matrix_view &to, bool adds, const float *by = NULL)
        : c((T *)to.base),
          line(to.line),
          step(to.step),
          rows(to.rows),
          columns(to.columns),
          add(adds),
          wide(to.step == 1 && any_is_wide(c, line)),
          undo(by) {}
    template <class Place>
    __device__ void tile(float (&v)[Place::rows][Place::columns], const Place &place) const {
        if constexpr (std::is_same_v<T, __half>) {
            const float by = undo ? *undo : 1.0f;
#pragma unroll
            for (int i = 0; i < Place::rows; i++)
#pragma unroll
                for (int j = 0; j < Place::columns; j++) v[i][j] *= by;
        }
#pragma unroll
        for (int i = 0; i < Place::rows; i++) {
            if (place.row(i) >= rows) continue;
            T *const at = c + place.row(i) * line;
            if (wide && !add) {
                any_put(at, v[i], place, columns, true);
                continue;
            }
#pragma unroll
            for (int j = 0; j < Place::columns; j++) {
                if (place.column(j) >= columns) continue;
                T *const p = at + place.column(j) * step;
                *p = from_float<T>(add ? to_float(*p) + v[i][j] : v[i][j]);
            }
        }
    }
};

}  // namespace ridge

#endif
