/* How many lane instructions a second the interpreter does: loops of one kind of work each, all lanes together or in
 * two halves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>

#include "core/core.h"
#include "tests/ptx_launch.h"

#define HEAD                                                                                                      \
    ".visible .entry k(.param .u64 out) {\n.reg .b64 %rd<40>;\n.reg .b32 %r<80>;\n.reg .f32 %f<80>;\n.reg .pred " \
    "%p<12>;\n"                                                                                                   \
    "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n"    \
    "cvt.rn.f32.u32 %f1, %r1;\nmov.f32 %f2, 0f3F000000;\nmov.u32 %r2, 0;\nmov.u32 %r3, 1;\nmov.u64 %rd4, 7;\n"    \
    "mov.f32 %f3, %f1;\nmov.f32 %f4, %f2;\nmov.f32 %f5, %f1;\nmov.u32 %r5, 3;\nmov.u32 %r6, 5;\nloop:\n"
#define TAIL                                                               \
    "add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, 20000;\n@%p1 bra loop;\n" \
    "st.global.f32 [%rd3], %f3;\nst.global.u32 [%rd3+1024], %r5;\nret;\n}\n"
#define X4(text) text text text text
#define X16(text) X4(X4(text))

static const struct work {
    const char *name, *text;
} works[] = {
    {"fma.rn.f32", HEAD X16("fma.rn.f32 %f3, %f1, %f2, %f3;\nfma.rn.f32 %f4, %f2, %f2, %f4;\n") TAIL},
    {"add.f32, mul.f32, max.f32",
     HEAD X16("add.f32 %f3, %f3, %f2;\nmul.f32 %f4, %f4, %f2;\nmax.f32 %f5, %f4, %f5;\n") TAIL},
    {"integers of 32 bits",
     HEAD X16("add.s32 %r5, %r5, %r6;\nxor.b32 %r6, %r5, %r1;\nshl.b32 %r5, %r5, 1;\nmad.lo.s32 %r6, %r5, 3, %r6;\n")
         TAIL},
    {"integers of 64 bits",
     HEAD X16(
         "add.s64 %rd4, %rd4, %rd2;\nshl.b64 %rd5, %rd4, 2;\ncvt.u32.u64 %r5, %rd5;\nmul.lo.s64 %rd4, %rd4, %rd5;\n")
         TAIL},
    {"moves", HEAD X16("mov.f32 %f3, %f4;\nmov.b32 %r5, %r6;\n") TAIL},
    {"comparisons, selections", HEAD X16("setp.lt.f32 %p2, %f3, %f2;\nselp.b32 %r5, %r6, %r5, %p2;\nsetp.ne.s32 %p3, "
                                         "%r5, 3;\nand.pred %p4, %p2, %p3;\n") TAIL},
    {"ex2.approx.ftz.f32", HEAD X16("ex2.approx.ftz.f32 %f3, %f3;\n") TAIL},
    {"shfl.sync.bfly.b32", HEAD X16("shfl.sync.bfly.b32 %r5, %r5, 1, 31, -1;\n") TAIL},
    {"cvt.rn.bf16x2.f32", HEAD X16("cvt.rn.bf16x2.f32 %r5, %f3, %f4;\n") TAIL},
    {"short branches", HEAD X16("@%p5 bra loop;\nadd.s32 %r5, %r5, %r6;\n") TAIL},
    {"two halves of a warp",
     HEAD "and.b32 %r7, %r1, 16;\nsetp.ne.s32 %p2, %r7, 0;\n@%p2 bra other;\n" X16(
         "fma.rn.f32 %f3, %f1, %f2, %f3;\n") "bra join;\nother:\n" X16("fma.rn.f32 %f4, %f1, %f2, %f4;\n") "join:"
                                                                                                           "\n" TAIL},
};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* others may be at work on this machine */
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv) {
    for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
        if (argc > 1 && !strstr(works[i].name, argv[1])) continue;
        ptx_kernel kernel = ptx_kernel_open(works[i].text);
        if (!kernel.code) return printf("%s\n", kernel.error.text), 1;
        void *out = emu_memory_allocate(4096, EMU_DEVICE);
        const void *parameters[] = {out};
        emu_counts before = emu_total;
        double from = now();
        if (ptx_kernel_run(&kernel, 1, 1, 128, 1, parameters, 1)) return 1;
        double seconds = now() - from, lanes = (double)(emu_total.lane_instructions - before.lane_instructions);
        double warps = (double)(emu_total.warp_instructions - before.warp_instructions);
        printf("%-28s %7.0f M lane instructions/s, %5.1f ns a warp's\n", works[i].name, lanes / seconds * 1e-6,
               seconds / warps * 1e9);
        ptx_kernel_close(&kernel);
        (void)emu_memory_free(out);
    }
    return 0;
}
