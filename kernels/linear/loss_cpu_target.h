/* A target of the cross-entropies on a CPU: cpu/linear_ce.c fused, linear_ce_chunks.c unfused, linear_ce_library.c around
 * a library. Included once, by cpu.c, behind its target's header. */
#include "cpu/linear_ce_library.h"
#include "linear/loss_names.h"

static linear_ce job_of(const ridge_call *call) {
    static const ce_places places = CE_AT;
    return linear_ce_of(call, &places);
}

ridge_status RIDGE_ISA_FN(CE_FN(cpu_fused))(const ridge_call *call) {
    const linear_ce job = job_of(call);
    return RIDGE_ISA_FN(linear_ce_fused)(&job);
}

ridge_status RIDGE_ISA_FN(CE_FN(cpu_chunks))(const ridge_call *call) {
    const linear_ce job = job_of(call);
    return RIDGE_ISA_FN(linear_ce_chunks)(&job);
}

ridge_status RIDGE_ISA_FN(CE_FN(cpu_baseline))(const ridge_call *call) {
    const linear_ce job = job_of(call);
    return RIDGE_ISA_FN(linear_ce_unfused)(&job, ce_library());
}

ridge_status RIDGE_ISA_FN(CE_FN(cpu_openblas))(const ridge_call *call) {
    const linear_ce job = job_of(call);
    return RIDGE_ISA_FN(linear_ce_unfused)(&job, ce_openblas());
}
