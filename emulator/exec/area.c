/* ld.param and st.param of what device functions pass each other. Kernel parameters are memory/'s. */
#include "exec/call.h"
#include "exec/lanes.h"

typedef struct moved {
    emu_passed at;
    emu_address address; /* when a register has the address: host memory */
    bool by_register, is_signed;
    int n;
    uint32_t bytes;
    emu_operand value[4];
} moved;

static uint8_t *bytes_at(const emu_warp *warp, const moved *m, const uint64_t *address, int lane, int k) {
    uint8_t *from = m->by_register ? (uint8_t *)(uintptr_t)address[lane] : emu_area(warp, &m->at, lane);
    return from + (uint32_t)k * m->bytes;
}

static emu_result run_load(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const moved *m = op->detail;
    uint64_t address[EMU_LANES];
    if (m->by_register) emu_addresses(warp, &m->address, address);
    for (int k = 0; k < m->n; k++) {
        uint64_t value[EMU_LANES] = {0};
        int shift = 64 - 8 * (int)m->bytes;
        for (emu_mask rest = mask; rest; rest &= rest - 1) {
            int lane = __builtin_ctz(rest);
            memcpy(value + lane, bytes_at(warp, m, address, lane, k), m->bytes);
            if (m->is_signed) value[lane] = (uint64_t)((int64_t)(value[lane] << shift) >> shift);
        }
        if (m->value[k].at != EMU_NOWHERE) emu_lanes_write(warp, m->value[k], mask, value);
    }
    return EMU_NEXT;
}

static emu_result run_store(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const moved *m = op->detail;
    uint64_t address[EMU_LANES], value[EMU_LANES];
    if (m->by_register) emu_addresses(warp, &m->address, address);
    for (int k = 0; k < m->n; k++) {
        emu_lanes_read(warp, m->value[k], value);
        for (emu_mask rest = mask; rest; rest &= rest - 1) {
            int lane = __builtin_ctz(rest);
            memcpy(bytes_at(warp, m, address, lane, k), value + lane, m->bytes);
        }
    }
    return EMU_NEXT;
}

static bool is_kernel_parameter(const ptx_function *function, const ptx_variable *variable) {
    return function->entry && variable >= function->parameter &&
           variable < function->parameter + function->n_parameters;
}

static bool decode_moved(emu_decoding *d, bool load) {
    static const char *const vectors[] = {"v2", "v4", NULL};
    const ptx_operand *operand = d->instruction->operand, *address = operand + (load ? 1 : 0),
                      *value = operand + (load ? 0 : 1);
    if (!ptx_take(&d->words, "param") && !ptx_take(&d->words, "param::func")) return emu_decline(d);
    if (d->instruction->n_operands != 2 || address->kind != PTX_ADDRESS) return emu_decline(d);
    const ptx_operand *base = address->parts;
    bool symbol = base->kind == PTX_SYMBOL && base->variable && base->variable->space == PTX_PARAM;
    if (symbol ? is_kernel_parameter(d->function, base->variable) : d->function->entry) return emu_decline(d);
    moved *m = emu_decode_alloc(d, sizeof *m);
    int vector = ptx_take_of(&d->words, vectors, -1);
    ptx_type type = ptx_take_type(&d->words);
    m->n = vector < 0 ? 1 : 2 << vector;
    m->bytes = ptx_type_bytes[type];
    m->is_signed = load && emu_is_signed(type);
    m->by_register = !symbol;
    if (!ptx_words_end(&d->words) || !m->bytes || m->bytes > 8)
        return emu_decode_fail(d, "ld.param or st.param of this type");
    if ((vector < 0) != (value->kind != PTX_VECTOR) || (vector >= 0 && value->n_parts != m->n))
        return emu_decode_fail(d, "%d registers are due", m->n);
    if (symbol) {
        emu_builder *builder = emu_builder_of(d);
        uint32_t part = (uint32_t)(builder->part - builder->program->part);
        int64_t offset = address->offset + base->offset;
        if (offset < 0 || (uint64_t)offset + m->bytes * (uint32_t)m->n > base->variable->bytes)
            return emu_decode_fail(d, "beyond the %llu bytes of %s", (unsigned long long)base->variable->bytes,
                                   base->text);
        m->at = (emu_passed){.lanes = {.at = EMU_NOWHERE}, .part = part, .bytes = m->bytes};
        m->at.offset = emu_decode_area(d, part, base->variable) + (uint32_t)offset;
    } else if (!emu_decode_address(d, address, PTX_PARAM, &m->address)) {
        return false;
    }
    for (int k = 0; k < m->n; k++) {
        const ptx_operand *part = vector < 0 ? value : value->parts + k;
        m->value[k].at = EMU_NOWHERE;
        if (part->kind == PTX_SINK) continue;
        if (!(load ? emu_decode_destination(d, part, type, m->value + k)
                   : emu_decode_source(d, part, type, m->value + k)))
            return false;
    }
    d->op->run = load ? run_load : run_store;
    d->op->detail = m;
    return true;
}

static bool decode_load(emu_decoding *d) { return decode_moved(d, true); }
static bool decode_store(emu_decoding *d) { return decode_moved(d, false); }

extern const emu_mnemonic emu_mnemonics_area[];
const emu_mnemonic emu_mnemonics_area[] = {{"ld", decode_load}, {"st", decode_store}, {NULL, NULL}};
