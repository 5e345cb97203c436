/* Reductions of engines: element by element, as atom and red do (PTX ISA, "cp.reduce.async.bulk"). */
#include "async/copy.h"

#include <assert.h>

const char *const emu_reduce_words[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor", NULL};

#define BIT(kind) (1u << EMU_REDUCE_##kind)
enum {
    BITWISE = BIT(AND) | BIT(OR) | BIT(XOR),
    ORDERED = BIT(ADD) | BIT(MIN) | BIT(MAX),
    COUNTING = BIT(INC) | BIT(DEC)
};

bool emu_reduce_valid(emu_reduce_kind kind, ptx_type type, bool shared) {
    static const struct {
        ptx_type type;
        uint32_t global, shared;
    } rows[] = {
        {PTX_U32, ORDERED | COUNTING, ORDERED | COUNTING},
        {PTX_S32, ORDERED, ORDERED},
        {PTX_U64, ORDERED, BIT(ADD)},
        {PTX_S64, BIT(MIN) | BIT(MAX), 0},
        {PTX_B32, BITWISE, BITWISE},
        {PTX_B64, BITWISE, 0},
        {PTX_F16, ORDERED, 0},
        {PTX_BF16, ORDERED, 0},
        {PTX_F32, BIT(ADD), 0},
        {PTX_F64, BIT(ADD), 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].type == type) return (shared ? rows[i].shared : rows[i].global) >> kind & 1;
    return false;
}

static_assert((int)EMU_REDUCE_XOR == (int)EMU_UPDATE_XOR + 1, "kinds of reductions are those of updates, after NONE");

void emu_reduce(emu_reduce_kind kind, ptx_type type, bool flush, uint8_t *memory, const uint8_t *operand,
                uint32_t bytes) {
    emu_update *update = emu_update_find((emu_update_kind)(kind - 1), type);
    for (uint32_t at = 0; at < bytes; at += ptx_type_bytes[type]) update(memory + at, operand + at, NULL, flush);
}
