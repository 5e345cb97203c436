/* What a call asks for: the tensors as kernels take them, and the case they make. Nothing of the tensors' data is read
 * or written here, except index values that kernels would use as addresses. Internal to ops. */
#ifndef RIDGE_OPS_REQUEST_H
#define RIDGE_OPS_REQUEST_H

#include "ridge/target.h"

enum { RIDGE_MAX_TENSORS = RIDGE_MAX_INPUTS + RIDGE_MAX_OUTPUTS };

typedef struct ridge_request {
    const ridge_target *target;
    ridge_case c;
    ridge_backend backend;
    int device;            /* CUDA: of all tensors */
    const DLTensor *rows;  /* the first tensor with the target's first dimension, as it came; NULL: none so far */
    const char *rows_name; /* its name */
    int n_rows;            /* leading dimensions of it that are the target's first */
    DLTensor tensor[RIDGE_MAX_TENSORS]; /* inputs, then outputs: of their spec's rank, byte_offset 0, with strides */
    int64_t shape[RIDGE_MAX_TENSORS][RIDGE_MAX_RANK], strides[RIDGE_MAX_TENSORS][RIDGE_MAX_RANK];
    size_t bytes[RIDGE_MAX_TENSORS]; /* from the first to the end of the last element; 0: it has none */
} ridge_request;

/* Checks everything that can be checked without running. */
ridge_status ridge_request_make(ridge_request *r, const char *target, const DLTensor *in, int n_in, const DLTensor *out,
                                int n_out, const double *options, ridge_error *error);

/* The steps for tensor k, in this order. tensors.c: device, type, data. */
const ridge_tensor_spec *ridge_request_spec(const ridge_request *r, int k);
ridge_status ridge_request_take_device(ridge_request *r, int k, const DLTensor *t, ridge_error *error);
ridge_status ridge_request_take_type(ridge_request *r, int k, const DLTensor *t, ridge_error *error);
ridge_status ridge_request_take_data(ridge_request *r, int k, const DLTensor *t, ridge_error *error);
/* layout.c: shape and strides. Leading dimensions fold into rows. */
ridge_status ridge_request_take_layout(ridge_request *r, int k, const DLTensor *t, ridge_error *error);

/* overlap.c: no output shares an element with another tensor, unless it is an input that its spec names. */
ridge_status ridge_request_check_overlap(const ridge_request *r, ridge_error *error);

/* words.c: "the CPU" or "a GPU"; what a device type and a data type are called. */
const char *ridge_words_backend(ridge_backend backend);
typedef struct ridge_words {
    char text[120];
} ridge_words;
ridge_words ridge_words_device(DLDevice device);                                  /* "Metal device 0" */
ridge_words ridge_words_type(DLDataType type);                                    /* "complex64" */
ridge_words ridge_words_taken(const ridge_target *target, ridge_backend backend); /* "f32 or bf16" */
ridge_words ridge_words_shape(int n, const int64_t *extents);                     /* "[2, 3]" */

#endif
