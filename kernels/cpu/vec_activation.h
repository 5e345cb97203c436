/* The activations of model/activation.h on vectors. Included by files that are compiled for an instruction set. */
#ifndef RIDGE_KERNELS_CPU_VEC_ACTIVATION_H
#define RIDGE_KERNELS_CPU_VEC_ACTIVATION_H

#include "cpu/vec_gelu.h"
#include "model/activation.h"

VF_INLINE vf vf_gelu_tanh(vf h) {
    const vf one = vf_set1(1.0f);
    const vf t = vf_mul(h, vf_fma(vf_mul(vf_set1(-GELU_TANH_B), h), h, vf_set1(-GELU_TANH_A)));
    return vf_div(h, vf_add(one, vf_exp2(t)));
}
/* NaN stays. */
VF_INLINE vf vf_relu(vf h) { return vf_max(vf_zero(), h); }

VF_INLINE vf2 vf2_activate(int activation, const vf_gelu_tables *gelu, vf2 h) {
    switch (activation) {
        case ACTIVATION_GELU: return (vf2){vf_gelu_by(gelu, h.a), vf_gelu_by(gelu, h.b)};
        case ACTIVATION_GELU_TANH: return (vf2){vf_gelu_tanh(h.a), vf_gelu_tanh(h.b)};
        case ACTIVATION_SILU: return (vf2){vf_silu(h.a), vf_silu(h.b)};
        case ACTIVATION_RELU: return (vf2){vf_relu(h.a), vf_relu(h.b)};
        default: return h;
    }
}

#endif
