/* Evaluates samples: intervals, placement, verdict, and the speedup of a pair. */
#ifndef RIDGE_RECORD_JUDGE_H
#define RIDGE_RECORD_JUDGE_H

#include "record/record.h"

/* Fills time, stop, of_copy, of_core (from companion, the series measured in the same rounds), work, placement, check
 * and verdict of result from a job's series. Takes ownership of the samples of series and companion. The caller sets target, c, variant
 * and isa. */
void ridge_result_judge(ridge_result *result, ridge_series *series, ridge_series *companion,
                        const ridge_job_result *job, const ridge_ceilings *ceilings, bool hot);

/* Fills pair->speedup, traffic and agreement for pair->a against pair->b from the rounds that have both; job: its
 * measurements. */
void ridge_pair_judge(const ridge_run *run, ridge_pair *pair, const ridge_series *series_a, const ridge_job_result *job,
                      uint64_t seed);

/* Bytes that a variant moves by its own traffic model. Write-allocation adds one read of each line that an ordinary
 * store writes. */
double ridge_result_traffic(const ridge_result *result);

/* The time that the verdict judges: inside a captured graph if measured, because launch overhead is least there; else
 * that of a launch. ridge_result_frame_us is the time of an empty launch measured the same way. */
ridge_interval ridge_result_judged(const ridge_result *result);
double ridge_result_frame_us(const ridge_result *result);

#endif
