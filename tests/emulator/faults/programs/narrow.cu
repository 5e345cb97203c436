/* p = softmax(x w + b): skinny/narrow.cuh's stages by cp.async and cp.async.bulk on mbarriers, tf32 mma.sync, sums of
 * four blocks of a cluster by bulk copies to the block that owns the rows; and the kernel of single loads behind it.
 * The second launch overlaps the first and reads what that has written. */
#include "cuda/skinny/narrow.cuh"
#include "program.h"

#include <vector>

using ridge::linear_args;
using ridge::narrow_tuning;
constexpr narrow_tuning four_blocks = {
    .tiles = 2, .rows = 16, .split = 4, .warps_m = 1, .warps_n = 1, .warps_k = 4, .chunk = 64, .stages = 2};
constexpr narrow_tuning one_block = {
    .tiles = 2, .rows = 16, .split = 1, .warps_m = 1, .warps_n = 1, .warps_k = 4, .chunk = 64, .stages = 1};
using clustered = ridge::linear_shape<four_blocks, true, false>;
using single = ridge::linear_shape<one_block, false, false>;

/* p[i] = softmax(x[i] w + b) */
static void reference(std::vector<float> &p, const std::vector<float> &x, const float *w, const float *b, int batch,
                      int depth, int classes) {
    for (int i = 0; i < batch; i++) {
        std::vector<double> z(classes);
        double sum = 0.0;
        for (int c = 0; c < classes; c++) {
            z[c] = b[c];
            for (int k = 0; k < depth; k++) z[c] += (double)x[i * depth + k] * w[k * classes + c];
            sum += exp(z[c]);
        }
        for (int c = 0; c < classes; c++) p[i * classes + c] = (float)(exp(z[c]) / sum);
    }
}

int main(void) {
    constexpr int batch = 30, depth = 832, middle = 12, classes = 9;
    std::vector<float> x(batch * depth), w(depth * middle), b(middle), w2(middle * classes), b2(classes);
    for (size_t i = 0; i < x.size(); i++) x[i] = value_of((unsigned)i) * 0.3f;
    for (size_t i = 0; i < w.size(); i++) w[i] = value_of((unsigned)i + 2000000) * 0.3f;
    for (size_t i = 0; i < b.size(); i++) b[i] = value_of((unsigned)i + 3000000);
    for (size_t i = 0; i < w2.size(); i++) w2[i] = value_of((unsigned)i + 4000000) * 4.0f;
    for (size_t i = 0; i < b2.size(); i++) b2[i] = value_of((unsigned)i + 5000000);
    linear_args one = {}, two = {};
    one.x = device_array(x.size(), x.data()), one.w = device_array(w.size(), w.data());
    one.b = device_array(b.size(), b.data()), one.p = device_array<float>(batch * middle, NULL);
    one.batch = batch, one.depth = depth, one.classes = middle;
    one.x_row = depth, one.w_depth = middle, one.w_class = 1, one.p_row = middle, one.p_width = 4;
    two.x = one.p, two.w = device_array(w2.size(), w2.data()), two.b = device_array(b2.size(), b2.data());
    two.p = device_array<float>(batch * classes, NULL);
    two.batch = batch, two.depth = middle, two.classes = classes;
    two.x_row = middle, two.w_depth = classes, two.w_class = 1, two.p_row = classes, two.p_width = 1;
    const ridge::linear_probabilities op;
    if (ridge::linear_launch<clustered>(one, op, 1, 0, true) != RIDGE_OK) return 2;
    if (ridge::linear_launch<single>(two, op, 1, 0, true) != RIDGE_OK) return 2;

    std::vector<float> p(batch * middle), q(batch * classes), expected_p(p.size()), expected_q(q.size());
    to_host(p.data(), one.p, p.size());
    to_host(q.data(), two.p, q.size());
    reference(expected_p, x, w.data(), b.data(), batch, depth, middle);
    reference(expected_q, expected_p, w2.data(), b2.data(), batch, middle, classes);
    comparison c = {"probabilities", 1e-4};
    for (int i = 0; i < batch * middle; i++) c.compare(p[i], expected_p[i], i / middle, i % middle);
    for (int i = 0; i < batch * classes; i++) c.compare(q[i], expected_q[i], i / classes, i % classes);
    return c.wrong > 0;
}
