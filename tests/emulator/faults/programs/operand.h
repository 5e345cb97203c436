/* An operand of fp32 or bf16 on the host and on the device. */
#ifndef FAULTS_OPERAND_H
#define FAULTS_OPERAND_H

#include "program.h"

#include <cuda_bf16.h>
#include <vector>

inline float on_host(float v) { return v; }
inline float on_host(__nv_bfloat16 v) { return __bfloat162float(v); }
inline void rounded(float *to, float v) { *to = v; }
inline void rounded(__nv_bfloat16 *to, float v) { *to = __float2bfloat16(v); }

template <typename T>
struct operand {
    std::vector<T> host;
    T *device;

    /* value_of(first), value_of(first + 1), … */
    operand(size_t count, unsigned first) : host(count) {
        for (size_t i = 0; i < count; i++) rounded(&host[i], value_of(first + (unsigned)i));
        device = device_array(count, host.data());
    }
    float operator[](size_t i) const { return on_host(host[i]); }
};
#endif
