/* Products of a small K (gemm/shallow.cu), in fp32 and in bf16: two blocks that have several units each, of which the last ones
 * have tails, and a C whose lines begin anywhere. */
#include "gemm/shallow.cu"
#include "operand.h"

using namespace ridge;

/* The plan, without a choice: units of two groups, in two blocks. */
extern "C" gemm_shallow_units gemm_shallow_units_of(int64_t m, int64_t n, bool halves, int) {
    const int64_t columns = halves ? GEMM_SHALLOW_COLUMNS_16 : GEMM_SHALLOW_COLUMNS;
    const int64_t rows = GEMM_SHALLOW_WARPS * (halves ? GEMM_SHALLOW_ROWS_16 : GEMM_SHALLOW_ROWS);
    gemm_shallow_units u = {(int)((n + columns - 1) / columns), (int)((m + rows - 1) / rows), 2};
    u.count = u.tiles * ((u.groups + 1) / 2), u.blocks = 2;
    return u;
}

/* C = A B, all by rows. */
template <class Product, typename T>
static long product_of(const char *name, int m, int n, int k) {
    const operand<T> a((size_t)m * k, 0), b((size_t)k * n, 1000000);
    std::vector<T> c((size_t)m * n);
    const matrix_view of_a = {a.device, m, k, k, 1}, of_b = {b.device, k, n, n, 1};
    const matrix_view of_c = {device_array<T>(c.size(), NULL), m, n, n, 1};
    const gemm_call g(of_a, of_b, of_c, sizeof(T) == 4 ? RIDGE_F32 : RIDGE_BF16, false, 0);
    if (shallow_run<Product, T, T>(g) != RIDGE_OK) exit(2);
    to_host(c.data(), (const T *)of_c.base, c.size());
    comparison all = {name, 1e-5};
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0.0;
            for (int s = 0; s < k; s++) sum += (double)a[(size_t)(i * k + s)] * b[(size_t)(s * n + j)];
            T nearest; /* the sum as C has it */
            rounded(&nearest, (float)sum);
            const double found = on_host(c[(size_t)i * n + j]), unit = sizeof(T) == 4 ? 0 : fabs(sum) / 128;
            all.compare(fabs(found - on_host(nearest)) <= unit ? sum : found, sum, i, j);
        }
    return all.wrong;
}

int main(void) {
    return product_of<shallow_ffma<32>, float>("fp32", 220, 139, 21) +
               product_of<shallow_mma<__nv_bfloat16, __nv_bfloat16>, __nv_bfloat16>("bf16", 275, 239, 19) >
           0;
}
