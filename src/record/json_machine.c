/* JSON of the machine, its ceilings, and the targets of `ridge list`. */
#include <stdio.h>

#include "core/option.h"
#include "machine/ceilings/datasheet.h"
#include "record/json.h"
#include "record/record.h"

/* ---- machine ---------------------------------------------------------------------------------------------------- */

static json_t *cpu_item(const void *context, int i) { return json_integer(((const ridge_machine *)context)->cpus[i]); }
static json_t *cache_item(const void *context, int i) {
    return json_integer(((const ridge_machine *)context)->cache_bytes[i]);
}

static json_t *gpu_json(const ridge_gpu *g) {
    if (g->sm == 0) return json_null();
    return json_pack("{s:o, s:o, s:i, s:i, s:I, s:I, s:i, s:i, s:i, s:i, s:i, s:o, s:i, s:i, s:b}", "name",
                     ridge_json_text(g->name), "bus", ridge_json_text(g->bus), "sm", g->sm, "multiprocessors",
                     g->sm_count, "memory_bytes", (json_int_t)g->memory_bytes, "l2_bytes", (json_int_t)g->l2_bytes,
                     "shared_bytes", g->shared_bytes, "registers", g->registers, "sm_clock_mhz", g->sm_clock_mhz,
                     "memory_clock_mhz", g->memory_clock_mhz, "memory_bus_bits", g->memory_bus_bits, "driver_version",
                     g->driver_version[0] ? ridge_json_text(g->driver_version) : json_null(), "driver", g->driver,
                     "runtime", g->runtime, "managed", g->managed);
}

json_t *ridge_json_machine(const ridge_machine *m) {
    int cpus = m->threads < RIDGE_MAX_CPUS ? m->threads : RIDGE_MAX_CPUS;
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:i, s:o, s:I, s:o, s:s, s:o, s:o, s:o}", "key",
                     ridge_json_text(m->key), "cpu", ridge_json_text(m->cpu), "arch", ridge_json_text(m->arch),
                     "kernel", ridge_json_text(m->kernel), "hypervisor", ridge_json_text(m->hypervisor), "governor",
                     ridge_json_text(m->governor), "compiler", ridge_json_text(m->compiler), "cores", m->cores,
                     "threads", m->threads, "cpus", ridge_json_array(cpus, cpu_item, m), "memory_bytes",
                     (json_int_t)m->memory_bytes, "reported_cache_bytes", ridge_json_array(4, cache_item, m), "isa",
                     ridge_isa_name(m->isa), "features", ridge_json_text(m->features), "gpu", gpu_json(&m->gpu),
                     "no_gpu", m->gpu.sm ? json_null() : ridge_json_text(m->no_gpu));
}

/* ---- ceilings --------------------------------------------------------------------------------------------------- */

static json_t *level_item(const void *context, int i) {
    const ridge_level *level = &((const ridge_level *)context)[i];
    json_t *how = level->how[0] ? ridge_json_text(level->how) : json_null();
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name", ridge_json_text(level->name), "how", how,
                     "capacity_bytes", ridge_json_number(level->capacity), "read_gbps",
                     ridge_json_interval(level->read), "copy_gbps", ridge_json_interval(level->copy), "stream_gbps",
                     ridge_json_interval(level->stream), "write_gbps", ridge_json_interval(level->write));
}

static json_t *peak_item(const void *context, int i) {
    const ridge_peak *peak = &((const ridge_peak *)context)[i];
    return json_pack("{s:o, s:o, s:o, s:o}", "name", ridge_json_text(peak->name), "dtype", ridge_json_text(peak->dtype),
                     "gflops", ridge_json_interval(peak->gflops), "how", ridge_json_text(peak->how));
}

static json_t *rung_item(const void *context, int i) {
    const ridge_rung *rung = &((const ridge_rung *)context)[i];
    return json_pack("[o, o, o]", ridge_json_number(rung->bytes), ridge_json_number(rung->read_gbps),
                     ridge_json_number(rung->copy_gbps));
}

json_t *ridge_json_ceilings(const ridge_ceilings *c) {
    return json_pack(
        "{s:o, s:o, s:i, s:o, s:o, s:[s, s, s], s:o, s:o}", "key", ridge_json_text(c->key), "date",
        ridge_json_text(c->date), "threads", c->threads, "levels", ridge_json_array(c->n_levels, level_item, c->levels),
        "peaks", ridge_json_array(c->n_peaks, peak_item, c->peaks), "rung_fields", "bytes", "read_gbps", "copy_gbps",
        "rungs", ridge_json_array(c->n_rungs, rung_item, c->rungs), "faults", ridge_json_text(c->faults));
}

static json_t *stated(double giga) { return giga > 0 ? ridge_json_number(giga) : json_null(); }

static json_t *datasheet_json(const ridge_datasheet *d) {
    if (!d) return json_null();
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "source", d->source, "dram_gbps", stated(d->dram_gbps),
                     "fp32_gflops", stated(1e3 * d->fp32), "tf32_gflops", stated(1e3 * d->tf32), "fp16_gflops",
                     stated(1e3 * d->fp16), "bf16_gflops", stated(1e3 * d->bf16), "fp8_gflops", stated(1e3 * d->fp8),
                     "int8_gflops", stated(1e3 * d->int8));
}

json_t *ridge_json_gpu_ceilings(const ridge_gpu *gpu, const ridge_ceilings *c) {
    json_t *json = ridge_json_ceilings(c);
    if (json && (json_object_set_new(json, "gpu", ridge_json_text(gpu->name)) != 0 ||
                 json_object_set_new(json, "datasheet", datasheet_json(ridge_datasheet_find(gpu->name))) != 0)) {
        json_decref(json);
        return NULL;
    }
    return json;
}

/* ---- targets ---------------------------------------------------------------------------------------------------- */

typedef struct listing {
    const ridge_target *target;
    ridge_abilities here;
    const ridge_tensor_spec *specs;
    const void *item;
} listing;

static json_t *dim_item(const void *context, int i) {
    return ridge_json_text(((const ridge_target *)context)->dims[i]);
}

static json_t *spec_dim_item(const void *context, int i) {
    const listing *list = context;
    const ridge_tensor_spec *spec = list->item;
    return ridge_json_text(list->target->dims[spec->dim[i]]);
}

static json_t *spec_item(const void *context, int i) {
    const listing *list = context;
    const ridge_tensor_spec *spec = &list->specs[i];
    listing inner = {.target = list->target, .item = spec};
    const char *dtype = spec->dtype == RIDGE_DTYPE_NONE ? "case" : ridge_dtype_name(spec->dtype);
    return json_pack("{s:o, s:o, s:s, s:b, s:b}", "name", ridge_json_text(spec->name), "dims",
                     ridge_json_array(spec->rank, spec_dim_item, &inner), "dtype", dtype, "by_row", spec->by_row,
                     "takes_column_major", spec->takes_column_major);
}

static json_t *word_item(const void *context, int i) {
    return ridge_json_text(((const ridge_option *)context)->words[i]);
}

/* The default by its word where values have words; `values` lists them. */
static json_t *option_item(const void *context, int i) {
    const ridge_option *option = &((const ridge_target *)context)->options[i];
    const char *word = ridge_option_word_of(option, option->fallback);
    return json_pack("{s:o, s:o, s:o}", "option", ridge_json_text(option->name), "default",
                     word ? ridge_json_text(word) : ridge_json_number(option->fallback), "values",
                     ridge_json_array(ridge_option_words(option), word_item, option));
}

static int option_count(const ridge_target *target) {
    int n = 0;
    while (n < RIDGE_MAX_OPTIONS && target->options[n].name) n++;
    return n;
}

static json_t *case_item(const void *context, int i) {
    const ridge_target *target = context;
    const ridge_case *c = &target->cases[i];
    char name[RIDGE_CASE_NAME];
    ridge_case_name(target, c, name, sizeof name);
    return json_pack("{s:o, s:s, s:o, s:b}", "case", ridge_json_text(name), "dtype", ridge_dtype_name(c->dtype),
                     "shape", ridge_json_shape(target, c), "edge", c->edge);
}

/* One entry per case: null if the variant can run, else the reason why not. */
static json_t *reason_item(const void *context, int i) {
    const listing *list = context;
    return ridge_json_text(
        ridge_variant_dense_obstacle(list->target, list->item, &list->target->cases[i], &list->here));
}

static json_t *way_item(const void *context, int i) {
    const ridge_way *way = &((const ridge_variant *)((const listing *)context)->item)->ways[i];
    return json_pack("{s:o, s:o, s:i}", "way", ridge_json_text(way->name), "idea", ridge_json_text(way->idea), "needs",
                     way->needs);
}

static json_t *variant_item(const void *context, int i) {
    const listing *list = context;
    const ridge_variant *variant = &list->target->variants[i];
    listing inner = {.target = list->target, .here = list->here, .item = variant};
    const char *backend = ridge_backend_name(ridge_variant_backend(variant));
    bool runs = false;
    for (int c = 0; c < list->target->n_cases; c++)
        runs = runs || !ridge_variant_dense_obstacle(list->target, variant, &list->target->cases[c], &list->here);
    return json_pack("{s:o, s:s, s:s, s:o, s:b, s:o, s:o}", "variant", ridge_json_text(variant->name), "backend",
                     backend, "role", ridge_role_name(variant->role), "idea", ridge_json_text(variant->idea),
                     "available", runs, "unavailable_by_case",
                     ridge_json_array(list->target->n_cases, reason_item, &inner), "ways",
                     ridge_json_array(variant->n_ways, way_item, &inner));
}

json_t *ridge_json_target(const ridge_target *target, const ridge_machine *machine) {
    listing list = {.target = target, .here = ridge_machine_abilities(machine, machine->isa), .specs = target->in};
    listing outputs = {.target = target, .here = list.here, .specs = target->out};
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "target", ridge_json_text(target->name),
                     "chapter", ridge_json_text(target->chapter), "summary", ridge_json_text(target->summary), "dims",
                     ridge_json_array(ridge_target_rank(target), dim_item, target), "inputs",
                     ridge_json_array(target->n_in, spec_item, &list), "outputs",
                     ridge_json_array(target->n_out, spec_item, &outputs), "options",
                     ridge_json_array(option_count(target), option_item, target), "cases",
                     ridge_json_array(target->n_cases, case_item, target), "variants",
                     ridge_json_array(target->n_variants, variant_item, &list));
}
