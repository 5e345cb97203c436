/* A run as a Chrome trace (chrome://tracing, Perfetto): a process for each case, a thread for each variant, an event for each
 * timed launch, in the order of launches. A record has durations and no times of day, so events stand end to end: what lies
 * between launches (filling, checks, untimed launches) is left out. */
#include <stdlib.h>

#include "record/json.h"
#include "report/report.h"

typedef struct launch {
    const ridge_sample *sample;
    int slot; /* its variant's, within the case */
} launch;

/* A round visits variants forward, then backward. */
static int by_time(const void *a, const void *b) {
    const launch *x = a, *y = b;
    if (x->sample->round != y->sample->round) return x->sample->round < y->sample->round ? -1 : 1;
    if (x->sample->visit != y->sample->visit) return x->sample->visit < y->sample->visit ? -1 : 1;
    return x->sample->visit == 0 ? x->slot - y->slot : y->slot - x->slot;
}

static bool put(json_t *events, json_t *event) { return json_array_append_new(events, event) == 0; }

static bool put_name(json_t *events, const char *what, int process, int thread, json_t *name) {
    return put(events, json_pack("{ss, ss, si, si, s{so}}", "ph", "M", "name", what, "pid", process, "tid", thread,
                                 "args", "name", name));
}

static bool put_names(json_t *events, const ridge_result *results, int n, int process) {
    char name[RIDGE_CASE_NAME];
    ridge_case_name(results->target, &results->c, name, sizeof name);
    if (!put_name(events, "process_name", process, 0, json_sprintf("%s %s", results->target->name, name))) return false;
    for (int slot = 0; slot < n; slot++)
        if (!put_name(events, "thread_name", process, slot, ridge_json_text(results[slot].variant->name))) return false;
    return true;
}

static bool put_launch(json_t *events, const ridge_result *results, const launch *l, int process, double begin) {
    const ridge_sample *s = l->sample;
    json_t *args = json_pack("{si, si, so}", "round", s->round, "visit", s->visit, "seed", ridge_json_seed(s->seed));
    if (!put(events, json_pack("{ss, ss, si, si, sf, sf, so}", "ph", "X", "name", results[l->slot].variant->name, "pid",
                               process, "tid", l->slot, "ts", begin, "dur", s->time_us, "args", args)))
        return false;
    return !(s->gpu.sm_mhz > 0) ||
           put(events, json_pack("{ss, ss, si, sf, s{sf}}", "ph", "C", "name", "SM clock", "pid", process, "ts", begin,
                                 "args", "MHz", (double)s->gpu.sm_mhz));
}

/* The launches of one case's results behind what `*clock` says, in microseconds, which moves to their end. */
static bool put_case(json_t *events, const ridge_result *results, int n, int process, double *clock) {
    size_t launches = 0;
    for (int i = 0; i < n; i++) launches += (size_t)results[i].n_samples;
    launch *list = calloc(launches + 1, sizeof *list);
    if (!list) return false;
    size_t at = 0;
    for (int slot = 0; slot < n; slot++)
        for (int s = 0; s < results[slot].n_samples; s++) list[at++] = (launch){&results[slot].samples[s], slot};
    qsort(list, launches, sizeof *list, by_time);
    bool done = put_names(events, results, n, process);
    for (size_t l = 0; done && l < launches; l++) {
        done = put_launch(events, results, &list[l], process, *clock);
        *clock += list[l].sample->time_us;
    }
    free(list);
    return done;
}

static json_t *trace_of(const ridge_run *run) {
    json_t *events = json_array();
    double clock = 0;
    bool done = events != NULL;
    for (int begin = 0, end; done && begin < run->n_results; begin = end) {
        const ridge_result *first = &run->results[begin];
        for (end = begin + 1; end < run->n_results && first->measured >= 0; end++)
            if (run->results[end].measured != first->measured) break;
        if (first->measured >= 0) done = put_case(events, first, end - begin, begin + 1, &clock);
    }
    if (done) return json_pack("{ss, so}", "displayTimeUnit", "ns", "traceEvents", events);
    json_decref(events);
    return NULL;
}

ridge_status ridge_report_trace(const ridge_run *run, const char *path, ridge_error *error) {
    json_t *trace = trace_of(run);
    const ridge_status status =
        trace ? ridge_write_json(path, trace, error) : ridge_fail(error, RIDGE_NO_MEMORY, "no memory for a trace");
    json_decref(trace);
    return status;
}
