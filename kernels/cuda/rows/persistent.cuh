/* Many long rows of whole slices through persistent clusters. The parameters stay in shared memory from the first row
 * to the last. A cluster for each row would load them again: as many bytes as the row has, or twice as many.
 *
 * A block has a slice of 32 KiB of each row, and four groups of threads that take rows in turn, each with an exchange
 * of its own, so that one's waiting is the others' arithmetic. A group has its row in registers and the next one in
 * flight to its buffer in shared memory, asynchronously: asked for as soon as the buffer has been emptied, before the
 * row's statistics are exchanged. With two groups of twice the threads, or three, there is too little to do while one
 * waits: layer norm of 262144 bf16 on an H200 at 75 % and 80 % of a copy instead of 91 %. */
#ifndef RIDGE_KERNELS_CUDA_ROWS_PERSISTENT_CUH
#define RIDGE_KERNELS_CUDA_ROWS_PERSISTENT_CUH

#include "cuda/ptx/bulk.cuh"
#include "cuda/rows/tensors.cuh"

extern "C" {
#include "cuda/rows/ways.h"
}

namespace ridge {

constexpr int ROW_PERSISTENT_THREADS = 256; /* of a group; rows/ways.h has the groups and the bytes of a slice */

template <typename Op, typename T>
constexpr int row_persistent_bytes = (Op::parameters + ROW_PERSISTENT_GROUPS) * ROW_PERSISTENT_SLICE;

/* To shared memory by TMA; `full` then counts the bytes. By one thread. */
__device__ inline void row_fetch_slice(uint4 *shared, const void *from, uint64_t *full) {
    mbarrier_arrive_expect_tx(shared_address(full), ROW_PERSISTENT_SLICE);
    cp_async_bulk_hint(shared_address(shared), from, ROW_PERSISTENT_SLICE, shared_address(full),
                       createpolicy_evict_last());
}

/* What a group looks up once a row: registers are for the row. Written by its first thread behind the barrier of
 * row.take(), read before the next one and behind the exchange's. */
struct row_persistent_group {
    uint64_t full; /* barrier that counts the bytes of its buffer */
    unsigned row, parity;
};

template <typename Op, typename T, typename U>
__global__ void __launch_bounds__(ROW_PERSISTENT_THREADS *ROW_PERSISTENT_GROUPS, 1)
    row_kernel_persistent(row_tensors<T, U> io, Op op) {
#if __CUDA_ARCH__ >= 900
    constexpr int Threads = ROW_PERSISTENT_THREADS, slice = ROW_PERSISTENT_SLICE / (int)sizeof(T),
                  packs = ROW_PERSISTENT_SLICE / 16;
    extern __shared__ uint4 row_memory[]; /* the parameters' slices, and a buffer for each group */
    __shared__ row_slots<Threads> slots[ROW_PERSISTENT_GROUPS];
    __shared__ row_persistent_group groups[ROW_PERSISTENT_GROUPS];
    const int thread = (int)threadIdx.x % Threads, group = (int)threadIdx.x / Threads;
    const unsigned blocks = __clusterSizeInBlocks(), rows = (unsigned)io.rows;
    const int begin = (int)__clusterRelativeBlockRank() * slice;
    volatile row_persistent_group *const mine = &groups[group];
    uint4 *const buffer = row_memory + (Op::parameters + group) * packs;
    const auto fetch = [&](unsigned i) {
        if (i < rows) row_fetch_slice(buffer, io.x + i * io.x_stride + begin, &groups[group].full);
    };

    row_whole_span<T, U, pack_width<T>> span{nullptr, nullptr};
    row_filled<T, U, Threads, slice / Threads, true, ROW_PERSISTENT_GROUPS> row(span, &slots[group], thread);
    if (thread == 0) {
        mbarrier_init(shared_address(&groups[group].full), 1);
        mine->row = (gridDim.x * group + blockIdx.x) / blocks, mine->parity = 0;
    }
    row.begin();
    if (thread == 0) fetch(mine->row);
    for (int k = 0; k < Op::parameters; k++)
        for (int j = (int)threadIdx.x; j < packs; j += Threads * ROW_PERSISTENT_GROUPS)
            row_fetch((pack<T, pack_width<T>> *)&row_memory[k * packs + j], op.parameter(k) + begin + j * pack_width<T>,
                      true);
    cp_async_wait_all();
    __syncthreads();

    const Op here = op.in_shared((const T *)&row_memory[thread], slice);
#pragma unroll 1
    for (unsigned i; (i = mine->row) < rows;) {
        mbarrier_wait_parity_cluster(shared_address(&groups[group].full), (int)mine->parity);
        span.y = io.y + i * io.y_stride + begin + thread * pack_width<T>;
        row.take(buffer);
        if (thread == 0) {
            const unsigned next = i + gridDim.x / blocks * ROW_PERSISTENT_GROUPS;
            fetch(next);
            mine->row = next, mine->parity = mine->parity ^ 1;
        }
        const auto s = op.of(row);
        if (here.usual(s, 0))
            row.write([&](auto &v, int64_t at) { here.template finish<ROW_SHARED_USUAL>(v, s, at); });
        else
            row.write([&](auto &v, int64_t at) { here.template finish<ROW_SHARED_GENERAL>(v, s, at); });
    }
#else
    __trap(); /* launched on devices with clusters alone */
#endif
}

}  // namespace ridge

#endif
