/* NVIDIA's datasheet figures. From Hopper on, datasheets state tensor rates with 2:4 sparsity; this table has half of
 * those. A device whose exact name is not here (a MIG slice, a mobile part) has no datasheet figure. */
#include "machine/ceilings/datasheet.h"

#include <string.h>

#define A100 "NVIDIA A100 Tensor Core GPU datasheet"
#define H100 "NVIDIA H100 Tensor Core GPU datasheet (tensor rates: half of those with sparsity)"
#define H200 "NVIDIA H200 Tensor Core GPU datasheet (tensor rates: half of those with sparsity)"
#define B200 "NVIDIA Blackwell architecture technical brief, HGX B200 (dense)"
#define L40S "NVIDIA L40S GPU datasheet"
#define ADA "NVIDIA Ada GPU architecture whitepaper, RTX 4090 (dense, fp32 sums)"

static const ridge_datasheet sheets[] = {
    /* name, source, DRAM GB/s, then 1e12 a second: fp32, tf32, fp16, bf16, fp8, int8 */
    {"NVIDIA A100-SXM4-40GB", A100, 1555, 19.5, 156, 312, 312, 0, 624},
    {"NVIDIA A100-SXM4-80GB", A100, 2039, 19.5, 156, 312, 312, 0, 624},
    {"NVIDIA A100-PCIE-40GB", A100, 1555, 19.5, 156, 312, 312, 0, 624},
    {"NVIDIA A100 80GB PCIe", A100, 1935, 19.5, 156, 312, 312, 0, 624},
    {"NVIDIA H100 80GB HBM3", H100, 3350, 67, 494.5, 989.5, 989.5, 1979, 1979},
    {"NVIDIA H100 PCIe", H100, 2000, 51, 378, 756.5, 756.5, 1513, 1513},
    {"NVIDIA H100 NVL", H100, 3900, 60, 417.5, 835.5, 835.5, 1670.5, 1670.5},
    {"NVIDIA H200", H200, 4800, 67, 494.5, 989.5, 989.5, 1979, 1979},
    {"NVIDIA H200 NVL", H200, 4800, 60, 417.5, 835.5, 835.5, 1670.5, 1670.5},
    {"NVIDIA B200", B200, 8000, 0, 1100, 2250, 2250, 4500, 4500},
    {"NVIDIA L40S", L40S, 864, 91.6, 183, 362.05, 362.05, 733, 733},
    {"NVIDIA GeForce RTX 4090", ADA, 1008, 82.6, 82.6, 165.2, 165.2, 330.3, 660.6},
};

const ridge_datasheet *ridge_datasheet_find(const char *gpu_name) {
    for (size_t i = 0; i < sizeof sheets / sizeof sheets[0]; i++)
        if (strcmp(sheets[i].name, gpu_name) == 0) return &sheets[i];
    return NULL;
}

double ridge_datasheet_rate(const ridge_datasheet *d, const char *dtype) {
    if (!d) return 0;
    const struct {
        const char *dtype;
        double tera;
    } rates[] = {{"fp32", d->fp32}, {"tf32", d->tf32}, {"fp16", d->fp16},
                 {"bf16", d->bf16}, {"fp8", d->fp8},   {"int8", d->int8}};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++)
        if (strcmp(rates[i].dtype, dtype) == 0) return 1e3 * rates[i].tera;
    return 0;
}
