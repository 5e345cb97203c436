/* ridge doctor: conditions of this machine that make measured numbers untrue, or that ridge cannot work without. */
#ifndef RIDGE_MACHINE_DOCTOR_DOCTOR_H
#define RIDGE_MACHINE_DOCTOR_DOCTOR_H

#include "machine/identity/machine.h"

/* One thing that ridge doctor looked at. */
typedef enum ridge_health { RIDGE_HEALTH_GOOD, RIDGE_HEALTH_NOTE, RIDGE_HEALTH_BAD } ridge_health;
typedef struct ridge_finding {
    const char *what; /* "governor", "turbo", "hypervisor", "load", "counters", "pages", "peers", "gnuplot", … */
    ridge_health health;
    char found[160];  /* what is so */
    char advice[200]; /* what to do about it; "" when nothing */
} ridge_finding;
enum { RIDGE_MAX_FINDINGS = 32 };
const char *ridge_health_name(ridge_health health); /* "good", "note", "bad" */
int ridge_doctor(const ridge_machine *machine, ridge_finding findings[RIDGE_MAX_FINDINGS]);
/* Only what is bad and changes measured times, on the backends that are measured. Returns how many, at most `room`. */
int ridge_doctor_timing(const ridge_machine *machine, bool cpu, bool gpu, ridge_finding *findings, int room);

/* What disturbs a measurement right now: other work on this processor, or on the GPU. False: nothing is seen. */
bool ridge_doctor_disturbed(const ridge_machine *machine, bool gpu, ridge_finding *finding);

#endif
