/* Who knows of whose accesses: happens-before as vector clocks, and the shadow of memory that races are found in.
 *
 * Actors. Every warp is an actor. Asynchronous work is an actor, too: what completes on an mbarrier acts as that
 * mbarrier, its phase is the epoch; groups (bulk, bulk .read, cp.async, wgmma) act as a stream of a warp, the group's
 * number is the epoch. Waiting for the phase or the group is what makes the work known. Two operations of the same
 * phase or group are not ordered. Lanes: within a warp, two lanes' accesses are ordered only by bar.warp.sync (or any
 * barrier of the block) between them; the shadow keeps the lane of a write.
 *
 * Clocks. A clock holds the newest epoch known of each actor; barriers, mbarriers, atomics' locations, streams have
 * one. Proxies. Beside its clock a warp has a second one, `proxied`: what was known at its last fence.proxy.async; both
 * travel together through barriers. An access by the async proxy after a generic write must find the write in
 * `proxied`. */
#ifndef EMULATOR_CHECK_CHECK_H
#define EMULATOR_CHECK_CHECK_H

#include "machine/access.h"
#include "machine/machine.h"

typedef struct emu_clock emu_clock; /* NULL is a clock that knows nothing */

/* ---- life: called by runtime/ when clusters begin and end ---------------------------------------------------- */
void emu_check_cluster_begin(emu_cluster *); /* after blocks and warps exist: family, order of each warp */
void emu_check_cluster_end(emu_cluster *);
/* A warp accesses the block's shared memory from another block; and the block exits, which has to come behind that. */
void emu_check_visit(emu_block *owner, emu_warp *, const emu_op *, int lane);
void emu_check_block_exit(emu_block *);
void emu_check_grid_begin(emu_grid *); /* begin_clock is set by the caller from the stream */
void emu_check_grid_end(emu_grid *);   /* end_clock: all that its warps knew */
void emu_clock_free(emu_clock *);
void emu_clock_join(emu_clock **into, const emu_clock *from);
emu_clock *emu_clock_copy(const emu_clock *);
void emu_clock_host(emu_clock **into);         /* all that the host did and waited for */
void emu_check_host_waited(const emu_clock *); /* the host synchronized with this */

/* ---- warps --------------------------------------------------------------------------------------------------- */
/* Barriers: each warp releases into the clock of the phase, and acquires it when the phase is complete. A clock of a
 * phase must not have what was released in the next phase already. */
/* The warp's knowledge into the object's; its later accesses are a new epoch. */
void emu_release(emu_warp *, emu_clock **into);
void emu_acquire(emu_warp *, const emu_clock *from);
void emu_warp_synchronized(emu_warp *, emu_mask); /* bar.warp.sync: these lanes' accesses before are ordered */
void emu_fence(emu_warp *, emu_scope);  /* membar, fence.acq_rel/sc: orders relaxed and volatile accesses around it */
void emu_fence_proxy_async(emu_warp *); /* fence.proxy.async, any form */

/* ---- asynchronous work --------------------------------------------------------------------------------------- */
typedef enum emu_proxy { EMU_PROXY_GENERIC, EMU_PROXY_ASYNC } emu_proxy;
/* An accessor. Made at issue by a warp; what it knows is what the warp knew then. */
typedef struct emu_actor {
    emu_warp *warp; /* that issued it; for reports. May have exited since: never follow for more than reports */
    emu_block *block;
    const emu_op *op;
    int lane;
    emu_proxy proxy;
    emu_clock *known;  /* the issuer's clock, and proxied, at issue */
    emu_clock *fenced; /* of tensor memory: what is known behind tcgen05.fence; NULL: no fence is demanded */
    uint32_t slot;     /* identity in clocks */
    uint64_t epoch;
    uint64_t operation;     /* unique: tells operations of one epoch apart */
    uint32_t issuer, whole; /* slot of the warp; its newest epoch that all its lanes knew of each other at issue */
} emu_actor;

/* Streams of groups of a warp. EMU_STREAM_WGMMA: of a warpgroup, named by its first warp, because wgmma is an
 * instruction of four warps: that its group is done, which one warp waited for, holds for the parts of all (CUTLASS
 * releases a stage by one thread of the warpgroup). The four warps must number their groups alike. */
typedef enum emu_stream_kind {
    EMU_STREAM_BULK,
    EMU_STREAM_BULK_READ,
    EMU_STREAM_CP_ASYNC,
    EMU_STREAM_WGMMA,
    EMU_STREAM_TENSOR, /* tcgen05.mma and its kin: each is a group, ordered behind those before it */
    EMU_STREAM_TENSOR_LOAD,
    EMU_STREAM_TENSOR_STORE,
    EMU_N_STREAMS
} emu_stream_kind;
void emu_actor_of_group(emu_warp *, const emu_op *, int lane, emu_stream_kind, uint64_t group, emu_proxy,
                        emu_actor *out);
/* Completes on an mbarrier, in this phase. `slot` is opaque, kept by the mbarrier, zero at first and whenever the
 * numbers of its phases begin anew. */
void emu_actor_of_mbarrier(emu_warp *, const emu_op *, int lane, emu_block *owner, uint32_t *slot, uint64_t phase,
                           emu_proxy, emu_actor *out);
void emu_actor_end(emu_actor *);
/* This group and all before are known to the warp. Of EMU_STREAM_BULK: their reads, too. */
void emu_acquire_group(emu_warp *, emu_stream_kind, uint64_t group);
/* The same into an object's clock: for work of a group whose completion is an arrival (cp.async.mbarrier.arrive). */
void emu_clock_group(emu_clock **into, emu_warp *, emu_stream_kind, uint64_t group);
/* What the phase's completion makes known: its work of engines, beside the clock that arrivals released into. */
void emu_clock_phase(emu_clock **into, emu_block *owner, uint32_t slot, uint64_t phase);

/* ---- tensor memory: a clock has one more side, what was known at tcgen05.fence::before_thread_sync on the way here ---- */
void emu_tensor_before(emu_warp *);
void emu_tensor_unfenced(emu_warp *, emu_clock **fenced); /* nothing is */
void emu_tensor_after(emu_warp *, emu_clock **fenced);    /* all that the warp knows, with that side, is fenced now */
/* As emu_clock_group(), on that side, too. */
void emu_tensor_group(emu_clock **into, emu_warp *, emu_stream_kind, uint64_t group);

/* ---- shadow: called by memory/ alone, after bounds and alignment --------------------------------------------- */
typedef struct emu_shadow emu_shadow;
emu_shadow *emu_shadow_create(const void *memory, uint64_t bytes, bool shared);
emu_shadow *emu_shadow_tensor(const void *memory, uint64_t bytes); /* columns of 128 lanes of 4 bytes */
void emu_shadow_destroy(emu_shadow *);
void emu_shadow_fresh(emu_shadow *, uint64_t at, uint64_t bytes, bool initialized); /* nobody accessed it */
/* Records and checks; reports races, missing proxy fences and uninitialized reads by itself. at: offset in memory. */
void emu_shadow_lanes(emu_shadow *, emu_warp *, const emu_op *, emu_mask, const emu_access *,
                      const uint64_t at[EMU_LANES]);
void emu_shadow_range(emu_shadow *, const emu_actor *, const emu_access *, uint64_t at, uint64_t bytes);
/* For a store, after its lanes' bytes were written: two lanes that wrote different values to one byte are a race.
 * value: lane l wrote the bytes from value + l * stride to pointer[l]. */
void emu_check_stored(emu_warp *, const emu_op *, emu_mask, uint32_t bytes, uint8_t *const pointer[EMU_LANES],
                      const void *value, size_t stride);
#endif
