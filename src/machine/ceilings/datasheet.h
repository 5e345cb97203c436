/* Datasheets of GPUs: dense rates as the vendor states them. */
#ifndef RIDGE_MACHINE_CEILINGS_DATASHEET_H
#define RIDGE_MACHINE_CEILINGS_DATASHEET_H

typedef struct ridge_datasheet {
    const char *name;   /* as the driver names the device */
    const char *source; /* "NVIDIA H200 Tensor Core GPU datasheet" */
    double dram_gbps;
    double fp32, tf32, fp16, bf16, fp8, int8; /* 1e12 a second, dense, fp32 accumulation; 0: not stated */
} ridge_datasheet;

const ridge_datasheet *ridge_datasheet_find(const char *gpu_name); /* NULL: not in the table */
/* 1e9 a second; 0 when it is not stated or datasheet is NULL. dtype as in ridge_peak. */
double ridge_datasheet_rate(const ridge_datasheet *datasheet, const char *dtype);

#endif
