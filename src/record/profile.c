#include "record/profile.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "record/json.h"
#include "record/record.h"
#include "record/saved.h"

#define WAIT(name) "smsp__average_warps_issue_stalled_" name "_per_issue_active.ratio"

const ridge_counter ridge_counters[RIDGE_COUNT_COUNT] = {
    [RIDGE_COUNT_NS] = {"gpu__time_duration.sum", "time_ns", NULL},
    [RIDGE_COUNT_DRAM_READ] = {"dram__bytes_read.sum", "dram_read_bytes", NULL},
    [RIDGE_COUNT_DRAM_WRITTEN] = {"dram__bytes_write.sum", "dram_written_bytes", NULL},
    [RIDGE_COUNT_L2] = {"lts__t_bytes.sum", "l2_bytes", NULL},
    [RIDGE_COUNT_DRAM_PCT] = {"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", "dram_pct", NULL},
    [RIDGE_COUNT_L2_PCT] = {"lts__throughput.avg.pct_of_peak_sustained_elapsed", "l2_pct", NULL},
    [RIDGE_COUNT_L1_PCT] = {"l1tex__throughput.avg.pct_of_peak_sustained_active", "l1_pct", NULL},
    [RIDGE_COUNT_TENSOR_PCT] = {"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", "tensor_pct", NULL},
    [RIDGE_COUNT_ISSUE_PCT] = {"sm__inst_issued.avg.pct_of_peak_sustained_elapsed", "issue_pct", NULL},
    [RIDGE_COUNT_WARPS_PCT] = {"sm__warps_active.avg.pct_of_peak_sustained_active", "warps_pct", NULL},
    [RIDGE_COUNT_REGISTERS] = {"launch__registers_per_thread", "registers", NULL},
    [RIDGE_COUNT_WAVES] = {"launch__waves_per_multiprocessor", "waves", NULL},
    [RIDGE_COUNT_LATENCY] = {"smsp__average_warp_latency_per_inst_issued.ratio", "cycles_an_instruction", NULL},
    [RIDGE_COUNT_WAITS + 0] = {WAIT("long_scoreboard"), "wait_global", "data from L2 or DRAM"},
    [RIDGE_COUNT_WAITS + 1] = {WAIT("short_scoreboard"), "wait_shared", "shared memory or special functions"},
    [RIDGE_COUNT_WAITS + 2] = {WAIT("barrier"), "wait_barrier", "a barrier of the block"},
    [RIDGE_COUNT_WAITS + 3] = {WAIT("gmma"), "wait_tensor", "tensor cores"},
    [RIDGE_COUNT_WAITS + 4] = {WAIT("math_pipe_throttle"), "wait_pipe", "a busy arithmetic pipe"},
    [RIDGE_COUNT_WAITS + 5] = {WAIT("mio_throttle"), "wait_mio", "the queue of shared memory"},
    [RIDGE_COUNT_WAITS + 6] = {WAIT("lg_throttle"), "wait_lg", "the queue of global memory"},
    [RIDGE_COUNT_WAITS + 7] = {WAIT("membar"), "wait_membar", "a fence"},
    [RIDGE_COUNT_WAITS + 8] = {WAIT("sleeping"), "wait_sleep", "the end of a sleep"},
    [RIDGE_COUNT_WAITS + 9] = {WAIT("drain"), "wait_drain", "its last stores"},
    [RIDGE_COUNT_WAITS + 10] = {WAIT("no_instruction"), "wait_fetch", "instructions to be fetched"},
    [RIDGE_COUNT_WAITS + 11] = {WAIT("branch_resolving"), "wait_branch", "a branch"},
    [RIDGE_COUNT_WAITS + 12] = {WAIT("wait"), "wait_fixed", "the fixed latency of its last instruction"},
    [RIDGE_COUNT_WAITS + 13] = {WAIT("not_selected"), "wait_turn", "its turn: another warp was issued"},
    [RIDGE_COUNT_WAITS + 14] = {WAIT("imc_miss"), "wait_constant", "a constant"},
};

void ridge_profile_brief(const char *name, char *text, size_t size) {
    static const char *const nameless[] = {"<unnamed>::", "(anonymous namespace)::"};
    const char *at = strncmp(name, "void ", 5) == 0 ? name + 5 : name;
    for (int i = 0; i < 2; i++)
        for (const char *found; (found = strstr(at, nameless[i])) && found < at + strcspn(at, "<(") + 1;)
            at = found + strlen(nameless[i]);
    const char *const end = at + strcspn(at, "<(");
    for (const char *scope; (scope = strstr(at, "::")) && scope < end;) at = scope + 2;
    (void)snprintf(text, size, "%.*s", (int)(end - at), at);
}

/* ---- what limits -------------------------------------------------------------------------------------------------- */

enum { BOUND = 80, NEAR = 60 }; /* per cent of a unit's peak */

static ridge_count busiest(const ridge_profile *p) {
    static const ridge_count units[] = {RIDGE_COUNT_DRAM_PCT, RIDGE_COUNT_L2_PCT, RIDGE_COUNT_L1_PCT,
                                        RIDGE_COUNT_TENSOR_PCT, RIDGE_COUNT_ISSUE_PCT};
    ridge_count most = units[0];
    for (size_t i = 1; i < sizeof units / sizeof *units; i++)
        if (!(p->value[units[i]] <= p->value[most]) && !isnan(p->value[units[i]])) most = units[i];
    return most;
}

static const char *unit_words(ridge_count unit) {
    switch (unit) {
        case RIDGE_COUNT_DRAM_PCT: return "DRAM's bandwidth";
        case RIDGE_COUNT_L2_PCT: return "L2's bandwidth";
        case RIDGE_COUNT_L1_PCT: return "L1 and shared memory";
        case RIDGE_COUNT_TENSOR_PCT: return "the tensor cores";
        default: return "the issue of instructions";
    }
}

/* The longest wait; -1: none was counted. */
static int longest_wait(const ridge_profile *p) {
    int longest = -1;
    for (int w = RIDGE_COUNT_WAITS; w < RIDGE_COUNT_COUNT; w++)
        if (p->value[w] > 0 && (longest < 0 || p->value[w] > p->value[longest])) longest = w;
    return longest;
}

void ridge_profile_explain(const ridge_profile *p, char *text, size_t size) {
    const ridge_count unit = busiest(p);
    const double pct = p->value[unit];
    const int wait = longest_wait(p);
    char waits[120] = "", places[120] = "";
    if (isnan(pct)) {
        (void)snprintf(text, size, "no unit's use was counted");
        return;
    }
    if (wait >= 0)
        (void)snprintf(waits, sizeof waits, "; a warp waits %.1f of %.1f cycles an instruction for %s", p->value[wait],
                       p->value[RIDGE_COUNT_LATENCY], ridge_counters[wait].words);
    if (p->value[RIDGE_COUNT_WAVES] < 1)
        (void)snprintf(places, sizeof places, "; its blocks fill %.0f %% of the places that SMs have for them",
                       100 * p->value[RIDGE_COUNT_WAVES]);
    if (pct >= BOUND)
        (void)snprintf(text, size, "bound by %s: %.0f %% of the peak%s", unit_words(unit), pct, places);
    else if (pct >= NEAR)
        (void)snprintf(text, size, "nearest to %s: %.0f %% of the peak%s%s", unit_words(unit), pct, waits, places);
    else
        (void)snprintf(text, size, "bound by latency: no unit is above %.0f %% (%s)%s%s", pct, unit_words(unit), waits,
                       places);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static json_t *kernel_json(const void *context, int i) {
    const ridge_profile *p = (const ridge_profile *)context + i;
    char explained[400];
    ridge_profile_explain(p, explained, sizeof explained);
    json_t *json = json_pack("{s:o, s:o, s:s}", "kernel", ridge_json_text(p->kernel), "declared_bytes",
                             ridge_json_number(p->model), "limit", explained);
    for (int c = 0; json && c < RIDGE_COUNT_COUNT; c++)
        (void)json_object_set_new(json, ridge_counters[c].field, ridge_json_number(p->value[c]));
    return json;
}

json_t *ridge_json_profile(const ridge_profile *profiles, int n) { return ridge_json_array(n, kernel_json, profiles); }

void ridge_profile_read(const json_t *kernel, ridge_profile *p) {
    (void)snprintf(p->kernel, sizeof p->kernel, "%s", ridge_saved_text(kernel, "kernel"));
    p->model = ridge_saved_number(kernel, "declared_bytes");
    for (int c = 0; c < RIDGE_COUNT_COUNT; c++) p->value[c] = ridge_saved_number(kernel, ridge_counters[c].field);
}

static json_t *profile_json(const void *context, int i) {
    const ridge_profile *p = (const ridge_profile *)context + i;
    char of[RIDGE_CASE_NAME];
    ridge_case_name(p->target, p->c, of, sizeof of);
    json_t *kernel = kernel_json(context, i);
    json_t *json = json_pack("{s:s, s:s, s:s, s:s?}", "target", p->target->name, "case", of, "variant",
                             p->variant->name, "way", p->way ? p->way->name : NULL);
    if (json && (!kernel || json_object_update(json, kernel) != 0)) {
        json_decref(json);
        json = NULL;
    }
    json_decref(kernel);
    return json;
}

json_t *ridge_json_profiles(const ridge_profile *profiles, int n) {
    return json_pack("{s:s, s:o}", "schema", "ridge-profile/1", "kernels", ridge_json_array(n, profile_json, profiles));
}
