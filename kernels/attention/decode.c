#include "attention/decode.h"

#include <math.h>

#include "attention/plan.h"
#include "attention/ways.h"

/* Of an H200: microseconds of a launch, of a block's beginning and end, of a merge; bytes a microsecond, of all SMs and of one. */
static const double LAUNCH = 2.5, BLOCK = 1.5, MERGE = 2.0, BYTES = 4.55e6, BYTES_OF_SM = 5.5e4;

static int64_t tiles_of(const int64_t *dim) { return dim[ATTENTION_BATCH] * dim[ATTENTION_KV_HEADS]; }

/* Of warps, one after the other, which have all keys that some query sees. */
static int64_t units_of(const int64_t *dim, const double *option) {
    return attention_whole(attention_keys_seen(dim, option), ATTENTION_DECODE_KEYS);
}

/* Microseconds of all blocks, in waves, where memory serves all alike. */
static double blocks_us(const int64_t *dim, int64_t units, attention_decode d, int sms) {
    const int64_t blocks = tiles_of(dim) * d.parts, room = (int64_t)sms * (ATTENTION_DECODE_WARPS / d.warps);
    const double bytes = ATTENTION_DECODE_KEYS * 2.0 * d.warps * (double)(dim[ATTENTION_D] + dim[ATTENTION_V]);
    const double rate =
        fmin(BYTES / (double)(blocks < room ? blocks : room), BYTES_OF_SM * d.warps / ATTENTION_DECODE_WARPS);
    const double rounds = (double)attention_whole(units, (int64_t)d.parts * d.warps);
    return (double)attention_whole(blocks, room) * (rounds * bytes / rate + BLOCK) + (d.parts > 1 ? MERGE : 0);
}
/* Those of the least time. Half as many warps a block where tiles are many: one more than there are SMs would be a wave. */
attention_decode attention_decode_of(const int64_t *dim, const double *option, int sms) {
    const int64_t units = units_of(dim, option);
    attention_decode best = {1, ATTENTION_DECODE_WARPS / 2};
    if (tiles_of(dim) < 1) return best;
    for (int p = 1; p <= ATTENTION_PARTS && (p == 1 || p * ATTENTION_DECODE_WARPS <= units); p++) {
        const attention_decode d = {p, ATTENTION_DECODE_WARPS};
        if (blocks_us(dim, units, d, sms) <= blocks_us(dim, units, best, sms)) best = d;
    }
    return best;
}

const char *attention_decode_refusal(const ridge_problem *p) {
    const int64_t *dim = p->c.dim;
    const char *why = attention_common_refusal(p);
    if (why) return why;
    if (dim[ATTENTION_D] > ATTENTION_DECODE_DEPTH || dim[ATTENTION_V] > ATTENTION_DECODE_DEPTH)
        return "for d and v to 128";
    if (dim[ATTENTION_D] % 8 != 0 || dim[ATTENTION_V] % 8 != 0) return "for d and v in multiples of 8";
    if (attention_packed_rows(dim) > ATTENTION_DECODE_ROWS) return "for up to 8 rows of heads that share keys";
    return NULL;
}

ridge_plan attention_decode_cost(const ridge_problem *p) {
    const int64_t *dim = p->c.dim;
    const int sms = attention_sms(p);
    const attention_decode d = attention_decode_of(dim, p->c.option, sms);
    const int64_t of_row = ATTENTION_DECODE_DEPTH + 2, rows = tiles_of(dim) * attention_packed_rows(dim);
    const double floats = d.parts < 2 ? 0 : (double)(d.parts * rows * of_row);
    return (ridge_plan){.us = LAUNCH + blocks_us(dim, units_of(dim, p->c.option), d, sms),
                        .traffic = {.read = attention_bytes_read(&p->c) + 4 * floats,
                                    .written = attention_bytes_written(&p->c) + 4 * floats},
                        .scratch = (size_t)floats * sizeof(float)};
}

ridge_plan attention_decode_plan(const ridge_way *way, const ridge_problem *p) {
    const char *refusal = attention_decode_refusal(p);
    (void)way;
    if (!refusal) refusal = attention_pieces_refusal(p, 2);
    return refusal ? (ridge_plan){.refusal = refusal} : attention_decode_cost(p);
}
