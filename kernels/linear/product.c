#include "linear/product.h"

#include "gemm/ways.h"

/* As a call of such a matrix has it: of one line, or of one element in each, there is no next. */
static ridge_operand of_extents(ridge_operand o, int64_t rows, int64_t columns) {
    if (columns < 2) o.stride[1] = 1;
    if (rows < 2) o.stride[0] = columns;
    return o;
}

linear_product linear_product_of(const ridge_problem *p, const int64_t dim[3], ridge_operand a, ridge_operand b,
                                 ridge_operand c, bool wide) {
    const int64_t m = dim[MATMUL_M], n = dim[MATMUL_N], k = dim[MATMUL_K];
    linear_product of = {.problem = {.c = {.dim = {m, n, k}, .dtype = p->c.dtype}, .here = p->here}};
    of.problem.c.option[GEMM_ALPHA] = 1, of.problem.c.option[GEMM_WIDE] = wide && ridge_dtype_size(p->c.dtype) == 2;
    of.problem.here.tuned = NULL;
    of.problem.tensor[GEMM_A] = of_extents(a, m, k);
    of.problem.tensor[GEMM_B] = of_extents(b, k, n);
    of.problem.tensor[GEMM_C] = of_extents(c, m, n);
    of.way = gemm_cuda_quickest(&of.problem, &of.plan);
    return of;
}

ridge_traffic linear_product_traffic(const linear_product *of) {
    const int64_t *dim = of->problem.c.dim;
    const double size = (double)ridge_dtype_size(of->problem.c.dtype), m = (double)dim[MATMUL_M],
                 n = (double)dim[MATMUL_N], k = (double)dim[MATMUL_K];
    const double to = of->problem.c.option[GEMM_WIDE] > 0 ? 4 : size;
    if (of->plan.traffic.read > 0) return of->plan.traffic;
    return (ridge_traffic){.read = size * k * (m + n), .written = to * m * n};
}
