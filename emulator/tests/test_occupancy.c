/* What a block takes of an SM: nothing that a device launches is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/ptx_launch.h"

enum { REGISTERS = 100, ACCUMULATORS = 128 };

/* Constants that ptxas folds: all registers seem to live at once, and it needs a handful. */
static void many_names_are_not_many_registers(void **state) {
    (void)state;
    static char text[20000];
    int length = sprintf(text, ".visible .entry k()\n{\n.reg .b32 %%r<%d>;\n", REGISTERS);
    for (int i = 0; i < REGISTERS; i++) length += sprintf(text + length, "mov.u32 %%r%d, %d;\n", i, i);
    for (int i = 1; i < REGISTERS; i++) length += sprintf(text + length, "add.u32 %%r0, %%r0, %%r%d;\n", i);
    sprintf(text + length, "ret;\n}\n");
    ptx_kernel kernel = ptx_kernel_open(text);
    assert_non_null(kernel.code);
    assert_int_equal(emu_occupancy(kernel.code, 1024, 0), 2);
    assert_true(emu_registers_of(kernel.function) > REGISTERS); /* the estimate that cudaFuncGetAttributes tells */
    ptx_kernel_close(&kernel);
}

/* Accumulators of one instruction are registers: 1024 threads do not have 128 each. */
static void accumulators_are_registers(void **state) {
    (void)state;
    static char text[20000];
    int length =
        sprintf(text, ".visible .entry k()\n{\n.reg .f32 %%d<%d>; .reg .b64 %%a;\nmov.b64 %%a, 0;\n", ACCUMULATORS);
    length += sprintf(text + length, "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {%%d0");
    for (int i = 1; i < ACCUMULATORS; i++) length += sprintf(text + length, ",%%d%d", i);
    sprintf(text + length, "}, %%a, %%a, 0, 1, 1, 0, 0;\nret;\n}\n");
    ptx_kernel kernel = ptx_kernel_open(text);
    if (kernel.code == NULL) fail_msg("%s", kernel.error.text);
    assert_int_equal(emu_registers_at_least(kernel.function), ACCUMULATORS);
    assert_int_equal(emu_occupancy(kernel.code, 1024, 0), 0);
    assert_int_equal(emu_occupancy(kernel.code, 512, 0), 1);
    ptx_kernel_close(&kernel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_names_are_not_many_registers),
        cmocka_unit_test(accumulators_are_registers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
