/* The kernels that variants launch, with their instructions: what ridge asm shows. */
#ifndef RIDGE_RECORD_KERNELS_H
#define RIDGE_RECORD_KERNELS_H

#include <jansson.h>

#include "device/cuda.h"
#include "record/instructions.h"
#include "ridge/target.h"

/* A kernel's text in one language, for one architecture. */
typedef struct ridge_kernel_text {
    char arch[16]; /* "sm_90a"; "": the program has none that this GPU runs */
    ridge_instructions count;
    char *text; /* owned; NULL: none */
} ridge_kernel_text;

/* One kernel of a variant, of the first case that launches it. */
typedef struct ridge_kernel_record {
    const ridge_target *target;
    const ridge_case *c;
    const ridge_variant *variant;
    const ridge_way *way; /* NULL: the variant has none */
    ridge_gpu_kernel kernel;
    ridge_kernel_text in[RIDGE_CODE_COUNT];
} ridge_kernel_record;

/* The function's own name in a name as the linker has it: "rows_kernel" of _ZN5ridge11rows_kernelI…. */
void ridge_kernel_brief(const char *name, char *text, size_t size);

/* {"schema": "ridge-asm/1", "kernels": […]}; NULL: no memory. texts: the kernels' texts, too. */
json_t *ridge_json_kernels(const ridge_kernel_record *kernels, int n, bool texts);

#endif
