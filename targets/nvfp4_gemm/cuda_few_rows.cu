/* C = x W^T of up to 16 rows of x, W in NVFP4: memory is what it should take. Tensor cores by mma.sync, whose fragments lanes load
 * as they like: a lane takes 16 bytes of codes, 32 of K, of each of its two rows, and K is in another order for it. Of eight codes
 * in a word, those four places apart are the two of a register, at the border of exponent and fraction by one shift; a lane's
 * blocks are its own, and so are their scales. No lane needs what another one has. x is put into that order in shared memory.
 *
 * A block has 128 rows of W and a share of K; the shares' sums are added by a second kernel. 247 instructions for the 2048
 * elements that a warp has of a step. */
#include "cuda/gemm/fp4.cuh"
#include "cuda/host/launch.cuh"
#include "cuda/host/view.cuh"
#include "cuda/maps/plain.cuh"
#include "cuda/ptx/mma.cuh"

extern "C" {
#include "nvfp4_gemm.h"
}
#include "shares.cuh"

namespace {

using namespace ridge;

constexpr int threads = 256;
constexpr int step_bytes = 2 * 32 * 32; /* of eight rows of x in shared memory */

struct few_rows_args {
    const uint8_t *q, *s;
    int64_t q_line, s_line; /* bytes */
    const void *x;
    int64_t x_line;
    float *sums;       /* of each share, [m, n] */
    int m, n, k, each; /* K of a share, in steps of FP4_STEP */
};

/* Two rows' codes and scales of a step: of 32 of K, in two blocks. */
struct few_rows_codes {
    uint4 low, high;
    uint16_t of_low, of_high; /* two scales each, as they come: to join them here would wait for them */
};

struct few_rows_lane {
    const uint8_t *low, *high, *of_low, *of_high;
    int k; /* the lane's first in step 0 */
    __device__ few_rows_lane(const few_rows_args &a, int share) {
        const int lane = (int)threadIdx.x % 32, t = lane % 4, row = (int)threadIdx.x / 32 * 16 + lane / 4;
        const int first = (int)blockIdx.x * FP4_ROWS + row;
        k = share * a.each * FP4_STEP + t * 32;
        low = a.q + min(first, a.n - 1) * a.q_line + k / 2, high = a.q + min(first + 8, a.n - 1) * a.q_line + k / 2;
        const uint8_t *const tiles = a.s + blockIdx.x * a.s_line + k / FP4_SLICE * BLOCKS_TILE + t % 2 * 2;
        of_low = tiles + fp4_place::scales_of(row), of_high = tiles + fp4_place::scales_of(row + 8);
    }
    __device__ few_rows_codes load(const few_rows_args &a, int step) const {
        few_rows_codes c = {};
        if (k + step * FP4_STEP >= a.k) return c;
        const int64_t of_codes = step * (FP4_STEP / 2), of_scales = step * (FP4_STEP / FP4_SLICE * BLOCKS_TILE);
        c.low = ld_global_v4((const uint4 *)(low + of_codes)), c.high = ld_global_v4((const uint4 *)(high + of_codes));
        c.of_low = *(const uint16_t *)(of_low + of_scales), c.of_high = *(const uint16_t *)(of_high + of_scales);
        return c;
    }
};

/* Codes s and s + 4 of a word, times fp4_type's power of two. */
template <typename T, int S>
__device__ unsigned few_rows_values(unsigned word) {
    constexpr int sign = 12 - 4 * S, magnitude = fp4_type<T>::place - 4 * S;
    constexpr unsigned mask = 0x00070007u << fp4_type<T>::place;
    return (word << sign & 0x80008000u) | ((magnitude < 0 ? word >> -magnitude : word << (magnitude & 31)) & mask);
}

/* x's rows of a share, `Tokens` of them, in the order of fragments: of each step and block, eight rows and lane, 8 words of two
 * elements, in two pieces of 16 bytes that lie apart. */
template <typename T, int Tokens>
__device__ void few_rows_put_x(uint4 *to, const few_rows_args &a, int first, int steps) {
    for (int i = (int)threadIdx.x; i < steps * 8 * Tokens; i += threads) {
        const int token = i % Tokens, block = i / Tokens, k = first + block * FP4_BLOCK; /* eight blocks a step */
        const int step = block / 8, t = block % 8 / 2, u = block % 2;
        uint4 v[2] = {};
        if (token < a.m && k < a.k) {
            const uint4 *const from = (const uint4 *)((const T *)a.x + token * a.x_line + k);
            v[0] = ld_global_v4(from), v[1] = ld_global_v4(from + 1);
        }
        uint4 *const at = to + (((step * 2 + u) * (Tokens / 8) + token / 8) * 2) * 32 + token % 8 * 4 + t;
        const auto pairs = [](unsigned of_low, unsigned of_high, unsigned of_low8, unsigned of_high8) {
            return make_uint4(__byte_perm(of_low, of_high, 0x5410), __byte_perm(of_low8, of_high8, 0x5410),
                              __byte_perm(of_low, of_high, 0x7632), __byte_perm(of_low8, of_high8, 0x7632));
        };
        at[0] = pairs(v[0].x, v[0].z, v[1].x, v[1].z);
        at[32] = pairs(v[0].y, v[0].w, v[1].y, v[1].w);
    }
}

template <typename T, int Tokens>
__device__ void few_rows_step(float (&d)[Tokens / 8][4], const few_rows_codes &c, const uint4 *x) {
    using two = typename fp4_type<T>::two;
#pragma unroll
    for (int u = 0; u < 2; u++) {
        const two pair = fp4_type<T>::scales(__byte_perm(c.of_low, c.of_high, (unsigned)(0x3340 + 0x11 * u)) & 0xffffu);
        const unsigned both = *(const unsigned *)&pair;
        const unsigned of_row[2] = {__byte_perm(both, both, 0x1010), __byte_perm(both, both, 0x3232)};
        const unsigned words[4] = {u ? c.low.z : c.low.x, u ? c.high.z : c.high.x, u ? c.low.w : c.low.y,
                                   u ? c.high.w : c.high.y};
        uint4 b[Tokens / 8][2];
#pragma unroll
        for (int n = 0; n < Tokens / 8; n++)
#pragma unroll
            for (int part = 0; part < 2; part++) b[n][part] = x[((u * (Tokens / 8) + n) * 2 + part) * 32];
        const auto multiply = [&]<int S>(std::integral_constant<int, S>) {
            unsigned f[4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const unsigned value = few_rows_values<T, S>(words[i]);
                const two product = __hmul2(*(const two *)&value, *(const two *)&of_row[i % 2]);
                f[i] = *(const unsigned *)&product;
            }
#pragma unroll
            for (int n = 0; n < Tokens / 8; n++) {
                const uint4 &mine = b[n][S / 2];
                mma_m16n8k16(T(), d[n], f, S % 2 ? mine.z : mine.x, S % 2 ? mine.w : mine.y);
            }
        };
        multiply(std::integral_constant<int, 0>()), multiply(std::integral_constant<int, 1>());
        multiply(std::integral_constant<int, 2>()), multiply(std::integral_constant<int, 3>());
    }
}

template <typename T, int Tokens>
__global__ void __launch_bounds__(threads, 2) few_rows_kernel(const few_rows_args a) {
#if __CUDA_ARCH__ >= 900
    extern __shared__ __align__(16) uint4 few_rows_x[];
    constexpr int ahead = 4; /* steps whose codes are on their way */
    const int share = (int)blockIdx.y, lane = (int)threadIdx.x % 32;
    const int steps = min(a.each, (a.k + FP4_STEP - 1) / FP4_STEP - share * a.each);
    const few_rows_lane at(a, share);
    few_rows_codes next[ahead];
    float d[Tokens / 8][4] = {};
#pragma unroll
    for (int i = 0; i < ahead; i++)
        if (i < steps) next[i] = at.load(a, i);
    few_rows_put_x<T, Tokens>(few_rows_x, a, share * a.each * FP4_STEP, steps);
    __syncthreads();
    for (int step = 0; step < steps; step += ahead) {
#pragma unroll
        for (int i = 0; i < ahead; i++) {
            if (step + i >= steps) break;
            const few_rows_codes now = next[i];
            if (step + i + ahead < steps) next[i] = at.load(a, step + i + ahead);
            few_rows_step<T, Tokens>(d, now, few_rows_x + (step + i) * (step_bytes / 16) * (Tokens / 8) + lane);
        }
    }
    const int row = (int)blockIdx.x * FP4_ROWS + (int)threadIdx.x / 32 * 16 + lane / 4;
#pragma unroll
    for (int n = 0; n < Tokens / 8; n++)
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const int token = n * 8 + lane % 4 * 2 + e % 2, feature = row + e / 2 * 8;
            if (token < a.m && feature < a.n) a.sums[((int64_t)share * a.m + token) * a.n + feature] = d[n][e];
        }
#else
    (void)a;
    __trap(); /* conversions of e4m3 begin at 8.9, and the way at 9.0 */
#endif
}

template <typename T, int Tokens>
ridge_status few_rows(const ridge_call *call) {
    const fp4_shares shares =
        fp4_shares_of(call->dim[FP4_N], call->dim[FP4_K], device_limit(cudaDevAttrMultiProcessorCount));
    const DLTensor *q = &call->in[FP4_Q], *s = &call->in[FP4_S];
    const matrix_view x = view_of(call->in[FP4_X]);
    const few_rows_args a = {(const uint8_t *)ridge_data(q),
                             (const uint8_t *)ridge_data(s),
                             ridge_row_stride(q) / 2,
                             ridge_row_stride(s),
                             x.base,
                             x.line,
                             (float *)call->scratch,
                             (int)call->dim[FP4_M],
                             (int)call->dim[FP4_N],
                             (int)call->dim[FP4_K],
                             shares.steps};
    constexpr int most = FP4_MOST_STEPS * step_bytes * Tokens / 8;
    static allowed_per_device allowed;
    RIDGE_TRY(cuda_status(allowed.get([] { return allow_shared((const void *)few_rows_kernel<T, Tokens>, most); }),
                          "cudaFuncSetAttribute"));
    const dim3 grid((unsigned)((a.n + FP4_ROWS - 1) / FP4_ROWS), (unsigned)shares.count);
    RIDGE_TRY(launch(few_rows_kernel<T, Tokens>, {grid, threads, shares.steps * step_bytes * Tokens / 8},
                     stream_of(call), a));
    return add_shares<T>(call, shares.count, FP4_UNDO);
}

template <typename T>
ridge_status of_type(const ridge_call *call) {
    if (call->dim[FP4_M] == 0) return RIDGE_OK;
    return call->dim[FP4_M] <= 8 ? few_rows<T, 8>(call) : few_rows<T, 16>(call);
}

}  // namespace

extern "C" ridge_status nvfp4_gemm_cuda_few_rows(const ridge_call *call) {
    if (call->dtype == RIDGE_BF16) return of_type<__nv_bfloat16>(call);
    return call->dtype == RIDGE_F16 ? of_type<__half>(call) : RIDGE_UNSUPPORTED;
}
