/* The mbarrier instructions, decoded. */
#ifndef EMULATOR_ASYNC_MBARRIER_OPS_H
#define EMULATOR_ASYNC_MBARRIER_OPS_H

#include "async/internal.h"

/* Flags of an op. */
enum {
    EMU_ARRIVE_EXPECTS = 1,
    EMU_ARRIVE_DROPS = 2,
    EMU_ARRIVE_NO_COMPLETE = 4,
    EMU_MBARRIER_RELAXED = 8,
    EMU_WAIT_TRIES = 16,
    EMU_WAIT_PARITY = 32
};

/* Operands: 0 the result, 1 count, bytes, parity or state. value: of transactions 1 expects, -1 completes. */
typedef struct emu_mbarrier_detail {
    emu_address address;
    ptx_space space;
    bool cluster;
} emu_mbarrier_detail;

emu_run emu_mbarrier_run_init, emu_mbarrier_run_inval, emu_mbarrier_run_arrive, emu_mbarrier_run_transfer,
    emu_mbarrier_run_wait, emu_mbarrier_run_pending_count;

/* The mbarriers that lanes mean, after memory/ has checked the access and its order with others'. False: an address is
 * wrong, or there is no mbarrier to use. use: "arrival at". */
bool emu_mbarrier_resolve(emu_warp *, const emu_op *, emu_mask, emu_access_kind, const char *use,
                          emu_mbarrier *barrier[EMU_LANES]);
#endif
