/* Ceilings of a run: from the cache file, or measured and kept there. */
#include <string.h>

#include "lab/run_parts.h"
#include "machine/ceilings/gpu.h"

static void tell_step(void *arg, int done, int total, const char *what) {
    ridge_lab_tell(arg,
                   &(ridge_lab_event){
                       .stage = RIDGE_LAB_CEILINGS_STEP, .done = done, .total = total > 0 ? total : 1, .what = what});
}

/* The callback of the measurement takes a plain pointer; a watch is never written. */
static void *step_arg(const ridge_lab_watch *watch) { return (void *)(uintptr_t)watch; }

static void keep(const ridge_lab_watch *watch, const ridge_ceilings *c, const char *whose) {
    ridge_error why = {0};
    if (ridge_ceilings_save(c, &why) != RIDGE_OK) ridge_lab_note(watch, "%s are not kept: %s", whose, why.text);
}

/* Whether loading ended the search; a file that cannot be used is a note. */
static bool is_loaded(const ridge_lab_watch *watch, ridge_status status, const ridge_error *why) {
    if (status != RIDGE_OK && status != RIDGE_NOT_FOUND) ridge_lab_note(watch, "%s; measuring anew", why->text);
    return status == RIDGE_OK;
}

ridge_status ridge_lab_ceilings(const ridge_machine *machine, int threads, bool refresh, const ridge_lab_watch *watch,
                                ridge_ceilings *c, ridge_error *error) {
    ridge_error why = {0};
    if (!refresh && is_loaded(watch, ridge_ceilings_load(machine, threads, c, &why), &why)) return RIDGE_OK;
    ridge_lab_tell(watch, &(ridge_lab_event){.stage = RIDGE_LAB_CEILINGS});
    const ridge_status status = ridge_ceilings_measure(machine, threads, tell_step, step_arg(watch), c, error);
    ridge_lab_tell(watch, &(ridge_lab_event){.stage = RIDGE_LAB_END});
    if (status == RIDGE_OK) keep(watch, c, "the ceilings");
    return status;
}

ridge_status ridge_lab_gpu_ceilings(const ridge_machine *machine, bool refresh, const ridge_lab_watch *watch,
                                    ridge_ceilings *c, ridge_error *error) {
    *c = (ridge_ceilings){.n_levels = 0};
    if (machine->gpu.sm == 0) return ridge_fail(error, RIDGE_UNSUPPORTED, "no GPU: %s", machine->no_gpu);
    if (machine->gpu.emulated) return ridge_fail(error, RIDGE_UNSUPPORTED, "the GPU is emulated: it has no ceilings");
    ridge_error why = {0};
    if (!refresh && is_loaded(watch, ridge_gpu_ceilings_load(&machine->gpu, c, &why), &why)) return RIDGE_OK;
    ridge_lab_tell(watch, &(ridge_lab_event){.stage = RIDGE_LAB_CEILINGS});
    const ridge_status status = ridge_gpu_ceilings_measure(&machine->gpu, tell_step, step_arg(watch), c, error);
    ridge_lab_tell(watch, &(ridge_lab_event){.stage = RIDGE_LAB_END});
    if (status == RIDGE_OK) keep(watch, c, "the GPU's ceilings");
    return status;
}

bool ridge_lab_uses(const ridge_lab_plan *plan, ridge_backend backend) {
    for (int i = 0; i < plan->n_items; i++)
        if (plan->items[i].backend == backend) return true;
    return false;
}

static void find_gpu_ceilings(ridge_lab *lab) {
    ridge_run *run = lab->run;
    ridge_error why = {0};
    if (run->machine.gpu.sm == 0 || run->machine.gpu.emulated) return;
    run->has_gpu =
        ridge_lab_gpu_ceilings(&run->machine, lab->plan->refresh, lab->watch, &run->gpu_ceilings, &why) == RIDGE_OK;
    if (!run->has_gpu) ridge_lab_note(lab->watch, "CUDA results have no percentages: %s", why.text);
}

ridge_status ridge_lab_find_ceilings(ridge_lab *lab, ridge_error *error) {
    ridge_run *run = lab->run;
    if (ridge_lab_uses(lab->plan, RIDGE_BACKEND_cpu))
        RIDGE_TRY(ridge_lab_ceilings(&run->machine, run->settings.threads, lab->plan->refresh, lab->watch,
                                     &run->ceilings, error));
    if (ridge_lab_uses(lab->plan, RIDGE_BACKEND_cuda)) find_gpu_ceilings(lab);
    return RIDGE_OK;
}

static void raise_to(ridge_interval *ceiling, ridge_interval probe) {
    if (probe.n > 0 && probe.median > ceiling->median) *ceiling = probe;
}

void ridge_lab_raise_ceilings(ridge_run *run) {
    if (run->ceilings.n_levels == 0) return;
    const ridge_level *probes[] = {&run->dram_before, &run->dram_after};
    const ridge_peak *peaks[] = {&run->fp32_before, &run->fp32_after};
    ridge_level *dram = &run->ceilings.levels[run->ceilings.n_levels - 1];
    for (int i = 0; i < 2; i++) {
        raise_to(&dram->read, probes[i]->read);
        raise_to(&dram->copy, probes[i]->copy);
        raise_to(&dram->stream, probes[i]->stream);
        raise_to(&dram->write, probes[i]->write);
        for (int p = 0; p < run->ceilings.n_peaks; p++)
            if (strcmp(run->ceilings.peaks[p].name, peaks[i]->name) == 0)
                raise_to(&run->ceilings.peaks[p].gflops, peaks[i]->gflops);
    }
}
