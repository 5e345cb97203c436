/* Attestation: what the launches between two moments did to each byte of global memory, and where else they took data from.
 *
 *     emulator_witness_begin(stream);
 *     run();
 *     cudaStreamSynchronize(stream);
 *     emulator_witness_end(&seen);
 *     emulator_witness_bytes(output, bytes, flags);      flags[i] & EMULATOR_WROTE: written in this launch
 *
 * Memory that was written before the begin, after the first begin, and is read before it is written again, is state that an
 * earlier launch kept, unless the bytes read are zero (counters that end as they began) or the caller wrote them between two
 * launches. What the program loaded before the first begin is no state. */
#ifndef EMULATOR_WITNESS_H
#define EMULATOR_WITNESS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    EMULATOR_READ = 1,      /* by a kernel, its engines, or a copy to device memory */
    EMULATOR_WROTE = 2,     /* likewise, or by a fill */
    EMULATOR_FROM_HOST = 4, /* by a copy from host memory */
};

typedef struct emulator_witness {
    uint64_t launches;  /* kernels that ran */
    uint64_t elsewhere; /* kernels, copies and fills that were asked for on another stream, and functions of the host */
    uint64_t fetched;   /* bytes copied to host memory, or written to memory that the host sees */
    uint64_t kept;      /* reads of bytes that an earlier launch left */
    char kept_by[96];   /* the kernel that read the first of them; "": a copy, or none */
} emulator_witness;

void emulator_witness_begin(void *stream); /* a cudaStream_t; NULL: the legacy stream */
void emulator_witness_end(emulator_witness *seen);
/* Of device memory: EMULATOR_READ … of each byte, since the last begin. Bytes outside of all allocations: 0. */
void emulator_witness_bytes(const void *memory, size_t bytes, unsigned char *flags);

#ifdef __cplusplus
}
#endif
#endif
