/* SIMD video instructions beside what their words say, part by part, of random words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/ptx_launch.h"

enum { LANES = 32, FORMS = 14 };
static const char *const forms[FORMS] = {"vabsdiff4.u32.u32.u32.add", "vabsdiff4.u32.u32.u32", "vadd4.s32.s32.s32.sat",
                                         "vsub2.u32.u32.u32.sat",     "vavrg4.u32.u32.u32",    "vmin2.s32.s32.s32",
                                         "vmax4.u32.u32.u32.add",     "vset4.u32.u32.lt",      "vset2.s32.s32.ge.add",
                                         "vadd2.u32.u32.u32",         "vsub4.s32.s32.s32",     "vmax2.u32.u32.u32",
                                         "vabsdiff2.u32.s32.s32",     "vavrg2.s32.s32.s32"};

static int64_t part(uint32_t word, int at, int bits, bool is_signed) {
    const int64_t value = word >> at & ((1u << bits) - 1);
    return is_signed && value >> (bits - 1) ? value - (1 << bits) : value;
}

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t within(int64_t value, int64_t least, int64_t most) {
    return value < least ? least : value > most ? most : value;
}

static int64_t due_of_part(int form, int64_t a, int64_t b) {
    switch (form) {
        case 0:
        case 1:
        case 12: return llabs(a - b);
        case 2: return within(a + b, -128, 127);
        case 3: return within(a - b, 0, 65535);
        case 4: return (a + b + 1) / 2;
        case 5: return -larger(-a, -b);
        case 6:
        case 11: return larger(a, b);
        case 7: return a < b;
        case 8: return a >= b;
        case 9: return a + b;
        case 10: return a - b;
        default: return a + b < 0 ? -((-(a + b) + 1) / 2) : (a + b + 1) / 2;
    }
}

static uint32_t due(int form, uint32_t a, uint32_t b, uint32_t c) {
    const int bits = strpbrk(forms[form], "24")[0] == '2' ? 16 : 8;
    const bool sums = strstr(forms[form], ".add") != NULL, is_signed = strstr(forms[form], ".s32") != NULL;
    uint32_t parts = 0;
    for (int at = 0; at < 32; at += bits) {
        const uint32_t value = (uint32_t)due_of_part(form, part(a, at, bits, is_signed), part(b, at, bits, is_signed));
        if (sums)
            c += value;
        else
            parts |= (value & (UINT32_MAX >> (32 - bits))) << at;
    }
    return sums ? c : parts;
}

static void parts_of_words(void **state) {
    (void)state;
    uint32_t *in = emu_memory_allocate(3 * LANES * 4, EMU_DEVICE), *out = emu_memory_allocate(LANES * 4, EMU_DEVICE);
    for (int i = 0; i < 3 * LANES; i++) in[i] = (uint32_t)(i + 1) * 2654435761u;
    emu_memory_host_wrote(in, 3 * LANES * 4);
    for (int form = 0; form < FORMS; form++) {
        char text[1000];
        sprintf(text,
                ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n.reg .b32 %%r<8>; .reg .b64 %%rd<8>;\n"
                "ld.param.u64 %%rd1, [in]; ld.param.u64 %%rd2, [out]; mov.u32 %%r1, %%tid.x;\n"
                "mul.wide.u32 %%rd3, %%r1, 4; add.u64 %%rd1, %%rd1, %%rd3; add.u64 %%rd2, %%rd2, %%rd3;\n"
                "ld.global.u32 %%r2, [%%rd1]; ld.global.u32 %%r3, [%%rd1+128]; ld.global.u32 %%r4, [%%rd1+256];\n"
                "%s %%r5, %%r2, %%r3, %%r4;\nst.global.u32 [%%rd2], %%r5;\nret;\n}\n",
                forms[form]);
        ptx_kernel kernel = ptx_kernel_open(text);
        if (!kernel.code) fail_msg("%s", kernel.error.text);
        if (ptx_kernel_run(&kernel, 1, 1, LANES, 1, (const void *const[]){in, out}, 2))
            fail_msg("%s", emu_findings_take());
        ptx_kernel_close(&kernel);
        for (int lane = 0; lane < LANES; lane++) {
            const uint32_t a = in[lane], b = in[LANES + lane], c = in[2 * LANES + lane];
            if (out[lane] != due(form, a, b, c))
                fail_msg("%s of %08x, %08x, %08x is not %08x", forms[form], a, b, c, out[lane]);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(parts_of_words)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
