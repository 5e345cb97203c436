/* Names of functions that are made of a target's name, for descriptors and kernels that several targets share. Macros
 * that paste their argument get it whole through these. */
#ifndef RIDGE_MODEL_TOKEN_H
#define RIDGE_MODEL_TOKEN_H

#define TOKEN_JOIN2(a, b) a##_##b
#define TOKEN_JOIN(a, b) TOKEN_JOIN2(a, b)
#define TOKEN_STRING2(name) #name
#define TOKEN_STRING(name) TOKEN_STRING2(name)
#define TOKEN_DECLARE_CPU(fn) RIDGE_CPU_DECLARE(fn)
#define TOKEN_DECLARE_CUDA(fn) RIDGE_CUDA_DECLARE(fn)
#define TOKEN_ON_CPU(fn) RIDGE_CPU(fn)
#define TOKEN_ON_CUDA(fn) RIDGE_CUDA(fn)

#endif
