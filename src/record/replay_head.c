/* What stands at the head of a saved run: settings, machine, ceilings, probes, findings, plan. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/names.h"
#include "record/replay_parts.h"
#include "record/saved.h"

int ridge_read_int(const json_t *object, const char *key) {
    const json_int_t value = json_integer_value(json_object_get(object, key));
    return value >= -2147483647 && value <= 2147483647 ? (int)value : 0;
}

uint64_t ridge_read_seed(const json_t *object, const char *key) {
    return strtoull(ridge_saved_text(object, key), NULL, 10);
}

ridge_interval ridge_read_interval(const json_t *object, const char *key) {
    const json_t *interval = json_object_get(object, key);
    return (ridge_interval){ridge_saved_number(interval, "median"), ridge_saved_number(interval, "ci_low"),
                            ridge_saved_number(interval, "ci_high"), ridge_read_int(interval, "n")};
}

void ridge_read_text(const json_t *object, const char *key, char *text, size_t size) {
    (void)snprintf(text, size, "%s", ridge_saved_text(object, key));
}

ridge_backend ridge_read_backend(const json_t *item) {
    return strcmp(ridge_saved_text(item, "backend"), "cuda") == 0 ? RIDGE_BACKEND_cuda : RIDGE_BACKEND_cpu;
}

static double zero_if_missing(double value) { return isnan(value) ? 0 : value; }

/* The x whose hundredfold is the value, exactly. */
static double hundredth(double value) {
    const double x = value / 100, near[] = {x, nextafter(x, -HUGE_VAL), nextafter(x, HUGE_VAL)};
    for (size_t i = 0; i < sizeof near / sizeof near[0]; i++) {
        const double back = 100 * near[i];
        if (back <= value && back >= value) return near[i];
    }
    return x;
}

/* ---- settings ---------------------------------------------------------------------------------------------------- */

static ridge_status read_command(ridge_replay *replay, ridge_error *error) {
    const json_t *command = json_object_get(replay->file, "command");
    const size_t n = json_array_size(command);
    replay->argv = calloc(n + 1, sizeof *replay->argv);
    if (!replay->argv) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for a command line");
    for (size_t i = 0; i < n; i++) {
        const char *word = json_string_value(json_array_get(command, i));
        replay->argv[i] = (char *)(uintptr_t)(word ? word : "");
    }
    replay->run.settings.argc = (int)n;
    replay->run.settings.argv = replay->argv;
    return RIDGE_OK;
}

static void read_settings(ridge_replay *replay) {
    const json_t *s = json_object_get(replay->file, "settings");
    replay->run.settings = (ridge_settings){.threads = ridge_read_int(s, "threads"),
                                            .hot = strcmp(ridge_saved_text(s, "mode"), "hot") == 0,
                                            .seed = ridge_read_seed(s, "seed"),
                                            .max_time = ridge_saved_number(s, "max_time_s"),
                                            .noise = hundredth(ridge_saved_number(s, "noise_pct")),
                                            .within = zero_if_missing(ridge_saved_number(s, "within_s")),
                                            .iterations = ridge_read_int(s, "iterations"),
                                            .repeat = ridge_read_int(s, "repeat"),
                                            .warmup = ridge_read_int(s, "warmup"),
                                            .prepare = json_string_value(json_object_get(s, "prepare")),
                                            .cleanup = json_string_value(json_object_get(s, "cleanup")),
                                            .peers = json_string_value(json_object_get(s, "peers")),
                                            .user_inputs = json_is_true(json_object_get(s, "user_inputs"))};
}

/* ---- machine ----------------------------------------------------------------------------------------------------- */

static void read_gpu(const json_t *json, ridge_gpu *g) {
    ridge_read_text(json, "name", g->name, sizeof g->name);
    ridge_read_text(json, "bus", g->bus, sizeof g->bus);
    ridge_read_text(json, "driver_version", g->driver_version, sizeof g->driver_version);
    g->sm = ridge_read_int(json, "sm");
    g->sm_count = ridge_read_int(json, "multiprocessors");
    g->memory_bytes = json_integer_value(json_object_get(json, "memory_bytes"));
    g->l2_bytes = json_integer_value(json_object_get(json, "l2_bytes"));
    g->shared_bytes = ridge_read_int(json, "shared_bytes");
    g->registers = ridge_read_int(json, "registers");
    g->sm_clock_mhz = ridge_read_int(json, "sm_clock_mhz");
    g->memory_clock_mhz = ridge_read_int(json, "memory_clock_mhz");
    g->memory_bus_bits = ridge_read_int(json, "memory_bus_bits");
    g->driver = ridge_read_int(json, "driver");
    g->runtime = ridge_read_int(json, "runtime");
    g->managed = json_is_true(json_object_get(json, "managed"));
}

static void read_machine(const json_t *json, ridge_machine *m) {
    const json_t *cpus = json_object_get(json, "cpus"), *caches = json_object_get(json, "reported_cache_bytes");
    ridge_read_text(json, "key", m->key, sizeof m->key);
    ridge_read_text(json, "cpu", m->cpu, sizeof m->cpu);
    ridge_read_text(json, "arch", m->arch, sizeof m->arch);
    ridge_read_text(json, "kernel", m->kernel, sizeof m->kernel);
    ridge_read_text(json, "hypervisor", m->hypervisor, sizeof m->hypervisor);
    ridge_read_text(json, "governor", m->governor, sizeof m->governor);
    ridge_read_text(json, "compiler", m->compiler, sizeof m->compiler);
    ridge_read_text(json, "features", m->features, sizeof m->features);
    ridge_read_text(json, "no_gpu", m->no_gpu, sizeof m->no_gpu);
    m->cores = ridge_read_int(json, "cores");
    m->threads = ridge_read_int(json, "threads");
    m->memory_bytes = json_integer_value(json_object_get(json, "memory_bytes"));
    m->isa = ridge_isa_named(ridge_saved_text(json, "isa"));
    for (size_t i = 0; i < json_array_size(cpus) && i < RIDGE_MAX_CPUS; i++)
        m->cpus[i] = (int)json_integer_value(json_array_get(cpus, i));
    for (size_t i = 0; i < 4; i++) m->cache_bytes[i] = json_integer_value(json_array_get(caches, i));
    read_gpu(json_object_get(json, "gpu"), &m->gpu);
}

/* ---- ceilings ---------------------------------------------------------------------------------------------------- */

static void read_level(const json_t *json, ridge_level *level) {
    ridge_read_text(json, "name", level->name, sizeof level->name);
    ridge_read_text(json, "how", level->how, sizeof level->how);
    level->capacity = ridge_saved_number(json, "capacity_bytes");
    level->read = ridge_read_interval(json, "read_gbps");
    level->copy = ridge_read_interval(json, "copy_gbps");
    level->stream = ridge_read_interval(json, "stream_gbps");
    level->write = ridge_read_interval(json, "write_gbps");
}

static void read_peak(const json_t *json, ridge_peak *peak) {
    ridge_read_text(json, "name", peak->name, sizeof peak->name);
    ridge_read_text(json, "dtype", peak->dtype, sizeof peak->dtype);
    ridge_read_text(json, "how", peak->how, sizeof peak->how);
    peak->gflops = ridge_read_interval(json, "gflops");
}

static void read_ceilings(const json_t *json, ridge_ceilings *c) {
    const json_t *levels = json_object_get(json, "levels"), *peaks = json_object_get(json, "peaks"),
                 *rungs = json_object_get(json, "rungs");
    ridge_read_text(json, "key", c->key, sizeof c->key);
    ridge_read_text(json, "date", c->date, sizeof c->date);
    ridge_read_text(json, "faults", c->faults, sizeof c->faults);
    c->threads = ridge_read_int(json, "threads");
    for (size_t i = 0; i < json_array_size(levels) && c->n_levels < RIDGE_MAX_LEVELS; i++)
        read_level(json_array_get(levels, i), &c->levels[c->n_levels++]);
    for (size_t i = 0; i < json_array_size(peaks) && c->n_peaks < RIDGE_MAX_PEAKS; i++)
        read_peak(json_array_get(peaks, i), &c->peaks[c->n_peaks++]);
    for (size_t i = 0; i < json_array_size(rungs) && c->n_rungs < RIDGE_MAX_RUNGS; i++) {
        const json_t *rung = json_array_get(rungs, i);
        c->rungs[c->n_rungs++] =
            (ridge_rung){json_number_value(json_array_get(rung, 0)), json_number_value(json_array_get(rung, 1)),
                         json_number_value(json_array_get(rung, 2))};
    }
}

static void read_probe(const json_t *json, ridge_level *dram, ridge_peak *fp32) {
    dram->read = ridge_read_interval(json, "dram_read_gbps");
    dram->copy = ridge_read_interval(json, "dram_copy_gbps");
    dram->stream = ridge_read_interval(json, "dram_stream_gbps");
    dram->write = ridge_read_interval(json, "dram_write_gbps");
    fp32->gflops = ridge_read_interval(json, "fp32_gflops");
}

/* ---- findings and plan ------------------------------------------------------------------------------------------- */

static ridge_health health_of(const char *name) {
    for (int h = RIDGE_HEALTH_GOOD; h <= RIDGE_HEALTH_BAD; h++)
        if (strcmp(name, ridge_health_name((ridge_health)h)) == 0) return (ridge_health)h;
    return RIDGE_HEALTH_GOOD;
}

/* Those of the machine. Variants that are slower than their baselines are found again. */
static void read_findings(ridge_replay *replay) {
    size_t i;
    const json_t *json;
    json_array_foreach(json_object_get(replay->file, "findings"), i, json) {
        ridge_finding finding = {.what = ridge_saved_text(json, "what"),
                                 .health = health_of(ridge_saved_text(json, "health"))};
        if (strcmp(finding.what, "slower") == 0) continue;
        ridge_read_text(json, "found", finding.found, sizeof finding.found);
        ridge_read_text(json, "advice", finding.advice, sizeof finding.advice);
        ridge_run_add_finding(&replay->run, &finding);
    }
}

/* Of the rounds that a case needs at least, only their time is kept: one round of that time says the same. */
static ridge_status read_planned(const json_t *json, ridge_planned *p, ridge_error *error) {
    const json_t *forecast = json_object_get(json, "forecast"), *most = json_object_get(json, "max_time_s");
    RIDGE_TRY(ridge_replay_case(json, &p->target, &p->c, error));
    p->backend = ridge_read_backend(json);
    p->measurement = ridge_read_int(json, "measurement") - 1;
    p->forecast.checks_s = ridge_saved_number(forecast, "checks_s");
    p->forecast.round_s = ridge_saved_number(forecast, "least_rounds_s");
    p->least_rounds = 1;
    p->state = json_is_number(most) ? RIDGE_PLAN_STARTED : RIDGE_PLAN_PASSED_OVER;
    p->max_time = zero_if_missing(ridge_saved_number(json, "max_time_s"));
    p->taken_s = zero_if_missing(ridge_saved_number(json, "taken_s"));
    p->rounds_s = zero_if_missing(ridge_saved_number(json, "rounds_s"));
    return RIDGE_OK;
}

static ridge_status read_plan(ridge_replay *replay, ridge_error *error) {
    size_t i;
    const json_t *json, *plan = json_object_get(replay->file, "plan");
    ridge_budget *budget = &replay->run.budget;
    budget->within_s = replay->run.settings.within;
    budget->cases = calloc(json_array_size(plan) + 1, sizeof *budget->cases);
    if (!budget->cases) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for a plan");
    json_array_foreach(plan, i, json) RIDGE_TRY(read_planned(json, &budget->cases[budget->n++], error));
    return RIDGE_OK;
}

ridge_status ridge_replay_head(ridge_replay *replay, ridge_error *error) {
    const json_t *file = replay->file, *probes = json_object_get(file, "probes"),
                 *rates = json_object_get(file, "rates");
    ridge_run *run = &replay->run;
    read_settings(replay);
    read_machine(json_object_get(file, "machine"), &run->machine);
    read_ceilings(json_object_get(file, "ceilings"), &run->ceilings);
    run->has_gpu = json_is_object(json_object_get(file, "gpu_ceilings"));
    read_ceilings(json_object_get(file, "gpu_ceilings"), &run->gpu_ceilings);
    read_probe(json_object_get(probes, "before"), &run->dram_before, &run->fp32_before);
    read_probe(json_object_get(probes, "after"), &run->dram_after, &run->fp32_after);
    ridge_read_text(file, "date", run->date, sizeof run->date);
    run->rates = (ridge_rates){ridge_saved_number(rates, "flops"), ridge_saved_number(rates, "bytes")};
    run->wall_s = ridge_saved_number(file, "wall_s");
    run->interrupted = json_is_true(json_object_get(file, "interrupted"));
    read_findings(replay);
    RIDGE_TRY(read_command(replay, error));
    return read_plan(replay, error);
}
