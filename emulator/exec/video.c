/* SIMD video instructions (PTX ISA, "SIMD Video Instructions"): two halves or four bytes of a word, each by itself. vadd4.d.a.b
 * {.sat} d, a, b, c: parts of d; .add: their sum, and c. Parts that a mask or a selector names are refused. */
#include "exec/lanes.h"

typedef enum video { V_ADD, V_SUB, V_AVERAGE, V_DIFFERENCE, V_LEAST, V_MOST, V_COMPARE } video;
typedef struct video_form {
    video what;
    int bits; /* of a part */
    bool signed_a, signed_b, signed_d, saturates, sums;
    int comparison;
} video_form;

static int32_t part_of(uint32_t word, int at, int bits, bool is_signed) {
    const uint32_t top = word << (32 - bits - at);
    return is_signed ? (int32_t)top >> (32 - bits) : (int32_t)(top >> (32 - bits));
}

static bool holds(int comparison, int32_t a, int32_t b) {
    switch (comparison) {
        case 0: return a == b;
        case 1: return a != b;
        case 2: return a < b;
        case 3: return a <= b;
        case 4: return a > b;
        default: return a >= b;
    }
}

static int32_t value_of(const video_form *form, int32_t a, int32_t b) {
    switch (form->what) {
        case V_ADD: return a + b;
        case V_SUB: return a - b;
        case V_AVERAGE: return (a + b + (a + b >= 0)) >> 1; /* away from zero */
        case V_DIFFERENCE: return a > b ? a - b : b - a;
        case V_LEAST: return a < b ? a : b;
        case V_MOST: return a > b ? a : b;
        default: return holds(form->comparison, a, b);
    }
}

static int32_t clamped(const video_form *form, int32_t value) {
    const int32_t most = (1 << (form->bits - form->signed_d)) - 1, least = form->signed_d ? -most - 1 : 0;
    return value < least ? least : value > most ? most : value;
}

static uint32_t joined(const video_form *form, uint32_t a, uint32_t b, uint32_t c) {
    uint32_t parts = 0, sum = c;
    for (int at = 0; at < 32; at += form->bits) {
        int32_t value =
            value_of(form, part_of(a, at, form->bits, form->signed_a), part_of(b, at, form->bits, form->signed_b));
        if (form->saturates) value = clamped(form, value);
        sum += (uint32_t)value;
        parts |= ((uint32_t)value & (UINT32_MAX >> (32 - form->bits))) << at;
    }
    return form->sums ? sum : parts;
}

static emu_result run_video(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const video_form *form = op->detail;
    uint64_t a[EMU_LANES], b[EMU_LANES], c[EMU_LANES], d[EMU_LANES];
    emu_lanes_read(warp, op->operand[1], a);
    emu_lanes_read(warp, op->operand[2], b);
    emu_lanes_read(warp, op->operand[3], c);
    for (int lane = 0; lane < EMU_LANES; lane++)
        d[lane] = joined(form, (uint32_t)a[lane], (uint32_t)b[lane], (uint32_t)c[lane]);
    emu_lanes_write(warp, op->operand[0], mask, d);
    return EMU_NEXT;
}

static bool take_sign(emu_decoding *d, bool *is_signed) {
    const ptx_type type = ptx_take_type(&d->words);
    *is_signed = type == PTX_S32;
    return type == PTX_S32 || type == PTX_U32 || emu_decode_fail(d, "its types are .u32 and .s32");
}

static bool decode_video(emu_decoding *d) {
    static const char *const names[] = {"add", "sub", "avrg", "absdiff", "min", "max", "set", NULL},
                             *const comparisons[] = {"eq", "ne", "lt", "le", "gt", "ge", NULL};
    video_form *form = emu_decode_alloc(d, sizeof *form);
    const char *name = d->instruction->word[0] + 1;
    const size_t length = strlen(name) - 1;
    while (names[form->what] && (strncmp(names[form->what], name, length) != 0 || names[form->what][length]))
        form->what++;
    form->bits = name[length] == '2' ? 16 : 8;
    d->op->detail = form;
    if (form->what != V_COMPARE && !take_sign(d, &form->signed_d)) return false;
    if (!take_sign(d, &form->signed_a) || !take_sign(d, &form->signed_b)) return false;
    if (form->what == V_COMPARE && (form->comparison = ptx_take_of(&d->words, comparisons, -1)) < 0)
        return emu_decode_fail(d, "a comparison is due: eq, ne, lt, le, gt, ge");
    form->saturates = form->what != V_COMPARE && ptx_take(&d->words, "sat");
    form->sums = !form->saturates && ptx_take(&d->words, "add");
    return emu_decode_same(d, run_video, 4, PTX_B32);
}

extern const emu_mnemonic emu_mnemonics_video[];
const emu_mnemonic emu_mnemonics_video[] = {
    {"vadd2", decode_video},     {"vsub2", decode_video}, {"vavrg2", decode_video},
    {"vabsdiff2", decode_video}, {"vmin2", decode_video}, {"vmax2", decode_video},
    {"vset2", decode_video},     {"vadd4", decode_video}, {"vsub4", decode_video},
    {"vavrg4", decode_video},    {"vmin4", decode_video}, {"vabsdiff4", decode_video},
    {"vmax4", decode_video},     {"vset4", decode_video}, {NULL, NULL},
};
