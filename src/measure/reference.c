#include "measure/reference.h"

#include "device/device.h"

enum { UNIT = 1024, TRIALS = 3 };
/* FLOP per byte of memory traffic above which every processor is compute-bound. */
static const double compute_bound_from = 64;
/* Bytes below which the start of the team distorts the time of a copy. */
static const double least_bytes = 8.0 * 1024 * 1024;

static size_t units(double bytes) { return (size_t)bytes / UNIT * UNIT; }

bool ridge_reference_wanted(const ridge_job *job, size_t set_bytes, ridge_mover_choice *choice) {
    *choice = (ridge_mover_choice){0};
    if (!job->reference || job->hot || !job->reference->stream.n || !job->reference->read.n || !job->reference->write.n)
        return false;
    ridge_work work;
    job->target->work(&job->c, &work);
    double all = work.bytes_read + work.bytes_written;
    if (work.flops > compute_bound_from * all) return false;
    if (!(all >= least_bytes && all <= (double)set_bytes)) return false;
    double least = work.bytes_read < work.bytes_written ? work.bytes_read : work.bytes_written;
    choice->copied = units(least);
    choice->only_read = units(work.bytes_read - least);
    choice->only_written = units(work.bytes_written - least);
    return true;
}

typedef struct motion {
    ridge_motion_fn fn;
    char *target;
    const char *source;
    size_t bytes;
} motion;

static void move_share(void *arg, int rank, int size) {
    const motion *m = arg;
    int64_t begin, end;
    ridge_share((int64_t)m->bytes, UNIT, rank, size, &begin, &end);
    if (end > begin) m->fn(m->target + begin, m->source + begin, (size_t)(end - begin));
}

static void move(ridge_team *team, ridge_motion_fn fn, char *target, const char *source, size_t bytes) {
    motion m = {fn, target, source, bytes};
    if (bytes) ridge_team_run(team, move_share, &m);
}

void ridge_reference_run(const ridge_mover_choice *c, ridge_team *team, char *memory) {
    char *target = memory + c->copied + c->only_read;
    move(team, c->stream, target, memory, c->copied);
    move(team, c->read, memory, memory + c->copied, c->only_read);
    move(team, c->write, target + c->copied, memory, c->only_written);
}

static ridge_motion_fn fastest(const ridge_motions *motions, ridge_team *team, char *target, const char *source,
                               size_t bytes) {
    ridge_motion_fn best = motions->fn[0];
    uint64_t best_ns = UINT64_MAX;
    for (int trial = 0; trial < TRIALS && bytes > 0; trial++) {
        for (int i = 0; i < motions->n; i++) {
            uint64_t began = ridge_clock_ns();
            move(team, motions->fn[i], target, source, bytes);
            uint64_t took = ridge_clock_ns() - began;
            if (took < best_ns) best_ns = took, best = motions->fn[i];
        }
    }
    return best;
}

void ridge_reference_choose(const ridge_job *job, ridge_team *team, char *memory, ridge_mover_choice *c) {
    char *target = memory + c->copied + c->only_read;
    c->stream = fastest(&job->reference->stream, team, target, memory, c->copied);
    c->read = fastest(&job->reference->read, team, memory, memory + c->copied, c->only_read);
    c->write = fastest(&job->reference->write, team, target + c->copied, memory, c->only_written);
}
