/* Attention's gradients by attention_backward/tile.cuh, causal, in bf16: one block takes three tiles of 128 keys past which
 * queries go, then three of 128 queries past which keys go, in steps of 64; m and n have tails. */
#include "attention_backward/tile.cuh"
#include "attention/maps.cuh"
#include "cuda/host/launch.cuh"
#include "program.h"

#include <cmath>
#include <vector>

using namespace ridge;
using element = __nv_bfloat16;
using of_keys = backward_shape<element, 64, 64, 64, true, true, true, false>;
using of_queries = backward_shape<element, 64, 64, 64, false, true, false, false>;

constexpr int m = 300, n = 350, depth = 64;
constexpr double scale = 0.125;

typedef std::vector<element> matrix;
typedef std::vector<double> sums;

static bool map_of(CUtensorMap *map, const element *base, int rows, int lines) {
    return attention_map_of<element>(map, base, {depth, 0, 0}, rows, 1, 1, depth, lines);
}
static double dot(const matrix &x, int i, const matrix &y, int j) {
    double sum = 0;
    for (int d = 0; d < depth; d++)
        sum += (double)(__bfloat162float(x[i * depth + d]) * __bfloat162float(y[j * depth + d]));
    return sum;
}
static void add(sums &to, int row, double by, const matrix &x, int i) {
    for (int d = 0; d < depth; d++) to[row * depth + d] += by * __bfloat162float(x[i * depth + d]);
}

struct problem {
    matrix q, k, v, dout;
    std::vector<float> exponents, deltas; /* padded as backward_line says */
    sums dq, dk, dv;

    problem()
        : q(m * depth),
          k(n * depth),
          v(n * depth),
          dout(m * depth),
          exponents(backward_line(m), INFINITY),
          deltas(backward_line(m), 0.0f),
          dq(m * depth),
          dk(n * depth),
          dv(n * depth) {
        for (int i = 0; i < m * depth; i++)
            q[i] = __float2bfloat16(value_of(i)), dout[i] = __float2bfloat16(value_of(i + 3000000));
        for (int i = 0; i < n * depth; i++)
            k[i] = __float2bfloat16(value_of(i + 1000000)), v[i] = __float2bfloat16(value_of(i + 2000000));
        for (int i = 0; i < m; i++) query(i);
    }
    /* Query i sees keys to i + n - m. */
    void query(int i) {
        const int seen = i + n - m + 1;
        std::vector<double> p(seen), gradient(seen);
        double sum = 0, delta = 0;
        for (int j = 0; j < seen; j++) sum += p[j] = exp(scale * dot(q, i, k, j));
        for (int j = 0; j < seen; j++) p[j] /= sum, delta += p[j] * (gradient[j] = dot(dout, i, v, j));
        exponents[i] = (float)(log(sum) * LOG2_E), deltas[i] = (float)delta;
        for (int j = 0; j < seen; j++) {
            const double g = scale * p[j] * (gradient[j] - delta);
            add(dq, i, g, k, j), add(dk, j, g, q, i), add(dv, j, p[j], dout, i);
        }
    }
};

static attention_tensor result_of(int rows) {
    return {device_array<element>(rows * depth, NULL), {depth, 0, 0}, depth, true};
}
static long differences(const char *name, const attention_tensor &got, const sums &want) {
    matrix values(want.size());
    comparison outputs = {name, 0.02};
    to_host(values.data(), (element *)got.first, values.size());
    for (size_t i = 0; i < want.size(); i++)
        outputs.compare(__bfloat162float(values[i]), want[i], (long)(i / depth), (long)(i % depth));
    return outputs.wrong;
}

template <class S>
static ridge_status run(const backward_maps &maps, const backward_args &b) {
    constexpr int bytes = backward_memory<S>::bytes;
    require(allow_shared((const void *)attention_backward_kernel<S>, bytes), "cudaFuncSetAttribute");
    return launch(attention_backward_kernel<S>, {dim3(1), S::threads, bytes}, 0, maps, b);
}

int main(void) {
    const problem p;
    const element *const q = device_array(p.q.size(), p.q.data()), *const k = device_array(p.k.size(), p.k.data());
    const element *const v = device_array(p.v.size(), p.v.data());
    const element *const dout = device_array(p.dout.size(), p.dout.data());
    backward_maps keys, queries;
    if (!map_of(&keys.own_x, k, n, of_keys::M) || !map_of(&keys.own_y, v, n, of_keys::M) ||
        !map_of(&keys.x, q, m, of_keys::N) || !map_of(&keys.y, dout, m, of_keys::N) ||
        !map_of(&queries.own_x, q, m, of_queries::M) || !map_of(&queries.own_y, dout, m, of_queries::M) ||
        !map_of(&queries.x, k, n, of_queries::N) || !map_of(&queries.y, v, n, of_queries::N))
        return 2;
    backward_args b = {};
    b.own.batch = b.own.heads = b.own.group = b.shared = 1, b.own.scale = (float)scale;
    b.lse = device_array(p.exponents.size(), p.exponents.data());
    b.delta = device_array(p.deltas.size(), p.deltas.data()), b.line = backward_line(m);
    const attention_tensor dq = result_of(m), dk = result_of(n), dv = result_of(n);
    const attention_mask mask = {n - m, ATTENTION_ALL, 0};
    b.own.mask = attention_mask_transposed(mask), b.own.m = n, b.own.n = m, b.dx = dk, b.dy = dv;
    b.own.order = attention_order_of(b.own, (n + of_keys::M - 1) / of_keys::M, 1, false);
    if (run<of_keys>(keys, b) != RIDGE_OK) return 2;
    b.own.mask = mask, b.own.m = m, b.own.n = n, b.dx = dq;
    b.own.order = attention_order_of(b.own, (m + of_queries::M - 1) / of_queries::M, 1, false);
    if (run<of_queries>(queries, b) != RIDGE_OK) return 2;
    return differences("dq", dq, p.dq) + differences("dk", dk, p.dk) + differences("dv", dv, p.dv) > 0;
}
