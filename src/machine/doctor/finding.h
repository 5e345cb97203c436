/* Shared by the files of ridge doctor. */
#ifndef RIDGE_MACHINE_DOCTOR_FINDING_H
#define RIDGE_MACHINE_DOCTOR_FINDING_H

#include "machine/doctor/doctor.h"

#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
void
ridge_finding_set(ridge_finding *finding, ridge_health health, const char *found, ...);
void ridge_finding_advise(ridge_finding *finding, const char *advice);

/* Finds the first program of that name in PATH. */
bool ridge_program_find(const char *name, char *program, int size);

/* Writes the findings on the GPU, at most `room`, and returns their number. Without a GPU there is one finding. */
int ridge_doctor_gpu(const ridge_machine *machine, ridge_finding *findings, int room);

#endif
