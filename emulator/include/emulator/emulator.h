/* The emulator's own interface, beside the CUDA runtime's functions that it defines: for programs that want its
 * findings and counts. A program needs none of it: linked to the emulator instead of libcudart, it runs as it is. */
#ifndef EMULATOR_EMULATOR_H
#define EMULATOR_EMULATOR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct emulator_counts {
    uint64_t launches, blocks, warp_instructions, lane_instructions, tiles, copies, findings;
    double seconds; /* spent in launches */
} emulator_counts;
void emulator_get_counts(emulator_counts *);
/* Text of the first finding since the last call, one line; NULL: none. Valid until the next launch. */
const char *emulator_take_finding(void);
/* Seed of the launches to come. */
void emulator_set_seed(uint64_t seed);
/* The variables of the environment that the emulator reads, as lines of text. */
const char *emulator_help(void);

#ifdef __cplusplus
}
#endif
#endif
