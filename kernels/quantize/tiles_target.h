/* What the descriptors of quantizers share whose blocks are of one row and whose scales lie in tiles of 128 rows and 4
 * blocks (quantize/blocks.h): dimensions, results, the oracle's walk over tiles. Included once instead of
 * quantize/target.h; beside that one's names the includer defines before
 *
 *   QUANTIZE_LAYOUT     the block_layout
 *   QUANTIZE_ACROSS     columns of a block, as a literal
 *   QUANTIZE_SCALE      the type of s
 *   QUANTIZE_PADDING    what places of a tile without a block have
 *
 * and, behind it, scale_of and oracle_codes. */
#include "quantize/target.h"

#define QUANTIZE_LITERAL2(number) #number
#define QUANTIZE_LITERAL(number) QUANTIZE_LITERAL2(number)

/* ONE is of those who take the tensor's scale. */
enum { ROWS, COLS, ROW_TILES, TILE_BYTES, ONE };

/* The scale of the block that begins at x. */
static double scale_of(const ridge_oracle_call *call, const double *x);
static void oracle_codes(const ridge_oracle_call *call);

static double s_bytes(const ridge_case *c) { return (double)c->dim[ROW_TILES] * (double)c->dim[TILE_BYTES]; }

#define CASE(rows, cols) .dim = {rows, cols, ((rows) + 127) / 128, ((cols) / QUANTIZE_ACROSS + 3) / 4 * BLOCKS_TILE, 1}

static void derive(int64_t dim[RIDGE_MAX_RANK]) {
    dim[ROW_TILES] = blocks_tile_rows(dim[ROWS]);
    dim[TILE_BYTES] = blocks_tile_bytes(blocks_across(&QUANTIZE_LAYOUT, dim[COLS]));
    dim[ONE] = 1;
}

static const char *reject(const ridge_case *c) {
    int64_t dim[RIDGE_MAX_RANK] = {c->dim[ROWS], c->dim[COLS]};
    derive(dim);
    if (c->dim[COLS] < 1 || c->dim[COLS] % QUANTIZE_ACROSS)
        return "cols must be a multiple of " QUANTIZE_LITERAL(QUANTIZE_ACROSS) ", and not 0";
    if (c->dim[ROW_TILES] != dim[ROW_TILES]) return "row_tiles must be ceil(rows / 128)";
    if (c->dim[TILE_BYTES] != dim[TILE_BYTES])
        return "tile_bytes must be 512 ceil(cols / 4 / " QUANTIZE_LITERAL(QUANTIZE_ACROSS) ")";
    return NULL;
}

static const ridge_tensor_spec out[] = {
    {.name = "q", .rank = 2, .dim = {ROWS, COLS}, .dtype = QUANTIZE_CODE},
    {.name = "s", .rank = 2, .dim = {ROW_TILES, TILE_BYTES}, .dtype = QUANTIZE_SCALE}};

/* Scale (r, k) of a tile, by the layout's text: rows r, r + 32, r + 64, r + 96 lie side by side, 4 bytes each. */
static void oracle_tile(const ridge_oracle_call *call, int64_t tile, double *s) {
    for (int64_t i = 0; i < call->dim[TILE_BYTES]; i++) {
        const int64_t place = i % 512, r = 128 * tile + place / 16 + place % 16 / 4 * 32, k = i / 512 * 4 + place % 4;
        const bool inside = r < call->whole[ROWS] && QUANTIZE_ACROSS * k < call->dim[COLS];
        s[i] = inside ? scale_of(call, call->in[0] + r * call->dim[COLS] + QUANTIZE_ACROSS * k) : QUANTIZE_PADDING;
    }
}

static void oracle(const ridge_oracle_call *call) {
    if (call->out[0]) oracle_codes(call);
    for (int64_t i = 0; call->out[1] && i < call->dim[ROW_TILES]; i++)
        oracle_tile(call, call->row[i], call->out[1] + i * call->dim[TILE_BYTES]);
}
