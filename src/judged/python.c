/* libridge-judged-python: what ridge-judged.py, in a Python process, calls through ctypes. The process is served here; Python
 * is called back to load a function, to make arrays of the operands, and to run. */
#include <malloc.h>

#include "judged/judged.h"

typedef struct ridge_python_calls {
    int (*start)(int threads);
    int (*load)(const char *path, const char *symbol);
    int (*ready)(const ridge_kernel_tensor *tensor, const ridge_channel *channel);
    int (*run)(void);
} ridge_python_calls;

static const ridge_python_calls *python;
static ridge_judged *judged;

/* Its threads are those of its libraries, which the script starts. */
static int start(ridge_judged *j) {
    judged = j;
    (void)mallopt(M_ARENA_MAX, 1);
    return python->start(j->channel->threads);
}

static int load(ridge_judged *j) { return python->load(j->channel->path, j->channel->symbol); }
static int ready(ridge_judged *j) { return python->ready(j->argument, j->channel); }
static int run(ridge_judged *j) {
    (void)j;
    return python->run();
}
static int nothing(ridge_judged *j) {
    (void)j;
    return 0;
}

RIDGE_API int ridge_python_say(const char *text);
RIDGE_API int ridge_python_serve(const ridge_python_calls *calls);
RIDGE_API int ridge_python_counts(const ridge_channel *channel, int which);
RIDGE_API const void *ridge_python_list(const ridge_channel *channel, int which);

int ridge_python_say(const char *text) { return ridge_judged_say(judged, text); }

/* Numbers of inputs, outputs, dimensions, options. */
int ridge_python_counts(const ridge_channel *channel, int which) {
    const int counts[] = {channel->n_in, channel->n_out, channel->n_dims, channel->n_options};
    return counts[which];
}

/* The dimensions (int64_t), the options (double). */
const void *ridge_python_list(const ridge_channel *channel, int which) {
    return which == 0 ? (const void *)channel->dim : (const void *)channel->option;
}

int ridge_python_serve(const ridge_python_calls *calls) {
    static const ridge_judged_host host = {.start = start,
                                           .load = load,
                                           .ready = ready,
                                           .run = run,
                                           .done = nothing,
                                           .empty = nothing,
                                           .lock = RIDGE_LOCK_REMAP};
    python = calls;
    return ridge_judged_serve(&host);
}
