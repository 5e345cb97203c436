/* Operands of an instruction to places: registers, immediates, special registers, addresses of symbols. */
#include <string.h>

#include "exec/program.h"

static uint32_t round_up(uint32_t value, uint32_t to) { return (value + to - 1) / to * to; }

void emu_builder_touch(emu_builder *builder, emu_operand operand, int32_t reg, bool written) {
    if (builder->n_touches == builder->touch_capacity) {
        builder->touch_capacity = builder->touch_capacity ? 2 * builder->touch_capacity : 1024;
        builder->touch = emu_grow(builder->touch, builder->touch_capacity, sizeof *builder->touch);
        builder->use = emu_grow(builder->use, builder->touch_capacity, sizeof *builder->use);
    }
    builder->touch[builder->n_touches] = (emu_touch){operand, written};
    builder->use[builder->n_touches++] = (emu_use){reg, written};
}

/* ---- constants --------------------------------------------------------------------------------------------------- */
emu_operand emu_decode_constant(emu_decoding *d, const void *lane_value, uint8_t bytes) {
    emu_builder *builder = emu_builder_of(d);
    uint64_t key[2] = {0, 0};
    memcpy(key, lane_value, bytes);
    bool fresh;
    /* 32 bits 7 and 64 bits 7 are different places. */
    uint32_t *at = emu_map_at(&builder->constant_at, key[0] ^ (uint64_t)bytes << 56, key[1] ^ bytes, &fresh);
    if (fresh) {
        uint32_t size = round_up((uint32_t)bytes * EMU_LANES, 64);
        while (builder->n_constants + size > builder->constants_capacity) {
            builder->constants_capacity = builder->constants_capacity ? 2 * builder->constants_capacity : 1 << 14;
            builder->constants = emu_grow(builder->constants, builder->constants_capacity, 1);
        }
        *at = builder->n_constants;
        for (uint32_t lane = 0; lane < EMU_LANES; lane++)
            memcpy(builder->constants + *at + lane * bytes, lane_value, bytes);
        builder->n_constants += size;
    }
    return (emu_operand){.at = *at | EMU_CONSTANT, .bytes = bytes};
}

emu_operand emu_decode_word(emu_decoding *d, uint64_t value, uint8_t bytes) {
    uint64_t wide[2] = {value, bytes == 16 && (int64_t)value < 0 ? UINT64_MAX : 0};
    return emu_decode_constant(d, wide, bytes);
}

emu_operand emu_decode_truth(emu_decoding *d, bool value) {
    uint32_t bits = value ? UINT32_MAX : 0;
    emu_operand place = emu_decode_constant(d, &bits, 4);
    place.bytes = 0;
    return place;
}

/* ---- places filled when a warp begins ---------------------------------------------------------------------------- */
emu_operand emu_decode_fill(emu_decoding *d, emu_value *value, uint64_t argument, uint8_t bytes) {
    emu_builder *builder = emu_builder_of(d);
    emu_program *program = builder->program;
    bool fresh;
    uint32_t *index =
        emu_map_at(&builder->fill_at, (uint64_t)(uintptr_t)value ^ (uint64_t)bytes << 56, argument, &fresh);
    if (fresh) {
        *index = (uint32_t)program->n_fills;
        program->fill = emu_grow(program->fill, (size_t)program->n_fills + 1, sizeof *program->fill);
        uint32_t size = bytes ? round_up((uint32_t)bytes * EMU_LANES, 64) : 64;
        program->fill[program->n_fills++] =
            (emu_fill){.value = value, .argument = argument, .place = {.at = builder->register_bytes, .bytes = bytes}};
        builder->register_bytes += size;
    }
    return program->fill[*index].place;
}

/* ---- variables --------------------------------------------------------------------------------------------------- */
/* Where a variable lies that the program itself lays out: shared and local memory, .param of device functions. */
static uint32_t variable_place(emu_builder *builder, emu_part *part, const ptx_variable *variable) {
    bool fresh;
    uint32_t *at = emu_map_at(&builder->variable_at, (uint64_t)(uintptr_t)variable, 0, &fresh);
    if (!fresh) return *at;
    uint32_t *end = variable->space == PTX_SHARED  ? &builder->shared_bytes
                    : variable->space != PTX_LOCAL ? &part->area_bytes
                    : part->recursive              ? &part->local_bytes
                                                   : &builder->local_bytes;
    uint32_t align = variable->align ? variable->align : 1;
    *at = round_up(*end, variable->space == PTX_PARAM ? 16 : align);
    *end = *at + (uint32_t)variable->bytes;
    return *at;
}

uint32_t emu_decode_area(emu_decoding *d, uint32_t part, const ptx_variable *variable) {
    emu_builder *builder = emu_builder_of(d);
    return variable_place(builder, builder->program->part + part, variable);
}

/* Dynamic shared memory begins where the static ends; that is known in the second pass. */
static uint32_t shared_place(emu_builder *builder, const ptx_variable *variable) {
    bool dynamic = variable->bytes == 0;
    if (variable->align > builder->shared_align) builder->shared_align = variable->align;
    return dynamic ? builder->program->code.shared_bytes : variable_place(builder, builder->part, variable);
}

/* The address of a symbol in its space; *shared: the rank of the block is to be added. */
static bool symbol_address(emu_decoding *d, const ptx_operand *operand, uint64_t *address, bool *shared) {
    emu_builder *builder = emu_builder_of(d);
    const ptx_variable *variable = operand->variable;
    *shared = false;
    if (!variable) {
        if (!operand->function) return emu_decode_fail(d, "%s is not known", operand->text);
        *address = (uint64_t)(uintptr_t)operand->function;
        return true;
    }
    switch (variable->space) {
        case PTX_SHARED:
            *shared = true;
            *address = EMU_SHARED_FIRST + shared_place(builder, variable);
            return true;
        case PTX_LOCAL: *address = variable_place(builder, builder->part, variable); return true;
        case PTX_PARAM: *address = (uint64_t)variable->parameter; return true;
        default:
            if (!variable->user) return emu_decode_fail(d, "%s has no address", operand->text);
            *address = (uint64_t)(uintptr_t)variable->user;
            return true;
    }
}

/* Local variables of a recursive function, and .param variables of any device function, lie where the activation has
 * them. */
static bool depends_on_activation(emu_decoding *d, const ptx_operand *operand) {
    const ptx_variable *variable = operand->variable;
    if (!variable) return false;
    if (variable->space == PTX_LOCAL) return emu_builder_of(d)->part->recursive;
    const ptx_function *function = d->function;
    bool of_kernel =
        function->entry && variable >= function->parameter && variable < function->parameter + function->n_parameters;
    return variable->space == PTX_PARAM && !of_kernel;
}

/* A place that an operation before this one fills with the address. */
static emu_operand activation_address(emu_decoding *d, const ptx_operand *operand, uint8_t bytes) {
    emu_builder *builder = emu_builder_of(d);
    bool local = operand->variable->space == PTX_LOCAL;
    uint32_t offset = variable_place(builder, builder->part, operand->variable) + (uint32_t)operand->offset;
    emu_operand place = emu_decode_fill(d, emu_value_zero, builder->n_ops + 1, bytes);
    emu_op *op = emu_decode_before(d, local ? emu_run_local_base : emu_run_area_base);
    op->operand[0] = place;
    op->value = local ? (int64_t)builder->part->local_bytes - offset : (int64_t)offset;
    op->target = (uint32_t)(builder->part - builder->program->part);
    return place;
}

static bool symbol_source(emu_decoding *d, const ptx_operand *operand, uint8_t bytes, emu_operand *out) {
    uint64_t address;
    bool shared;
    if (depends_on_activation(d, operand)) {
        *out = activation_address(d, operand, bytes);
        return true;
    }
    if (!symbol_address(d, operand, &address, &shared)) return false;
    address += (uint64_t)operand->offset;
    if (bytes != 4 && bytes != 8) return emu_decode_fail(d, "the address of %s in %d bytes", operand->text, bytes);
    *out = shared ? emu_decode_fill(d, emu_value_shared, address - EMU_SHARED_FIRST, bytes)
                  : emu_decode_word(d, address, bytes);
    return true;
}

/* ---- sources ----------------------------------------------------------------------------------------------------- */
static uint8_t place_bytes(ptx_type type) {
    uint8_t bytes = ptx_type_bytes[type];
    return bytes == 1 ? 2 : bytes;
}

static bool register_place(emu_decoding *d, const ptx_operand *operand, ptx_type type, bool written, emu_operand *out) {
    const ptx_register *reg = d->function->reg + operand->reg;
    if (operand->minus) return emu_decode_fail(d, "-%s: only + of a register is known", reg->name);
    if ((reg->type == PTX_PRED) != (type == PTX_PRED))
        return emu_decode_fail(d, "%s is a .%s where a .%s is due", reg->name, ptx_type_text[reg->type],
                               ptx_type_text[type]);
    if (operand->negated && (type != PTX_PRED || written))
        return emu_decode_fail(d, "!%s is no predicate to read", reg->name);
    if (ptx_type_bytes[reg->type] < ptx_type_bytes[type])
        return emu_decode_fail(d, "%s is a .%s, too narrow for .%s", reg->name, ptx_type_text[reg->type],
                               ptx_type_text[type]);
    emu_builder *builder = emu_builder_of(d);
    *out = (emu_operand){
        .at = builder->part->register_at[operand->reg], .bytes = place_bytes(reg->type), .negated = operand->negated};
    emu_builder_touch(builder, *out, operand->reg, written);
    return true;
}

static double floating_value(const ptx_operand *operand) {
    if (operand->single) {
        uint32_t bits = (uint32_t)operand->bits;
        float value;
        memcpy(&value, &bits, 4);
        return (double)value;
    }
    double value;
    memcpy(&value, &operand->bits, 8);
    return value;
}

static bool floating_source(emu_decoding *d, const ptx_operand *operand, ptx_type type, emu_operand *out) {
    float narrow = (float)floating_value(operand);
    double wide = floating_value(operand);
    switch (type) {
        case PTX_F32:
        case PTX_TF32:
            *out = emu_decode_constant(d, operand->single ? (const void *)&operand->bits : &narrow, 4);
            return true;
        case PTX_B32:
            if (!operand->single) break;
            *out = emu_decode_constant(d, &operand->bits, 4);
            return true;
        case PTX_F64:
            *out = emu_decode_constant(d, operand->single ? (const void *)&wide : &operand->bits, 8);
            return true;
        case PTX_B64:
            if (operand->single) break;
            *out = emu_decode_constant(d, &operand->bits, 8);
            return true;
        default: break;
    }
    return emu_decode_fail(d, "a floating constant where a .%s is due", ptx_type_text[type]);
}

static bool special_source(emu_decoding *d, const ptx_operand *operand, ptx_type type, emu_operand *out) {
    const emu_special *special = emu_special_find(operand->text);
    if (!special) return emu_decode_fail(d, "special register %%%s is not known", operand->text);
    uint8_t bytes = place_bytes(type);
    if (!special->dynamic) {
        *out = emu_decode_fill(d, special->value, 0, bytes);
        return true;
    }
    /* Each use has its own place: operands of one instruction may read two clocks. */
    *out = emu_decode_fill(d, special->value, emu_builder_of(d)->n_ops + 1, bytes);
    emu_op *read = emu_decode_before(d, emu_run_special);
    read->operand[0] = *out;
    read->detail = special;
    return true;
}

bool emu_decode_source(emu_decoding *d, const ptx_operand *operand, ptx_type type, emu_operand *out) {
    switch (operand->kind) {
        case PTX_REGISTER: return register_place(d, operand, type, false, out);
        case PTX_FLOATING: return floating_source(d, operand, type, out);
        case PTX_SPECIAL: return special_source(d, operand, type, out);
        case PTX_SYMBOL: return symbol_source(d, operand, place_bytes(type), out);
        case PTX_INTEGER: break;
        default: return emu_decode_fail(d, "an operand that cannot be read as .%s", ptx_type_text[type]);
    }
    if (type == PTX_PRED) {
        *out = emu_decode_truth(d, operand->bits != 0);
    } else if (type == PTX_F32 || type == PTX_F64) {
        double wide = (double)(int64_t)operand->bits;
        float narrow = (float)wide;
        *out = type == PTX_F32 ? emu_decode_constant(d, &narrow, 4) : emu_decode_constant(d, &wide, 8);
    } else {
        *out = emu_decode_word(d, operand->bits, place_bytes(type));
    }
    return true;
}

bool emu_decode_destination(emu_decoding *d, const ptx_operand *operand, ptx_type type, emu_operand *out) {
    if (operand->kind == PTX_SINK) {
        *out = (emu_operand){.at = EMU_AT_SINK, .bytes = place_bytes(type)};
        return true;
    }
    if (operand->kind != PTX_REGISTER) return emu_decode_fail(d, "the destination is no register");
    return register_place(d, operand, type, true, out);
}

bool emu_decode_predicate(emu_decoding *d, const ptx_operand *operand, emu_operand *out) {
    return emu_decode_source(d, operand, PTX_PRED, out);
}

/* ---- addresses --------------------------------------------------------------------------------------------------- */
bool emu_decode_address(emu_decoding *d, const ptx_operand *operand, ptx_space space, emu_address *out) {
    const ptx_operand *base = operand->kind == PTX_ADDRESS ? operand->parts : operand;
    *out = (emu_address){.base = {.at = EMU_NOWHERE}, .offset = operand->kind == PTX_ADDRESS ? operand->offset : 0};
    uint64_t address;
    switch (base->kind) {
        case PTX_REGISTER: {
            ptx_type type = ptx_type_bytes[d->function->reg[base->reg].type] == 4 ? PTX_B32 : PTX_B64;
            return emu_decode_source(d, base, type, &out->base);
        }
        case PTX_INTEGER: out->offset += (int64_t)base->bits; return true;
        case PTX_SYMBOL:
            if (depends_on_activation(d, base)) {
                out->base = activation_address(d, base, 8);
                return true;
            }
            if (!symbol_address(d, base, &address, &out->shared_symbol)) return false;
            if (space == PTX_GENERIC && base->variable && base->variable->space == PTX_SHARED)
                address += EMU_WINDOW_SHARED;
            if (space == PTX_GENERIC && base->variable && base->variable->space == PTX_LOCAL)
                address += EMU_WINDOW_LOCAL;
            if (space == PTX_GENERIC && base->variable && base->variable->space == PTX_PARAM)
                address += EMU_WINDOW_PARAM;
            out->offset += (int64_t)address + base->offset;
            return true;
        default: return emu_decode_fail(d, "an operand that is no address");
    }
}

EMU_LANEWISE void emu_addresses(const emu_warp *warp, const emu_address *of, uint64_t address[EMU_LANES]) {
    uint64_t offset = (uint64_t)of->offset;
    if (of->shared_symbol) offset += (uint64_t)warp->block->rank << EMU_SHARED_RANK_SHIFT;
    if (of->base.at == EMU_NOWHERE) {
        for (int lane = 0; lane < EMU_LANES; lane++) address[lane] = offset;
    } else if (of->base.bytes == 4) {
        const uint32_t *base = emu_u32(warp, of->base);
        for (int lane = 0; lane < EMU_LANES; lane++) address[lane] = (uint32_t)(base[lane] + offset);
    } else {
        const uint64_t *base = emu_u64(warp, of->base);
        for (int lane = 0; lane < EMU_LANES; lane++) address[lane] = base[lane] + offset;
    }
}

/* ---- lanes of any width ------------------------------------------------------------------------------------------ */
void emu_lanes_read(const emu_warp *warp, emu_operand operand, uint64_t value[EMU_LANES]) {
    const void *from = emu_at(warp, operand.at);
    switch (operand.bytes) {
        case 0:
            for (int lane = 0; lane < EMU_LANES; lane++) value[lane] = emu_pred(warp, operand) >> lane & 1;
            break;
        case 2:
            for (int lane = 0; lane < EMU_LANES; lane++) value[lane] = ((const uint16_t *)from)[lane];
            break;
        case 4:
            for (int lane = 0; lane < EMU_LANES; lane++) value[lane] = ((const uint32_t *)from)[lane];
            break;
        case 8: memcpy(value, from, EMU_LANES * 8); break;
        default:
            for (int lane = 0; lane < EMU_LANES; lane++) value[lane] = ((const uint64_t *)from)[2 * lane];
    }
}

void emu_lanes_write(const emu_warp *warp, emu_operand operand, emu_mask mask, const uint64_t value[EMU_LANES]) {
    if (operand.at == EMU_NOWHERE) return;
    void *to = emu_at(warp, operand.at);
    for (int lane = 0; lane < EMU_LANES; lane++) {
        if (!(mask >> lane & 1)) continue;
        switch (operand.bytes) {
            case 0: *(uint32_t *)to = (*(uint32_t *)to & ~(1u << lane)) | (uint32_t)(value[lane] & 1) << lane; break;
            case 2: ((uint16_t *)to)[lane] = (uint16_t)value[lane]; break;
            case 4: ((uint32_t *)to)[lane] = (uint32_t)value[lane]; break;
            case 8: ((uint64_t *)to)[lane] = value[lane]; break;
            default: memcpy((uint64_t *)to + 2 * lane, (uint64_t[2]){value[lane], 0}, 16);
        }
    }
}
