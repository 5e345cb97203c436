/* The interpreter in the worker. Python is called through its stable interface, by symbols that are looked up: no header of
 * it is needed. The calling thread keeps Python's lock from the first call on. src/peers/ridge_peers/host.py is the other
 * side, and has the same three functions: prepare, bind, why. */
#include "measure/python.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/beside.h"
#include "ridge/cuda.h"

typedef void object; /* a PyObject */

static struct {
    char library[512], program[512], home[512], path[8192], table[512];
    bool tried;
    char broken[200]; /* why it cannot be used */
    object *prepare, *bind, *release, *why, *none;
} host;

static struct {
    void (*initialize)(int signals);
    object *(*import)(const char *name);
    object *(*attribute)(object *of, const char *name);
    object *(*call)(object *function, object *arguments);
    object *(*call_format)(object *function, const char *format, ...);
    long (*as_long)(object *number);
    const char *(*as_text)(object *text);
    object *(*error)(void);
    void (*print_error)(void);
    void (*clear_error)(void);
    void (*drop)(object *o);
} py;

void ridge_python_choose(const ridge_python_host *h) {
    (void)snprintf(host.library, sizeof host.library, "%s", h->library);
    (void)snprintf(host.program, sizeof host.program, "%s", h->program);
    (void)snprintf(host.home, sizeof host.home, "%s", h->home);
    (void)snprintf(host.path, sizeof host.path, "%s", h->path);
    (void)snprintf(host.table, sizeof host.table, "%s", h->table);
}

/* ---- the interpreter --------------------------------------------------------------------------------------------- */

static bool look_up(void *library) {
    const struct {
        const char *name;
        void *slot;
    } symbols[] = {{"Py_InitializeEx", &py.initialize},
                   {"PyImport_ImportModule", &py.import},
                   {"PyObject_GetAttrString", &py.attribute},
                   {"PyObject_CallObject", &py.call},
                   {"PyObject_CallFunction", &py.call_format},
                   {"PyLong_AsLong", &py.as_long},
                   {"PyUnicode_AsUTF8", &py.as_text},
                   {"PyErr_Occurred", &py.error},
                   {"PyErr_Print", &py.print_error},
                   {"PyErr_Clear", &py.clear_error},
                   {"Py_DecRef", &py.drop},
                   {"_Py_NoneStruct", &host.none}};
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *address = dlsym(library, symbols[i].name);
        if (!address) return false;
        memcpy(symbols[i].slot, &address, sizeof address);
    }
    return true;
}

/* What Python is told before it starts: where its library is, and the modules of the user's own interpreter. */
static bool set_environment(void) {
    char folder[600], path[sizeof folder + sizeof host.path];
    if (!ridge_find_beside("peers", folder, sizeof folder)) return false;
    (void)snprintf(path, sizeof path, "%s:%s", folder, host.path);
    return setenv("PYTHONHOME", host.home, 1) == 0 && setenv("PYTHONPATH", path, 1) == 0 &&
           setenv("PYTHONNOUSERSITE", "1", 1) == 0 && setenv("PYTHONDONTWRITEBYTECODE", "1", 1) == 0;
}

static bool take_functions(void) {
    object *module = py.import("ridge_peers.host"), *started;
    if (!module) return false;
    host.prepare = py.attribute(module, "prepare");
    host.bind = py.attribute(module, "bind");
    host.release = py.attribute(module, "release");
    host.why = py.attribute(module, "why");
    object *start = py.attribute(module, "start");
    if (!host.prepare || !host.bind || !host.release || !host.why || !start) return false;
    started = py.call_format(start, "ss", host.program, host.table);
    return started == host.none;
}

/* Symbols of the interpreter are global: extension modules need not name its library. */
static void open_interpreter(void) {
    void *library = dlopen(host.library, RTLD_NOW | RTLD_GLOBAL);
    if (!library || !look_up(library)) {
        (void)snprintf(host.broken, sizeof host.broken, "%.190s", library ? "no Python of a known kind" : dlerror());
        return;
    }
    if (!set_environment()) {
        (void)snprintf(host.broken, sizeof host.broken, "the table of peers is not installed");
        return;
    }
    py.initialize(0);
    if (take_functions()) return;
    if (py.error()) py.print_error();
    (void)snprintf(host.broken, sizeof host.broken, "Python could not load the table of peers");
}

static ridge_status ready(void) {
    if (!host.tried) open_interpreter();
    host.tried = true;
    if (!host.broken[0]) return RIDGE_OK;
    ridge_note_why("%s", host.broken);
    return RIDGE_FAILED;
}

/* What host.py says of the call that failed. */
static ridge_status failed(ridge_status status) {
    py.clear_error();
    object *text = py.call(host.why, NULL);
    const char *why = text ? py.as_text(text) : NULL;
    ridge_note_why("%.190s", why ? why : "Python raised");
    py.clear_error();
    if (text) py.drop(text);
    return status;
}

/* ---- a peer on a case -------------------------------------------------------------------------------------------- */

typedef struct plan {
    long number; /* host.py's */
    object *run; /* of the bound call */
    const DLTensor *in, *out;
    void *stream;
    bool bound;
} plan;

/* Every output is there to be written, also one that is only given to callers by an option. */
static void put_tensors(FILE *to, const ridge_tensor_spec *specs, int n, const ridge_case *c, bool outputs) {
    for (int t = 0; t < n; t++) {
        int64_t shape[RIDGE_MAX_RANK];
        const ridge_tensor_spec *spec = &specs[t];
        const bool given = outputs || !spec->given_option || c->option[spec->given_option - 1] > 0;
        (void)ridge_spec_shape(spec, c, shape);
        fprintf(to, "%s{\"name\": \"%s\", \"dtype\": \"%s\", \"given\": %s, \"shape\": [", t ? ", " : "", spec->name,
                ridge_dtype_name(ridge_spec_dtype(spec, c)), given ? "true" : "false");
        for (int d = 0; d < spec->rank; d++) fprintf(to, "%s%lld", d ? ", " : "", (long long)shape[d]);
        fprintf(to, "]}");
    }
}

/* The case as JSON, for host.prepare. The caller frees it; NULL: memory is out. */
static char *request(const ridge_python_peer *peer, const ridge_case *c, int threads) {
    const ridge_target *target = peer->target;
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (!to) return NULL;
    fprintf(
        to,
        "{\"target\": \"%s\", \"name\": \"%s\", \"dtype\": \"%s\", \"threads\": %d, \"column_major\": %s, \"dim\": {",
        target->name, peer->name, ridge_dtype_name(c->dtype), threads, c->column_major ? "true" : "false");
    for (int d = 0; d < ridge_target_rank(target); d++)
        fprintf(to, "%s\"%s\": %lld", d ? ", " : "", target->dims[d], (long long)c->dim[d]);
    fprintf(to, "}, \"option\": {");
    for (int i = 0; i < RIDGE_MAX_OPTIONS && target->options[i].name; i++)
        fprintf(to, "%s\"%s\": %.17g", i ? ", " : "", target->options[i].name, c->option[i]);
    fprintf(to, "}, \"in\": [");
    put_tensors(to, target->in, target->n_in, c, false);
    fprintf(to, "], \"out\": [");
    put_tensors(to, target->out, target->n_out, c, true);
    fprintf(to, "]}");
    const bool whole = fclose(to) == 0;
    if (!whole) free(text);
    return whole ? text : NULL;
}

static const ridge_python_peer *next;

/* A variant's name is its peer's. */
void ridge_python_next(const ridge_variant *variant) {
    if (!ridge_python_is(variant)) return;
    next = (const ridge_python_peer *)(const void *)(variant->name - offsetof(ridge_python_peer, name));
}

/* host.prepare returns the plan's number, -1: it does not take the case, -2: it raised. */
static ridge_status prepare(const ridge_case *c, int threads, void **made) {
    const ridge_python_peer *peer = next;
    if (strncmp(peer->name, "cuda/", 5) == 0 && ridge_cuda_emulated()) {
        ridge_note_why("peers in Python need a GPU, and this one is emulated");
        return RIDGE_UNSUPPORTED;
    }
    RIDGE_TRY(ready());
    char *text = request(peer, c, threads);
    plan *p = calloc(1, sizeof *p);
    object *answer = text && p ? py.call_format(host.prepare, "s", text) : NULL;
    const bool room = text && p;
    free(text);
    const long number = answer ? py.as_long(answer) : -2;
    if (answer) py.drop(answer);
    if (number >= 0 && p) {
        p->number = number;
        *made = p;
        return RIDGE_OK;
    }
    free(p);
    if (!room) return RIDGE_NO_MEMORY;
    return failed(number == -1 ? RIDGE_UNSUPPORTED : RIDGE_FAILED);
}

static void release(void *made) {
    plan *p = made;
    if (!p) return;
    if (p->run) py.drop(p->run);
    object *done = py.call_format(host.release, "l", p->number);
    if (done) py.drop(done);
    py.clear_error();
    free(p);
}

/* host.bind returns a function without arguments, or None after an error. */
ridge_status ridge_python_bind(const ridge_call *call) {
    plan *p = call->plan;
    if (p->run) py.drop(p->run);
    p->bound = false;
    p->run = py.call_format(host.bind, "lKKK", p->number, (unsigned long long)(uintptr_t)call->in,
                            (unsigned long long)(uintptr_t)call->out, (unsigned long long)(uintptr_t)call->stream);
    if (!p->run || p->run == host.none) {
        if (p->run) py.drop(p->run);
        p->run = NULL;
        return failed(RIDGE_FAILED);
    }
    p->in = call->in, p->out = call->out, p->stream = call->stream;
    p->bound = true;
    return RIDGE_OK;
}

/* A binding is for one run: the same arrays may have other addresses at the next one. The function returns None, or what it
 * raised. */
static ridge_status run(const ridge_call *call) {
    plan *p = call->plan;
    if (!p->bound || p->in != call->in || p->out != call->out || p->stream != call->stream)
        RIDGE_TRY(ridge_python_bind(call));
    p->bound = false;
    object *result = py.call(p->run, NULL);
    if (result == host.none) {
        py.drop(result);
        return RIDGE_OK;
    }
    const char *why = result ? py.as_text(result) : NULL;
    ridge_note_why("%.190s", why ? why : "Python raised");
    py.clear_error();
    if (result) py.drop(result);
    return RIDGE_FAILED;
}

/* ---- variants ---------------------------------------------------------------------------------------------------- */

/* unavailable() of a variant is told the case alone, so that each reason needs a function. There are few: a library that is not
 * installed is not for all of its peers. */
#define REASONS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
enum { MOST_REASONS = 8 };
static char reasons[MOST_REASONS][sizeof((ridge_python_peer *)0)->absent];
#define REASON_FUNCTION(i)                               \
    static const char *absent_##i(const ridge_case *c) { \
        (void)c;                                         \
        return reasons[i];                               \
    }
REASONS(REASON_FUNCTION)
#undef REASON_FUNCTION

typedef const char *(*unavailable_fn)(const ridge_case *c);

/* The last one stands for all that found no room. */
static unavailable_fn absent_for(const char *reason) {
    static const unavailable_fn functions[MOST_REASONS] = {
#define REASON_NAME(i) absent_##i,
        REASONS(REASON_NAME)
#undef REASON_NAME
    };
    int i = 0;
    if (!reason[0]) return NULL;
    while (i < MOST_REASONS - 1 && reasons[i][0] && strcmp(reasons[i], reason) != 0) i++;
    (void)snprintf(reasons[i], sizeof reasons[i], "%s", i < MOST_REASONS - 1 ? reason : "it is not here");
    return functions[i];
}

ridge_variant ridge_python_variant(const ridge_python_peer *peer) {
    return (ridge_variant){.name = peer->name,
                           .role = RIDGE_PEER,
                           .idea = peer->idea,
                           .run = RIDGE_ANY_ISA(run),
                           .unavailable = absent_for(peer->absent),
                           .prepare = prepare,
                           .release = release,
                           .no_graph = !peer->graph,
                           .own_threads = true};
}

bool ridge_python_is(const ridge_variant *variant) { return variant && variant->prepare == prepare; }
