/* Rows of fp32 logits in memory, each by a team of threads, or by a cluster of blocks, that has it in registers, or by a
 * block that reads a longer one twice: the softmax of a row, and what an operation makes of it.
 *
 * An operation has
 *
 *     types bias_type, out        of the biases, and of what it writes
 *     elements                    that a thread has of a row of up to 256
 *     int64_t count()             rows
 *     row_of<Row>(i, thread)      row i as that thread sees it
 *     bool idle()                 whether there is nothing to do, after all
 *     ahead(i, exists)            what is read of a row besides, asked for before the row is waited for; logits only
 *                                 where it exists: another team may write its results in the place of row 0's
 *     bool known()                statistics are given instead of made: of all rows or of none
 *     logit_statistics given(ahead)
 *     bool totals()               whether the sum of a row's logits is wanted: of all rows or of none
 *     finish(i, ahead, s, leads)  what turns exponentials into results: operator()(v, row, begin); leads: of one
 *                                 thread of a team
 *     bool writes()               whether results are wanted: of all rows or of none */
#ifndef RIDGE_LINEAR_ROWS_OF_LOGITS_CUH
#define RIDGE_LINEAR_ROWS_OF_LOGITS_CUH

#include <float.h>

#include <type_traits>

#include "cuda/host/launch.cuh"
#include "cuda/pipe/exchange.cuh"
#include "cuda/ptx/griddepcontrol.cuh"
#include "cuda/tile/unkept.cuh"
#include "cuda/rows/softmax.cuh"
#include "cuda/tile/pack.cuh"
#include "linear/rows_of_logits.h"

namespace ridge {

/* Of a row: its largest logit, the sum of exponentials below it, the sum of logits. Maxima start at -FLT_MAX, not at
 * -inf: a row of nothing but -inf has the sum 0, and a thread with nothing but -inf has exponentials of 0. */
struct logit_statistics {
    float largest, sum, total;
};

/* A team of more than a warp is a block. */
template <int Team>
constexpr int logit_threads = Team > 32 ? Team : 256;

/* A row as a thread of its team sees it: fours of neighbours where they lie whole in z, bias and p, so that an access is
 * 16 bytes; else four elements a team apart, so that lanes have neighbours. All loads of a piece are asked for before
 * one is waited for. Columns behind the end are -inf. */
template <typename B, typename P, int Team, int Fours>
struct logit_row {
    using piece = float[Fours][4];
    static constexpr int length = 4 * Team * Fours;
    const float *z;
    const B *bias; /* NULL: none */
    P *p;
    int classes, thread;
    bool wide;

    __device__ int four(int begin, int f) const { return begin + 4 * (f * Team + thread); }
    __device__ int single(int begin, int f, int e) const { return begin + (4 * f + e) * Team + thread; }
    /* Which of this thread's elements of a piece the column is: no index in the piece where it is another's. */
    __device__ int place_of(int begin, int column) const {
        const int at = column - begin;
        if (at < 0 || at >= length) return -1;
        if (wide) return at / 4 % Team == thread ? at / 4 / Team * 4 + at % 4 : -1;
        return at % Team == thread ? at / Team : -1;
    }
    /* The sum of this thread's part of the logits from one column to before another. */
    __device__ float total(int begin, int end) const {
        float sum = 0.0f;
        for (int c = begin + thread; c < end; c += Team) sum += z[c] + (bias ? to_float(bias[c]) : 0.0f);
        return sum;
    }

    __device__ void load(piece &v, int begin) const {
        if (wide)
            load_fours(v, begin);
        else
            load_singles(v, begin);
    }
    __device__ void load_fours(piece &v, int begin) const {
#pragma unroll
        for (int f = 0; f < Fours; f++) {
            float4 t = make_float4(-INFINITY, -INFINITY, -INFINITY, -INFINITY);
            if (four(begin, f) < classes) t = *(const float4 *)(z + four(begin, f));
            v[f][0] = t.x, v[f][1] = t.y, v[f][2] = t.z, v[f][3] = t.w;
        }
        if (!bias) return;
#pragma unroll
        for (int f = 0; f < Fours; f++) {
            pack<B, 4> b = {};
            if (four(begin, f) < classes) b = *(const pack<B, 4> *)(bias + four(begin, f));
#pragma unroll
            for (int e = 0; e < 4; e++) v[f][e] += to_float(b.v[e]);
        }
    }
    __device__ void load_singles(piece &v, int begin) const {
#pragma unroll
        for (int f = 0; f < Fours; f++)
#pragma unroll
            for (int e = 0; e < 4; e++) v[f][e] = single(begin, f, e) < classes ? z[single(begin, f, e)] : -INFINITY;
        if (!bias) return;
#pragma unroll
        for (int f = 0; f < Fours; f++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                v[f][e] += single(begin, f, e) < classes ? to_float(bias[single(begin, f, e)]) : 0.0f;
    }
    __device__ void store(const piece &v, int begin) const {
#pragma unroll
        for (int f = 0; f < Fours; f++) {
            pack<P, 4> t;
#pragma unroll
            for (int e = 0; e < 4; e++) t.v[e] = from_float<P>(v[f][e]);
            if (wide) {
                if (four(begin, f) < classes) *(pack<P, 4> *)(p + four(begin, f)) = t;
                continue;
            }
#pragma unroll
            for (int e = 0; e < 4; e++)
                if (single(begin, f, e) < classes) p[single(begin, f, e)] = t.v[e];
        }
    }
};

/* f(element) of each, or f(element, its place among the thread's). */
template <int Fours, typename F>
__device__ inline void each_logit(float (&v)[Fours][4], const F &f) {
#pragma unroll
    for (int k = 0; k < Fours; k++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            if constexpr (std::is_invocable_v<F, float &, int>)
                f(v[k][e], 4 * k + e);
            else
                f(v[k][e]);
}

/* The columns of a row that a block has: all, or as many as its threads keep, where a cluster has the row. */
template <bool Cluster, int Length>
struct logit_columns {
    int rank = 0, blocks = 1;
    __device__ logit_columns(void) {
#if __CUDA_ARCH__ >= 900 /* where there are clusters */
        if (Cluster) rank = (int)__clusterRelativeBlockRank(), blocks = (int)__clusterSizeInBlocks();
#endif
    }
    __device__ int begin(void) const { return rank * Length; }
    __device__ int end(int classes) const { return Cluster ? min(classes, begin() + Length) : classes; }
};

/* Kept: v has all of the columns, and their exponentials afterwards. Maximum and sum have an exchange each: merged in one,
 * as row_softmax has it, 2048 rows of 8192 took 55 us on an H100 instead of 38. */
template <bool Kept, class Row, class Exchange>
__device__ logit_statistics statistics_of(const Row &row, typename Row::piece &v, int first, int end, bool totals,
                                          Exchange &exchange) {
    const float total = totals ? row.total(first, end) : 0.0f;
    float most = -FLT_MAX, sum = 0.0f;
    for (int begin = first; begin < (Kept ? first + 1 : end); begin += row.length) {
        if (!Kept) row.load(v, begin);
        float larger = most;
        each_logit(v, [&](float &x) { larger = fmaxf(larger, x); });
        if (!Kept) sum *= softmax_exponential(most, larger);
        most = larger;
        if (!Kept) each_logit(v, [&](float &x) { sum += softmax_exponential(x, most); });
    }
    const float largest = exchange.merged(most, [](float a, float b) { return fmaxf(a, b); });
    if (Kept)
        each_logit(v, [&](float &x) { sum += x = softmax_exponential(x, largest); });
    else
        sum *= softmax_exponential(most, largest);
    sum = exchange.merged(sum, row_plus());
    return {largest, sum, totals ? exchange.merged(total, row_plus()) : 0.0f};
}

/* Who has a row: some threads of a block, all of it in registers; a block, which reads it again; a cluster of blocks. */
enum class logits_by { team, block_again, cluster };

/* Fours: that a thread keeps. */
template <class Op, int Team, int Fours, logits_by By>
__global__ void __launch_bounds__(logit_threads<Team>) rows_of_logits(const __grid_constant__ Op op) {
    constexpr bool kept = By != logits_by::block_again, cluster = By == logits_by::cluster;
    constexpr int rows = logit_threads<Team> / Team;
    using logits = logit_row<typename Op::bias_type, typename Op::out, Team, Fours>;
    __shared__ row_slots<Team> slots;
    row_exchange<Team, cluster> exchange(&slots);
    exchange.begin();
    const logit_columns<cluster, logits::length> columns;
    const int64_t place = (int64_t)(blockIdx.x / (unsigned)columns.blocks) * rows + (int)threadIdx.x / Team;
    const bool exists = place < op.count();
    const int64_t i = exists ? place : 0;
    const int thread = (int)threadIdx.x % Team, first = unkept(columns.begin());
    after_previous_launch();
    exchange.meet();
    if (op.idle()) return;
    const auto row = op.template row_of<logits>(i, thread);
    const auto ahead = op.ahead(i, exists);
    const int end = exists ? columns.end(row.classes) : first;
    float v[Fours][4];
    if (kept) row.load(v, exists ? first : row.classes);
    logit_statistics s = op.given(ahead);
    if (!op.known()) s = statistics_of<kept>(row, v, first, end, op.totals(), exchange);
    const auto result = op.finish(i, ahead, s, exists && thread == 0 && columns.rank == 0);
    if (!op.writes()) return;
    if (Team <= 32) __syncwarp(); /* results may lie where another lane has read a logit besides */
    for (int begin = first; begin < end; begin += row.length) {
        if (!kept) row.load(v, begin);
        if (!kept || op.known()) each_logit(v, [&](float &x) { x = softmax_exponential(x, s.largest); });
        result(v, row, begin);
        row.store(v, begin);
    }
}

/* A cluster of 2 to 16 blocks a row. RIDGE_UNSUPPORTED: the row is longer, or the device has no such cluster. */
template <class Op, int Team, int Fours>
ridge_status rows_of_logits_in_clusters(const Op &op, int64_t classes, cudaStream_t stream) {
    const auto kernel = rows_of_logits<Op, Team, Fours, logits_by::cluster>;
    static per_device<int> known;
    const int largest = known.get([&] { return row_largest_cluster((const void *)kernel, Team, 0); });
    int blocks = 2;
    while (blocks <= largest && (int64_t)blocks * 4 * Team * Fours < classes) blocks *= 2;
    if (blocks > largest || !row_grid_fits(op.count() * blocks)) return RIDGE_UNSUPPORTED;
    return launch_overlapping(kernel, row_cluster_shape(op.count(), blocks, Team, 0), stream, true, op);
}
template <class Op, int Team, int Fours, logits_by By>
ridge_status rows_of_logits_in_blocks(const Op &op, cudaStream_t stream) {
    constexpr int threads = logit_threads<Team>, rows = threads / Team;
    const int64_t blocks = (op.count() + rows - 1) / rows;
    if (!row_grid_fits(blocks)) return RIDGE_UNSUPPORTED;
    return launch_overlapping(rows_of_logits<Op, Team, Fours, By>, {dim3((unsigned)blocks), threads}, stream,
                              device_overlaps(), op);
}

/* Rows of more classes than a block keeps: of clusters where rows are few. */
template <class Op>
ridge_status rows_of_long_logits(const Op &op, int64_t classes, cudaStream_t stream) {
    if (logits_are_clustered(op.count(), classes, op.writes(), device_capability(),
                             device_limit(cudaDevAttrMultiProcessorCount))) {
        const ridge_status status = classes <= 1 << 16   ? rows_of_logits_in_clusters<Op, 256, 4>(op, classes, stream)
                                    : classes <= 1 << 17 ? rows_of_logits_in_clusters<Op, 256, 8>(op, classes, stream)
                                                         : rows_of_logits_in_clusters<Op, 512, 8>(op, classes, stream);
        if (status != RIDGE_UNSUPPORTED) return status;
    }
    return rows_of_logits_in_blocks<Op, 512, 2, logits_by::block_again>(op, stream);
}
/* Threads of a row of up to so many classes: a power of two, so that each has some of the operation's elements. */
constexpr int logit_team(int classes, int elements) {
    const int least = classes < 16 ? classes / 4 : 4, wanted = classes / elements;
    return wanted < least ? least : wanted > 32 ? 32 : wanted;
}
/* Teams for rows of so many classes: an H200's fastest of those tried. Many elements a thread where a row costs much
 * besides them, few where neighbours in memory are to be lanes' of one row. */
template <class Op>
ridge_status rows_of_logits_run(const Op &op, int64_t classes, cudaStream_t stream) {
    const auto run = [&]<int Team, int Fours>() {
        return rows_of_logits_in_blocks<Op, Team, Fours, logits_by::team>(op, stream);
    };
    const auto to = [&]<int Classes>() {
        constexpr int team = logit_team(Classes, Op::elements);
        return run.template operator()<team, Classes / 4 / team>();
    };
    if (classes <= 8) return to.template operator()<8>();
    if (classes <= 16) return to.template operator()<16>();
    if (classes <= 32) return to.template operator()<32>();
    if (classes <= 64) return to.template operator()<64>();
    if (classes <= 128) return to.template operator()<128>();
    if (classes <= 256) return to.template operator()<256>();
    if (classes <= 512) return run.template operator()<32, 4>();
    if (classes <= 1024) return run.template operator()<64, 4>();
    if (classes <= 2048) return run.template operator()<64, 8>();
    if (classes <= 4096) return run.template operator()<128, 8>();
    if (classes <= LOGITS_OF_BLOCK) return run.template operator()<256, 8>();
    return rows_of_long_logits(op, classes, stream);
}

}  // namespace ridge

#endif
