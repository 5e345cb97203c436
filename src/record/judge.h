/* From samples to what may be said of them: intervals, placement, verdict, and the speedup of a pair. */
#ifndef RIDGE_RECORD_JUDGE_H
#define RIDGE_RECORD_JUDGE_H

#include "record/record.h"

/* Fills time, stop, of_copy, of_core (companion: the series beside it), work, placement, check and verdict of result
 * from a job's series; takes the series' samples over. target, c, variant and isa are set by the caller. */
void ridge_result_judge(ridge_result *result, ridge_series *series, const ridge_series *companion,
                        const ridge_job_result *job, const ridge_ceilings *ceilings, bool hot);

/* Fills pair->speedup, traffic and agreement for pair->a against pair->b from the rounds both took part in. */
void ridge_pair_judge(const ridge_run *run, ridge_pair *pair, const ridge_series *series_a, uint64_t seed);

/* What a variant moves, in bytes, by its own model. Write-allocation reads each ordinarily stored line once more. */
double ridge_variant_traffic(const ridge_target *target, const ridge_case *c, const ridge_variant *variant);

/* The time that the verdict judges: inside a captured graph where that was measured, since there starting a kernel
 * costs least; else that of a launch. And what an empty launch costs there. */
ridge_interval ridge_result_judged(const ridge_result *result);
double ridge_result_frame_us(const ridge_result *result);

#endif
