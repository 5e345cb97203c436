#include "record/judge.h"
#include "core/shortage.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A kernel may exceed its ceiling by the noise of both, not more. */
static const double impossible_above = 1.03;
/* A launch shorter than this many empty launches is mostly overhead. */
static const double frames_needed = 20;
/* Inside a graph every kernel pays the launch overhead: a time counts as the kernel's own if the overhead is less than
 * half of it. */
static const double graph_frames_needed = 2;

static ridge_interval interval_of(const ridge_sample *samples, int n) {
    double *times = malloc((size_t)(n > 0 ? n : 1) * sizeof *times);
    if (!times) return ridge_shortage_note(), (ridge_interval){NAN, NAN, NAN, 0};
    for (int i = 0; i < n; i++) times[i] = samples[i].time_us;
    ridge_interval interval = ridge_median_interval(times, n);
    free(times);
    return interval;
}

static void say(ridge_result *r, ridge_verdict verdict, const char *reason) {
    r->verdict = verdict;
    (void)snprintf(r->reason, sizeof r->reason, "%s", reason);
}

static const char *const tensor_peaks[RIDGE_DTYPE_COUNT] = {
    [RIDGE_TF32] = "tf32", [RIDGE_BF16] = "bf16", [RIDGE_F16] = "fp16",
    [RIDGE_E4M3] = "fp8",  [RIDGE_E2M1] = "fp4",  [RIDGE_I8] = "int8"};
/* Where a type's peak was not measured: the fastest type that has its values. */
static const ridge_dtype wider[RIDGE_DTYPE_COUNT] = {[RIDGE_E2M1] = RIDGE_E4M3, [RIDGE_E4M3] = RIDGE_BF16};

/* The type of what is multiplied: the case's, unless the target's first input has a type of its own. */
static ridge_dtype factor_type(const ridge_result *r) {
    const ridge_dtype own = r->target->n_in > 0 ? r->target->in[0].dtype : RIDGE_DTYPE_NONE;
    return own == RIDGE_DTYPE_NONE ? r->c.dtype : own;
}

/* The peak that a result is compared with. `least`: the peak that no f32 result can exceed, even with several tf32
 * products for one. */
static const char *peak_of(const ridge_result *r, const ridge_ceilings *ceilings, bool least) {
    ridge_dtype type = factor_type(r);
    const bool has_own = ridge_variant_backend(r->variant) == RIDGE_BACKEND_cuda || ridge_dtype_is_integer(type);
    if (!r->target->products || !has_own)
        return "fp32"; /* CPU kernels multiply floats in fp32, whatever they are stored as */
    if (least && type == RIDGE_F32) type = RIDGE_TF32;
    while (wider[type] && !ridge_ceilings_peak(ceilings, tensor_peaks[type])) type = wider[type];
    const char *name = tensor_peaks[type];
    return name && ridge_ceilings_peak(ceilings, name) ? name : "fp32";
}

/* The variant narrowed to the way that ran, whose traffic and arithmetic count. */
static ridge_variant variant_run(const ridge_result *r) {
    return r->way ? ridge_variant_of_way(r->variant, r->way, r->variant->name) : *r->variant;
}

/* The arithmetic that the variant declares; products: 0 where it declares none. */
static ridge_arithmetic declared(const ridge_result *r) {
    const ridge_variant ran = variant_run(r);
    return ridge_variant_arithmetic(r->target, &ran, &r->c, &r->here);
}
/* The same; products: 0 where that peak was not measured, too. */
static ridge_arithmetic arithmetic_of(const ridge_result *r, const ridge_ceilings *ceilings) {
    const ridge_arithmetic own = declared(r);
    const char *name = own.products > 0 ? tensor_peaks[own.type] : NULL;
    return name && ridge_ceilings_peak(ceilings, name) ? own : (ridge_arithmetic){.products = 0};
}

static void place(ridge_result *r, const ridge_ceilings *ceilings, bool hot) {
    const ridge_arithmetic own = arithmetic_of(r, ceilings);
    const char *name = tensor_peaks[own.type];
    if (own.products > 0)
        ridge_place_products(&r->work, r->time_us.median, ceilings, hot, name, own.products, &r->place);
    else
        ridge_place(&r->work, r->time_us.median, ceilings, hot, peak_of(r, ceilings, false), &r->place);
}

/* Outputs that fit in the last-level cache may not have reached memory when the timer stops: the physical floor of a
 * cold launch then counts reads only. A variant that declares one product of a faster type in the place of each has that
 * type's. Products in four bits whose peak was not measured have no floor but that of bytes. */
static double floor_us(const ridge_result *r, const ridge_ceilings *ceilings, bool hot) {
    const ridge_arithmetic own = arithmetic_of(r, ceilings);
    ridge_work work = r->work;
    if (own.products == 0 && declared(r).type == RIDGE_E2M1) work.flops = 0;
    if (!hot && work.bytes_written < ridge_ceilings_last_level(ceilings)) work.bytes_written = 0;
    const double of_case = ridge_floor_us(&work, ceilings, hot, peak_of(r, ceilings, true));
    if (own.products != 1) return of_case;
    return fmin(of_case, ridge_floor_us(&work, ceilings, hot, tensor_peaks[own.type]));
}

/* Whether a time inside a graph can be judged: it needs an interval. */
static bool has_graph(const ridge_result *r) {
    return r->graph_us.n > 0 && r->graph_us.median > 0 && isfinite(r->graph_us.low) && isfinite(r->graph_us.high);
}

ridge_interval ridge_result_judged(const ridge_result *r) { return has_graph(r) ? r->graph_us : r->time_us; }

double ridge_result_frame_us(const ridge_result *r) { return has_graph(r) ? r->graph_floor_us : r->frame_us; }

static void judge_time(ridge_result *r, const ridge_ceilings *ceilings, bool hot) {
    const double time = ridge_result_judged(r).median, floor = floor_us(r, ceilings, hot),
                 frame = ridge_result_frame_us(r);
    const double needed = has_graph(r) ? graph_frames_needed : frames_needed;
    char text[240] = "";
    if (!(time > 0)) {
        say(r, RIDGE_VERDICT_FAILED, "no sample arrived");
    } else if (fmin(time, r->time_us.median) < floor / impossible_above) {
        (void)snprintf(text, sizeof text,
                       "%.4g us is below the physical floor of %.4g us: the ceiling or the work model is at fault "
                       "(ridge peak --refresh remeasures)",
                       fmin(time, r->time_us.median), floor);
        say(r, RIDGE_VERDICT_IMPOSSIBLE, text);
    } else if (time < needed * frame) {
        (void)snprintf(text, sizeof text, "%.4g us against %.4g us for an empty launch%s: larger --sizes tell more",
                       time, frame, has_graph(r) ? " in a graph" : "");
        say(r, RIDGE_VERDICT_FRAME, text);
    } else {
        say(r, RIDGE_VERDICT_OK, "");
    }
}

/* Sum of a round's two visits; NaN if one is missing. Samples are sorted by round. */
static double *sums_by_round(const ridge_sample *samples, int n, int rounds) {
    double *sums = malloc((size_t)rounds * sizeof *sums);
    char *visits = calloc((size_t)rounds, 1);
    if (!sums || !visits) ridge_shortage_note();
    for (int i = 0; sums && i < rounds; i++) sums[i] = visits ? 0 : NAN;
    for (int i = 0; sums && visits && i < n; i++) {
        int round = samples[i].round;
        if (round < 0 || round >= rounds) continue;
        sums[round] += samples[i].time_us;
        visits[round]++;
    }
    for (int i = 0; sums && visits && i < rounds; i++)
        if (visits[i] != 2) sums[i] = NAN;
    free(visits);
    return sums;
}

static int last_round(const ridge_sample *samples, int n) {
    int last = -1;
    for (int i = 0; i < n; i++)
        if (samples[i].round > last) last = samples[i].round;
    return last;
}

/* Ratio of a's times to b's, from the rounds that have both. */
static ridge_interval paired_ratio(const ridge_sample *a, int n_a, const ridge_sample *b, int n_b, uint64_t seed) {
    ridge_interval ratio = {NAN, NAN, NAN, 0};
    int last_a = last_round(a, n_a), last_b = last_round(b, n_b), n = 0;
    int rounds = (last_a < last_b ? last_a : last_b) + 1;
    if (rounds < 1) return ratio;
    double *sums_a = sums_by_round(a, n_a, rounds), *sums_b = sums_by_round(b, n_b, rounds);
    for (int i = 0; sums_a && sums_b && i < rounds; i++) {
        if (isnan(sums_a[i]) || isnan(sums_b[i])) continue;
        sums_a[n] = sums_a[i] / 2;
        sums_b[n++] = sums_b[i] / 2;
    }
    if (sums_a && sums_b && n > 0) ratio = ridge_ratio_interval(sums_a, sums_b, n, seed);
    free(sums_a);
    free(sums_b);
    return ratio;
}

static double median_of(const ridge_sample *samples, int n, double (*value)(const ridge_sample *)) {
    double *values = malloc((size_t)(n > 0 ? n : 1) * sizeof *values), median = 0;
    if (!values) ridge_shortage_note();
    for (int i = 0; values && i < n; i++) values[i] = value(&samples[i]);
    if (values && n > 0) median = ridge_median(values, n);
    free(values);
    return median;
}
static double clock_of(const ridge_sample *s) { return s->gpu.sm_mhz; }
static double power_of(const ridge_sample *s) { return s->gpu.power_w; }

static void take_gpu(ridge_result *r, const ridge_job_result *job) {
    r->graph_us = interval_of(r->companion, r->n_companion);
    r->event_floor_us = job->frame_us;
    r->graph_floor_us = job->graph_frame_us;
    r->sm_mhz = median_of(r->samples, r->n_samples, clock_of);
    r->power_w = median_of(r->samples, r->n_samples, power_of);
    for (int i = 0; i < r->n_samples; i++) r->throttled_samples += ridge_gpu_throttled(r->samples[i].gpu.throttle);
}

/* ---- whole measurements ------------------------------------------------------------------------------------------ */

/* The samples of measurement k; they are sorted by round. */
typedef struct part {
    const ridge_sample *samples;
    int n;
} part;

static part part_of(const ridge_sample *samples, int n, const ridge_job_result *job, int k) {
    int begin = 0;
    while (begin < n && samples[begin].round < job->first_round[k]) begin++;
    int end = begin;
    while (end < n && (k + 1 == job->n_measurements || samples[end].round < job->first_round[k + 1])) end++;
    return (part){samples + begin, end - begin};
}

/* What lies between the medians that are known. */
static void judge_between(ridge_repeats *r) {
    double medians[RIDGE_MAX_MEASUREMENTS];
    int n = 0;
    for (int k = 0; k < r->n; k++)
        if (r->each[k].median > 0) medians[n++] = r->each[k].median;
    r->between = ridge_mean_interval(medians, n);
}

static void repeat_times(ridge_repeats *r, const ridge_sample *samples, int n, const ridge_job_result *job) {
    r->n = job->n_measurements;
    for (int k = 0; k < r->n; k++) {
        const part own = part_of(samples, n, job, k);
        r->each[k] = interval_of(own.samples, own.n);
    }
    judge_between(r);
}

static void repeat_ratios(ridge_repeats *r, const ridge_result *a, const ridge_result *b, const ridge_job_result *job,
                          uint64_t seed) {
    r->n = job->n_measurements;
    for (int k = 0; k < r->n; k++) {
        const part of_a = part_of(a->samples, a->n_samples, job, k), of_b = part_of(b->samples, b->n_samples, job, k);
        r->each[k] = paired_ratio(of_a.samples, of_a.n, of_b.samples, of_b.n, seed);
    }
    judge_between(r);
}

void ridge_result_judge(ridge_result *r, ridge_series *series, ridge_series *companion, const ridge_job_result *job,
                        const ridge_ceilings *ceilings, bool hot) {
    static const ridge_verdict verdicts[] = {
        [RIDGE_OUTCOME_WRONG] = RIDGE_VERDICT_WRONG,
        [RIDGE_OUTCOME_FAILED] = RIDGE_VERDICT_FAILED,
        [RIDGE_OUTCOME_SKIPPED] = RIDGE_VERDICT_SKIPPED,
    };
    r->samples = series->samples;
    r->n_samples = series->n;
    series->samples = NULL;
    r->companion = companion->samples;
    r->n_companion = companion->n;
    companion->samples = NULL;
    r->check = series->check;
    r->stop = job->stop;
    r->frame_us = job->frame_us;
    r->target->work(&r->c, &r->work);
    if (series->way > 0 && series->way <= r->variant->n_ways) r->way = &r->variant->ways[series->way - 1];
    if (series->outcome != RIDGE_OUTCOME_DONE) {
        /* A variant that failed its check has no time. */
        r->time_us = (ridge_interval){NAN, NAN, NAN, 0};
        say(r, verdicts[series->outcome], series->reason);
        return;
    }
    if (job->emulated) {
        r->time_us = (ridge_interval){NAN, NAN, NAN, 0};
        say(r, RIDGE_VERDICT_EMULATED, "verified on an emulated device, whose times mean nothing");
        return;
    }
    r->time_us = interval_of(r->samples, r->n_samples);
    place(r, ceilings, hot);
    r->of_copy = paired_ratio(job->reference.samples, job->reference.n, r->samples, r->n_samples, 1);
    if (ridge_variant_backend(r->variant) == RIDGE_BACKEND_cuda)
        take_gpu(r, job);
    else
        r->of_core = paired_ratio(r->companion, r->n_companion, r->samples, r->n_samples, 1);
    if (has_graph(r))
        repeat_times(&r->repeats, r->companion, r->n_companion, job);
    else
        repeat_times(&r->repeats, r->samples, r->n_samples, job);
    judge_time(r, ceilings, hot);
}

double ridge_result_traffic(const ridge_result *r) {
    ridge_traffic traffic = {0};
    const ridge_variant ran = variant_run(r);
    if (!ridge_variant_traffic(r->target, &ran, &r->c, &r->here, &traffic)) {
        ridge_work work;
        r->target->work(&r->c, &work);
        traffic = (ridge_traffic){.read = work.bytes_read, .written = work.bytes_written};
    }
    /* A CPU reads a line before it writes it (write-allocation); a GPU does not. */
    const bool allocates = ridge_variant_backend(r->variant) == RIDGE_BACKEND_cpu;
    return traffic.read + (allocates ? 2 : 1) * traffic.written + traffic.streamed;
}

void ridge_pair_judge(const ridge_run *run, ridge_pair *pair, const ridge_series *series_a, const ridge_job_result *job,
                      uint64_t seed) {
    const ridge_result *a = &run->results[pair->a], *b = &run->results[pair->b];
    pair->speedup = (ridge_interval){NAN, NAN, NAN, 0};
    pair->traffic_a = ridge_result_traffic(a);
    pair->traffic_b = ridge_result_traffic(b);
    pair->compared = series_a->compared;
    pair->agree = series_a->agreement.agree;
    pair->max_difference = series_a->agreement.max_difference;
    pair->equal_fraction = series_a->agreement.equal_fraction;
    if (a->time_us.n == 0 || b->time_us.n == 0) return;
    pair->speedup = paired_ratio(a->samples, a->n_samples, b->samples, b->n_samples, seed);
    repeat_ratios(&pair->repeats, a, b, job, seed);
}
