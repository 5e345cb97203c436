/* Handlers that do the same in each lane, as loops that gcc vectorizes, and the decoding that such instructions share.
 */
#ifndef EMULATOR_EXEC_LANES_H
#define EMULATOR_EXEC_LANES_H

#include <string.h>

#include "exec/program.h"

#if defined(__GNUC__) && !defined(__clang__)
#define EMU_IVDEP _Pragma("GCC ivdep")
#else
#define EMU_IVDEP
#endif

/* Destination and sources may be the same register, never parts of one another: no lane depends on another. Lanes not
 * in the mask compute, too, and keep what they had. */
#define EMU_FOR_LANES(type, d, mask, loads, value)               \
    if ((mask) == UINT32_MAX) {                                  \
        EMU_IVDEP for (int lane = 0; lane < EMU_LANES; lane++) { \
            loads;                                               \
            (d)[lane] = (type)(value);                           \
        }                                                        \
    } else {                                                     \
        EMU_IVDEP for (int lane = 0; lane < EMU_LANES; lane++) { \
            loads;                                               \
            type now_ = (type)(value);                           \
            (d)[lane] = (mask) >> lane & 1 ? now_ : (d)[lane];   \
        }                                                        \
    }

/* d = value of a; of a and b; of a, b and c. */
#define EMU_UNARY(name, td, ta, value)                                                     \
    EMU_LANEWISE static emu_result name(emu_warp *warp, const emu_op *op, emu_mask mask) { \
        td *d = emu_at(warp, op->operand[0].at);                                           \
        const ta *pa = emu_at(warp, op->operand[1].at);                                    \
        EMU_FOR_LANES(td, d, mask, ta a = pa[lane], value)                                 \
        return EMU_NEXT;                                                                   \
    }
#define EMU_BINARY(name, td, ta, tb, value)                                                \
    EMU_LANEWISE static emu_result name(emu_warp *warp, const emu_op *op, emu_mask mask) { \
        td *d = emu_at(warp, op->operand[0].at);                                           \
        const ta *pa = emu_at(warp, op->operand[1].at);                                    \
        const tb *pb = emu_at(warp, op->operand[2].at);                                    \
        EMU_FOR_LANES(td, d, mask, ta a = pa[lane]; tb b = pb[lane], value)                \
        return EMU_NEXT;                                                                   \
    }
#define EMU_TERNARY(name, td, ta, tb, tc, value)                                             \
    EMU_LANEWISE static emu_result name(emu_warp *warp, const emu_op *op, emu_mask mask) {   \
        td *d = emu_at(warp, op->operand[0].at);                                             \
        const ta *pa = emu_at(warp, op->operand[1].at);                                      \
        const tb *pb = emu_at(warp, op->operand[2].at);                                      \
        const tc *pc = emu_at(warp, op->operand[3].at);                                      \
        EMU_FOR_LANES(td, d, mask, ta a = pa[lane]; tb b = pb[lane]; tc c = pc[lane], value) \
        return EMU_NEXT;                                                                     \
    }

/* The lanes of mask of a predicate. */
static inline void emu_set_pred(const emu_warp *warp, emu_operand p, emu_mask mask, uint32_t bits) {
    uint32_t *to = emu_at(warp, p.at);
    *to = (*to & ~mask) | (bits & mask);
}

/* What an instruction ends with is its type, mostly. */
static inline ptx_type emu_last_type(const emu_decoding *d) {
    return ptx_type_of(d->instruction->word[d->instruction->n_words - 1]);
}
static inline bool emu_is_float(ptx_type type) {
    return type == PTX_F16 || type == PTX_BF16 || type == PTX_F16X2 || type == PTX_BF16X2 || type == PTX_F32 ||
           type == PTX_F64 || type == PTX_F32X2;
}
static inline bool emu_is_signed(ptx_type type) {
    return type == PTX_S8 || type == PTX_S16 || type == PTX_S32 || type == PTX_S64 || type == PTX_S16X2;
}

/* Registers exactly as wide as the type: its lanes are read as an array of that width. */
bool emu_exact_source(emu_decoding *, const ptx_operand *, ptx_type type, emu_operand *out);
bool emu_exact_destination(emu_decoding *, const ptx_operand *, ptx_type type, emu_operand *out);
/* The rest of words must be empty. Decodes d, a, b, … of these types into operand[0…]; there must be n of them. */
bool emu_decode_all(emu_decoding *, emu_run *, int n, const ptx_type *types);
/* The same with all of one type. */
bool emu_decode_same(emu_decoding *, emu_run *, int n, ptx_type type);
/* The same with registers that may be wider than their types. */
bool emu_decode_wider(emu_decoding *, emu_run *, int n, const ptx_type *types);
/* Takes the type word and finds its handler; NULL after a failure. */
emu_run *emu_decode_typed(emu_decoding *, emu_run *const *by_type, ptx_type *type);
#endif
