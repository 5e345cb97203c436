/* Places of a function's registers in the register file of a warp. PTX has a register for each value, thousands of them
 * in a large kernel; those that are never live together share a place, so that a warp's file stays in the processor's
 * caches.
 *
 * Liveness is that of one lane, which goes its own way through the function: lanes never touch each other's part of a
 * place. Registers of a wgmma are read and written while other instructions run: they keep a place to themselves. */
#include <stdlib.h>
#include <string.h>

#include "exec/program.h"

typedef struct block {
    uint32_t first, last; /* instructions, last included */
    uint64_t *in, *out, *used, *defined;
} block;

typedef struct flow {
    const emu_builder *builder;
    const emu_part *part;
    const ptx_function *function;
    uint32_t n, words;  /* instructions; of 64 bits for a set of registers */
    uint32_t *block_of; /* by instruction; [n]: the end */
    block *block;
    uint32_t n_blocks;
    uint64_t *sets;
} flow;

static bool has(const uint64_t *set, uint32_t r) { return set[r / 64] >> r % 64 & 1; }
static void add(uint64_t *set, uint32_t r) { set[r / 64] |= UINT64_C(1) << r % 64; }

/* ---- control flow ------------------------------------------------------------------------------------------------ */
/* Calls found(context, target) for each label of the instruction's operands. */
static void each_label(const ptx_instruction *instruction, void (*found)(flow *, uint32_t from, uint32_t to), flow *f,
                       uint32_t from) {
    for (int i = 0; i < instruction->n_operands; i++) {
        const ptx_operand *operand = instruction->operand + i;
        if (operand->kind == PTX_LABEL) found(f, from, operand->target);
        for (int k = 0; operand->kind == PTX_VECTOR && k < operand->n_parts; k++)
            if (operand->parts[k].kind == PTX_LABEL) found(f, from, operand->parts[k].target);
    }
}

static bool ends_flow(const ptx_instruction *instruction) {
    static const char *const names[] = {"bra", "brx", "ret", "exit", "trap"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(instruction->word[0], names[i])) return true;
    return false;
}

static void mark_leader(flow *f, uint32_t from, uint32_t to) {
    (void)from;
    f->block_of[to] = 1;
}

static void find_blocks(flow *f) {
    f->block_of = emu_alloc((f->n + 2) * sizeof *f->block_of);
    f->block_of[0] = 1;
    for (uint32_t i = 0; i < f->n; i++) {
        each_label(f->function->instruction + i, mark_leader, f, i);
        if (ends_flow(f->function->instruction + i)) f->block_of[i + 1] = 1;
    }
    for (uint32_t i = 0; i < f->n; i++) f->n_blocks += f->block_of[i];
    f->block = emu_alloc((f->n_blocks + 1) * sizeof *f->block);
    uint32_t b = UINT32_MAX;
    for (uint32_t i = 0; i < f->n; i++) {
        if (f->block_of[i]) f->block[++b].first = i;
        f->block[b].last = i;
        f->block_of[i] = b;
    }
    f->block_of[f->n] = f->n_blocks; /* the return at the end, where nothing is live */
    f->sets = emu_alloc((size_t)(f->n_blocks + 1) * 4 * f->words * sizeof *f->sets);
    for (uint32_t k = 0; k <= f->n_blocks; k++) {
        uint64_t *sets = f->sets + (size_t)k * 4 * f->words;
        f->block[k].in = sets, f->block[k].out = sets + f->words;
        f->block[k].used = sets + 2 * f->words, f->block[k].defined = sets + 3 * f->words;
    }
}

/* ---- what instructions read and write ---------------------------------------------------------------------------- */
static void uses_of(const flow *f, uint32_t i, uint32_t *from, uint32_t *to) {
    *from = f->builder->touch_first[f->part->op_of[i]];
    *to = f->builder->touch_first[f->part->op_of[i + 1]];
}

static void find_uses(flow *f) {
    for (uint32_t b = 0; b < f->n_blocks; b++) {
        block *k = f->block + b;
        for (uint32_t i = k->first; i <= k->last; i++) {
            uint32_t from, to;
            uses_of(f, i, &from, &to);
            bool always = f->function->instruction[i].guard < 0; /* under a guard some lanes keep the old value */
            for (uint32_t u = from; u < to; u++) {
                uint32_t r = (uint32_t)f->builder->use[u].reg;
                if (!f->builder->use[u].written && !has(k->defined, r)) add(k->used, r);
            }
            for (uint32_t u = from; u < to; u++)
                if (f->builder->use[u].written && always) add(k->defined, (uint32_t)f->builder->use[u].reg);
        }
    }
}

static void flow_back(flow *f, uint32_t from, uint32_t to) {
    const block *next = f->block + f->block_of[to];
    block *here = f->block + from;
    for (uint32_t w = 0; w < f->words; w++) here->out[w] |= next->in[w];
}

static bool update_in(const flow *f, block *k) {
    uint64_t changed = 0;
    for (uint32_t w = 0; w < f->words; w++) {
        uint64_t in = k->used[w] | (k->out[w] & ~k->defined[w]);
        changed |= in ^ k->in[w];
        k->in[w] = in;
    }
    return changed != 0;
}

static void find_liveness(flow *f) {
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = f->n_blocks; b-- > 0;) {
            block *k = f->block + b;
            const ptx_instruction *last = f->function->instruction + k->last;
            each_label(last, flow_back, f, b);
            if (!ends_flow(last) || last->guard >= 0) flow_back(f, b, k->last + 1);
            changed |= update_in(f, k);
        }
    }
}

/* ---- intervals: from the first to the last instruction where a register is live or touched ----------------------- */
typedef struct interval {
    uint32_t reg, first, last, bytes;
} interval;

static void stretch(interval *v, uint32_t at) {
    if (at < v->first) v->first = at;
    if (at > v->last) v->last = at;
}

static void find_intervals(const flow *f, interval *list) {
    for (uint32_t b = 0; b < f->n_blocks; b++) {
        const block *k = f->block + b;
        for (uint32_t w = 0; w < f->words; w++) {
            for (uint64_t set = k->in[w]; set; set &= set - 1)
                stretch(list + w * 64 + (uint32_t)__builtin_ctzll(set), k->first);
            for (uint64_t set = k->out[w]; set; set &= set - 1)
                stretch(list + w * 64 + (uint32_t)__builtin_ctzll(set), k->last);
        }
    }
    for (uint32_t i = 0; i < f->n; i++) {
        uint32_t from, to;
        uses_of(f, i, &from, &to);
        bool private = !strcmp(f->function->instruction[i].word[0], "wgmma");
        for (uint32_t u = from; u < to; u++) {
            interval *v = list + f->builder->use[u].reg;
            stretch(v, i);
            if (private) v->first = 0, v->last = f->n;
        }
    }
}

/* ---- places, by size: predicates 4 bytes, others a multiple of 64 ------------------------------------------------ */
enum { SIZES = 5 };
static uint32_t size_index(uint32_t bytes) { return bytes == 4 ? 0 : 1 + (uint32_t)__builtin_ctz(bytes / 64); }

static int by_first(const void *a, const void *b) {
    const interval *x = a, *y = b;
    return x->first != y->first ? (x->first < y->first ? -1 : 1) : x->reg < y->reg ? -1 : 1;
}
static int by_last(const void *a, const void *b) {
    const interval *x = a, *y = b;
    return x->last != y->last ? (x->last < y->last ? -1 : 1) : x->reg < y->reg ? -1 : 1;
}

/* list is sorted by its first, ending by its last. Places that ended before an interval begins are given again. */
static uint32_t give_places(const interval *list, const interval *ending, uint32_t n, uint32_t *at) {
    uint32_t *free_places[SIZES], n_free[SIZES] = {0}, end = 0, ended = 0, next_predicate = 0, predicates_left = 0;
    for (int s = 0; s < SIZES; s++) free_places[s] = emu_alloc((n + 1) * sizeof **free_places);
    for (uint32_t i = 0; i < n; i++) {
        for (; ending[ended].last < list[i].first; ended++) {
            uint32_t s = size_index(ending[ended].bytes);
            free_places[s][n_free[s]++] = at[ending[ended].reg];
        }
        uint32_t s = size_index(list[i].bytes);
        if (n_free[s]) {
            at[list[i].reg] = free_places[s][--n_free[s]];
        } else if (s == 0) {
            if (!predicates_left) next_predicate = end, predicates_left = 16, end += 64;
            at[list[i].reg] = next_predicate;
            next_predicate += 4, predicates_left--;
        } else {
            at[list[i].reg] = end;
            end += list[i].bytes;
        }
    }
    for (int s = 0; s < SIZES; s++) free(free_places[s]);
    return end;
}

static uint32_t lane_array_bytes(ptx_type type) {
    uint32_t bytes = ptx_type_bytes[type];
    return bytes == 0 ? 4 : (bytes < 2 ? 2 : bytes) * EMU_LANES;
}

void emu_allocate_registers(emu_builder *builder, emu_part *part) {
    uint32_t n = (uint32_t)part->function->n_registers, used = 0;
    flow f = {.builder = builder,
              .part = part,
              .function = part->function,
              .n = (uint32_t)part->function->n_instructions,
              .words = (n + 63) / 64};
    find_blocks(&f);
    find_uses(&f);
    find_liveness(&f);
    interval *list = emu_alloc((n + 64) * sizeof *list), *ending = emu_alloc((n + 64) * sizeof *ending);
    for (uint32_t r = 0; r < n + 63; r++) list[r] = (interval){.reg = r, .first = UINT32_MAX};
    find_intervals(&f, list);
    for (int k = 0; k <= f.function->n_parameters; k++) { /* what a call writes and reads */
        const ptx_variable *passed = k < f.function->n_parameters ? f.function->parameter + k : f.function->result;
        if (passed && passed->space == PTX_REG) list[passed->reg].first = 0, list[passed->reg].last = f.n;
    }
    for (uint32_t r = 0; r < n; r++) {
        if (list[r].first == UINT32_MAX) continue; /* nobody touches it */
        list[r].bytes = lane_array_bytes(part->function->reg[r].type);
        list[used++] = list[r];
    }
    memcpy(ending, list, used * sizeof *list);
    qsort(list, used, sizeof *list, by_first);
    qsort(ending, used, sizeof *ending, by_last);
    for (uint32_t r = 0; r < n; r++) part->register_at[r] = EMU_NOWHERE;
    part->frame_bytes = give_places(list, ending, used, part->register_at);
    free(list);
    free(ending);
    free(f.sets);
    free(f.block);
    free(f.block_of);
}
