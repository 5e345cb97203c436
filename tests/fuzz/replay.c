/* A fuzzer without libFuzzer: replays the files given, else mutates right inputs of every kind from a fixed random
 * stream. What fails is an abort or a crash, and fails again in the next run. Speaks TAP. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"

enum { ROUNDS = 100000, LIMIT = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SPACES "                                                          "
#define NPY(header) "\x93NUMPY\x01\x00\x76\x00" header SPACES "\n"
#define RATE "{\"median\":50.0,\"ci_low\":49.0,\"ci_high\":51.0,\"n\":9}"
#define NONE "{\"median\":null,\"ci_low\":null,\"ci_high\":null,\"n\":0}"
#define LEVEL(name, capacity)                                                                               \
    "{\"name\":\"" name "\",\"capacity\":" capacity ",\"read\":" RATE ",\"copy\":" RATE ",\"stream\":" RATE \
    ",\"write\":" NONE "}"
#define SEED(text) \
    { (text), sizeof(text) - 1 }

static const struct seed {
    const char *bytes;
    size_t size;
} seeds[] = {
    SEED(NPY("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }") "12345678"),
    SEED(NPY("{'descr': '<i8', 'fortran_order': False, 'shape': (1, ), } ") "\x07\0\0\0\0\0\0\0"),
    SEED(NPY("{'descr': '<u2', 'fortran_order': False, 'shape': (1,2,1),}") "\x80\x3f\xa5\x7f"),
    SEED("={'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), } \n12345678"), /* '=': 61 bytes of header */
    SEED("{\"schema\":\"ridge-ceilings/1\",\"key\":\"k\",\"date\":\"2026-01-01T00:00:00Z\",\"threads\":2,"
         "\"levels\":[" LEVEL("L1", "32768.0") "," LEVEL(
             "DRAM",
             "0.0") "],"
                    "\"peaks\":[{\"name\":\"fp32 avx2\",\"dtype\":\"fp32\",\"how\":\"12 accumulators\",\"gflops\":" RATE
                    "}],"
                    "\"rungs\":[{\"bytes\":4096.0,\"read\":200.0,\"copy\":180.0}],\"faults\":\"\"}"),
    SEED("==PROF== Connected\n\"ID\",\"dram__bytes_read.sum\",\"dram__bytes_write.sum\"\n\"\",\"byte\",\"byte\"\n"
         "\"0\",\"1,024\",\"2.5\"\n\"1\",\"7\",\"0\"\n"),
    /* Events: a frame, two checks, four samples, an agreement, a wrong one, a stop. */
    SEED("\x01\xff\0\0\0\x03\0\0\0\0\x03\x01\0\0\0\x04\0\0\0\0\x04\x01\0\0\0\x04\x03\0\0\0\x04\x05\0\0\0"
         "\x07\x01\0\0\0\x05\x02\0\0\0\x08\xff\x02\0\0"),
    SEED("ridge-tuned 1\n# device target variant way type extents layout options\n"
         "sm90x132 online_softmax cuda/optimized rows_warp f32 64x100 0 -\n"
         "sm90x132 fused_l2norm cuda/optimized rows_lanes bf16 100000x64 0 -\n"),
    SEED("1024x1024x100,64x128x10"),
    SEED("1x1"),
    SEED("2^10..2^16x4096,1..9:4x64K"),
    SEED("fused_l2nrom"),
    SEED("x=file.npy"),
    SEED("0.5"),
    SEED("18446744073709551615"),
    SEED("ch09:*l2norm"),
    SEED("*[a-z]?softmax*"),
};
enum { SEEDS = sizeof seeds / sizeof seeds[0] };

typedef struct stream {
    uint64_t seed, i;
} stream;

static uint32_t draw(stream *s, size_t n) { return (uint32_t)(ridge_random(s->seed, s->i++) % (n ? n : 1)); }

static uint8_t any_byte(stream *s) {
    static const char telling[] = "0123456789,x^K=():'\"{}[]<>-+.eE \n\\*?";
    return draw(s, 2) ? (uint8_t)telling[draw(s, sizeof telling)] : (uint8_t)draw(s, 256);
}

static size_t mutate_once(stream *s, uint8_t *bytes, size_t size) {
    size_t at = draw(s, size), n = 1 + draw(s, 16);
    switch (draw(s, 6)) {
        case 0: /* a bit */
            if (size) bytes[at] ^= (uint8_t)(1 << draw(s, 8));
            return size;
        case 1: /* a byte */
            if (size) bytes[at] = any_byte(s);
            return size;
        case 2: /* the end is lost */ return size ? at : 0;
        case 3: /* something in between is lost */
            if (at + n > size) return size;
            memmove(bytes + at, bytes + at + n, size - at - n);
            return size - n;
        case 4: /* something comes in */
            if (size + n > LIMIT) return size;
            memmove(bytes + at + n, bytes + at, size - at);
            for (size_t i = 0; i < n; i++) bytes[at + i] = any_byte(s);
            return size + n;
        default: /* a part is repeated elsewhere */
            if (at + n > size) return size;
            memmove(bytes + draw(s, size - n + 1), bytes + at, n);
            return size;
    }
}

static void run_exact(const uint8_t *bytes, size_t size) {
    uint8_t *exact = malloc(size ? size : 1); /* a sanitizer sees a read beyond it */
    if (!exact) return;
    memcpy(exact, bytes, size);
    (void)LLVMFuzzerTestOneInput(exact, size);
    free(exact);
}

static int replay_file(const char *path) {
    static uint8_t bytes[1 << 20];
    FILE *file = fopen(path, "rb");
    if (!file) return 1;
    run_exact(bytes, fread(bytes, 1, sizeof bytes, file));
    return fclose(file) != 0;
}

int main(int argc, char **argv) {
    static uint8_t bytes[LIMIT];
    for (int i = 1; i < argc; i++)
        if (replay_file(argv[i])) {
            fprintf(stderr, "%s cannot be read\n", argv[i]);
            return 1;
        }
    if (argc > 1) return 0;
    printf("1..1\n");
    for (uint64_t round = 0; round < ROUNDS; round++) {
        stream s = {.seed = round, .i = 0};
        const struct seed *seed = &seeds[round % SEEDS];
        size_t size = seed->size < LIMIT ? seed->size : LIMIT;
        memcpy(bytes, seed->bytes, size);
        /* The seeds as they are come first, then more and more broken. */
        uint64_t times = round < SEEDS ? 0 : 1 + draw(&s, 1 + round * 12 / ROUNDS);
        for (uint64_t i = 0; i < times; i++) size = mutate_once(&s, bytes, size);
        run_exact(bytes, size);
    }
    printf("ok 1 - %d mutated inputs\n", (int)ROUNDS);
    return 0;
}
