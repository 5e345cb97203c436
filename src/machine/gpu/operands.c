#include "machine/gpu/operands.h"

#include <math.h>
#include <string.h>

#include "core/random.h"
#include "ridge/tensor.h"

/* An element is an integer i with 2^q <= |i| <= 2^(q+1), times 2^-q: q + 1 random significant bits. Products of a slice
 * stay below 2^24 units, which fp32 adds exactly; fp16 and tf32 give up two bits for that. */
static const struct {
    int bytes, q;
} kinds[] = {[RIDGE_GPU_F16] = {2, 8},
             [RIDGE_GPU_BF16] = {2, 7},
             [RIDGE_GPU_TF32] = {4, 8},
             [RIDGE_GPU_E4M3] = {1, 3},
             [RIDGE_GPU_S8] = {1, 0}};

enum { K_PLUS = 3, K_MINUS = 5 }; /* where P has its two entries */

int ridge_gpu_operand_bytes(ridge_gpu_operand kind) { return kinds[kind].bytes; }
double ridge_gpu_operand_unit(ridge_gpu_operand kind) { return ldexp(1, -2 * kinds[kind].q); }

/* Strictly inside the range, so that adding or subtracting one stays in it. */
static int draw(ridge_gpu_operand kind, uint64_t seed, uint64_t index) {
    uint64_t bits = ridge_random(seed, index);
    int least = kind == RIDGE_GPU_S8 ? 2 : (1 << kinds[kind].q) + 1;
    int most = kind == RIDGE_GPU_S8 ? 125 : (2 << kinds[kind].q) - 1;
    int value = least + (int)((bits >> 8) % (uint64_t)(most - least + 1));
    return bits & 1 ? -value : value;
}

static void encode(ridge_gpu_operand kind, int i, uint8_t *to) {
    double value = ldexp(i, -kinds[kind].q);
    int magnitude = i < 0 ? -i : i;
    switch (kind) {
        case RIDGE_GPU_F16: ridge_store(to, RIDGE_F16, 0, value); return;
        case RIDGE_GPU_BF16: ridge_store(to, RIDGE_BF16, 0, value); return;
        case RIDGE_GPU_TF32: ridge_store(to, RIDGE_F32, 0, value); return;
        /* 1 has exponent field 7; adding to the significand carries into it. */
        case RIDGE_GPU_E4M3: *to = (uint8_t)((i < 0 ? 0x80 : 0) | ((7 << 3) + magnitude - 8)); return;
        default: *to = (uint8_t)(int8_t)i; return;
    }
}

double ridge_gpu_operand_value(ridge_gpu_operand kind, const uint8_t *bytes) {
    int exponent = (*bytes >> 3 & 15) - 7;
    switch (kind) {
        case RIDGE_GPU_F16: return ridge_load(bytes, RIDGE_F16, 0);
        case RIDGE_GPU_BF16: return ridge_load(bytes, RIDGE_BF16, 0);
        case RIDGE_GPU_TF32: return ridge_load(bytes, RIDGE_F32, 0);
        case RIDGE_GPU_E4M3: return (*bytes & 0x80 ? -1 : 1) * ldexp(1 + (*bytes & 7) / 8.0, exponent);
        default: {
            int8_t value;
            memcpy(&value, bytes, 1);
            return value;
        }
    }
}

static void make_b(ridge_gpu_operand kind, ridge_gpu_operands *o) {
    int bytes = kinds[kind].bytes, depth = RIDGE_GPU_K_BYTES / bytes;
    for (int n = 0; n < RIDGE_GPU_COLUMNS; n++) {
        int e = ridge_random(3, (uint64_t)n) & 1 ? 1 : -1;
        o->column_sign[n] = (int8_t)e;
        for (int k = 0; k < depth; k++)
            encode(kind, draw(kind, 1, (uint64_t)n * (uint64_t)depth + (uint64_t)k), &o->b[n][k * bytes]);
        encode(kind, draw(kind, 1, (uint64_t)n * (uint64_t)depth + (uint64_t)K_PLUS) - e, &o->b[n][K_MINUS * bytes]);
    }
}

void ridge_gpu_operands_make(ridge_gpu_operand kind, ridge_gpu_operands *o) {
    int bytes = kinds[kind].bytes, depth = RIDGE_GPU_K_BYTES / bytes;
    memset(o, 0, sizeof *o);
    make_b(kind, o);
    for (int m = 0; m < RIDGE_GPU_ROWS; m++) {
        int s = ridge_random(4, (uint64_t)m) & 1 ? 1 : -1;
        o->row_sign[m] = (int8_t)s;
        for (int k = 0; k < depth; k++) {
            int value = draw(kind, 2, (uint64_t)m * (uint64_t)depth + (uint64_t)k);
            encode(kind, value, &o->a[0][m][k * bytes]);
            encode(kind, -value + (k == K_PLUS ? s : k == K_MINUS ? -s : 0), &o->a[1][m][k * bytes]);
        }
    }
}
