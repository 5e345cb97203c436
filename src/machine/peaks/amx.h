/* Peak loops of the tile registers (AMX): 16 rows of 64 bytes; C[16][16] += A[16][depth] * B[depth][16]. Included by
 * peaks_x86.c alone. Six tiles accumulate, two hold the operands. Linux grants the registers on request, to all threads
 * of a process at once. */
#if (defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 11) || (defined(__clang__) && __clang_major__ >= 12)
#define RIDGE_HAVE_AMX 1
#else
#define RIDGE_HAVE_AMX 0
#endif

#include <sys/syscall.h>
#include <unistd.h>

bool ridge_tiles_allowed(void) {
#if RIDGE_HAVE_AMX && defined(SYS_arch_prctl)
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
    return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
#else
    return false;
#endif
}

#if RIDGE_HAVE_AMX

typedef struct tile_shape { /* the palette that ldtilecfg reads */
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} tile_shape;

#define AMX_TARGET __attribute__((target("amx-tile,amx-int8,amx-bf16")))
#define AMX_LOAD(tile, from) __asm__ volatile("tileloadd (%0,%1,1), %%" tile : : "r"(from), "r"((int64_t)64) : "memory")
#define AMX_STORE(tile, to) \
    __asm__ volatile("tilestored %%" tile ", (%0,%1,1)" : : "r"(to), "r"((int64_t)64) : "memory")

AMX_TARGET static void tiles_begin(const char *accumulators, const void *x, const void *y) {
    tile_shape shape = {.palette = 1};
    for (int i = 0; i < 8; i++) shape.row_bytes[i] = 64, shape.rows[i] = 16;
    __asm__ volatile("ldtilecfg %0" : : "m"(shape));
    AMX_LOAD("tmm0", accumulators);
    AMX_LOAD("tmm1", accumulators + 1024);
    AMX_LOAD("tmm2", accumulators + 2048);
    AMX_LOAD("tmm3", accumulators + 3072);
    AMX_LOAD("tmm4", accumulators + 4096);
    AMX_LOAD("tmm5", accumulators + 5120);
    AMX_LOAD("tmm6", x);
    AMX_LOAD("tmm7", y);
}

AMX_TARGET static void tiles_end(char *accumulators) {
    AMX_STORE("tmm0", accumulators);
    AMX_STORE("tmm1", accumulators + 1024);
    AMX_STORE("tmm2", accumulators + 2048);
    AMX_STORE("tmm3", accumulators + 3072);
    AMX_STORE("tmm4", accumulators + 4096);
    AMX_STORE("tmm5", accumulators + 5120);
    __asm__ volatile("tilerelease");
}

AMX_TARGET static void amx_bf16_run(void *accumulators, const void *x, const void *y, int64_t steps) {
    tiles_begin(accumulators, x, y);
    for (int64_t n = 0; n < steps; n++)
        __asm__ volatile(
            "tdpbf16ps %%tmm7, %%tmm6, %%tmm0\n\ttdpbf16ps %%tmm7, %%tmm6, %%tmm1\n\t"
            "tdpbf16ps %%tmm7, %%tmm6, %%tmm2\n\ttdpbf16ps %%tmm7, %%tmm6, %%tmm3\n\t"
            "tdpbf16ps %%tmm7, %%tmm6, %%tmm4\n\ttdpbf16ps %%tmm7, %%tmm6, %%tmm5" ::);
    tiles_end(accumulators);
}

AMX_TARGET static void amx_int8_run(void *accumulators, const void *x, const void *y, int64_t steps) {
    tiles_begin(accumulators, x, y);
    for (int64_t n = 0; n < steps; n++)
        __asm__ volatile(
            "tdpbssd %%tmm7, %%tmm6, %%tmm0\n\ttdpbssd %%tmm7, %%tmm6, %%tmm1\n\t"
            "tdpbssd %%tmm7, %%tmm6, %%tmm2\n\ttdpbssd %%tmm7, %%tmm6, %%tmm3\n\t"
            "tdpbssd %%tmm7, %%tmm6, %%tmm4\n\ttdpbssd %%tmm7, %%tmm6, %%tmm5" ::);
    tiles_end(accumulators);
}
#endif
