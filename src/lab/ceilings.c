/* Ceilings of a run: from the cache file, or measured and kept there. */
#include <string.h>

#include "device/device.h"
#include "lab/run_parts.h"
#include "machine/survey/survey.h"

/* A measurement in progress: who follows it, and when it must end. */
typedef struct measurement {
    const ridge_lab_watch *watch;
    uint64_t began_ns;
    double seconds; /* 0: no limit */
} measurement;

static bool tell_step(void *arg, int done, int total, const char *what) {
    const measurement *m = arg;
    if (m->seconds > 0 && ridge_seconds_since(m->began_ns) > m->seconds) return false;
    ridge_lab_tell(m->watch,
                   &(ridge_lab_event){
                       .stage = RIDGE_LAB_CEILINGS_STEP, .done = done, .total = total > 0 ? total : 1, .what = what});
    return true;
}

/* Keeps a set that nothing disturbed. disturbed: before it was measured. */
static void keep(const ridge_lab_watch *watch, const ridge_lab_effort *effort, const ridge_ceilings *c, bool disturbed,
                 const ridge_finding *finding, const char *whose) {
    static const char all_the_same[] = "measure again on a quiet machine; ridge peak --keep keeps them all the same";
    ridge_error why = {0};
    if (disturbed && !effort->keep)
        ridge_lab_note(watch, "%s are not kept: %s: %s: %s", whose, finding->what, finding->found, all_the_same);
    else if (c->faults[0] && !effort->keep)
        ridge_lab_note(watch, "%s are not kept: %s: %s", whose, c->faults, all_the_same);
    else if (ridge_ceilings_save(c, &why) != RIDGE_OK)
        ridge_lab_note(watch, "%s are not kept: %s", whose, why.text);
}

/* Whether loading ended the search; a file that cannot be used is a note. */
static bool is_loaded(const ridge_lab_watch *watch, ridge_status status, const ridge_error *why) {
    if (status != RIDGE_OK && status != RIDGE_NOT_FOUND) ridge_lab_note(watch, "%s; measuring anew", why->text);
    return status == RIDGE_OK;
}

ridge_status ridge_lab_ceilings(const ridge_machine *machine, int threads, const ridge_lab_effort *effort,
                                const ridge_lab_watch *watch, ridge_ceilings *c, ridge_error *error) {
    ridge_error why = {0};
    ridge_finding finding;
    if (!effort->refresh && is_loaded(watch, ridge_ceilings_load(machine, threads, c, &why), &why)) return RIDGE_OK;
    measurement m = {watch, ridge_clock_ns(), effort->seconds};
    const bool before = ridge_doctor_disturbed(machine, false, &finding);
    ridge_lab_tell(watch, &(ridge_lab_event){.stage = RIDGE_LAB_CEILINGS});
    const ridge_status status = ridge_ceilings_measure(machine, threads, tell_step, &m, c, error);
    ridge_lab_tell(watch, &(ridge_lab_event){.stage = RIDGE_LAB_END});
    if (status == RIDGE_OK)
        keep(watch, effort, c, before || ridge_doctor_disturbed(machine, false, &finding), &finding, "the ceilings");
    return status;
}

ridge_status ridge_lab_gpu_ceilings(const ridge_machine *machine, const ridge_lab_effort *effort,
                                    const ridge_lab_watch *watch, ridge_ceilings *c, ridge_error *error) {
    *c = (ridge_ceilings){.n_levels = 0};
    if (machine->gpu.sm == 0) return ridge_fail(error, RIDGE_UNSUPPORTED, "no GPU: %s", machine->no_gpu);
    if (machine->gpu.emulated) return ridge_fail(error, RIDGE_UNSUPPORTED, "the GPU is emulated: it has no ceilings");
    ridge_error why = {0};
    ridge_finding finding;
    if (!effort->refresh && is_loaded(watch, ridge_gpu_ceilings_load(&machine->gpu, c, &why), &why)) return RIDGE_OK;
    measurement m = {watch, ridge_clock_ns(), 0};
    const bool before = ridge_doctor_disturbed(machine, true, &finding);
    ridge_lab_tell(watch, &(ridge_lab_event){.stage = RIDGE_LAB_CEILINGS});
    const ridge_status status = ridge_gpu_ceilings_measure(&machine->gpu, tell_step, &m, c, error);
    ridge_lab_tell(watch, &(ridge_lab_event){.stage = RIDGE_LAB_END});
    if (status == RIDGE_OK)
        keep(watch, effort, c, before || ridge_doctor_disturbed(machine, true, &finding), &finding,
             "the GPU's ceilings");
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
    const ridge_lab_effort effort = {.refresh = lab->plan->refresh};
    if (run->machine.gpu.sm == 0 || run->machine.gpu.emulated) return;
    run->has_gpu = ridge_lab_gpu_ceilings(&run->machine, &effort, lab->watch, &run->gpu_ceilings, &why) == RIDGE_OK;
    if (!run->has_gpu) ridge_lab_note(lab->watch, "CUDA results have no percentages: %s", why.text);
}

/* A run that has little time measures no ladder: memory and fp32, which it probes anyway, are its ceilings. */
static ridge_status probe_instead(ridge_lab *lab, ridge_error *error) {
    ridge_run *run = lab->run;
    const uint64_t began = ridge_clock_ns();
    RIDGE_TRY(ridge_ceilings_probe(&run->machine, run->settings.threads, &lab->probe, &run->dram_before,
                                   &run->fp32_before, error));
    lab->probe_s = ridge_seconds_since(began);
    ridge_ceilings_of_probe(&run->machine, run->settings.threads, &run->dram_before, &run->fp32_before, &run->ceilings);
    ridge_lab_note(lab->watch,
                   "--within %g has no time for all ceilings: memory and fp32 are probed; ridge peak measures "
                   "all, once",
                   run->settings.within);
    return RIDGE_OK;
}

/* At most half of the time goes to ceilings, and nothing where that is too little. */
static ridge_status find_cpu_ceilings(ridge_lab *lab, ridge_error *error) {
    ridge_run *run = lab->run;
    const double within = run->settings.within, half = 0.5 * (within - ridge_seconds_since(lab->began_ns));
    const ridge_lab_effort effort = {.refresh = lab->plan->refresh, .seconds = within > 0 ? half : 0};
    const bool cached =
        !effort.refresh && ridge_ceilings_load(&run->machine, run->settings.threads, &run->ceilings, NULL) == RIDGE_OK;
    if (!cached && within > 0 && half < RIDGE_LAB_CEILINGS_S) return probe_instead(lab, error);
    const ridge_status status =
        ridge_lab_ceilings(&run->machine, run->settings.threads, &effort, lab->watch, &run->ceilings, error);
    return status == RIDGE_INTERRUPTED && effort.seconds > 0 ? probe_instead(lab, error) : status;
}

ridge_status ridge_lab_find_ceilings(ridge_lab *lab, ridge_error *error) {
    if (lab->plan->no_ceilings) return RIDGE_OK;
    if (ridge_lab_uses(lab->plan, RIDGE_BACKEND_cpu)) RIDGE_TRY(find_cpu_ceilings(lab, error));
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
