#include "cli/gate.h"

#include <stdio.h>

#include "cli/say.h"
#include "device/file.h"
#include "record/expect.h"
#include "record/saved.h"
#include "report/report.h"

/* ---- before the run ---------------------------------------------------------------------------------------------- */

ridge_status ridge_gatekeeper_options(const ridge_options *o, ridge_error *error) {
    if (o->update && !o->reason)
        return ridge_fail(error, RIDGE_INVALID,
                          "--update-expectations needs a reason for its log: add --reason 'what changed'");
    if (o->reason && !o->update)
        return ridge_fail(error, RIDGE_INVALID, "--reason is that of an update: add --update-expectations");
    if (o->expectations && !o->update && !o->check)
        return ridge_fail(error, RIDGE_INVALID,
                          "--expectations names the file of --check or --update-expectations: add one");
    if ((o->check || o->update) && (o->dry_run || o->summaries))
        return ridge_fail(error, RIDGE_INVALID, "--check and --update-expectations need a measurement: leave out %s",
                          o->dry_run ? "--dry-run" : "--summaries");
    return RIDGE_OK;
}

static ridge_status read_expectations(ridge_gatekeeper *k, const char *key, ridge_error *error) {
    const ridge_status status = ridge_read_json(k->path, &k->old, error);
    if (status == RIDGE_NOT_FOUND && k->options->check)
        return ridge_fail(
            error, RIDGE_NOT_FOUND,
            "nothing is expected of %.100s yet (%.200s): write it with --update-expectations --reason TEXT", key,
            k->path);
    if (status == RIDGE_NOT_FOUND) return RIDGE_OK;
    RIDGE_TRY(status);
    ridge_error why = {0};
    const ridge_status bad = ridge_expect_check(k->old, key, &why);
    return bad == RIDGE_OK ? RIDGE_OK : ridge_fail(error, bad, "%.160s: %.220s", k->path, why.text);
}

/* The file that is asked for, or the one of this hardware. */
static ridge_status find_expectations(ridge_gatekeeper *k, ridge_error *error) {
    static ridge_machine machine; /* its list of processors is too large for the stack */
    char key[RIDGE_EXPECT_KEY];
    RIDGE_TRY(ridge_machine_detect(&machine, error));
    ridge_expect_key(&machine, key, sizeof key);
    const int n = k->options->expectations ? snprintf(k->path, sizeof k->path, "%s", k->options->expectations)
                                           : snprintf(k->path, sizeof k->path, "expectations/%s.json", key);
    if (n >= (int)sizeof k->path)
        return ridge_fail(error, RIDGE_INVALID, "--expectations: the name is longer than %zu bytes", sizeof k->path);
    RIDGE_TRY(read_expectations(k, key, error));
    if (!k->options->update) return RIDGE_OK;
    if (!k->options->expectations) RIDGE_TRY(ridge_file_make_folders(k->path, error));
    return ridge_file_check(k->path, error);
}

bool ridge_gatekeeper_open(const ridge_options *o, ridge_gatekeeper *k, int *code) {
    ridge_error error = {0};
    *k = (ridge_gatekeeper){.options = o};
    if ((!o->check && !o->update) || find_expectations(k, &error) == RIDGE_OK) return true;
    *code = ridge_complain(&error);
    /* What cannot be compared is invalid, not inconclusive. */
    if (o->check) *code = RIDGE_EXIT_INVALID;
    return false;
}

/* ---- after the run ----------------------------------------------------------------------------------------------- */

void ridge_gatekeeper_judge(ridge_gatekeeper *k, const ridge_run *run) {
    ridge_error error = {0};
    if (!k->options->check) return;
    k->judged = ridge_gate_check(k->old, run, &k->gate, &error) == RIDGE_OK;
    if (!k->judged) (void)ridge_complain(&error);
}

static int exit_of(const ridge_gatekeeper *k) {
    static const int codes[RIDGE_GATE_COUNT] = {
        [RIDGE_GATE_UNJUDGED] = RIDGE_EXIT_INCONCLUSIVE,     [RIDGE_GATE_PASSED] = RIDGE_EXIT_OK,
        [RIDGE_GATE_INCONCLUSIVE] = RIDGE_EXIT_INCONCLUSIVE, [RIDGE_GATE_REGRESSION] = RIDGE_EXIT_VERDICT,
        [RIDGE_GATE_INVALID] = RIDGE_EXIT_INVALID,
    };
    return k->judged ? codes[k->gate.verdict] : RIDGE_EXIT_INVALID;
}

static ridge_status update(const ridge_gatekeeper *k, const ridge_run *run, ridge_error *error) {
    json_t *updated = NULL;
    RIDGE_TRY(ridge_expect_update(k->old, run, k->options->reason, &updated, error));
    const ridge_status status = ridge_write_json(k->path, updated, error);
    json_decref(updated);
    if (status == RIDGE_OK) ridge_say("the expectations are in %s", k->path);
    return status;
}

int ridge_gatekeeper_end(ridge_gatekeeper *k, const ridge_run *run, const ridge_page *page, int code) {
    ridge_error error = {0};
    if (k->judged) ridge_report_gate(&k->gate, k->path, page);
    if (k->options->check && code != RIDGE_EXIT_ENVIRONMENT)
        code = exit_of(k); /* a file that was lost is told before */
    if (k->options->update && update(k, run, &error) != RIDGE_OK) {
        const int failed = ridge_complain(&error);
        if (code == RIDGE_EXIT_OK) code = failed;
    }
    return code;
}

void ridge_gatekeeper_close(ridge_gatekeeper *k) {
    ridge_gate_free(&k->gate);
    json_decref(k->old);
    k->old = NULL;
}
