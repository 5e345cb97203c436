/* C = A B by gemm/matmul.cuh, whose tiles leave through epilogue/store.cuh: by the warps that multiply, in tiles of one
 * chunk of 64 columns; and by a thread of its own, in tiles of one chunk and of four. One block takes all tiles, so that
 * buffers and slots are used again; three tiles in m, a tail of each extent. */
#include "cuda/epilogue/store.cuh"
#include "cuda/gemm/matmul_run.cuh"
#include "product.h"

using namespace ridge;
using element = __nv_bfloat16;

template <int Columns>
using shape =
    matmul_shape<element, matmul_tuning{.columns = Columns, .stages = 4, .cluster_m = 1, .cluster_n = 1}, true, false>;

/* C = the sums, by the first warpgroup's second thread. */
template <int N>
struct slots_epilogue {
    CUtensorMap map;
    static constexpr int scratch = store_slots<element, N>::bytes;
    static bool waits(void) { return false; }
    struct state {};
    __device__ void prepare(uint32_t at) const { store_slots<element, N>{at}.init(); }
    __device__ state begin(const matmul_tile &, int) const { return {}; }
    __device__ void finish(const matmul_tile &tile, const state &, const float (&sums)[N / 2], uint32_t at, int) const {
        store_slots<element, N>{at}.put(sums, tile.number);
    }
    __device__ void end(void) const {}
    template <class S>
    __device__ void store(const matmul_plan &plan, int rank, uint32_t slots) const {
        store_tiles<S, element>(&map, plan, rank, slots);
    }
};

template <class S, class Epilogue>
static ridge_status by_one_block(const ridge_call *call) {
    const matmul_call m(call);
    CUtensorMap a, b;
    Epilogue e = {};
    if (!make_map<element>(&a, lines_of(m.a), S::a_box) || !make_map<element>(&b, lines_of(m.b), S::b_box) ||
        !make_map<element>(&e.map, lines_of(m.c), 64))
        return RIDGE_FAILED;
    matmul_plan plan = matmul_whole(m.a.columns, S::K, 8);
    plan.m_tiles = (int)(m.c.rows + S::M - 1) / S::M, plan.n_tiles = (int)(m.c.columns + S::N - 1) / S::N;
    constexpr int bytes = matmul_shared_bytes<S, Epilogue>;
    require(allow_shared((const void *)matmul_kernel<S, Epilogue>, bytes), "cudaFuncSetAttribute");
    return launch(matmul_kernel<S, Epilogue>, {dim3(1), S::threads, bytes}, m.stream, a, b, plan, e);
}

int main(void) {
    const product_case c(300, 264, 200);
    long wrong = c.wrong("one chunk", by_one_block<shape<64>, store_epilogue<element, 64, false>>);
    wrong += c.wrong("one chunk by slots", by_one_block<shape<64>, slots_epilogue<64>>);
    wrong += c.wrong("four chunks by slots", by_one_block<shape<256>, slots_epilogue<256>>);
    return wrong > 0;
}
