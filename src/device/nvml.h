/* State of a GPU, from NVML: clocks, power, temperature, and throttle reasons.
 *
 * libnvidia-ml is opened at run time. If it is missing, too old for a query, or denies the query, the value is "not
 * known"; no function fails. A handle is valid only in the process that opened it: open it after fork(). */
#ifndef RIDGE_DEVICE_NVML_H
#define RIDGE_DEVICE_NVML_H

#include <stdbool.h>
#include <stdint.h>

typedef struct ridge_nvml ridge_nvml;

/* State that changes from moment to moment; reading it takes about 20 µs. */
typedef struct ridge_gpu_state {
    int sm_mhz, memory_mhz; /* 0: not known */
    double power_w;         /* W, average of about 100 ms; 0: not known */
    int temperature_c;      /* 0: not known */
    uint64_t throttle;      /* NVML clocks event reasons, a bit mask; 0: none, or not known */
    bool known;             /* the SM clock and the reasons could be read */
} ridge_gpu_state;

/* State that rarely changes. -1: not known. */
typedef struct ridge_gpu_setup {
    char driver[32];                /* "580.159.04"; "" not known */
    int persistence;                /* 0 off, 1 on */
    int ecc;                        /* 0 off, 1 on */
    int mig;                        /* 0 off, 1 on */
    int processes;                  /* compute processes, this one included */
    int max_sm_mhz;                 /* 0: not known */
    double power_limit_w;           /* enforced; 0: not known */
    double used_bytes, total_bytes; /* device memory of all processes; 0: not known */
} ridge_gpu_setup;

/* bus: ridge_gpu.bus; NULL or "" selects the first GPU. Returns false and sets *handle to NULL if NVML cannot be used.
 * The other functions accept NULL. */
bool ridge_nvml_open(const char *bus, ridge_nvml **handle);
void ridge_nvml_close(ridge_nvml *handle);
void ridge_nvml_read(ridge_nvml *handle, ridge_gpu_state *state);
void ridge_nvml_setup(ridge_nvml *handle, ridge_gpu_setup *setup);

/* True if a reason is throttling: heat, power, or a fault. Idle clocks and clocks set by the user do not count. */
bool ridge_gpu_throttled(uint64_t reasons);

/* Writes "software power cap, thermal slowdown"; "none" for 0; unknown bits as "reason 0x400". Returns text. */
const char *ridge_gpu_reasons(uint64_t reasons, char *text, int size);

#endif
