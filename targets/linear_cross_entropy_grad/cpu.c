/* The CPU variants: kernels/cpu/linear_ce.c fused, linear_ce_chunks.c unfused, linear_ce_library.c around a library. */
#include "cpu/linear_ce_library.h"
#include "linear_cross_entropy_grad.h"

ridge_status RIDGE_ISA_FN(linear_cross_entropy_grad_cpu_fused)(const ridge_call *call) {
    const linear_ce job = linear_ce_of(call, &linear_cross_entropy_grad_places);
    return RIDGE_ISA_FN(linear_ce_fused)(&job);
}

ridge_status RIDGE_ISA_FN(linear_cross_entropy_grad_cpu_chunks)(const ridge_call *call) {
    const linear_ce job = linear_ce_of(call, &linear_cross_entropy_grad_places);
    return RIDGE_ISA_FN(linear_ce_chunks)(&job);
}

ridge_status RIDGE_ISA_FN(linear_cross_entropy_grad_cpu_baseline)(const ridge_call *call) {
    const linear_ce job = linear_ce_of(call, &linear_cross_entropy_grad_places);
    return RIDGE_ISA_FN(linear_ce_unfused)(&job, ce_library());
}

ridge_status RIDGE_ISA_FN(linear_cross_entropy_grad_cpu_openblas)(const ridge_call *call) {
    const linear_ce job = linear_ce_of(call, &linear_cross_entropy_grad_places);
    return RIDGE_ISA_FN(linear_ce_unfused)(&job, ce_openblas());
}
