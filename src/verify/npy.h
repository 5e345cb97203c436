/* NumPy .npy files, versions 1 to 3, C order, little endian, dtypes f4 f8 f2 i4 i8 i1. Types that NumPy does not have come as
 * their bits: u2, or V2 as ml_dtypes writes it, where the tensor is bf16; u1, V1 or f1 where it has 8 bits or is e2m1,
 * one in the low half of each byte. Any other, truncated or oversized file is an error that says why. Every field is
 * validated. */
#ifndef RIDGE_VERIFY_NPY_H
#define RIDGE_VERIFY_NPY_H

#include "ridge/target.h"

typedef struct ridge_npy {
    int rank;
    int64_t shape[RIDGE_MAX_RANK];
    char descr[8]; /* "<f4" */
    void *data;    /* owned */
    size_t bytes;
} ridge_npy;

ridge_status ridge_npy_read(const char *path, ridge_npy *npy, ridge_error *error);
/* Parses a file in memory; the file reader and the fuzzer use it. */
ridge_status ridge_npy_parse(const void *bytes, size_t size, const char *name, ridge_npy *npy, ridge_error *error);
void ridge_npy_free(ridge_npy *npy);

/* Makes a dense copy in dtype, rounded to nearest even. Integer dtypes reject values that are not integers, and values
 * outside [0, limit) if limit > 0. The caller frees *data. */
ridge_status ridge_npy_convert(const ridge_npy *npy, ridge_dtype dtype, int64_t limit, const char *name, void **data,
                               ridge_error *error);

#endif
