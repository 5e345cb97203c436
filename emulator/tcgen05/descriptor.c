/* Descriptors of tcgen05.mma: of the instruction, and of matrices in shared memory (PTX ISA: "Instruction descriptor",
 * "Shared memory descriptor", "Canonical layouts"; CuTe's mma_sm100_desc.hpp). */
#include <string.h>

#include "mma/products.h"
#include "tcgen05/product.h"

/* ---- the instruction ------------------------------------------------------------------------------------- */
typedef struct kind_types {
    ptx_type a[8]; /* by the descriptor's number; PTX_NONE: there is none */
    ptx_type d[4];
} kind_types;
#define FLOATS_D \
    { PTX_F16, PTX_F32, PTX_NONE, PTX_NONE }
static const kind_types kinds[EMU_N_KINDS] = {
    [EMU_KIND_F16] = {{PTX_F16, PTX_BF16}, FLOATS_D},
    [EMU_KIND_TF32] = {{PTX_NONE, PTX_NONE, PTX_TF32}, {PTX_NONE, PTX_F32}},
    [EMU_KIND_F8F6F4] = {{PTX_E4M3, PTX_E5M2, PTX_NONE, PTX_E2M3, PTX_E3M2, PTX_E2M1}, FLOATS_D},
    [EMU_KIND_I8] = {{PTX_U8, PTX_S8}, {PTX_NONE, PTX_NONE, PTX_S32}},
    [EMU_KIND_MXF8F6F4] = {{PTX_E4M3, PTX_E5M2, PTX_NONE, PTX_E2M3, PTX_E3M2, PTX_E2M1}, {PTX_NONE}},
    [EMU_KIND_MXF4] = {{PTX_NONE, PTX_E2M1}, {PTX_NONE}},
    [EMU_KIND_MXF4NVF4] = {{PTX_NONE, PTX_E2M1}, {PTX_NONE}},
};

static bool size_known(const emu_tensor_form *form, int m, int n) {
    const bool integers = form->kind == EMU_KIND_I8;
    if (form->pair) return (m == 128 || m == 256) && n % (integers ? 32 : 16) == 0 && n >= 16 && n <= 256;
    if ((m != 64 && m != 128) || n < 8 || n > 256) return false;
    return integers ? n % 16 == 0 || n == 8 || n == 24 : n % 8 == 0;
}

/* Of 16 bits and more, the selector names a column of two. */
static const char *sparsity_wrong(const emu_tensor_form *form, uint32_t bits) {
    if (!form->sparse) return bits & 7 ? "bits 0 to 2 must be zero where A is dense" : NULL;
    if (!(bits >> 2 & 1)) return "bit 2 must be 1 where A is sparse";
    if ((bits & 3) > emu_tensor_halves(form->kind)) return "the kind has no such sparsity selector";
    return NULL;
}

/* Accumulators are f32; bits 4 and 5 and 29 and 30 say which bytes have the scales. */
static const char *scaled_read(const emu_tensor_form *form, uint32_t bits, emu_tensor_shape *shape) {
    const emu_tensor_kind kind = form->kind;
    const int scales = form->scales;
    const bool pair = form->pair, packed = kind != EMU_KIND_MXF8F6F4;
    const ptx_type a = kinds[kind].a[bits >> 7 & 7], b = kinds[kind].a[bits >> 10 & (packed ? 3 : 7)];
    *shape = (emu_tensor_shape){.m = (int)(bits >> 27 & 3) << 7,
                                .n = (int)(bits >> 17 & 63) << 3,
                                .k = packed ? 2 * EMU_LINE : EMU_LINE,
                                .negate_a = bits >> 13 & 1,
                                .negate_b = bits >> 14 & 1,
                                .trans_a = bits >> 15 & 1,
                                .trans_b = bits >> 16 & 1,
                                .a = packed ? PTX_B8 : a,
                                .b = packed ? PTX_B8 : b,
                                .packed = packed,
                                .sparse = form->sparse,
                                .scales = scales,
                                .scale_a = (int)(bits >> 29 & 3),
                                .scale_b = (int)(bits >> 4 & 3),
                                .ue4m3 = !(bits >> 23 & 1)};
    const char *why = sparsity_wrong(form, bits);
    if (why) return why;
    if (bits >> 3 & 1 || bits >> 6 & 1 || bits >> 24 & 7 || (packed && bits >> 12 & 1))
        return "bits 3, 6, 24 to 26, and 12 where it is of no type, must be zero";
    if (bits >> 31) return "bit 31 needs sm_103a";
    if (a == PTX_NONE || b == PTX_NONE) return "the kind has no such types";
    if (packed && (shape->trans_a || shape->trans_b)) return "packed floats of 4 bits are not transposed";
    if (shape->ue4m3 && (kind != EMU_KIND_MXF4NVF4)) return "the kind's scales are ue8m0: bit 23 must be 1";
    if (shape->scale_a % scales || shape->scale_b % scales) return "so many scales do not begin at this byte";
    if (shape->m != (pair ? 256 : 128)) return "M must be 128, of a pair 256";
    if (shape->n % (pair ? 16 : 8) || shape->n < 8 || shape->n > 256) return "N is at most 256, a multiple of 8 or 16";
    shape->dot = emu_dot_find(100, true, a, b, PTX_F32);
    return NULL;
}

const char *emu_tensor_shape_read(const emu_tensor_form *form, uint32_t bits, emu_tensor_shape *shape) {
    const emu_tensor_kind kind = form->kind;
    if (kind >= EMU_KIND_MXF8F6F4) return scaled_read(form, bits, shape);
    const ptx_type a = kinds[kind].a[bits >> 7 & 7], b = kinds[kind].a[bits >> 10 & 7];
    const ptx_type d = kinds[kind].d[bits >> 4 & 3];
    *shape = (emu_tensor_shape){.m = (int)(bits >> 24 & 31) << 4,
                                .n = (int)(bits >> 17 & 63) << 3,
                                .saturate = bits >> 3 & 1,
                                .negate_a = bits >> 13 & 1,
                                .negate_b = bits >> 14 & 1,
                                .trans_a = bits >> 15 & 1,
                                .trans_b = bits >> 16 & 1,
                                .a = a,
                                .b = b,
                                .sparse = form->sparse,
                                .selector = form->sparse ? (int)(bits & 3) : 0,
                                .ws = form->ws};
    const char *why = sparsity_wrong(form, bits);
    if (why) return why;
    if (bits >> 6 & 1 || bits >> 23 & 1 || bits >> 29) return "bits 6, 23 and 29 to 31 must be zero";
    if (a == PTX_NONE || b == PTX_NONE || d == PTX_NONE) return "the kind has no such types";
    if (shape->saturate && kind != EMU_KIND_I8) return "only integers saturate";
    if ((shape->negate_a || shape->negate_b) && kind == EMU_KIND_I8) return "integers are not negated";
    shape->dot = emu_dot_find(100, true, a, b, d);
    if (shape->dot == NULL) return "these types do not go together";
    shape->k = EMU_LINE / ptx_type_bytes[a];
    const bool ws_known =
        (shape->m == 32 || shape->m == 64 || shape->m == 128) && (shape->n == 64 || shape->n == 128 || shape->n == 256);
    if (form->ws) return ws_known ? NULL : "M of .ws is 32, 64 or 128, N 64, 128 or 256";
    if (!size_known(form, shape->m, shape->n))
        return form->pair ? "M of a pair is 128 or 256, N at most 256, a multiple of 16 or 32"
                          : "M is 64 or 128, N at most 256, a multiple of 8; of integers 8, 24, or a multiple of 16";
    return NULL;
}

/* ---- matrices -------------------------------------------------------------------------------------------- */
const char *emu_tensor_matrix_read(uint64_t bits, ptx_type type, bool trans, emu_descriptor *d) {
    static const uint32_t lines[8] = {16, 128, 128, 0, 64, 0, 32, 0};
    *d = (emu_descriptor){.start = (uint32_t)(bits & 0x3fff) << 4,
                          .leading = (uint32_t)(bits >> 16 & 0x3fff) << 4,
                          .stride = (uint32_t)(bits >> 32 & 0x3fff) << 4,
                          .base = (uint32_t)(bits >> 49 & 7),
                          .line = lines[bits >> 61],
                          .wide = bits >> 61 == 1};
    const uint64_t reserved = UINT64_C(3) << 14 | UINT64_C(3) << 30 | UINT64_C(0xff) << 53;
    if (bits & reserved) return "bits 14-15, 30-31 and 53-60 must be zero";
    if ((bits >> 46 & 7) != 1) return "bits 46-48 must be 1";
    if (bits >> 52 & 1) return "bit 52, an absolute leading dimension, needs sm_103a";
    if (d->wide && !trans) return "a swizzle with atoms of 32 bytes is for transposed matrices";
    if (d->line == 0) return "bits 61-63 name no swizzle";
    if (trans && !d->wide && ptx_type_bytes[type] == 4) return "transposed tf32 needs a swizzle with atoms of 32 bytes";
    return NULL;
}

void emu_tensor_unpack(int width, const uint8_t *from, uint8_t to[16]) {
    if (width >= 8) {
        memcpy(to, from, 16);
        return;
    }
    for (int i = 0; i < 16; i++) {
        const int bit = width * i;
        const uint32_t two = from[bit / 8] | (uint32_t)from[bit / 8 + 1] << 8;
        to[i] = (uint8_t)(two >> bit % 8 & ((1u << width) - 1));
    }
}

static int bits_of(ptx_type type) {
    return type == PTX_E2M1 ? 4 : type == PTX_E2M3 || type == PTX_E3M2 ? 6 : 8 * ptx_type_bytes[type];
}

bool emu_tensor_gather(const emu_operation *operation, emu_block *block, uint64_t bits, ptx_type type, bool trans,
                       int rows, int parts, uint8_t (*line)[EMU_LINE]) {
    const int bytes = ptx_type_bytes[type], width = bits_of(type), pieces = 2 * parts;
    const int k = parts * EMU_LINE / bytes, of_chunk = 16 / bytes; /* elements */
    emu_descriptor descriptor;
    uint32_t chunk[EMU_MAX_CHUNKS];
    (void)emu_tensor_matrix_read(bits, type, trans, &descriptor); /* what is wrong with it was told at issue */
    if (trans)
        emu_descriptor_lines(&descriptor, rows / of_chunk, k, chunk);
    else
        emu_descriptor_chunks(&descriptor, false, rows, pieces, chunk);
    const int n = trans ? rows / of_chunk * k : pieces * rows;
    if (!emu_product_read(operation, block, chunk, n)) return false;
    const uint8_t *shared = block->shared;
    for (int i = 0; i < n; i++) {
        const uint8_t *from = shared + (chunk[i] % (1 << 18) - EMU_SHARED_FIRST);
        uint8_t elements[16];
        emu_tensor_unpack(width, from, elements);
        const int place = trans ? i % k * bytes : i % pieces * 16; /* byte of k */
        uint8_t(*to)[EMU_LINE] = line + place / EMU_LINE * EMU_MAX_N;
        if (!trans) {
            memcpy(to[i / pieces] + place % EMU_LINE, elements, 16);
            continue;
        }
        for (int row = 0; row < of_chunk; row++)
            memcpy(to[i / k * of_chunk + row] + place % EMU_LINE, elements + row * bytes, (size_t)bytes);
    }
    return true;
}

void emu_tensor_negate(ptx_type type, int rows, uint8_t (*line)[EMU_LINE]) {
    const int bytes = ptx_type_bytes[type], width = bits_of(type);
    for (int row = 0; row < rows && type == PTX_B8; row++) /* two of 4 bits */
        for (int i = 0; i < EMU_LINE; i++) line[row][i] ^= 0x88;
    if (type == PTX_B8) return;
    for (int row = 0; row < rows; row++)
        for (int i = bytes - 1; i < EMU_LINE; i += bytes) line[row][i] ^= (uint8_t)(1u << (width - 1) % 8);
}
