/* Tensor maps: what cuTensorMapEncodeTiled or cuTensorMapEncodeIm2col was told, in 128 bytes. */
#ifndef EMULATOR_ASYNC_TENSOR_MAP_H
#define EMULATOR_ASYNC_TENSOR_MAP_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EMU_TENSOR_RANKS = 5, EMU_TENSOR_MAP_BYTES = 128 };
/* Numbers of cuda.h. */
typedef enum emu_tensor_type {
    EMU_TENSOR_U8,
    EMU_TENSOR_U16,
    EMU_TENSOR_U32,
    EMU_TENSOR_S32,
    EMU_TENSOR_U64,
    EMU_TENSOR_S64,
    EMU_TENSOR_F16,
    EMU_TENSOR_F32,
    EMU_TENSOR_F64,
    EMU_TENSOR_BF16,
    EMU_TENSOR_F32_FTZ,
    EMU_TENSOR_TF32,
    EMU_TENSOR_TF32_FTZ,
    EMU_TENSOR_U4_ALIGN8,
    EMU_TENSOR_U4_ALIGN16,
    EMU_TENSOR_U6_ALIGN16,
    EMU_N_TENSOR_TYPES,
} emu_tensor_type;
enum { EMU_INTERLEAVE_NONE, EMU_INTERLEAVE_16B, EMU_INTERLEAVE_32B };
enum {
    EMU_SWIZZLE_NONE,
    EMU_SWIZZLE_32B,
    EMU_SWIZZLE_64B,
    EMU_SWIZZLE_128B,
    EMU_SWIZZLE_128B_ATOM_32B,
    EMU_SWIZZLE_128B_ATOM_32B_FLIP_8B,
    EMU_SWIZZLE_128B_ATOM_64B,
    EMU_N_SWIZZLES
};
enum { EMU_FILL_ZERO, EMU_FILL_NAN };

typedef struct emu_tensor_map {
    uint32_t magic, checksum;
    uint8_t type, rank, interleave, swizzle, fill, promotion;
    uint8_t step[EMU_TENSOR_RANKS]; /* element strides */
    uint16_t box[EMU_TENSOR_RANKS];
    uint64_t address;
    uint32_t last[EMU_TENSOR_RANKS];       /* sizes less one: a size may be 2^32 */
    uint64_t stride[EMU_TENSOR_RANKS - 1]; /* bytes, of dimensions 1 and up */
    /* Of im2col: pixels of a copy, whose channels box[0] counts, and the corners of what they lie in, of dimensions 1 and
     * up but the last: from the first pixel, and from the last one. pixels 0: of tiles. */
    uint16_t pixels;
    int16_t lower[EMU_TENSOR_RANKS - 2], upper[EMU_TENSOR_RANKS - 2];
    uint8_t rest[EMU_TENSOR_MAP_BYTES - 4 * 2 - 6 - 5 - 2 * 5 - 3 - 8 - 4 * 5 - 4 - 8 * 4 - 2 - 2 * 3 * 2];
} emu_tensor_map;
static_assert(sizeof(emu_tensor_map) == EMU_TENSOR_MAP_BYTES, "cuda.h says 128 bytes");

/* What both functions are told. Numbers are cuda.h's. */
typedef struct emu_tensor_request {
    void *out, *address;
    int type;
    uint32_t rank;
    const uint64_t *sizes, *strides;
    const uint32_t *steps; /* element strides */
    int interleave, swizzle, promotion, fill;
} emu_tensor_request;
/* cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col. They return a CUresult; *why says what is wrong. */
int emu_tensor_map_tiled(const emu_tensor_request *, const uint32_t *box, const char **why);
int emu_tensor_map_im2col(const emu_tensor_request *, const int *lower, const int *upper, uint32_t channels,
                          uint32_t pixels, const char **why);

/* Why these 128 bytes are no tensor map; NULL: they are one. */
const char *emu_tensor_map_wrong(const emu_tensor_map *);
void emu_tensor_map_seal(emu_tensor_map *);     /* sets the checksum */
uint32_t emu_tensor_type_bits(emu_tensor_type); /* of an element */

/* Bytes of a row of the box, which the mbarrier counts, and from one row to the next in shared memory: rows shorter than the
 * swizzle's span leave the rest of the span as it is (seen on an H200). Every 16 bytes of shared memory hold `piece` bytes
 * of the row: 16, but 8 or 12 of types that leave gaps. */
uint32_t emu_tensor_row_bytes(const emu_tensor_map *);
uint32_t emu_tensor_pitch(const emu_tensor_map *);
uint32_t emu_tensor_piece(const emu_tensor_map *);
/* How an instruction walks the tensor. */
typedef enum emu_tensor_mode {
    EMU_TENSOR_TILE,   /* a box */
    EMU_TENSOR_FOUR,   /* gather4, scatter4: four rows of a matrix, by their numbers */
    EMU_TENSOR_IM2COL, /* pixels, one after another */
} emu_tensor_mode;
typedef struct emu_tensor_place {
    emu_tensor_mode mode;
    int32_t coordinate[EMU_TENSOR_RANKS];  /* of four rows: the column, and their numbers */
    uint16_t offset[EMU_TENSOR_RANKS - 2]; /* im2col: what is added to the pixels' coordinates 1 and up */
} emu_tensor_place;

uint32_t emu_tensor_rows(const emu_tensor_map *, emu_tensor_mode);
/* Where the row lies: the bytes [*from, *to) of it are in the tensor, and begin at *address in global memory. An empty
 * range: none are. row counts from 0 through the box, the second dimension fastest. */
void emu_tensor_row(const emu_tensor_map *, const emu_tensor_place *, uint32_t row, uint32_t *from, uint32_t *to,
                    uint64_t *address);
/* Coordinates of a pixel, counted from 0 (async/im2col.c). */
void emu_tensor_pixel(const emu_tensor_map *, const emu_tensor_place *, uint32_t pixel, int64_t at[EMU_TENSOR_RANKS]);
/* A store writes chunks of 16 bytes whose first byte is in the tensor, whole: up to 15 bytes behind the tensor's row
 * (seen on an H200; strides leave room for them). */
static inline uint32_t emu_tensor_stored(uint32_t to) { return (to + 15) / 16 * 16; }
/* Fills a row of the box that lies outside, and turns the elements of one that was read into what the type demands. */
void emu_tensor_fill(const emu_tensor_map *, uint8_t *bytes, uint32_t n);
void emu_tensor_convert(const emu_tensor_map *, uint8_t *bytes, uint32_t n);
/* Where the hardware puts the 16 bytes that belong at this shared address. */
static inline uint32_t emu_swizzle(int swizzle, uint32_t shared_address) {
    static const uint8_t mask[EMU_N_SWIZZLES] = {0, 1, 3, 7, 3, 3, 1}, atom[EMU_N_SWIZZLES] = {4, 4, 4, 4, 5, 5, 6};
    return shared_address ^ (shared_address >> 7 & mask[swizzle]) << atom[swizzle];
}
/* Are the halves of those 16 bytes swapped? PTX says "every alternate shared memory line", cuda.h "every alternate row": every
 * second line of 128 bytes, and not the first, which all swizzles leave as it is. */
static inline bool emu_swizzle_flips(int swizzle, uint32_t shared_address) {
    return swizzle == EMU_SWIZZLE_128B_ATOM_32B_FLIP_8B && shared_address >> 7 & 1;
}
#endif
