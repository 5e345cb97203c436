/* Names for error texts. */
#include <stdio.h>
#include <string.h>

#include "ops/request.h"

const char *ridge_words_backend(ridge_backend backend) { return backend == RIDGE_BACKEND_cuda ? "a GPU" : "the CPU"; }

ridge_words ridge_words_device(DLDevice device) {
    static const char *const names[] = {
        [kDLCPU] = "CPU",
        [kDLCUDA] = "CUDA",
        [kDLCUDAHost] = "CUDA host",
        [kDLOpenCL] = "OpenCL",
        [5] = NULL,
        [kDLVulkan] = "Vulkan",
        [kDLMetal] = "Metal",
        [kDLVPI] = "VPI",
        [kDLROCM] = "ROCm",
        [11] = "ROCm host",
        [kDLExtDev] = "extension",
        [13] = "CUDA managed",
        [14] = "oneAPI",
        [15] = "WebGPU",
        [16] = "Hexagon",
        [17] = "MAIA",
    };
    ridge_words w;
    const unsigned type = (unsigned)device.device_type;
    if (type < sizeof names / sizeof names[0] && names[type])
        (void)snprintf(w.text, sizeof w.text, "%s device %d", names[type], (int)device.device_id);
    else
        (void)snprintf(w.text, sizeof w.text, "a device of unknown type %u", type);
    return w;
}

ridge_words ridge_words_type(DLDataType type) {
    static const char *const names[] = {"i", "u", "f", "handle", "bf", "complex", "bool"};
    ridge_words w;
    const DLTensor probe = {.dtype = type};
    const ridge_dtype dtype = ridge_dtype_of(&probe);
    if (ridge_dtype_bits(dtype) > 0 && ridge_dtype_bits(dtype) <= 8)
        (void)snprintf(w.text, sizeof w.text, "%s", ridge_dtype_name(dtype));
    else if (type.code == 6)
        (void)snprintf(w.text, sizeof w.text, "bool");
    else if (type.code < sizeof names / sizeof names[0])
        (void)snprintf(w.text, sizeof w.text, "%s%d", names[type.code], type.bits);
    else
        (void)snprintf(w.text, sizeof w.text, "DLPack code %d with %d bits", type.code, type.bits);
    return w;
}

/* The separator before word i of a list of n words. */
static const char *separator(int i, int n) { return i == 0 ? "" : i < n - 1 ? ", " : " or "; }

ridge_words ridge_words_taken(const ridge_target *target, ridge_backend backend) {
    ridge_words w = {""};
    ridge_dtype taken[RIDGE_DTYPE_COUNT];
    int n = 0;
    for (int d = 1; d < RIDGE_DTYPE_COUNT; d++)
        if (d != RIDGE_TF32 && ridge_target_takes(target, backend, (ridge_dtype)d)) taken[n++] = (ridge_dtype)d;
    for (int i = 0; i < n; i++) {
        const size_t used = strlen(w.text);
        (void)snprintf(w.text + used, sizeof w.text - used, "%s%s", separator(i, n), ridge_dtype_name(taken[i]));
    }
    return w;
}

ridge_words ridge_words_shape(int n, const int64_t *extents) {
    ridge_words w = {"["};
    for (int i = 0; i < n; i++) {
        const size_t used = strlen(w.text);
        (void)snprintf(w.text + used, sizeof w.text - used, "%s%lld", i ? ", " : "", (long long)extents[i]);
    }
    const size_t used = strlen(w.text);
    (void)snprintf(w.text + used, sizeof w.text - used, "]");
    return w;
}
