/* C[m, n] = A W^T in fp32 on a thread of a CPU, W in NVFP4: a block of W's rows after the other becomes fp32 by vectors and is packed
 * into panels, in cache when A is multiplied with it. Few rows of A are multiplied with rows, not with panels. */
#ifndef RIDGE_KERNELS_QUANTIZE_NVFP4_PANELS_H
#define RIDGE_KERNELS_QUANTIZE_NVFP4_PANELS_H

#include "cpu/gemm_panels.h"
#include "cpu/gemm_product.h"
#include "quantize/nvfp4.h"
#include "quantize/nvfp4_room.h"

typedef struct nvfp4_product {
    const DLTensor *q, *s; /* W's codes and scales */
    float factor;          /* of all values */
    int64_t m, k;
    const float *a;
    int64_t a_row;
    float *c;
    int64_t c_row;
} nvfp4_product;

/* Rows of W from `first` on as fp32. */
VF_INLINE void nvfp4_rows(const nvfp4_product *p, int64_t first, int64_t count, float *rows) {
    for (int64_t j = 0; j < count; j++)
        nvfp4_values(p->q, p->s, first + j, p->k, p->factor, rows + j * nvfp4_line(p->k));
}

VF_INLINE void nvfp4_few_rows(const nvfp4_product *p, int64_t first, int64_t count, float *rows, float *product) {
    const gemm_product few = {.m = p->m,
                              .n = count,
                              .k = p->k,
                              .a = p->a,
                              .a_row = p->a_row,
                              .a_depth = 1,
                              .b = rows,
                              .b_depth = 1,
                              .b_column = nvfp4_line(p->k),
                              .c = p->c + first,
                              .c_row = p->c_row};
    nvfp4_rows(p, first, count, rows);
    gemm_product_best(&few, product, NULL);
}

VF_INLINE void nvfp4_many_rows(const nvfp4_product *p, int64_t first, int64_t count, float *rows, float *panels) {
    for (int64_t j = 0, n; j < count; j += n) {
        n = count - j < GEMM_NR ? count - j : GEMM_NR;
        nvfp4_rows(p, first + j, n, rows);
        gemm_panels_pack(rows, nvfp4_line(p->k), n, p->k, panels + j * p->k);
    }
    RIDGE_ISA_FN(gemm_panels)
    (&(gemm_panels){.m = p->m,
                    .n = count,
                    .k = p->k,
                    .a = p->a,
                    .a_row = p->a_row,
                    .a_depth = 1,
                    .b = panels,
                    .b_panel = GEMM_NR * p->k,
                    .b_step = GEMM_NR,
                    .c = p->c + first,
                    .c_row = p->c_row});
}

/* Columns begin to below end of C. room: nvfp4_room_bytes of them. */
VF_INLINE void nvfp4_multiply(const nvfp4_product *p, int64_t begin, int64_t end, void *room) {
    const bool few = p->m < NVFP4_FEW;
    const int64_t at_once = few ? (int64_t)NVFP4_PANEL : nvfp4_block_rows(p->k);
    float *const panels = room, *const rows = panels + nvfp4_panel_floats(p->k),
                 *const product = rows + NVFP4_PANEL * nvfp4_line(p->k);
    for (int64_t first = begin, count; first < end; first += at_once) {
        count = end - first < at_once ? end - first : at_once;
        if (few)
            nvfp4_few_rows(p, first, count, rows, product);
        else
            nvfp4_many_rows(p, first, count, rows, panels);
    }
}

#endif
