/* Rows of fp32 as hi and lo parts, twice in a chain of overlapping launches: gemm/split.cuh's maxima over warps, over
 * blocks of threads and, of few deep columns, over blocks. The second launch clears counters and reads them no more
 * than the first one's. */
#include "cuda/gemm/split.cuh"
#include "program.h"

#include <vector>

using namespace ridge;

/* high + low of line i, element k, as `to` has them */
static double joined(const std::vector<__half> &to, const std::vector<float> &undo, int padded, int i, int k) {
    const __half *line = &to[(size_t)i * 2 * padded];
    return ((double)__half2float(line[k]) + (double)__half2float(line[padded + k])) * undo[i];
}

/* x's lines run along the depth; w's across it. */
static long split_pair(int lines, int columns, int depth, bool fours) {
    const int padded = (depth + SPLIT_SLICE - 1) / SPLIT_SLICE * SPLIT_SLICE, wide = (columns + 7) / 8 * 8;
    std::vector<float> x((size_t)lines * depth), w((size_t)depth * columns), x_undo(lines), w_undo(wide);
    std::vector<__half> x_to((size_t)lines * 2 * padded), w_to((size_t)wide * 2 * padded);
    for (size_t i = 0; i < x.size(); i++) x[i] = value_of((unsigned)i);
    for (size_t i = 0; i < w.size(); i++) w[i] = value_of((unsigned)i + 9000000) * 100.0f;
    split_lines<2> l = {};
    l.from = device_array(x.size(), x.data()), l.stride = depth, l.lines = lines, l.depth = depth, l.padded = padded;
    l.to = device_array<__half>(x_to.size(), NULL), l.undo = device_array<float>(lines, NULL);
    split_columns<2> c = {};
    c.from = device_array(w.size(), w.data()), c.stride = columns, c.heads = 1, c.columns = columns, c.depth = depth;
    c.padded = padded, c.wide = wide, c.fours = fours;
    c.to = device_array<__half>(w_to.size(), NULL), c.undo = device_array<float>(wide, NULL);
    unsigned *counters = device_array<unsigned>(8, NULL), counted[8];
    const std::vector<unsigned> none(wide);
    if (split_is_deep(columns, depth)) c.most = device_array(none.size(), none.data());
    for (int twice = 0; twice < 2; twice++)
        if (split_both(l, c, 0, counters, 8) != RIDGE_OK) exit(2);
    to_host(x_to.data(), l.to, x_to.size()), to_host(x_undo.data(), l.undo, x_undo.size());
    to_host(w_to.data(), c.to, w_to.size()), to_host(w_undo.data(), c.undo, w_undo.size());
    to_host(counted, counters, 8);
    comparison of_x = {"halves of x", 1e-6}, of_w = {"halves of w", 1e-4};
    for (int i = 0; i < lines; i++)
        for (int k = 0; k < depth; k++)
            of_x.compare(joined(x_to, x_undo, padded, i, k), x[(size_t)i * depth + k], i, k);
    for (int i = 0; i < columns; i++)
        for (int k = 0; k < depth; k++)
            of_w.compare(joined(w_to, w_undo, padded, i, k), w[(size_t)k * columns + i], i, k);
    long nonzero = 0;
    for (unsigned n : counted) nonzero += n != 0;
    return of_x.wrong + of_w.wrong + nonzero;
}

int main(void) {
    return split_pair(13, 20, 260, true) + split_pair(5, 11, 132, false) + split_pair(3, 9, 4164, false) > 0;
}
