/* Operands in GPU memory. They are placed, filled and scanned there, so that a sample of gigabytes does not cross the
 * PCIe bus.
 *
 * A set on the GPU has the same layout as in host memory, byte for byte. The fill writes the values of
 * ridge_operands_fill; the first, full check of every variant compares them with the host's. The scan finds what the
 * host's scans find. Only the rows that the oracle needs are copied to the host. Internal to verify and measure. */
#ifndef RIDGE_VERIFY_ON_GPU_H
#define RIDGE_VERIFY_ON_GPU_H

#include "device/cuda.h"
#include "verify/check.h"
#include "verify/scan.h"

/* As ridge_operands_place, in GPU memory (256-byte aligned). */
void ridge_gpu_operands_place(ridge_operands *ops, const ridge_target *target, const ridge_case *c,
                              const ridge_layout *layout, void *memory);

/* Allocates memory of a kind (ridge_variant.where), and places an operand set in it. */
ridge_status ridge_where_alloc(ridge_where where, size_t bytes, void **memory, ridge_error *error);
void ridge_where_free(ridge_where where, void *memory, size_t bytes);
void ridge_where_place(ridge_operands *ops, ridge_where where, const ridge_target *target, const ridge_case *c,
                       const ridge_layout *layout, void *memory);

/* As ridge_operands_fill with RIDGE_RANDOM, for dense layouts. Asynchronous. Copies the user's arrays. */
ridge_status ridge_gpu_fill(ridge_operands *ops, uint64_t seed, ridge_stream *stream, ridge_error *error);

typedef struct ridge_gpu_finding {
    ridge_scan scan;
    bool guard; /* a guard was written to; the next two fields say where */
    int guard_tensor;
    int64_t guard_where; /* bytes from the tensor's first element */
} ridge_gpu_finding;

/* Scans outputs for poison and non-finite values, and guards for damage. `space`: RIDGE_GPU_SCAN_BYTES of GPU memory.
 * Synchronous. */
enum { RIDGE_GPU_SCAN_BYTES = 1 << 16 };
ridge_status ridge_gpu_scan(const ridge_operands *ops, void *space, ridge_stream *stream, ridge_gpu_finding *finding,
                            ridge_error *error);

/* Copies what the oracle needs for the listed rows from a set on the GPU to its mirror in host memory: these rows of
 * every output and of the row-wise inputs, and all of the other inputs. rows NULL: the whole set, guards included. */
ridge_status ridge_gpu_fetch(const ridge_operands *from, ridge_operands *to, const ridge_rows *rows,
                             ridge_error *error);

/* ridge_check_sample for a set on the GPU; `mirror` is the same set in host memory; it is overwritten. */
ridge_status ridge_gpu_check_sample(const ridge_operands *ops, ridge_operands *mirror, void *space, uint64_t row_seed,
                                    int64_t wanted, ridge_stream *stream, ridge_team *team, ridge_check *check,
                                    ridge_error *error);

#endif
