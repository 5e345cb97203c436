/* Queries of the running system, shared by this folder: files under /proc and /sys on Linux. Elsewhere, and where a
 * file is missing, the answer is "not known", never a failure. */
#ifndef RIDGE_MACHINE_IDENTITY_SYSTEM_H
#define RIDGE_MACHINE_IDENTITY_SYSTEM_H

#include <stdbool.h>
#include <stdint.h>

/* First line of a small file, without its newline and trailing blanks. false (and "") when it cannot be read. */
bool ridge_system_line(const char *path, char *text, int size);

/* Memory this process may use: the physical memory, or the lowest limit of its control groups (v1 and v2). 0: unknown.
 */
int64_t ridge_system_memory(bool *limited);

/* CPU quota of the control groups (v1 and v2) in processors, e.g. 1.5; 0 without a quota. */
double ridge_system_cpu_quota(void);

/* Name of the hypervisor, "" on bare metal. */
void ridge_system_hypervisor(char *name, int size);

/* All words of the features table that this processor and its system support, space-separated. */
void ridge_features_list(char *words, int size);

/* x86: the processor's brand, family and model. Elsewhere what /proc/cpuinfo says. */
void ridge_system_cpu(char *name, int size, int *family, int *model);

#endif
