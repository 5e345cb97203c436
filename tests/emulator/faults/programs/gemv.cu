/* Products of few rows (kernels/cuda/gemv): by multiply-adds with lines of w along the outputs and along the depth, the
 * depth in two shares that a pass adds, then probabilities; by the tensor cores, a block with several tiles of outputs;
 * outer products by both. Lines are of odd lengths; rows, outputs and depth have tails. */
#include "cuda/gemv/outer.cuh"
#include "cuda/gemv/passes.cuh"
#include "cuda/gemv/tensor.cuh"
#include "operand.h"

using namespace ridge;

/* x: [batch, depth]; w: [depth, outputs], or [outputs, depth] along the depth. */
template <typename T>
struct product {
    int batch, depth, outputs;
    bool along;
    operand<T> x, w;
    gemv_args<T> args = {};

    product(int rows, int steps, int columns, bool w_along, gemv_plan plan)
        : batch(rows),
          depth(steps),
          outputs(columns),
          along(w_along),
          x((size_t)rows * steps, 0),
          w((size_t)steps * columns, 1000000) {
        args.x = x.device, args.x_fp32 = sizeof(T) == 4, args.x_line = depth, args.x_step = 1;
        args.w = w.device, args.line = along ? depth : outputs;
        args.batch = batch, args.depth = depth, args.outputs = outputs;
        args.groups = plan.groups, args.each = (int)plan.each;
    }
    double logit(int i, int j) const {
        double sum = 0.0;
        for (int k = 0; k < depth; k++) sum += (double)x[i * depth + k] * w[along ? j * depth + k : k * outputs + j];
        return sum;
    }
};

/* ---- multiply-adds; six rows in groups of four, two shares of the depth ---- */

constexpr gemv_plan two_shares = {.product = GEMV_FFMA, .rows = 4, .groups = 2, .each = 128, .shares = 2, .tiles = 2};

static long probabilities(void) {
    constexpr int batch = 6, depth = 203, outputs = 151, line = 160;
    product<float> p(batch, depth, outputs, false, two_shares);
    const operand<float> bias(outputs, 3000000);
    gemv_args<float> a = p.args;
    float *const z = device_array<float>((size_t)2 * batch * line, NULL);
    a.to.z = z, a.to.line = line, a.to.next = batch * line;
    if (gemv_run_across<4>(a, two_shares, 1, 0) != RIDGE_OK) exit(2);
    a.to.bias = bias.device, a.to.bias_fp32 = true, a.to.before = 1.0f, a.to.after = log2_e;
    a.to.count = (outputs + GEMV_PART - 1) / GEMV_PART;
    a.to.parts = device_array<softmax_part>((size_t)batch * a.to.count, NULL);
    if (launch_overlapping(gemv_add_shares<float>, {dim3(1, batch), GEMV_THREADS}, 0, true, a, (const float *)z, 2) !=
        RIDGE_OK)
        exit(2);
    std::vector<float> y((size_t)batch * outputs);
    const gemv_probabilities<float> to = {
        z, a.to.parts, line, batch, outputs, a.to.count, a.to.after, device_array<float>(y.size(), NULL), outputs, 0};
    if (launch_overlapping(gemv_write<float>, {dim3(1, batch), GEMV_THREADS}, 0, true, to) != RIDGE_OK) exit(2);
    to_host(y.data(), to.p, y.size());
    comparison c = {"probabilities", 1e-4};
    for (int i = 0; i < batch; i++) {
        std::vector<double> e(outputs);
        double sum = 0.0;
        for (int j = 0; j < outputs; j++) sum += e[j] = exp(p.logit(i, j) + bias[j]);
        for (int j = 0; j < outputs; j++) c.compare(y[i * outputs + j], e[j] / sum, i, j);
    }
    return c.wrong;
}

static long shares_stored(void) {
    constexpr int batch = 6, depth = 203, outputs = 151, line = 160;
    product<float> p(batch, depth, outputs, true, two_shares);
    gemv_args<float> a = p.args;
    a.to.z = device_array<float>((size_t)2 * batch * line, NULL), a.to.line = line, a.to.next = batch * line;
    if (gemv_run_along<4, false>(a, two_shares, 1, 0) != RIDGE_OK) exit(2);
    std::vector<float> y((size_t)batch * outputs);
    const gemv_shares<float> s = {a.to.z,  line, batch * line, 2, outputs, device_array<float>(y.size(), NULL),
                                  outputs, 1};
    if (launch_overlapping(gemv_store<float>, {dim3((outputs + 31) / 32, batch), GEMV_THREADS}, 0, true, s) != RIDGE_OK)
        exit(2);
    to_host(y.data(), s.to, y.size());
    comparison c = {"sums of shares", 1e-3};
    for (int i = 0; i < batch; i++)
        for (int j = 0; j < outputs; j++) c.compare(y[i * outputs + j], p.logit(i, j), i, j);
    return c.wrong;
}

/* ---- tensor cores; the outputs' tiles in two blocks ---- */

template <typename Kernel>
static long tensor(Kernel kernel, int bytes, bool along, int tiles) {
    constexpr int batch = 6, depth = 203, outputs = 301, line = 320;
    constexpr gemv_plan plan = {.product = GEMV_MMA_16, .rows = 8, .groups = 1, .each = 256, .shares = 1, .tiles = 0};
    product<__nv_bfloat16> p(batch, depth, outputs, along, plan);
    gemv_args<__nv_bfloat16> a = p.args;
    a.items = a.to.count = tiles;
    a.to.z = device_array<float>((size_t)batch * line, NULL), a.to.line = line;
    require(allow_shared((const void *)kernel, bytes), "cudaFuncSetAttribute");
    if (launch_overlapping(kernel, {dim3(2), GEMV_THREADS, bytes}, 0, true, a) != RIDGE_OK) exit(2);
    std::vector<float> y((size_t)batch * line);
    to_host(y.data(), a.to.z, y.size());
    comparison c = {along ? "tensor cores along" : "tensor cores across", 1e-2};
    for (int i = 0; i < batch; i++)
        for (int j = 0; j < outputs; j++) c.compare(y[i * line + j], p.logit(i, j), i, j);
    return c.wrong;
}

/* ---- outer products ---- */

template <typename Run>
static long outer(const char *name, double limit, int batch, int lines, int columns, const Run &run) {
    const operand<float> a((size_t)batch * lines, 0), b((size_t)batch * columns, 1000000);
    std::vector<float> y((size_t)lines * columns);
    gemv_outer_args<float> p = {};
    p.a = {a.device, true, lines, 1}, p.b = {b.device, true, columns, 1};
    p.out = device_array<float>(y.size(), NULL), p.line = columns;
    p.batch = batch, p.lines = lines, p.columns = columns;
    if (run(p) != RIDGE_OK) exit(2);
    to_host(y.data(), p.out, y.size());
    comparison c = {name, limit};
    for (int i = 0; i < lines; i++)
        for (int j = 0; j < columns; j++) {
            double sum = 0.0;
            for (int r = 0; r < batch; r++) sum += (double)a[r * lines + i] * b[r * columns + j];
            c.compare(y[i * columns + j], sum, i, j);
        }
    return c.wrong;
}

int main(void) {
    using across = gemv_mma_across_shape<__nv_bfloat16, GEMV_MMA_16, 8>;
    using along = gemv_mma_along_shape<__nv_bfloat16, GEMV_MMA_16, 8>;
    using of_32 = gemv_mma_outer_shape<float, GEMV_MMA_TF32, 32>;
    long wrong = probabilities() + shares_stored();
    wrong += tensor(gemv_mma_across<__nv_bfloat16, GEMV_MMA_16, 8>, across::bytes, false, 6);
    wrong += tensor(gemv_mma_along<__nv_bfloat16, GEMV_MMA_16, 8>, along::bytes, true, 3);
    wrong += outer("outer product", 1e-4, 3, 70, 151,
                   [](const gemv_outer_args<float> &p) { return gemv_run_outer_rows<4>(p, 0); });
    wrong += outer("outer product by tensor cores", 2e-2, 20, 140, 71, [](gemv_outer_args<float> p) {
        const auto kernel = gemv_mma_outer<float, GEMV_MMA_TF32, 32>;
        p.each = 128;
        require(allow_shared((const void *)kernel, of_32::bytes), "cudaFuncSetAttribute");
        return launch_overlapping(kernel, {dim3(1, 2), GEMV_THREADS, of_32::bytes}, 0, true, p);
    });
    return wrong > 0;
}
