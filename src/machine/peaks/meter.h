/* Compute side of the meter (memory/meter.h): the rates of the peak loops on all threads of its team. */
#ifndef RIDGE_MACHINE_PEAKS_METER_H
#define RIDGE_MACHINE_PEAKS_METER_H

#include "machine/memory/meter.h"

/* Every peak loop that can run here whose dtype is `dtype` and whose name is `name` (NULL: any), in order of the tables; loops that share a name
 * are merged into the fastest. Loops whose sums come out wrong are left out and named in `wrong`. Returns how many
 * peaks. */
int ridge_meter_peaks(ridge_meter *meter, const char *dtype, const char *name, int samples,
                      ridge_peak peaks[RIDGE_MAX_PEAKS], char *wrong, int size);

#endif
