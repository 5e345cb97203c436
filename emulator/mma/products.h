/* wgmma while it runs: what a warp has issued, what its warpgroup is at, and the products in flight.
 *
 * The four warps of a warpgroup come to an instruction one after the other; the n-th wgmma of each is the same one.
 * When all have come it is an operation in flight, which runs at a time of the engine's choosing. */
#ifndef EMULATOR_MMA_PRODUCTS_H
#define EMULATOR_MMA_PRODUCTS_H

#include "async/async.h"
#include "mma/descriptor.h"
#include "mma/fragments.h"

/* An instruction, decoded. */
typedef struct emu_wgmma {
    const emu_dot *dot;
    int n, k, sums; /* sums: registers of d */
    bool sparse, saturate, a_in_registers, trans_a, trans_b, negate_a, negate_b;
    emu_operand d[128], a[4]; /* a: four registers, or the descriptor in a[0] */
    emu_operand b, scale_d;
    emu_operand metadata; /* of sparse a, and which lanes of four have it: of 16 bits, 2 selector and the next */
    int selector;
} emu_wgmma;

enum { EMU_WARPGROUP = 4, EMU_GROUP_ENDS = 64 };
typedef struct emu_warpgroup emu_warpgroup;

/* A wgmma that some of the four warps, or all, have issued. */
typedef struct emu_product {
    emu_operation
        operation; /* first; its actor is one of the four warps, by dice: what that warp knew is what is checked */
    emu_warpgroup *group;
    struct emu_product *next; /* the warpgroup's, by number */
    const emu_op *op;
    const emu_wgmma *what;
    uint64_t number;            /* of the warpgroup, from 1 */
    uint64_t a, b;              /* descriptors */
    bool add;                   /* scale-d */
    uint32_t arrived, chosen;   /* bit a warp; which arrival's knowledge */
    uint8_t line[64][EMU_LINE]; /* of a, from registers */
    uint8_t kept[64][EMU_LINE]; /* of sparse a: the place in k of each element of a row */
} emu_product;

struct emu_warpgroup {
    emu_warp *warp[EMU_WARPGROUP]; /* NULL: has exited, or has not issued yet */
    uint64_t done;                 /* products up to this number are done */
    emu_product *first;            /* not done */
    int users;
};

/* What a warp does with a register that a product uses; by its place in the register file in units of 64 bytes. */
typedef struct emu_use {
    uint32_t written, read; /* by the product of this number */
    uint32_t copied;        /* holds a copy of what that product writes */
    uint32_t fence;         /* written by an ordinary instruction after so many fences, plus one */
} emu_use;

struct emu_products {
    emu_warpgroup *group;
    uint64_t issued, known;       /* products: issued, and waited for */
    uint64_t fences, groups;      /* groups that were committed */
    uint64_t end[EMU_GROUP_ENDS]; /* the last product of group g: end[g % EMU_GROUP_ENDS] */
    emu_use *use;
};

struct emu_products *emu_products_of(emu_warp *); /* made at first use */
emu_warpgroup *emu_warpgroup_of(emu_warp *);      /* NULL after a finding: the block has no such four warps */

/* An operation reads what chunks of 16 bytes of a block's shared memory name. False: an access failed, which was reported. */
bool emu_product_read(const emu_operation *, emu_block *, const uint32_t *chunk, int n);

/* The warp's next product: the one that others of the warpgroup have issued already, or a new one. */
emu_product *emu_product_next(emu_warp *, const emu_op *);
/* All four have come, this one last; the others may have exited. */
void emu_product_start(emu_product *, emu_warp *last);
#endif
