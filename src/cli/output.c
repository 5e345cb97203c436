/* The files that a run leaves behind: --output, --json. */
#include "cli/output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/say.h"
#include "device/file.h"
#include "record/chain.h"
#include "report/report.h"

static ridge_status make_directories(const char *path, ridge_error *error) {
    char part[512];
    if (snprintf(part, sizeof part, "%s", path) >= (int)sizeof part)
        return ridge_fail(error, RIDGE_INVALID, "--output: the name is longer than %zu bytes", sizeof part);
    for (char *p = part + 1;; p++) {
        if (*p != '/' && *p != '\0') continue;
        char end = *p;
        *p = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            return ridge_fail(error, RIDGE_IO, "cannot make the directory %.200s: %s", part, strerror(errno));
        *p = end;
        if (end == '\0') return RIDGE_OK;
    }
}

static ridge_status check_file(const char *path, ridge_error *error) {
    return !path || strcmp(path, "-") == 0 ? RIDGE_OK : ridge_file_check(path, error);
}

static ridge_status check_directory(const ridge_options *o, ridge_error *error) {
    RIDGE_TRY(make_directories(o->output, error));
    struct stat info;
    if (stat(o->output, &info) != 0 || !S_ISDIR(info.st_mode))
        return ridge_fail(error, RIDGE_IO, "--output %.200s is not a directory: name another", o->output);
    char probe[600];
    (void)snprintf(probe, sizeof probe, "%s/.ridge-XXXXXX", o->output);
    int fd = mkstemp(probe);
    if (fd < 0)
        return ridge_fail(error, RIDGE_IO, "cannot write in %.200s: %s; name another --output", o->output,
                          strerror(errno));
    close(fd);
    (void)unlink(probe);
    return RIDGE_OK;
}

ridge_status ridge_output_check(const ridge_options *o, ridge_error *error) {
    if (o->output) RIDGE_TRY(check_directory(o, error));
    return check_file(o->json, error);
}

static ridge_status write_plot(const ridge_options *o, const ridge_run *run, ridge_backend backend,
                               ridge_error *error) {
    const char *name = backend == RIDGE_BACKEND_cuda ? "roofline-cuda.svg" : "roofline.svg";
    char path[600];
    (void)snprintf(path, sizeof path, "%s/%s", o->output, name);
    ridge_error why = {0};
    ridge_status status = ridge_plot_svg(run, backend, path, &why);
    if (status == RIDGE_OK)
        ridge_say("the roofline is in %s", path);
    else if (status == RIDGE_UNSUPPORTED)
        ridge_say("no %s: %s", name, why.text);
    else
        return ridge_fail(error, status, "%s", why.text);
    return RIDGE_OK;
}

static ridge_status write_output(const ridge_options *o, const ridge_run *run, const json_t *json, ridge_error *error) {
    char path[600];
    (void)snprintf(path, sizeof path, "%s/run.json", o->output);
    RIDGE_TRY(ridge_write_json(path, json, error));
    ridge_say("every sample is in %s (chain %.16s)", path, ridge_chain_head(json));
    for (int b = 0; b < RIDGE_BACKEND_COUNT; b++)
        if (ridge_run_draws(run, (ridge_backend)b)) RIDGE_TRY(write_plot(o, run, (ridge_backend)b, error));
    (void)snprintf(path, sizeof path, "%s/report.html", o->output);
    RIDGE_TRY(ridge_report_html(run, path, error));
    ridge_say("the report is in %s", path);
    (void)snprintf(path, sizeof path, "%s/trace.json", o->output);
    RIDGE_TRY(ridge_report_trace(run, path, error));
    ridge_say("launches as a Chrome trace are in %s", path);
    return RIDGE_OK;
}

/* The record, with the gate's verdict where there is one. */
static json_t *record_of(const ridge_run *run, const ridge_gate *gate) {
    json_t *json = ridge_json_run(run);
    if (!json || !gate || json_object_set_new(json, "gate", ridge_json_gate(gate)) == 0) return json;
    json_decref(json);
    return NULL;
}

ridge_status ridge_output_write(const ridge_options *o, const ridge_run *run, const ridge_gate *gate,
                                ridge_error *error) {
    if (!o->output && !o->json) return RIDGE_OK;
    json_t *json = record_of(run, gate);
    if (!json) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for the record");
    ridge_status status = o->output ? write_output(o, run, json, error) : RIDGE_OK;
    ridge_error second = {0};
    ridge_status also = o->json ? ridge_write_json(o->json, json, &second) : RIDGE_OK;
    if (status == RIDGE_OK && also != RIDGE_OK) status = ridge_fail(error, also, "%s", second.text);
    json_decref(json);
    return status;
}
