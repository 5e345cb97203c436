/* C = A B in bf16 as a call of a target of the ladder: operands row by row, extents with tails; what it should be. */
#ifndef FAULTS_PRODUCT_H
#define FAULTS_PRODUCT_H

#include "cuda/gemm/call.cuh"
#include "operand.h"

struct product_case {
    int m, n, k;
    operand<__nv_bfloat16> a, b;

    product_case(int rows, int columns, int depth)
        : m(rows), n(columns), k(depth), a((size_t)rows * depth, 0), b((size_t)depth * columns, 1000000) {}
    /* Wrong elements of C; run(call): a status. */
    template <typename Run>
    long wrong(const char *name, const Run &run) const {
        const size_t count = (size_t)m * n;
        std::vector<__nv_bfloat16> c(count);
        __nv_bfloat16 *const c_device = device_array<__nv_bfloat16>(count, NULL);
        int64_t shape[3][2] = {{m, k}, {k, n}, {m, n}};
        void *const data[3] = {a.device, b.device, c_device};
        DLTensor t[3] = {};
        for (int i = 0; i < 3; i++) t[i].data = data[i], t[i].ndim = 2, t[i].shape = shape[i];
        ridge_call call = {};
        call.dtype = RIDGE_BF16, call.in = t, call.out = t + 2;
        if (run(&call) != RIDGE_OK) exit(2);
        to_host(c.data(), c_device, count);
        require(cudaFree(c_device), "cudaFree");
        comparison elements = {name, 0.1};
        for (int i = 0; i < m; i++)
            for (int j = 0; j < n; j++) {
                float sum = 0.0f;
                for (int t = 0; t < k; t++) sum += a[i * k + t] * b[t * n + j];
                elements.compare(on_host(c[i * n + j]), sum, i, j);
            }
        return elements.wrong;
    }
};
#endif
