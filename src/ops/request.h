/* A request is a validated call: the tensors in the layout that kernels take, and the case they form. This code reads
 * no tensor data except index values that kernels use as addresses. It writes none. Internal to ops. */
#ifndef RIDGE_OPS_REQUEST_H
#define RIDGE_OPS_REQUEST_H

#include "ridge/target.h"

enum { RIDGE_MAX_TENSORS = RIDGE_MAX_INPUTS + RIDGE_MAX_OUTPUTS };

typedef struct ridge_request {
    const ridge_target *target;
    ridge_case c;
    ridge_backend backend;
    int device;            /* CUDA: the device of all tensors */
    const DLTensor *rows;  /* first tensor with the target's first dimension, as passed; NULL: none so far */
    const char *rows_name; /* its name */
    int n_rows;            /* number of its leading dimensions that fold into the target's first */
    DLTensor tensor[RIDGE_MAX_TENSORS]; /* inputs, then outputs; rank of the spec, byte_offset 0, strides set */
    /* Tensors whose type ridge calls otherwise than their owner: see ridge_request_as_values. */
    DLTensor renamed[RIDGE_MAX_TENSORS];
    int64_t renamed_shape[RIDGE_MAX_TENSORS][RIDGE_MAX_TENSOR_RANK];
    int64_t renamed_strides[RIDGE_MAX_TENSORS][RIDGE_MAX_TENSOR_RANK];
    int64_t shape[RIDGE_MAX_TENSORS][RIDGE_MAX_RANK], strides[RIDGE_MAX_TENSORS][RIDGE_MAX_RANK];
    size_t bytes[RIDGE_MAX_TENSORS]; /* from the first to the end of the last element; 0: empty */
} ridge_request;

/* Validates a call and fills *r. Errors as ridge_apply. */
ridge_status ridge_request_make(ridge_request *r, const char *target, const DLTensor *in, int n_in, const DLTensor *out,
                                int n_out, const double *options, ridge_error *error);

/* The steps for tensor k, in this order: device, type, data (tensors.c). */
const ridge_tensor_spec *ridge_request_spec(const ridge_request *r, int k);
ridge_status ridge_request_take_device(ridge_request *r, int k, const DLTensor *t, ridge_error *error);
ridge_status ridge_request_take_type(ridge_request *r, int k, const DLTensor *t, ridge_error *error);
ridge_status ridge_request_take_data(ridge_request *r, int k, const DLTensor *t, ridge_error *error);
/* The tensor as the target's type counts its elements (types.c): t, or a description of the same memory in *r. */
const DLTensor *ridge_request_as_values(ridge_request *r, int k, const DLTensor *t);
ridge_dtype ridge_request_passes_as(ridge_dtype dtype); /* the type of DLPack's tensors that hold it */
/* Rows of packed elements begin with whole bytes. */
ridge_status ridge_request_check_packed(const ridge_request *r, int k, ridge_error *error);
/* Shape and strides (layout.c). Leading dimensions fold into rows. */
ridge_status ridge_request_take_layout(ridge_request *r, int k, const DLTensor *t, ridge_error *error);

/* RIDGE_INVALID if an output shares an element with another tensor (overlap.c). Exception: the inputs that in_place of
 * its spec names. */
ridge_status ridge_request_check_overlap(const ridge_request *r, ridge_error *error);

/* Names for error texts (words.c). ridge_words_backend returns "the CPU" or "a GPU". */
const char *ridge_words_backend(ridge_backend backend);
typedef struct ridge_words {
    char text[120];
} ridge_words;
ridge_words ridge_words_device(DLDevice device);                                  /* "Metal device 0" */
ridge_words ridge_words_type(DLDataType type);                                    /* "complex64" */
ridge_words ridge_words_taken(const ridge_target *target, ridge_backend backend); /* "f32 or bf16" */
ridge_words ridge_words_shape(int n, const int64_t *extents);                     /* "[2, 3]" */

#endif
