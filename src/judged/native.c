/* A shared object's function, called in the judged process. */
#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "judged/judged.h"

static void wake(void *arg, int rank, int size) { (void)arg, (void)rank, (void)size; }

/* Libraries that come later may ask for memory from several threads: one arena needs no mprotect to grow. */
int ridge_native_start(ridge_judged *j) {
    ridge_channel *c = j->channel;
    (void)mallopt(M_ARENA_MAX, 1);
    if (ridge_team_create(c->threads, c->pinned ? c->cpus : NULL, &j->team, NULL) != RIDGE_OK)
        return ridge_judged_say(j, "its threads did not start");
    ridge_team_run(j->team, wake, NULL); /* threads that are not there yet could not start any more */
    return 0;
}

static const char by_arguments[] = "solve";

int ridge_native_load(ridge_judged *j) {
    const ridge_channel *c = j->channel;
    char text[RIDGE_CHANNEL_TEXT];
    void *library = dlopen(c->path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        (void)snprintf(text, sizeof text, RIDGE_CHANNEL_UNOPENED "%s", dlerror());
        return ridge_judged_say(j, text);
    }
    j->symbol = dlsym(library, c->symbol);
    j->plain = c->plain || strcmp(c->symbol, by_arguments) == 0;
    if (!j->symbol && strcmp(c->symbol, "ridge_kernel") == 0) {
        j->symbol = dlsym(library, by_arguments);
        j->plain = true;
    }
    if (j->symbol) return 0;
    (void)snprintf(text, sizeof text, RIDGE_CHANNEL_UNOPENED "it exports no '%.60s': name the function, FILE:SYMBOL",
                   c->symbol);
    return ridge_judged_say(j, text);
}

/* ---- arguments --------------------------------------------------------------------------------------------------- */

static ffi_type *argument_of(const ridge_judged *j, const ridge_channel_argument *from, ridge_judged_number *to) {
    switch (from->type) {
        case RIDGE_KERNEL_I32: return to->i32 = (int32_t)from->integer, &ffi_type_sint32;
        case RIDGE_KERNEL_I64: return to->i64 = from->integer, &ffi_type_sint64;
        case RIDGE_KERNEL_F32: return to->f32 = (float)from->real, &ffi_type_float;
        case RIDGE_KERNEL_F64: return to->f64 = from->real, &ffi_type_double;
        default: return to->address = j->argument[from->tensor].data, &ffi_type_pointer;
    }
}

static int prepare_arguments(ridge_judged *j) {
    const ridge_channel *c = j->channel;
    for (int i = 0; i < c->n_arguments; i++) {
        j->type[i] = argument_of(j, &c->argument[i], &j->number[i]);
        j->value[i] = &j->number[i];
    }
    if (ffi_prep_cif(&j->call, FFI_DEFAULT_ABI, (unsigned)c->n_arguments, &ffi_type_void, j->type) == FFI_OK) return 0;
    return ridge_judged_say(j, "its arguments cannot be passed");
}

/* The last command before the clock wakes its threads, as those of the others are awake. */
int ridge_native_ready(ridge_judged *j) {
    ridge_team_run(j->team, wake, NULL);
    return prepare_arguments(j);
}

int ridge_native_empty(ridge_judged *j) {
    ridge_team_run(j->team, wake, NULL);
    return 0;
}

int ridge_native_done(ridge_judged *j) {
    (void)j;
    return 0;
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

static ridge_team *team_of_all; /* `parallel` gets no context but the call */

static void parallel(const ridge_kernel_call *call, ridge_kernel_body body, void *arg) {
    (void)call;
    ridge_team_run(team_of_all, body, arg);
}

/* What it returns may be a register that a void function has left as it was: it counts for nothing. */
static int run_plain(ridge_judged *j) {
    void (*function)(void);
    memcpy(&function, &j->symbol, sizeof function);
    ffi_call(&j->call, function, NULL, j->value);
    return RIDGE_KERNEL_DONE;
}

int ridge_native_run(ridge_judged *j) {
    const ridge_channel *c = j->channel;
    ridge_kernel_fn kernel;
    if (!j->symbol) return ridge_judged_say(j, "no kernel was loaded");
    if (j->plain) return run_plain(j);
    memcpy(&kernel, &j->symbol, sizeof kernel);
    int64_t dim[RIDGE_KERNEL_MAX_RANK];
    double option[RIDGE_KERNEL_MAX_RANK];
    memcpy(dim, c->dim, sizeof dim);
    memcpy(option, c->option, sizeof option);
    team_of_all = j->team;
    const ridge_kernel_call call = {.version = RIDGE_KERNEL_VERSION,
                                    .size = sizeof call,
                                    .n_dims = c->n_dims,
                                    .n_options = c->n_options,
                                    .n_in = c->n_in,
                                    .n_out = c->n_out,
                                    .dim = dim,
                                    .option = option,
                                    .in = j->argument,
                                    .out = j->argument + c->n_in,
                                    .threads = c->threads,
                                    .parallel = parallel,
                                    .stream = j->stream};
    return kernel(&call);
}
