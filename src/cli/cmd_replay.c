/* ridge replay RUN.json: what a saved run showed, derived again from its samples. */
#include <stdlib.h>
#include <string.h>

#include "cli/bench.h"
#include "cli/output.h"
#include "cli/say.h"
#include "cli/show.h"
#include "record/chain.h"
#include "record/replay.h"
#include "record/saved.h"

static int count_samples(const ridge_run *run) {
    int n = 0;
    for (int i = 0; i < run->n_results; i++) n += run->results[i].n_samples;
    return n;
}

/* Shows the run as its own command did. */
static int show(const ridge_options *o, const ridge_replay *replay) {
    const ridge_run *run = &replay->run;
    const ridge_page page = ridge_say_page(o);
    ridge_error error = {0};
    int code = RIDGE_EXIT_OK;
    if (ridge_output_write(o, run, NULL, &error) != RIDGE_OK) code = ridge_complain(&error);
    ridge_show(run->settings.argc > 1 ? run->settings.argv[1] : "run", run, &page);
    ridge_say("replayed %d samples of %d results; chain %.16s", count_samples(run), run->n_results,
              ridge_chain_head(replay->file));
    return code == RIDGE_EXIT_OK ? ridge_bench_exit(run) : code;
}

static int replay_file(const ridge_options *o, ridge_replay *replay) {
    ridge_error error = {0}, why = {0};
    json_t *file = NULL;
    if (ridge_output_check(o, &error) != RIDGE_OK || ridge_read_json(o->patterns[0], &file, &error) != RIDGE_OK)
        return ridge_complain(&error);
    const ridge_status status = ridge_replay_run(file, replay, &why);
    if (status != RIDGE_OK) {
        (void)ridge_fail(&error, status, "%.80s: %.300s", o->patterns[0], why.text);
        return ridge_complain(&error);
    }
    if (replay->intact) return show(o, replay);
    ridge_say("%.80s is not what was measured: %s", o->patterns[0], replay->found);
    return RIDGE_EXIT_INVALID;
}

int ridge_cmd_replay(const ridge_options *o) {
    ridge_error error = {0};
    if (o->n_patterns != 1) {
        (void)ridge_fail(&error, RIDGE_INVALID, "replay takes one file, not %d: ridge replay RUN.json", o->n_patterns);
        return ridge_complain(&error);
    }
    ridge_replay *replay = calloc(1, sizeof *replay);
    if (!replay) {
        (void)ridge_fail(&error, RIDGE_NO_MEMORY, "no memory for a run");
        return ridge_complain(&error);
    }
    const int code = replay_file(o, replay);
    ridge_replay_free(replay);
    free(replay);
    return code;
}
