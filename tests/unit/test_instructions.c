/* Instructions of kernels, counted in PTX and in machine code as cuobjdump prints them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "record/kernels.h"

static int64_t count_of(const ridge_instructions *found, const char *name) {
    for (int c = 0; c < RIDGE_INSTRUCTION_CLASSES; c++)
        if (strcmp(ridge_instruction_classes[c].name, name) == 0) return found->of[c];
    fail_msg("no class %s", name);
    return -1;
}

static ridge_instruction_scan scanned(ridge_code code, const char *const *lines, int n) {
    ridge_instruction_scan scan = {.code = code};
    for (int i = 0; i < n; i++) ridge_instructions_line(&scan, lines[i]);
    return scan;
}

/* Directives, labels, predicates, comments, parameters, several statements in a line, one on several lines, and braces of inline
 * assembly that stand at the beginning of a line and end no function. */
static void ptx_is_counted_by_statements(void **state) {
    static const char *const lines[] = {
        ".visible .entry _Z1kPf(\n",
        "\t.param .u64 _Z1kPf_param_0, // .entry other(\n",
        ")\n",
        ".maxntid 384, 1, 1\n",
        "{\n",
        "\t.reg .pred \t%p<8>;\n",
        "\t.loc\t1 24 3\n",
        "\tld.param.u64 \t%rd1, [_Z1kPf_param_0];\n",
        "\t// begin inline asm\n",
        "\t{ .reg .b64 t; fence.mbarrier_init.release.cluster; mbarrier.init.shared.b64 [%r1], 1; }\n",
        "{\n",
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2}], [%r4];\n",
        "}\n",
        "\t// end inline asm\n",
        "$L__BB0_1:\n",
        "\t@%p1 bra \t$L__BB0_1;\n",
        "\twgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16\n",
        "\t\t{%f1, %f2,\n",
        "\t\t %f3, %f4}, %rd2, %rd3, p, 1, 1, 0, 0; ld.global.L1::no_allocate.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];\n",
        "\tst.global.f32 \t[%rd1], %f1; ex2.approx.ftz.f32 %f1, %f2; cp.async.cg.shared.global [%r1], [%rd1], 16;\n",
        "\tcp.async.bulk.commit_group; st.local.u32 [%rd4], %r1; fma.rn.f32 %f1, %f1, %f1, %f1;\n",
        "\tret;\n",
        "}\n",
        "\tfma.rn.f32 %f1, %f1, %f1, %f1;\n",
    };
    (void)state;
    const ridge_instruction_scan scan = scanned(RIDGE_CODE_PTX, lines, sizeof lines / sizeof lines[0]);
    assert_true(scan.ended);
    assert_int_equal(scan.found.all, 14);
    for (size_t i = 0; i < 8; i++) {
        static const char *const once[] = {"tensor", "tma", "cp_async", "vector", "scalar", "local", "special", "fma"};
        assert_int_equal(count_of(&scan.found, once[i]), 1);
    }
    assert_int_equal(count_of(&scan.found, "barrier"), 1);
    assert_int_equal(count_of(&scan.found, "shared"), 0);
}

static void machine_code_is_counted_by_addresses(void **state) {
    static const char *const lines[] = {
        "\t\tFunction : _Z1kPf\n",
        "\t.headerflags\t@\"EF_CUDA_64BIT_ADDRESS EF_CUDA_SM90\"\n",
        "        /*0000*/                   LDC R1, c[0x0][0x28] ;                      /* 0x00000a00ff017b82 */\n",
        "                                                                               /* 0x000fe20000000800 */\n",
        "        /*0010*/              @!P0 LDG.E.128.CONSTANT R4, desc[UR4][R2.64] ;   /* 0x0000000402048981 */\n",
        "        /*0020*/                   LDG.E R4, desc[UR4][R2.64] ;                /* 0x0000000402048981 */\n",
        "        /*0030*/                   LDGSTS.E.BYPASS.128 [R1], [R2.64] ;         /* 0x0000000402048981 */\n",
        "        /*0040*/              @UP0 UTMALDG.2D [UR8], [UR4] ;                   /* 0x0000000402048981 */\n",
        "        /*0050*/                   HGMMA.64x256x16.F32.BF16 R24, gdesc[UR8], R24 ; /* 0x0 */\n",
        "        /*0060*/                   STL [R1+0x4], R5 ;                          /* 0x0000000402048981 */\n",
        "        /*0070*/                   LDS R5, [R4] ;                              /* 0x0000000402048981 */\n",
        "        /*0080*/                   LDSM.16.M88.4 R4, [R4] ;                    /* 0x0000000402048981 */\n",
        "        /*0090*/                   MUFU.EX2 R5, R5 ;                           /* 0x0000000402048981 */\n",
        "        /*00a0*/                   FFMA.FTZ R5, R5, R5, R5 ;                   /* 0x0000000402048981 */\n",
        "        /*00b0*/                   BAR.SYNC.DEFER_BLOCKING 0x0 ;               /* 0x0000000402048981 */\n",
        "        /*00c0*/                   EXIT ;                                      /* 0x000000000000794d */\n",
        "\t\t..........\n",
    };
    (void)state;
    const ridge_instruction_scan scan = scanned(RIDGE_CODE_SASS, lines, sizeof lines / sizeof lines[0]);
    assert_int_equal(scan.found.all, 13);
    for (size_t i = 0; i < 9; i++) {
        static const char *const once[] = {"tensor", "tma",     "cp_async", "vector", "scalar",
                                           "local",  "special", "fma",      "barrier"};
        assert_int_equal(count_of(&scan.found, once[i]), 1);
    }
    assert_int_equal(count_of(&scan.found, "shared"), 2);
}

static void names_are_the_functions_own(void **state) {
    static const struct {
        const char *name, *brief;
    } rows[] = {
        {"_ZN5ridge11rows_kernelI6__halfLi4EEEvT_", "rows_kernel"},
        {"_Z1kPf", "k"},
        {"plain", "plain"},
        {"_ZN99short", "_ZN99short"},
        {NULL, "(of a library)"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[64];
        ridge_kernel_brief(rows[i].name, text, sizeof text);
        assert_string_equal(text, rows[i].brief);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ptx_is_counted_by_statements),
        cmocka_unit_test(machine_code_is_counted_by_addresses),
        cmocka_unit_test(names_are_the_functions_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
