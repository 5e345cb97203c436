/* Placement on the roofline: a work model and a time against measured ceilings.
 *
 *   memory time = paired / copy + excess / (read or write)      paired: twice the smaller of bytes read and written
 *   floor       = max(memory time, FLOP / peak)
 *   % reached   = floor / time
 *
 * A copy reads as many bytes as it writes, so the copy ceiling applies to the paired part of the traffic. The excess
 * moves at the read or the write ceiling. A reduction is thus compared with the read ceiling, a row-wise map with the
 * copy ceiling; mixtures lie between. */
#include "roofline/place.h"

#include <math.h>
#include <stdio.h>

static const char *const verdict_names[] = {
#define VERDICT_NAME(name, text) text,
    RIDGE_VERDICT_LIST(VERDICT_NAME)
#undef VERDICT_NAME
};

const char *ridge_verdict_name(ridge_verdict verdict) {
    return (unsigned)verdict < RIDGE_VERDICT_COUNT ? verdict_names[verdict] : "?";
}

bool ridge_verdict_timed(ridge_verdict verdict) {
    return verdict == RIDGE_VERDICT_OK || verdict == RIDGE_VERDICT_FRAME;
}

/* The measured GB/s or GFLOP/s; 0 if there is none. */
static double rate(ridge_interval interval) { return interval.n > 0 && interval.median > 0 ? interval.median : 0; }

/* Time in µs; 1 GB/s is 1000 bytes per µs. 0 for no work, and for a rate that was not measured, which bounds
 * nothing. */
static double time_at(double amount, double giga) { return amount > 0 && giga > 0 ? amount / (giga * 1e3) : 0; }

static const ridge_level *level_of(const ridge_work *work, const ridge_ceilings *ceilings, bool hot) {
    return hot ? ridge_ceilings_level(ceilings, work->bytes_read + work->bytes_written) : ridge_ceilings_dram(ceilings);
}

typedef struct memory_bound_time {
    double us;
    char name[32]; /* "DRAM stream", "L2 read", "DRAM stream+write" */
} memory_bound_time;

static memory_bound_time memory_time(const ridge_work *work, const ridge_level *level) {
    memory_bound_time bound = {.us = 0};
    if (!level) return bound;
    double copy = rate(level->copy), stream = rate(level->stream), best_copy = fmax(copy, stream);
    double least = fmin(work->bytes_read, work->bytes_written);
    bool reads_more = work->bytes_read > work->bytes_written;
    double alone = rate(reads_more ? level->read : level->write);
    if (!(alone > 0)) alone = best_copy;

    double paired_us = time_at(2 * least, best_copy);
    double excess_us = time_at(fabs(work->bytes_read - work->bytes_written), alone);
    bound.us = paired_us + excess_us;
    const char *pairs = stream > copy ? "stream" : "copy", *rest = reads_more ? "read" : "write";
    /* The name omits a part below 2 % of the time. */
    bool both = fmin(paired_us, excess_us) > 0.02 * bound.us;
    (void)snprintf(bound.name, sizeof bound.name, "%.7s %s%s%s", level->name,
                   both || paired_us > excess_us ? pairs : "", both ? "+" : "",
                   both || paired_us <= excess_us ? rest : "");
    return bound;
}

void ridge_place(const ridge_work *work, double time_us, const ridge_ceilings *ceilings, bool hot, const char *dtype,
                 ridge_placement *placement) {
    ridge_place_products(work, time_us, ceilings, hot, dtype, 1, placement);
}

static void name_peak(const ridge_peak *peak, int products, char *binding, size_t size) {
    if (products > 1)
        (void)snprintf(binding, size, "%.18s x%d", peak->name, products);
    else
        (void)snprintf(binding, size, "%s", peak->name);
}

void ridge_place_products(const ridge_work *work, double time_us, const ridge_ceilings *ceilings, bool hot,
                          const char *dtype, int products, ridge_placement *placement) {
    memory_bound_time memory = memory_time(work, level_of(work, ceilings, hot));
    const ridge_peak *peak = ridge_ceilings_peak(ceilings, dtype);
    double peak_gflops = peak ? rate(peak->gflops) / products : 0, compute_us = time_at(work->flops, peak_gflops);
    double bytes = work->bytes_read + work->bytes_written;
    double bandwidth = memory.us > 0 ? bytes / (memory.us * 1e3) : 0; /* GB/s, of this mix of reads and writes */

    *placement = (ridge_placement){.floor_us = fmax(memory.us, compute_us), .memory_bound = memory.us >= compute_us};
    placement->intensity = work->flops > 0 ? work->flops / bytes : 0; /* infinite without bytes */
    placement->ridge_point = bandwidth > 0 ? peak_gflops / bandwidth : 0;
    if (placement->floor_us > 0) {
        placement->attainable_gflops = work->flops / (placement->floor_us * 1e3);
        if (placement->memory_bound)
            (void)snprintf(placement->binding, sizeof placement->binding, "%s", memory.name);
        else
            name_peak(peak, products, placement->binding, sizeof placement->binding);
    }
    if (!(time_us > 0) || !isfinite(time_us)) return;
    placement->gflops = work->flops / (time_us * 1e3);
    placement->gbps = bytes / (time_us * 1e3);
    placement->pct_measured = 100 * placement->floor_us / time_us;
}

double ridge_floor_us(const ridge_work *work, const ridge_ceilings *ceilings, bool hot, const char *dtype) {
    const ridge_level *level = level_of(work, ceilings, hot);
    double best = 0;
    if (level) best = fmax(fmax(rate(level->read), rate(level->copy)), fmax(rate(level->stream), rate(level->write)));
    const ridge_peak *peak = ridge_ceilings_peak(ceilings, dtype);
    return fmax(time_at(work->bytes_read + work->bytes_written, best),
                time_at(work->flops, peak ? rate(peak->gflops) : 0));
}
