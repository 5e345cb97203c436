/* Hidden values of a SwiGLU layer and a product with weights, 2:4 sparse, by sparse/ffn.cuh: sparse wgmma with codes from registers,
 * tiles of eight rows of two matrices in turn, transposed slots. One cluster takes all tiles, so that the ring turns and slots are
 * used again; a tail of each extent. */
#include "sparse/ffn.cuh"
#include "operand.h"

using namespace ridge;
using element = __nv_bfloat16;

/* Weights of `rows` x k with their codes, on host and device. */
struct sparse_weights {
    int rows, k;
    operand<element> values;
    std::vector<unsigned> codes;
    unsigned *codes_device;

    sparse_weights(int of, int depth, unsigned seed)
        : rows(of), k(depth), values((size_t)of * depth / 2, seed), codes((size_t)of * depth / 32) {
        static constexpr unsigned pattern[6] = {4, 8, 12, 9, 13, 14};
        for (size_t i = 0; i < codes.size(); i++)
            for (int four = 0; four < 8; four++) codes[i] |= pattern[(seed + 7 * i + 5 * four) % 6] << 4 * four;
        codes_device = device_array(codes.size(), codes.data());
    }
    float dot(int row, const float *x) const {
        float sum = 0.0f;
        for (int four = 0; four < k / 4; four++) {
            const unsigned code = pattern_code(codes[(size_t)row * k / 32 + four / 8], four % 8);
            sum += values[(size_t)row * k / 2 + 2 * four] * x[4 * four + pattern_first(code)];
            sum += values[(size_t)row * k / 2 + 2 * four + 1] * x[4 * four + pattern_second(code)];
        }
        return sum;
    }
    matrix_view view(void) const { return {(void *)values.device, rows, k / 2, k / 2, 1}; }
    sparse_operand taken(void) const {
        sparse_operand o;
        o.codes = codes_device, o.line = k / 32, o.rows = rows, o.words = k / 32;
        return o;
    }
};

/* to [m, width], by one cluster. */
template <class Epilogue, int Columns, int Stages>
static void by_one_cluster(Epilogue e, const sparse_weights &w, const operand<element> &x, int m, element *to,
                           int width) {
    using S = matmul_shape<element, sparse_tuning(Columns, Stages, Epilogue::eights)>;
    const matrix_view from = {(void *)x.device, m, w.k, w.k, 1}, result = {to, m, width, width, 1};
    sparse_maps maps;
    if (!(sparse_maps_of<element, S, Epilogue>(&maps, &e, w.view(), from, result))) exit(2);
    matmul_plan plan = matmul_whole(w.k, S::K, 8);
    plan.m_tiles = (w.rows + S::M - 1) / S::M, plan.n_tiles = (m + S::N - 1) / S::N;
    constexpr int bytes = matmul_shared_bytes<S, Epilogue>;
    const auto kernel = matmul_kernel<S, Epilogue>;
    require(allow_shared((const void *)kernel, bytes), "cudaFuncSetAttribute");
    const ridge::launch_shape one = {dim3(S::cluster), S::threads, bytes, S::cluster};
    if (ridge::launch_overlapping(kernel, one, 0, true, maps.a, maps.b, plan, e) != RIDGE_OK) exit(2);
}

/* Each element of to against of(w, row of x, column). */
template <typename Of>
static long wrong(const char *name, const sparse_weights &w, const operand<element> &x, int m, const element *to,
                  int width, const Of &of) {
    std::vector<element> found((size_t)m * width);
    std::vector<float> row((size_t)w.k);
    to_host(found.data(), to, found.size());
    comparison elements = {name, 0.1};
    for (int i = 0; i < m; i++) {
        for (int d = 0; d < w.k; d++) row[d] = x[(size_t)i * w.k + d];
        for (int j = 0; j < width; j++) {
            const float expected = of(w, row.data(), j);
            elements.limit = 0.1 + 0.02 * fabs(expected);
            elements.compare(on_host(found[(size_t)i * width + j]), expected, i, j);
        }
    }
    return elements.wrong;
}

int main(void) {
    constexpr int m = 300, k = 352, f = 160, d = 288;
    const sparse_weights both(2 * f, k, 0), down(d, k, 5000000);
    const operand<element> x((size_t)m * k, 1000000);
    element *const hidden = device_array<element>((size_t)m * f, NULL), *const y =
                                                                            device_array<element>((size_t)m * d, NULL);

    sparse_hidden<element, 128> gated = {};
    gated.weights = both.taken(), gated.f = f;
    by_one_cluster<sparse_hidden<element, 128>, 128, 4>(gated, both, x, m, hidden, f);
    sparse_down<element, 256> plain = {};
    plain.weights = down.taken();
    by_one_cluster<sparse_down<element, 256>, 256, 4>(plain, down, x, m, y, d);

    long bad = wrong("hidden values", both, x, m, hidden, f, [](const sparse_weights &w, const float *row, int j) {
        const float gate = w.dot(j, row);
        return gate / (1.0f + expf(-gate)) * w.dot(f + j, row);
    });
    bad += wrong("product", down, x, m, y, d,
                 [](const sparse_weights &w, const float *row, int j) { return w.dot(j, row); });
    return bad > 0;
}
