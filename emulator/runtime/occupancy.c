/* How much of the device a block takes. */
#include <stdlib.h>

#include "runtime/limits.h"
#include "runtime/schedule.h"

/* Registers that no compilation does without: the most that one vector operand names, as an accumulator of wgmma does. */
static int widest_vector(const ptx_function *f) {
    int most = 0;
    for (int i = 0; f->parsed && i < f->n_instructions; i++) {
        const ptx_instruction *instruction = &f->instruction[i];
        for (int k = 0; k < instruction->n_operands; k++) {
            const ptx_operand *o = &instruction->operand[k];
            int units = 0;
            for (int part = 0; o->kind == PTX_VECTOR && part < o->n_parts; part++)
                if (o->parts[part].kind == PTX_REGISTER)
                    units += (ptx_type_bytes[f->reg[o->parts[part].reg].type] + 3) / 4;
            if (units > most) most = units;
        }
    }
    return most;
}

/* The most registers that live at once, in 32-bit units, where a register lives from its first to its last mention in
 * the text. PTX registers are nearly in SSA form, so this is close; loops keep some alive for longer. */
static int live_registers(const ptx_function *f) {
    if (!f->parsed || f->n_instructions == 0 || f->n_registers == 0) return 32;
    size_t registers = (size_t)f->n_registers, instructions = (size_t)f->n_instructions;
    int *first = emu_alloc(registers * sizeof *first), *last = emu_alloc(registers * sizeof *last);
    int *change = emu_alloc((instructions + 1) * sizeof *change);
    for (int i = 0; i < f->n_instructions; i++) {
        const ptx_instruction *instruction = &f->instruction[i];
        for (int k = 0; k < instruction->n_operands; k++) {
            const ptx_operand *o = &instruction->operand[k];
            for (int part = o->parts ? 0 : -1; part < o->n_parts; part++) {
                const ptx_operand *x = part < 0 ? o : &o->parts[part];
                if (x->kind == PTX_REGISTER && x->reg >= 0 && x->reg < f->n_registers) {
                    if (!first[x->reg]) first[x->reg] = i + 1;
                    last[x->reg] = i + 1;
                }
                if (part < 0) break;
            }
        }
    }
    for (size_t r = 0; r < registers; r++) {
        int units = (ptx_type_bytes[f->reg[r].type] + 3) / 4;
        if (!first[r]) continue;
        change[first[r] - 1] += units;
        change[last[r] - 1] -= units;
    }
    int live = 0, most = 0;
    for (size_t i = 0; i < instructions; i++) {
        live += change[i];
        if (live > most) most = live;
    }
    free(first);
    free(last);
    free(change);
    return most;
}

static uint32_t bounded_threads(const ptx_function *f) {
    const uint32_t *t = f->required_threads[0] ? f->required_threads : f->max_threads;
    return t[0] ? t[0] * (t[1] ? t[1] : 1) * (t[2] ? t[2] : 1) : 0;
}

int emu_registers_of(const ptx_function *f) {
    const uint32_t threads = bounded_threads(f);
    const uint32_t most = emu_registers_at_most(f, threads ? (threads + 31) / 32 : 1);
    uint32_t estimate = ((uint32_t)live_registers(f) + 8 + 7) / 8 * 8;
    if (estimate < 16) estimate = 16;
    return (int)(estimate < most ? estimate : most);
}

int emu_registers_at_least(const ptx_function *f) {
    enum { LEAST = 16, GRANULE = 8 };
    const int widest = (widest_vector(f) + GRANULE - 1) / GRANULE * GRANULE;
    return widest > LEAST ? widest : LEAST;
}

int emu_occupancy(const emu_code *code, uint32_t threads, uint32_t dynamic_shared) {
    uint32_t warps = (threads + 31) / 32;
    if (threads == 0 || threads > EMU_MAX_THREADS) return 0;
    uint32_t registers = (uint32_t)emu_registers_at_least(code->function);
    uint32_t shared = (code->shared_bytes + dynamic_shared + EMU_RESERVED_SHARED + 127) / 128 * 128;
    uint32_t blocks = EMU_SM_BLOCKS;
    uint32_t by_threads = EMU_SM_THREADS / (warps * 32), by_shared = EMU_SM_SHARED / shared;
    uint32_t by_registers = EMU_SM_REGISTERS / (registers * 32 * warps);
    if (by_threads < blocks) blocks = by_threads;
    if (by_shared < blocks) blocks = by_shared;
    if (by_registers < blocks) blocks = by_registers;
    return (int)blocks;
}

/* A cluster lies within a GPC. These sizes give the counts of clusters that an H200's driver tells for one block an SM.
 */
static uint64_t clusters_beside(uint64_t size) {
    static const unsigned sms_of_gpc[] = {18, 18, 18, 18, 18, 16, 16, 10};
    uint64_t clusters = 0, sms = 0;
    for (size_t i = 0; i < sizeof sms_of_gpc / sizeof *sms_of_gpc; i++) {
        clusters += sms_of_gpc[i] / size;
        sms += sms_of_gpc[i];
    }
    uint64_t scaled = clusters * (uint64_t)emu_options_get()->sm_count / sms;
    return scaled ? scaled : 1;
}

uint64_t emu_capacity(const emu_code *code, uint32_t threads, uint32_t dynamic_shared, uint64_t cluster) {
    return (uint64_t)emu_occupancy(code, threads, dynamic_shared) * clusters_beside(cluster);
}
