// Operands of tcgen05.mma as the host of tensor_product.cu makes them: small integers as numbers of each type, and where an
// element lies in shared memory by PTX's canonical layouts.
#pragma once
#include <cstdint>
#include <cstring>

enum Type { F16, BF16, TF32, E4M3, E5M2, E2M3, E3M2, E2M1, U8, S8 };
struct Format {
    int bits;           // of an element
    int number;         // in the instruction descriptor
    uint32_t codes[4];  // of 0 to 3
};
static const Format formats[] = {
    {16, 0, {0, 0x3c00, 0x4000, 0x4200}},
    {16, 1, {0, 0x3f80, 0x4000, 0x4040}},
    {32, 2, {0, 0x3f800000, 0x40000000, 0x40400000}},
    {8, 0, {0, 0x38, 0x40, 0x44}},
    {8, 1, {0, 0x3c, 0x40, 0x42}},
    {6, 3, {0, 0x08, 0x10, 0x14}},
    {6, 4, {0, 0x0c, 0x10, 0x12}},
    {4, 5, {0, 0x2, 0x4, 0x5}},
    {8, 0, {0, 1, 2, 3}},
    {8, 1, {0, 1, 2, 3}},
};

static uint32_t code_of(Type type, int value) {  // -3 to 3
    if (type == S8) return (uint8_t)value;
    const uint32_t code = formats[type].codes[value < 0 ? -value : value];
    return value < 0 ? code | 1u << (formats[type].bits - 1) : code;
}

// A matrix of rows (of A, or columns of B) by 32 bytes of k elements; line: bytes of the swizzled line, 16: no swizzle.
struct Matrix {
    Type type;
    bool trans;  // not K-major
    int line;
    int parts = 1;  // 2: k is 64 bytes long, as of B where A is sparse
    int bytes() const { return formats[type].bits < 8 ? 1 : formats[type].bits / 8; }
    int k() const { return parts * 32 / bytes(); }
    bool wide() const { return trans && bytes() == 4; }  // chunks of 32 bytes are swizzled: lines of 128
    int deep() const { return wide() ? 4 : 8; }          // k of a swizzle's atom
    int leading() const { return !trans || line == 16 ? 128 : 8 * line * (k() / 8); }
    int stride() const { return line == 16 ? (trans ? 128 * (k() / 8) : 256 * parts) : deep() * line; }
    uint64_t descriptor() const {
        const uint64_t swizzle = wide() ? 1 : line == 128 ? 2 : line == 64 ? 4 : line == 32 ? 6 : 0;
        return (uint64_t)(leading() / 16) << 16 | (uint64_t)(stride() / 16) << 32 | 1ull << 46 | swizzle << 61;
    }
    // The chunk of 16 bytes that has the element; *in: which of its elements.
    int chunk(int row, int at, int *in) const {
        const int held = 16 / bytes(), atoms = line / 16;
        int offset;
        if (!trans) {
            *in = at % held;
            offset = row / 8 * stride() + row % 8 * line + at / held * (line == 16 ? leading() : 16);
        } else {
            const int group = row / held;
            *in = row % held;
            offset = line == 16
                         ? group * stride() + at % 8 * 16 + at / 8 * leading()
                         : group / atoms * leading() + group % atoms * 16 + at % deep() * line + at / deep() * stride();
        }
        if (wide()) return offset ^ (offset >> 7 & 3) << 5;
        return line == 16 ? offset : offset ^ (offset >> 7 & (atoms - 1)) << 4;
    }
    void put(uint8_t *image, int row, int at, uint32_t code) const {
        int in;
        uint8_t *to = image + chunk(row, at, &in);
        const int width = formats[type].bits;
        if (width >= 8) {
            memcpy(to + in * bytes(), &code, bytes());
            return;
        }
        for (int bit = 0; bit < width; bit++)  // 16 elements in 8 or 12 bytes of the 16
            to[(in * width + bit) / 8] |= (uint8_t)((code >> bit & 1) << (in * width + bit) % 8);
    }
};
