/* Sums of scaled operands (tile/split.cuh): undoing the scales of A's rows and B's columns. */
#ifndef RIDGE_KERNELS_CUDA_EPILOGUE_SCALE_CUH
#define RIDGE_KERNELS_CUDA_EPILOGUE_SCALE_CUH

#include "cuda/epilogue/bias.cuh"

namespace ridge {

/* What undoes the scaling of split operands' rows: of the thread's two. */
struct undo_ahead {
    float low, high;
    __device__ undo_ahead(const float *undo, int row, int rows)
        : low(row < rows ? undo[row] : 0.0f), high(row + 8 < rows ? undo[row + 8] : 0.0f) {}
};

/* C = the sums of split operands, and a bias of their columns (NULL: none). Split-K: as float_epilogue. */
template <int N>
struct scaled_epilogue {
    float *c;
    int64_t stride;
    const float *bias, *row_undo, *column_undo;
    int rows, columns;
    bool pairs;     /* of c two neighbours can be stored at once */
    int across = 0; /* 0, or columns of tiles of a share */
    int64_t next = 0;
    static constexpr int scratch = (bias_ahead<float, N, true>::bytes + 1023) / 1024 * 1024;
    static bool waits(void) { return false; }
    struct state {
        bias_ahead<float, N, true> bias;
        undo_ahead undo;
    };
    __device__ void prepare(uint32_t) const {}
    __device__ int share(const matmul_tile &tile) const { return across > 0 ? tile.n / N / across : 0; }
    __device__ state begin(const matmul_tile &tile, int group) const {
        const int part = share(tile);
        return {{part == 0 ? bias : NULL, tile.n - part * across * N, columns, column_undo, 1.0f},
                {row_undo, tile.m + fragment_row(group), rows}};
    }
    __device__ void finish(const matmul_tile &tile, const state &s, float (&sums)[N / 2], uint32_t at,
                           int group) const {
        const int part = share(tile);
        const matmul_tile here = {tile.m, tile.n - part * across * N, tile.part, tile.opens};
        s.bias.add(sums, at, group, s.undo.low, s.undo.high);
        store_pairs<N>(c + part * next, stride, rows, columns, here, sums, group, pairs);
    }
    __device__ void end(void) const {}
};

/* A tile of logits from operands as they are, or split (fp32), and its way to memory: 16 bits by TMA, fp32 in pairs. */
template <typename T, int N, bool Stores>
struct tile_output {
    static constexpr bool scaled = sizeof(T) == 4, by_map = Stores && !scaled;
    static constexpr int stores = by_map ? tile_store_bytes : 0;
    static constexpr int scratch = stores + (bias_ahead<float, N, scaled>::bytes + 1023) / 1024 * 1024;
    CUtensorMap map;
    float *c;
    int64_t stride;
    const float *row_undo, *column_undo;

    struct undo_none {
        static constexpr float low = 1.0f, high = 1.0f;
    };
    using undo = std::conditional_t<scaled, undo_ahead, undo_none>;
    struct state {
        bias_ahead<float, N, scaled> bias;
        undo rows;
    };
    __device__ state begin(const float *bias, const matmul_tile &tile, int group, int rows, int columns) const {
        if constexpr (scaled)
            return {{bias, tile.n, columns, column_undo}, {row_undo, tile.m + fragment_row(group), rows}};
        else
            return {{bias, tile.n, columns}, {}};
    }
    /* Sums become logits. */
    __device__ void logits(const state &s, float (&sums)[N / 2], uint32_t at, int group) const {
        s.bias.add(sums, at + stores, group, s.rows.low * log2_e, s.rows.high * log2_e);
    }
    template <typename V>
    __device__ void put(const matmul_tile &tile, const float (&v)[N / 2], uint32_t at, int group, int rows,
                        int columns) const {
        if constexpr (by_map)
            tile_store<V, N, false>(&map, tile.m, tile.n, v, at, group);
        else
            store_pairs<N>(c, stride, rows, columns, tile, v, group);
    }
    __device__ void end(void) const {
        if (by_map && thread_of_warpgroup() == 0) cp_async_bulk_wait_group();
    }
};

}  // namespace ridge

#endif
