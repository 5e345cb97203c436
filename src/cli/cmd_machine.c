/* ridge list, peak and doctor: targets and variants, ceilings of the machine, and conditions that distort measurements.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/bench.h"
#include "cli/output.h"
#include "cli/say.h"
#include "record/json.h"
#include "report/report.h"

static ridge_status write_and_release(const ridge_options *o, json_t *json, ridge_error *error) {
    if (!json) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for JSON");
    ridge_status status = ridge_write_json(o->json, json, error);
    json_decref(json);
    return status;
}

/* ---- list -------------------------------------------------------------------------------------------------------- */

typedef struct listing {
    const ridge_target *const *targets;
    const ridge_machine *machine;
} listing;

static json_t *target_item(const void *context, int i) {
    const listing *l = context;
    return ridge_json_target(l->targets[i], l->machine);
}

static json_t *list_json(const ridge_target *const *targets, int n, const ridge_machine *machine) {
    const listing l = {targets, machine};
    return json_pack("{s:s, s:o}", "schema", "ridge-list/1", "targets", ridge_json_array(n, target_item, &l));
}

static ridge_status list(const ridge_options *o, const ridge_target ***selected, ridge_selection *peers,
                         ridge_target **copies, ridge_error *error) {
    static ridge_machine machine;
    int n = 0;
    RIDGE_TRY(ridge_machine_detect(&machine, error));
    RIDGE_TRY(ridge_select_targets(o, selected, &n, error));
    const ridge_target **targets = *selected;
    RIDGE_TRY(ridge_selection_open(peers, error));
    RIDGE_TRY(ridge_select_peers(o, peers, targets, n, error));
    RIDGE_TRY(ridge_narrow(o, targets, &n, copies, error));
    if (o->json) return write_and_release(o, list_json(targets, n, &machine), error);
    const ridge_page page = ridge_say_page(o);
    if (n > 1 && page.format == RIDGE_FORMAT_TABLE)
        ridge_report_targets(targets, n, &page);
    else
        ridge_report_list(targets, n, &machine, &page);
    return RIDGE_OK;
}

int ridge_cmd_list(const ridge_options *o) {
    ridge_error error = {0};
    const ridge_target **targets = NULL;
    ridge_target *copies = NULL;
    ridge_selection peers = {0};
    const ridge_status status = list(o, &targets, &peers, &copies, &error);
    ridge_narrowed_free(copies);
    ridge_selection_free(&peers);
    free(targets);
    return status == RIDGE_OK ? RIDGE_EXIT_OK : ridge_complain(&error);
}

/* ---- peak -------------------------------------------------------------------------------------------------------- */

/* The CPU's object with the GPU's as a field; or the GPU's alone. */
static json_t *peak_json(const ridge_machine *machine, const ridge_ceilings *cpu, const ridge_ceilings *gpu) {
    json_t *json = cpu ? ridge_json_ceilings(cpu) : ridge_json_gpu_ceilings(&machine->gpu, gpu);
    if (cpu && gpu && json &&
        json_object_set_new(json, "gpu_ceilings", ridge_json_gpu_ceilings(&machine->gpu, gpu)) != 0) {
        json_decref(json);
        return NULL;
    }
    json_t *top = json ? json_pack("{s:s}", "schema", "ridge-peak/1") : NULL;
    if (top && json_object_update(top, json) != 0) {
        json_decref(top);
        top = NULL;
    }
    json_decref(json);
    return top;
}

static ridge_status peak(const ridge_options *o, ridge_error *error) {
    static ridge_machine machine;
    static ridge_ceilings ceilings, gpu_ceilings;
    RIDGE_TRY(ridge_output_check(o, error));
    RIDGE_TRY(ridge_machine_detect(&machine, error));
    bool cpu = !o->backend || strcmp(o->backend, "cpu") == 0;
    bool gpu = o->backend ? strcmp(o->backend, "cuda") == 0 : machine.gpu.sm > 0;
    int threads;
    RIDGE_TRY(ridge_bench_threads(o, &machine, &threads, error));
    if (cpu) RIDGE_TRY(ridge_bench_ceilings(o, &machine, threads, &ceilings, error));
    if (gpu) RIDGE_TRY(ridge_bench_gpu_ceilings(o, &machine, &gpu_ceilings, error));
    const ridge_page page = ridge_say_page(o);
    ridge_report_peak(cpu ? &ceilings : NULL, &machine.gpu, gpu ? &gpu_ceilings : NULL, &page);
    if (!o->json) return RIDGE_OK;
    return write_and_release(o, peak_json(&machine, cpu ? &ceilings : NULL, gpu ? &gpu_ceilings : NULL), error);
}

int ridge_cmd_peak(const ridge_options *o) {
    ridge_error error = {0};
    return peak(o, &error) == RIDGE_OK ? RIDGE_EXIT_OK : ridge_complain(&error);
}

/* ---- doctor ------------------------------------------------------------------------------------------------------ */

static json_t *doctor_json(const ridge_machine *machine, const ridge_finding *findings, int n) {
    return json_pack("{s:s, s:o, s:o}", "schema", "ridge-doctor/1", "machine", ridge_json_machine(machine), "findings",
                     ridge_json_findings(findings, n));
}

int ridge_cmd_doctor(const ridge_options *o) {
    static ridge_machine machine;
    static ridge_finding findings[RIDGE_MAX_FINDINGS];
    ridge_error error = {0};
    if (ridge_machine_detect(&machine, &error) != RIDGE_OK) return ridge_complain(&error);
    int n = ridge_doctor(&machine, findings);
    const ridge_page page = ridge_say_page(o);
    ridge_report_findings(findings, n, &page);
    if (o->json && write_and_release(o, doctor_json(&machine, findings, n), &error) != RIDGE_OK)
        return ridge_complain(&error);
    return RIDGE_EXIT_OK;
}
