/* mma.sync, ldmatrix, stmatrix and movmatrix as PTX: where each lane's registers have which element, by the formulas of
 * the PTX ISA ("Matrix Fragments for mma…"), written here once more in its own terms. Values are small integers: sums
 * are exact. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/ptx_launch.h"

enum { LANES = 32, REGISTERS = 20 };
static uint32_t *in, *out; /* [register][lane] */

static int set_up(void **state) {
    (void)state;
    in = emu_memory_allocate(4 * LANES * 64, EMU_DEVICE);
    out = emu_memory_allocate(4 * LANES * 64, EMU_DEVICE);
    return 0;
}

static void run(const char *text) {
    ptx_kernel kernel = ptx_kernel_open(text);
    if (kernel.code == NULL) fail_msg("%s\n%s", kernel.error.text, text);
    memset(out, 0xcd, 4 * LANES * 64);
    emu_memory_host_wrote(in, 4 * LANES * 64);
    emu_memory_host_wrote(out, 4 * LANES * 64);
    uint64_t findings = ptx_kernel_run(&kernel, 1, 1, LANES, 3, (const void *const[]){in, out}, 2);
    ptx_kernel_close(&kernel);
    if (findings) fail_msg("%s\n%s", emu_findings_take(), text);
}

/* ---- elements as small integers -------------------------------------------------------------------------- */
typedef struct type {
    const char *name;
    int bits;
} type;
static const type F16 = {"f16", 16}, BF16 = {"bf16", 16}, TF32 = {"tf32", 32}, E4M3 = {"e4m3", 8}, E5M2 = {"e5m2", 8};
static const type S8 = {"s8", 8}, U8 = {"u8", 8}, F32 = {"f32", 32}, S32 = {"s32", 32}, F64 = {"f64", 64};

/* An integer of at most 8 in magnitude, exact in all types. */
static uint64_t encode(type t, int value) {
    float single = (float)value;
    double wide = value;
    uint32_t bits;
    uint64_t bits64;
    memcpy(&bits, &single, 4);
    memcpy(&bits64, &wide, 8);
    const uint32_t sign = bits >> 31, mantissa = bits & 0x7fffff;
    const int exponent = (int)(bits >> 23 & 0xff) - 127;
    if (t.bits == 1 || t.name[0] == 's' || t.name[0] == 'u') return (uint32_t)value;
    if (t.bits == 64) return bits64;
    if (t.bits == 32) return bits;
    if (t.name[0] == 'b') return bits >> 16;
    if (value == 0) return 0;
    if (t.bits == 16) return sign << 15 | (uint32_t)(exponent + 15) << 10 | mantissa >> 13;
    if (t.name[1] == '4') return sign << 7 | (uint32_t)(exponent + 7) << 3 | mantissa >> 20;
    return sign << 7 | (uint32_t)(exponent + 15) << 2 | mantissa >> 21;
}

static uint32_t dice = 1;
static int small(int most) {
    dice = dice * 1664525 + 1013904223;
    return (int)(dice >> 16) % (2 * most + 1) - most;
}

/* ---- mma ------------------------------------------------------------------------------------------------- */
/* Element i of a lane's fragment, low to high over its registers; g: groupID, t: threadID_in_group, as the ISA calls
 * them. */
typedef struct place {
    int row, column;
} place;

static place place_of_a(int bits, int rows, int i, int lane) {
    const int g = lane >> 2, t = lane % 4, each = 32 / bits; /* elements of a register */
    if (bits == 64) return (place){rows == 8 ? g : g + (i & 1) * 8, t + (rows == 8 ? i : i >> 1) * 4};
    if (rows == 8) return (place){g, t * each + i};
    const int reg = i / each;
    return (place){reg % 2 ? g + 8 : g, t * each + i % each + (reg >= 2 ? 4 * each : 0)};
}
static place place_of_b(int bits, int i, int lane) {
    const int g = lane >> 2, t = lane % 4, each = 32 / bits;
    if (bits == 64) return (place){t + 4 * i, g};
    return (place){t * each + i % each + i / each * 4 * each, g};
}
static place place_of_c(int i, int lane) { return (place){(lane >> 2) + (i >= 2 ? 8 : 0), lane % 4 * 2 + (i & 1)}; }

/* Packs element i into the registers that begin with `first`. */
static void put(uint32_t *registers, type t, int first, int i, int lane, uint64_t bits) {
    if (t.bits == 64) {
        memcpy((uint64_t *)(void *)(registers + first * LANES) + i * LANES + lane, &bits, 8);
        return;
    }
    const int each = 32 / t.bits;
    uint32_t *at = &registers[(first + i / each) * LANES + lane];
    const int shift = i % each * t.bits;
    const uint32_t mask = (t.bits == 32 ? UINT32_MAX : (1u << t.bits) - 1) << shift;
    *at = (*at & ~mask) | ((uint32_t)bits << shift & mask);
}
static uint64_t get(const uint32_t *registers, type t, int first, int i, int lane) {
    uint64_t wide;
    memcpy(&wide, (const uint64_t *)(const void *)(registers + first * LANES) + i * LANES + lane, 8);
    if (t.bits == 64) return wide;
    const int each = 32 / t.bits;
    const uint32_t word = registers[(first + i / each) * LANES + lane] >> (i % each * t.bits);
    return t.bits == 32 ? word : word & ((1u << t.bits) - 1);
}

static int list(char *text, int first, int n) {
    int length = sprintf(text, "{");
    for (int i = 0; i < n; i++) length += sprintf(text + length, "%s%%v%d", i ? "," : "", first + i);
    return length + sprintf(text + length, "}");
}

/* Loads n registers, runs the instruction, stores registers first … of it. */
static void program(char *text, int bits, int n, const char *instruction, int first, int stored) {
    int length =
        sprintf(text,
                ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n.reg .b%d %%v<40>; .reg .b64 %%rd<8>; "
                ".reg .b32 %%r<4>;\nld.param.u64 %%rd1, [in]; ld.param.u64 %%rd2, [out]; mov.u32 %%r1, %%tid.x;\n"
                "mul.wide.u32 %%rd3, %%r1, %d; add.s64 %%rd1, %%rd1, %%rd3; add.s64 %%rd2, %%rd2, %%rd3;\n",
                bits, bits / 8);
    for (int i = 0; i < n; i++)
        length += sprintf(text + length, "ld.global.b%d %%v%d, [%%rd1+%d];\n", bits, i, i * LANES * bits / 8);
    length += sprintf(text + length, "%s\n", instruction);
    for (int i = 0; i < stored; i++)
        length += sprintf(text + length, "st.global.b%d [%%rd2+%d], %%v%d;\n", bits, i * LANES * bits / 8, first + i);
    sprintf(text + length, "ret;\n}\n");
}

typedef struct product_case {
    int m, k;
    type a, b, c;
} product_case;

static void product(const product_case *p) {
    const int wide = p->a.bits == 64, reg = wide ? 64 : 32;
    const int n_a = p->m * p->k * p->a.bits / LANES / reg, n_b = 8 * p->k * p->b.bits / LANES / reg;
    const int n_c = p->m * 8 * p->c.bits / LANES / reg, most = p->c.bits == 16 || p->a.bits == 8 ? 3 : 8;
    int a[16][32] = {{0}}, b[32][8] = {{0}}, c[16][8];
    char instruction[600], text[4000];
    for (int i = 0; i < p->m; i++)
        for (int k = 0; k < p->k; k++) a[i][k] = p->a.name[0] == 'u' ? small(most) + most : small(most);
    for (int k = 0; k < p->k; k++)
        for (int j = 0; j < 8; j++) b[k][j] = p->b.name[0] == 'u' ? small(most) + most : small(most);
    memset(in, 0, 4 * LANES * 64);
    for (int lane = 0; lane < LANES; lane++) {
        for (int i = 0; i < p->m * p->k / LANES; i++) {
            place at = place_of_a(p->a.bits, p->m, i, lane);
            put(in, p->a, 0, i, lane, encode(p->a, a[at.row][at.column]));
        }
        for (int i = 0; i < 8 * p->k / LANES; i++) {
            place at = place_of_b(p->b.bits, i, lane);
            put(in, p->b, n_a * reg / 32, i, lane, encode(p->b, b[at.row][at.column]));
        }
        for (int i = 0; i < p->m * 8 / LANES; i++) {
            place at = place_of_c(i, lane);
            c[at.row][at.column] = small(8);
            put(in, p->c, (n_a + n_b) * reg / 32, i, lane, encode(p->c, c[at.row][at.column]));
        }
    }
    int length = sprintf(instruction, "mma.sync.aligned.m%dn8k%d.row.col.%s.%s.%s.%s ", p->m, p->k, p->c.name,
                         p->a.name, p->b.name, p->c.name);
    const int first[4] = {30, 0, n_a, n_a + n_b}, n[4] = {n_c, n_a, n_b, n_c};
    for (int i = 0; i < 4; i++) {
        length += list(instruction + length, first[i], n[i]);
        length += sprintf(instruction + length, i < 3 ? ", " : ";");
    }
    program(text, reg, n_a + n_b + n_c, instruction, 30, n_c);
    run(text);
    for (int lane = 0; lane < LANES; lane++)
        for (int i = 0; i < p->m * 8 / LANES; i++) {
            place at = place_of_c(i, lane);
            int sum = c[at.row][at.column];
            for (int k = 0; k < p->k; k++) sum += a[at.row][k] * b[k][at.column];
            float single = (float)sum;
            double precise = sum;
            uint64_t expected = 0;
            if (p->c.bits == 64)
                memcpy(&expected, &precise, 8);
            else if (p->c.name[0] == 'f' && p->c.bits == 32)
                memcpy(&expected, &single, 4);
            else if (p->c.bits == 16)
                expected = encode(F16, sum);
            else
                expected = (uint32_t)sum;
            if (get(out, p->c, 0, i, lane) != expected)
                fail_msg("lane %d, element %d of d is not %d\n%s", lane, i, sum, instruction);
        }
}

static void products_by_the_isa(void **state) {
    (void)state;
    const product_case cases[] = {
        {16, 16, F16, F16, F32},   {16, 8, F16, F16, F32},    {16, 16, F16, F16, F16},   {16, 8, F16, F16, F16},
        {16, 16, BF16, BF16, F32}, {16, 8, BF16, BF16, F32},  {16, 8, TF32, TF32, F32},  {16, 4, TF32, TF32, F32},
        {16, 32, E4M3, E5M2, F32}, {16, 32, E5M2, E5M2, F16}, {16, 16, E5M2, E4M3, F32}, {16, 32, S8, S8, S32},
        {16, 16, U8, S8, S32},     {8, 16, S8, U8, S32},      {16, 32, U8, U8, S32},     {8, 4, F64, F64, F64},
        {16, 4, F64, F64, F64},    {16, 8, F64, F64, F64},    {16, 16, F64, F64, F64},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int turn = 0; turn < 4; turn++) product(&cases[i]);
}

/* ---- elements below a byte, and sparse a ------------------------------------------------------------------ */
static const type S4 = {"s4", 4}, U4 = {"u4", 4}, B1 = {"b1", 1};

typedef struct packed_case {
    int m, k;
    type a, b;
    const char *sum, *end; /* the accumulator's type; what follows the types */
    int selector;          /* of sparse a; -1: dense */
} packed_case;

/* Bits `at * width` and up of a line of packed elements. */
static void put_bits(uint8_t *line, int at, int width, uint64_t bits) {
    for (int i = 0; i < width; i++) {
        const int bit = at * width + i;
        line[bit / 8] = (uint8_t)((line[bit / 8] & ~(1 << bit % 8)) | (int)(bits >> i & 1) << bit % 8);
    }
}

/* Word t of each 16 bytes of a line is a register of lane t of the line's four: for a of rows g and g + 8, then the next 16 bytes. */
static void put_lines(int first, int rows, int bytes, const uint8_t (*line)[64]) {
    for (int block = 0; block < bytes / 16; block++)
        for (int i = 0; i < rows / 8; i++)
            for (int lane = 0; lane < LANES; lane++)
                memcpy(&in[(first + block * (rows / 8) + i) * LANES + lane],
                       &line[i * 8 + lane / 4][16 * block + lane % 4 * 4], 4);
}

/* Two places of four in ascending order, as four bits; of tf32 one of two. They are elements, of s4 and u4 pairs of them. */
static uint32_t draw_places(int bits, int spot[2]) {
    if (bits == 32) {
        spot[0] = small(1) > 0;
        return spot[0] ? 14 : 4;
    }
    do spot[0] = small(3) & 3, spot[1] = small(3) & 3;
    while (spot[0] >= spot[1]);
    return (uint32_t)(spot[0] | spot[1] << 2);
}

/* Where the metadata of a group of a row is: "Tk: [m..n]" of the ISA's figures, with the lane's number in its quad. */
static void place_metadata(const packed_case *p, int groups, int row, int group, int *lane, int *shift) {
    const int quad = row % 8 * 4, below = row / 8;
    if (p->a.bits >= 16) {
        *lane = quad + (groups == 4 ? p->selector : 2 * p->selector + group / 4);
        *shift = 16 * below + group % 4 * 4;
        return;
    }
    *lane = quad + (groups == 8 ? 2 * p->selector : 2 * (group / 8)) + below;
    *shift = group % 8 * 4;
}

static int value_for(type t) {
    if (t.bits == 1) return small(1) & 1;
    return t.name[0] == 'u' ? small(3) + 3 : small(3);
}

static void packed_product(const packed_case *p) {
    static int a[16][256], b[8][256];
    static uint8_t a_line[16][64], b_line[8][64];
    const int bits = p->a.bits, sparse = p->selector >= 0, stored = sparse ? p->k / 2 : p->k;
    const int a_bytes = stored * bits / 8, b_bytes = p->k * bits / 8, rows = p->m;
    const int n_a = a_bytes / 16 * (rows / 8), n_b = b_bytes / 16, n_c = rows / 4, each = bits == 4 ? 2 : 1;
    const int of_group = bits == 32 ? 2 : 4 * each, kept = of_group / 2, groups = p->k / of_group;
    memset(in, 0, 4 * LANES * 64);
    memset(a, 0, sizeof a);
    for (int row = 0; row < rows; row++)
        for (int group = 0; sparse && group < groups; group++) {
            int spot[2] = {0}, lane, shift;
            const uint32_t code = draw_places(bits, spot);
            place_metadata(p, groups, row, group, &lane, &shift);
            in[(n_a + n_b + n_c) * LANES + lane] |= code << shift;
            for (int i = 0; i < kept; i++) {
                const int value = value_for(p->a);
                put_bits(a_line[row], group * kept + i, bits, encode(p->a, value));
                a[row][group * of_group + spot[i / each] * each + i % each] = value;
            }
        }
    for (int row = 0; row < rows && !sparse; row++)
        for (int k = 0; k < p->k; k++) put_bits(a_line[row], k, bits, encode(p->a, a[row][k] = value_for(p->a)));
    for (int column = 0; column < 8; column++)
        for (int k = 0; k < p->k; k++) put_bits(b_line[column], k, bits, encode(p->b, b[column][k] = value_for(p->b)));
    put_lines(0, rows, a_bytes, (const uint8_t(*)[64])a_line);
    put_lines(n_a, 8, b_bytes, (const uint8_t(*)[64])b_line);
    char instruction[600], text[5000];
    int length = sprintf(instruction, "mma.%ssync.aligned.m%dn8k%d.row.col.%s.%s.%s.%s%s ",
                         !sparse     ? ""
                         : p->k % 64 ? "sp."
                                     : "sp::ordered_metadata.",
                         rows, p->k, p->sum, p->a.name, p->b.name, p->sum, p->end);
    const int first[4] = {30, 0, n_a, n_a + n_b}, n[4] = {n_c, n_a, n_b, n_c};
    for (int i = 0; i < 4; i++) {
        length += list(instruction + length, first[i], n[i]);
        length += sprintf(instruction + length, i < 3 ? ", " : "");
    }
    if (sparse) length += sprintf(instruction + length, ", %%v%d, %d", n_a + n_b + n_c, p->selector);
    sprintf(instruction + length, ";");
    program(text, 32, n_a + n_b + n_c + 1, instruction, 30, n_c);
    run(text);
    for (int lane = 0; lane < LANES; lane++)
        for (int i = 0; i < n_c; i++) {
            const int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
            int sum = 0;
            for (int k = 0; k < p->k; k++)
                sum += strstr(p->end, "xor") ? a[row][k] ^ b[column][k] : a[row][k] * b[column][k];
            const float single = (float)sum;
            uint32_t expected = (uint32_t)sum;
            if (p->sum[0] == 'f') memcpy(&expected, &single, 4);
            if (out[i * LANES + lane] != expected)
                fail_msg("lane %d, element %d of d is not %d\n%s", lane, i, sum, instruction);
        }
}

static void packed_by_the_isa(void **state) {
    (void)state;
    const packed_case cases[] = {
        {8, 32, S4, S4, "s32", "", -1},
        {16, 32, S4, U4, "s32", "", -1},
        {16, 64, U4, S4, "s32", "", -1},
        {8, 128, B1, B1, "s32", ".xor.popc", -1},
        {16, 128, B1, B1, "s32", ".and.popc", -1},
        {16, 256, B1, B1, "s32", ".xor.popc", -1},
        {16, 16, F16, F16, "f32", "", 0},
        {16, 16, BF16, BF16, "f32", "", 3},
        {16, 32, F16, F16, "f32", "", 1},
        {16, 32, BF16, BF16, "f32", "", 0},
        {16, 8, TF32, TF32, "f32", "", 2},
        {16, 16, TF32, TF32, "f32", "", 1},
        {16, 32, S8, U8, "s32", "", 1},
        {16, 64, S8, S8, "s32", "", 0},
        {16, 64, E4M3, E5M2, "f32", "", 0},
        {16, 64, U4, S4, "s32", "", 1},
        {16, 128, S4, S4, "s32", "", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int turn = 0; turn < 4; turn++) packed_product(&cases[i]);
}

/* ---- ldmatrix, stmatrix, movmatrix ----------------------------------------------------------------------- */
/* Rows of 16 bytes in shared memory; lane l's address is of row 5 l + 3 modulo 32: any order will do. */
static void matrices(int n, bool trans, bool store) {
    char text[3000], names[64];
    list(names, 4, n);
    sprintf(
        text,
        ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n.reg .b32 %%v<20>; .reg .b64 %%rd<8>; .reg .b32 "
        "%%r<8>;\n"
        ".shared .align 16 .b8 s[512];\nld.param.u64 %%rd1, [in]; ld.param.u64 %%rd2, [out]; mov.u32 %%r1, %%tid.x;\n"
        "mov.u32 %%r3, s; mul.wide.u32 %%rd3, %%r1, 16; add.s64 %%rd4, %%rd1, %%rd3; add.s64 %%rd5, %%rd2, %%rd3;\n"
        "ld.global.v4.b32 {%%v0,%%v1,%%v2,%%v3}, [%%rd4]; mad.lo.u32 %%r2, %%r1, 16, %%r3;\n"
        "st.shared.v4.b32 [%%r2], {%%v0,%%v1,%%v2,%%v3}; bar.sync 0;\n"
        "mad.lo.u32 %%r4, %%r1, 5, 3; and.b32 %%r4, %%r4, 31; mad.lo.u32 %%r4, %%r4, 16, %%r3;\n"
        "mov.b32 %%v4, %%v0; mov.b32 %%v5, %%v1; mov.b32 %%v6, %%v2; mov.b32 %%v7, %%v3;\n"
        "%smatrix.sync.aligned.m8n8.x%d%s.shared.b16 %s%s%s;\nbar.sync 0;\n%s"
        "st.global.v4.b32 [%%rd5], {%%v4,%%v5,%%v6,%%v7};\nret;\n}\n",
        store ? "st" : "ld", n, trans ? ".trans" : "", store ? "[%r4], " : "", names, store ? "" : ", [%r4]",
        store ? "ld.shared.v4.b32 {%v4,%v5,%v6,%v7}, [%r2];\n" : "");
    uint16_t rows[32][8], expected[32][8];
    for (int i = 0; i < 32; i++)
        for (int j = 0; j < 8; j++) rows[i][j] = (uint16_t)(i * 8 + j + 1000);
    memcpy(in, rows, sizeof rows);
    memcpy(expected, rows, sizeof rows);
    for (int matrix = 0; matrix < n; matrix++)
        for (int lane = 0; lane < LANES; lane++)
            for (int e = 0; e < 2; e++) { /* "thread T holds elements 2 (T % 4) and the next of row T / 4" */
                const int x = lane / 4, y = lane % 4 * 2 + e, r = trans ? y : x, column = trans ? x : y;
                const int row = ((8 * matrix + r) * 5 + 3) % 32;
                if (store)
                    expected[row][column] = rows[lane][2 * matrix + e];
                else
                    expected[lane][2 * matrix + e] = rows[row][column];
            }
    run(text);
    if (memcmp(out, expected, sizeof expected) != 0) fail_msg("%s", text);
}

static void matrices_by_the_isa(void **state) {
    (void)state;
    for (int n = 1; n <= 4; n *= 2)
        for (int way = 0; way < 4; way++) matrices(n, way & 1, way & 2);
}

static void movmatrix_transposes(void **state) {
    (void)state;
    uint16_t before[8][8], after[8][8];
    char text[2000];
    for (int i = 0; i < 64; i++) before[i / 8][i % 8] = (uint16_t)(i * 257);
    memcpy(in, before, sizeof before); /* lane l has elements 2l and 2l + 1 in the order of rows */
    program(text, 32, 1, "movmatrix.sync.aligned.m8n8.trans.b16 %v1, %v0;", 1, 1);
    run(text);
    memcpy(after, out, sizeof after);
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) assert_int_equal(after[i][j], before[j][i]);
}

/* ---- wmma ------------------------------------------------------------------------------------------------ */
typedef struct wmma_case {
    const char *shape;
    int m, n, k;
    type a, b, c;
    const char *types; /* of wmma.mma */
    int registers[3];  /* of a, b, c and d, as the ISA's tables have them */
} wmma_case;

static size_t place_in(bool row_major, int row, int column, int rows, int columns) {
    return (size_t)(row_major ? row * columns + column : column * rows + row);
}

/* a, b and c one after the other, loaded, multiplied, stored; each layout by a bit of `layouts`. */
static void wmma_product(const wmma_case *p, int layouts) {
    static int a[32][32], b[32][32], c[32][32];
    static uint8_t bytes[3][4096];
    const char *const layout[2] = {"row", "col"}, *file = p->c.bits == 64       ? "f64"
                                                          : p->c.name[0] == 's' ? "b32"
                                                          : p->c.bits == 16     ? "b32"
                                                                                : "f32";
    char vector[3][200], text[4000];
    const int sizes[3] = {p->m * p->k * p->a.bits / 8, p->k * p->n * p->b.bits / 8, p->m * p->n * p->c.bits / 8};
    const int most = p->c.bits == 16 || p->a.bits == 8 ? 3 : 8;
    for (int i = 0; i < p->m; i++)
        for (int k = 0; k < p->k; k++) {
            a[i][k] = p->a.name[0] == 'u' ? small(most) + most : small(most);
            const uint64_t bits = encode(p->a, a[i][k]);
            memcpy(bytes[0] + place_in(!(layouts & 1), i, k, p->m, p->k) * (size_t)p->a.bits / 8, &bits,
                   (size_t)p->a.bits / 8);
        }
    for (int k = 0; k < p->k; k++)
        for (int j = 0; j < p->n; j++) {
            b[k][j] = p->b.name[0] == 'u' ? small(most) + most : small(most);
            const uint64_t bits = encode(p->b, b[k][j]);
            memcpy(bytes[1] + place_in(!(layouts & 2), k, j, p->k, p->n) * (size_t)p->b.bits / 8, &bits,
                   (size_t)p->b.bits / 8);
        }
    for (int i = 0; i < p->m; i++)
        for (int j = 0; j < p->n; j++) {
            c[i][j] = small(8);
            const uint64_t bits = encode(p->c, c[i][j]);
            memcpy(bytes[2] + place_in(!(layouts & 4), i, j, p->m, p->n) * (size_t)p->c.bits / 8, &bits,
                   (size_t)p->c.bits / 8);
        }
    for (int i = 0, at = 0; i < 3; at += sizes[i++]) memcpy((uint8_t *)in + at, bytes[i], (size_t)sizes[i]);
    for (int i = 0; i < 3; i++) {
        int length = sprintf(vector[i], "{");
        for (int r = 0; r < p->registers[i]; r++)
            length += sprintf(vector[i] + length, "%s%%%c%d", r ? "," : "", "abc"[i], r);
        sprintf(vector[i] + length, "}");
    }
    const char *const factor = p->a.bits == 64 ? "f64" : "b32";
    sprintf(
        text,
        ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n.reg .%s %%a<8>; .reg .%s %%b<8>; .reg .%s %%c<8>;\n"
        ".reg .b64 %%rd<8>; .reg .b32 %%r<4>;\nld.param.u64 %%rd1, [in]; ld.param.u64 %%rd2, [out]; mov.u32 %%r1, %d;\n"
        "add.s64 %%rd3, %%rd1, %d; add.s64 %%rd4, %%rd1, %d;\n"
        "wmma.load.a.sync.aligned.%s.%s.global.%s %s, [%%rd1];\nwmma.load.b.sync.aligned.%s.%s.%s %s, [%%rd3];\n"
        "wmma.load.c.sync.aligned.%s.%s.global.%s %s, [%%rd4], %%r1;\nwmma.mma.sync.aligned.%s.%s.%s.%s %s, %s, %s, "
        "%s;\n"
        "wmma.store.d.sync.aligned.%s.%s.global.%s [%%rd2], %s, %%r1;\nret;\n}\n",
        factor, factor, file, layouts & 4 ? p->m : p->n, sizes[0], sizes[0] + sizes[1], layout[layouts & 1], p->shape,
        p->a.name, vector[0], layout[layouts >> 1 & 1], p->shape, p->b.name, vector[1], layout[layouts >> 2 & 1],
        p->shape, p->c.name, vector[2], layout[layouts & 1], layout[layouts >> 1 & 1], p->shape, p->types, vector[2],
        vector[0], vector[1], vector[2], layout[layouts >> 2 & 1], p->shape, p->c.name, vector[2]);
    run(text);
    for (int i = 0; i < p->m; i++)
        for (int j = 0; j < p->n; j++) {
            int sum = c[i][j];
            for (int k = 0; k < p->k; k++) sum += a[i][k] * b[k][j];
            const uint64_t expected = p->c.bits == 16 ? encode(F16, sum) : encode(p->c, sum);
            if (memcmp((uint8_t *)out + place_in(!(layouts & 4), i, j, p->m, p->n) * (size_t)p->c.bits / 8, &expected,
                       (size_t)p->c.bits / 8) != 0)
                fail_msg("(%d, %d) is not %d\n%s", i, j, sum, text);
        }
}

static void wmma_products(void **state) {
    (void)state;
    const wmma_case cases[] = {
        {"m16n16k16", 16, 16, 16, F16, F16, F32, "f32.f32", {8, 8, 8}},
        {"m32n8k16", 32, 8, 16, F16, F16, F32, "f32.f32", {8, 8, 8}},
        {"m8n32k16", 8, 32, 16, F16, F16, F16, "f16.f16", {8, 8, 4}},
        {"m16n16k16", 16, 16, 16, BF16, BF16, F32, "f32.bf16.bf16.f32", {4, 4, 8}},
        {"m32n8k16", 32, 8, 16, BF16, BF16, F32, "f32.bf16.bf16.f32", {8, 2, 8}},
        {"m8n32k16", 8, 32, 16, BF16, BF16, F32, "f32.bf16.bf16.f32", {2, 8, 8}},
        {"m16n16k8", 16, 16, 8, TF32, TF32, F32, "f32.tf32.tf32.f32", {4, 4, 8}},
        {"m16n16k16", 16, 16, 16, S8, S8, S32, "s32.s8.s8.s32", {2, 2, 8}},
        {"m32n8k16", 32, 8, 16, U8, U8, S32, "s32.u8.u8.s32.satfinite", {4, 1, 8}},
        {"m8n32k16", 8, 32, 16, S8, S8, S32, "s32.s8.s8.s32", {1, 4, 8}},
        {"m8n8k4", 8, 8, 4, F64, F64, F64, "rn.f64.f64.f64.f64", {1, 1, 2}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int layouts = 0; layouts < 8; layouts++) wmma_product(&cases[i], layouts);
}

/* ---- what is not known says so --------------------------------------------------------------------------- */
static void unknown_forms_fail(void **state) {
    (void)state;
    const char *const forms[] = {
        "mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32 {%v0,%v1,%v2,%v3}, {%v4,%v5,%v6,%v7}, {%v8,%v9}, "
        "{%v0,%v1,%v2,%v3};",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32 {%v0,%v1,%v2,%v3}, {%v4,%v5,%v6,%v7}, {%v8,%v9}, "
        "{%v0,%v1,%v2,%v3};",
        "mma.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%v0,%v1,%v2,%v3}, {%v4,%v5,%v6,%v7}, {%v8,%v9}, "
        "{%v0,%v1,%v2,%v3};",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%v0,%v1,%v2}, {%v4,%v5,%v6,%v7}, {%v8,%v9}, "
        "{%v0,%v1,%v2,%v3};",
        "mma.sync.aligned.m16n8k16.row.col.satfinite.f32.f16.f16.f32 {%v0,%v1,%v2,%v3}, {%v4,%v5,%v6,%v7}, {%v8,%v9}, "
        "{%v0,%v1,%v2,%v3};",
        "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%v0,%v1,%v2,%v3}, {%v4,%v5}, {%v8,%v9}, "
        "{%v0,%v1,%v2,%v3}, %v10, 0x4;",
        "mma.sp.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc {%v0,%v1,%v2,%v3}, {%v4,%v5}, {%v8,%v9}, "
        "{%v0,%v1,%v2,%v3}, %v10, 0x0;",
        "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.or.popc {%v0,%v1,%v2,%v3}, {%v4,%v5,%v6,%v7}, {%v8,%v9}, "
        "{%v0,%v1,%v2,%v3};",
        "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%v0,%v1}, [%v2];",
        "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%v0,%v1,%v2,%v3}, [%v2];",
        "stmatrix.sync.aligned.m8n8.x3.shared.b16 [%v2], {%v0,%v1,%v2};",
        "movmatrix.sync.aligned.m8n8.b16 %v0, %v1;",
        "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%v0,%v1,%v2,%v3}, [%v8];",
        "wmma.load.a.sync.aligned.row.m16n16k8.shared.f16 {%v0,%v1,%v2,%v3}, [%v8];",
        "wmma.load.c.sync.aligned.row.m16n16k16.shared.bf16 {%v0,%v1,%v2,%v3}, [%v8];",
        "wmma.load.a.sync.aligned.m16n16k16.shared.s8 {%v0,%v1}, [%v8];",
        "wmma.load.a.sync.aligned.row.m8n8k128.shared.b1 {%v0}, [%v8];",
        "wgmma.mma_async.sync.aligned.m64n12k16.f32.f16.f16 {%v0,%v1,%v2,%v3,%v4,%v5}, %rd1, %rd2, 1, 1, 1, 0, 0;",
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%v0,%v1,%v2,%v3}, %rd1, %rd2, 1, 1, 2, 0, 0;",
        "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%v0,%v1,%v2,%v3}, %rd1, %rd2, 1, 1, 1, 0, 0;",
        "wgmma.wait_group.sync.aligned %v0;",
        "wgmma.mma_async.sp.sync.aligned.m64n8k16.f32.tf32.tf32 {%v0,%v1,%v2,%v3}, %rd1, %rd2, %v4, 0, 1, 1, 1;",
    };
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        char text[2000];
        program(text, 32, 11, forms[i], 0, 1);
        ptx_kernel kernel = ptx_kernel_open(text);
        if (kernel.code != NULL) fail_msg("was taken: %s", forms[i]);
        assert_true(strlen(kernel.error.text) > 20);
        ptx_kernel_close(&kernel);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_by_the_isa), cmocka_unit_test(packed_by_the_isa),
        cmocka_unit_test(matrices_by_the_isa), cmocka_unit_test(movmatrix_transposes),
        cmocka_unit_test(wmma_products),       cmocka_unit_test(unknown_forms_fail),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
