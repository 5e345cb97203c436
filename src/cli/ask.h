/* Questions to a child process, so that a kernel that crashes or hangs costs its own answer only. */
#ifndef RIDGE_CLI_ASK_H
#define RIDGE_CLI_ASK_H

#include "verify/verify.h"

enum { RIDGE_ASK_TOGETHER = 64 };

/* One variant on one case. */
typedef struct ridge_question {
    const ridge_target *target;
    ridge_case c;
    const ridge_variant *variant;
    ridge_isa isa;
    ridge_abilities here;
    int threads;
    const int *cpus;
    uint64_t seed;
    int layouts;  /* so many fills and layouts; 0: all */
    bool mutants; /* are mutants of its outputs seen; else: is it right */
} ridge_question;

typedef struct ridge_answer {
    ridge_status status; /* status of the harness */
    char text[240];      /* when status is not ok, or why a variant is skipped */
    bool skipped;        /* nothing ran */
    bool unasked;        /* there was no process to ask, or no memory for one */
    ridge_verified_runs got;
    ridge_mutants_met met;
} ridge_answer;

/* Asks n questions, at most RIDGE_ASK_TOGETHER, each with `limit` seconds. Variants of the CPU have a process each, of
 * at most `memory` bytes; those of a GPU share one, because a driver is slow to start, and so do peers in Python, until one of them fails. What
 * crashes, loops or runs out of memory is answered RIDGE_FAILED with the reason. Ends early, with answers left zero,
 * after an interrupt. */
void ridge_ask(const ridge_question *q, int n, double limit, int64_t memory, ridge_answer *answers);

#endif
