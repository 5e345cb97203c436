/* What an access to memory is, for those who make it (memory/) and those who judge it (check/). */
#ifndef EMULATOR_MACHINE_ACCESS_H
#define EMULATOR_MACHINE_ACCESS_H

#include "ptx/ptx.h"

typedef enum emu_access_kind {
    EMU_READ = 1,
    EMU_WRITE = 2,
    EMU_UPDATE = 3 /* atomic read and write */
} emu_access_kind;
typedef enum emu_semantics {
    EMU_WEAK,
    EMU_VOLATILE,
    EMU_RELAXED,
    EMU_ACQUIRE,
    EMU_RELEASE,
    EMU_ACQUIRE_RELEASE
} emu_semantics;
typedef enum emu_scope { EMU_SCOPE_CTA, EMU_SCOPE_CLUSTER, EMU_SCOPE_GPU, EMU_SCOPE_SYS } emu_scope;
/* What a store writes: lane l's element k is at element[k] + l * stride. */
typedef struct emu_stored {
    const uint8_t *element[8]; /* NULL: not told */
    uint32_t elements, bytes;  /* of an element */
    uint64_t stride;
} emu_stored;
typedef struct emu_access {
    emu_access_kind kind;
    emu_semantics semantics;
    emu_scope scope;
    ptx_space space; /* PTX_GENERIC: told from the address. PTX_SHARED: 32-bit shared address */
    bool cluster;    /* .shared::cluster: other blocks' shared memory may be meant; without it that is a finding */
    uint32_t bytes;  /* a lane; also the alignment that is demanded, unless align says otherwise */
    uint32_t align;
    bool engine;              /* the warp names it to an engine, which accesses it later */
    bool after_reads;         /* of an engine's write: generic reads before it need a proxy fence, as writes do */
    const emu_stored *stored; /* NULL: not told */
} emu_access;

#endif
