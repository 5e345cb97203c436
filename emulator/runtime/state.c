/* The lock, errors, and what is printed. */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/report.h"
#include "runtime/runtime.h"

static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

bool emu_lock(void) {
    (void)pthread_mutex_lock(&mutex);
    return true;
}

void emu_unlock(const bool *locked) {
    if (*locked) (void)pthread_mutex_unlock(&mutex);
}

void emu_say(const char *format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    (void)fprintf(stderr, "emulator: %s\n", text);
}

void emu_report_counts(void) {
    static emu_counts told; /* what earlier lines said */
    emu_json json;
    const emu_counts now = emu_total;
    if (!emu_json_begin(&json, "counts")) return;
    emu_json_number(&json, "launches", now.launches - told.launches);
    emu_json_number(&json, "blocks", now.blocks - told.blocks);
    emu_json_number(&json, "warp_instructions", now.warp_instructions - told.warp_instructions);
    emu_json_number(&json, "lane_instructions", now.lane_instructions - told.lane_instructions);
    emu_json_number(&json, "tiles", now.tiles - told.tiles);
    emu_json_number(&json, "copies", now.copies - told.copies);
    emu_json_seconds(&json, "seconds", now.seconds - told.seconds);
    emu_json_end(&json);
    told = now;
}

/* ---- errors ---------------------------------------------------------------------------------------------------- */

static _Thread_local cudaError_t last;
static cudaError_t failure, described;
static char description[1024]; /* of the failure that was last returned or is to come */

cudaError_t emu_told(cudaError_t error) {
    if (error != cudaSuccess && error != cudaErrorNotReady) last = error;
    return error;
}

cudaError_t emu_describe(cudaError_t error, const char *text) {
    described = error;
    (void)snprintf(description, sizeof description, "%s", text);
    return error;
}

void emu_fail_later(cudaError_t error, const char *text) {
    if (failure == cudaSuccess) failure = emu_describe(error, text ? text : "");
}

cudaError_t emu_take_failure(void) {
    cudaError_t error = failure;
    failure = cudaSuccess;
    return error;
}

cudaError_t cudaGetLastError(void) {
    cudaError_t error = last;
    last = cudaSuccess;
    return error;
}

cudaError_t cudaPeekAtLastError(void) { return last; }

static const struct {
    cudaError_t error;
    const char *name, *text;
} errors[] = {
#define ERROR(name, text) {name, #name, text},
#include "runtime/errors.h"
#undef ERROR
};
enum { N_ERRORS = sizeof errors / sizeof *errors };

static int find_error(cudaError_t error) {
    int i = 0;
    while (i < N_ERRORS && errors[i].error != error) i++;
    return i;
}

const char *cudaGetErrorName(cudaError_t error) {
    int i = find_error(error);
    return i < N_ERRORS ? errors[i].name : "unrecognized error code";
}

/* The text of a failure that a finding caused names the finding, until another launch fails. */
const char *cudaGetErrorString(cudaError_t error) {
    if (error != cudaSuccess && error == described && description[0]) return description;
    int i = find_error(error);
    return i < N_ERRORS ? errors[i].text : "unrecognized error code";
}
