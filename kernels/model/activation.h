/* Activations by number. Of C and CUDA. */
#ifndef RIDGE_KERNELS_MODEL_ACTIVATION_H
#define RIDGE_KERNELS_MODEL_ACTIVATION_H

enum { ACTIVATION_NONE, ACTIVATION_GELU, ACTIVATION_GELU_TANH, ACTIVATION_SILU, ACTIVATION_RELU, ACTIVATIONS };

/* GELU in its tanh form is h / (1 + 2^-(a h + b h^3)). */
#define GELU_TANH_A 0x1.26aec2p1f  /* 2 sqrt(2 / pi) log2 e */
#define GELU_TANH_B 0x1.a5a7d0p-4f /* 0.044715 times that */

#endif
