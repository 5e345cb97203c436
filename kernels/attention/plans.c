/* What attention's ways on a GPU refuse, and how long they take. */
#include <math.h>

#include "attention/plan.h"
#include "attention/ways.h"

/* Microseconds of a launch; FLOP in one by mma.sync, of an SM and of a block that is alone on one; bytes in one from
 * memory. Of an H200. */
static const double LAUNCH = 3, ANY = 1e6, ANY_ALONE = 2.6e5, DRAM = 4.2e6;
/* Microseconds of a row that a packed tile loads by itself, and of a cluster's barrier with the merge behind it. */
static const double PACKED_ROW = 0.06, MERGE = 1.5;

static int64_t packed_tiles(const int64_t *dim) {
    return dim[ATTENTION_BATCH] * dim[ATTENTION_KV_HEADS] * attention_whole(attention_packed_rows(dim), 64);
}

/* Microseconds of all parts, of `each` steps: an SM has one block, which takes them in turn. Without the merge. */
static double parts_us(const attention_tile *t, double tiles, int64_t steps, int64_t each, int sms) {
    return ceil(tiles * (double)attention_whole(steps, each) / sms) * ((double)each * t->step_us + t->tile_us);
}
/* Those of the least time, of two steps and more: they fill the SMs once, or several times where tiles are more than half of the
 * SMs. None is empty in the tile that sees most. */
int attention_parts(const attention_tile *t, const int64_t *dim, const double *option, int sms) {
    const int64_t tiles = packed_tiles(dim);
    if (!t->packed || tiles < 1 || dim[ATTENTION_M] < 1 || attention_packed_rows(dim) > ATTENTION_PACKED_ROWS) return 1;
    const int64_t steps = attention_whole(attention_keys_seen(dim, option), t->keys);
    int64_t parts = 1;
    double least = parts_us(t, (double)tiles, steps, steps > 1 ? steps : 1, sms);
    for (int64_t p = 2; p <= ATTENTION_PARTS && p <= steps / 2; p++) {
        const int64_t each = attention_whole(steps, p);
        const double us = parts_us(t, (double)tiles, steps, each, sms) + MERGE;
        if (us < least) least = us, parts = attention_whole(steps, each);
    }
    return (int)parts;
}
int64_t attention_part_floats(const attention_tile *t, const int64_t *dim, int parts) {
    if (parts < 2) return 0;
    return parts * dim[ATTENTION_BATCH] * dim[ATTENTION_KV_HEADS] * attention_packed_rows(dim) * (t->values + 2);
}

/* Of a head. Where sequences end is in the device's memory: they are taken to be of one length. */
static double steps_of(const ridge_problem *p, int rows, int keys, double *longest) {
    const ridge_case each = attention_one_sequence(&p->c);
    const double sequences = (double)attention_sequences(&p->c);
    return sequences * attention_steps_of(attention_mask_of(each.dim, each.option), (int)each.dim[ATTENTION_M],
                                          (int)each.dim[ATTENTION_N], rows, keys, longest);
}
/* Tiles of a head. */
static double tiles_of(const ridge_problem *p, int rows) {
    const ridge_case each = attention_one_sequence(&p->c);
    return (double)(attention_sequences(&p->c) * attention_whole(each.dim[ATTENTION_M], rows));
}

const char *attention_common_refusal(const ridge_problem *p) {
    const ridge_case *c = &p->c;
    const int64_t most = ATTENTION_ALL - 4096;
    if (c->dtype != RIDGE_BF16 && c->dtype != RIDGE_F16) return "for bf16 and f16";
    if (c->dim[ATTENTION_D] > ATTENTION_DEPTH || c->dim[ATTENTION_V] > ATTENTION_DEPTH) return "for d and v to 256";
    if (c->dim[ATTENTION_M] > most || c->dim[ATTENTION_N] > most) return "for fewer than 2^30 queries and keys";
    if (attention_extent(p, ATTENTION_M) / 64 * attention_heads_of(p) > 1e9) return "for fewer than 10^9 tiles";
    return NULL;
}

const char *attention_pieces_refusal(const ridge_problem *p, int size) {
    if (p->c.dim[ATTENTION_N] < 1) return "for one key and more";
    if (!attention_is_in_pieces(p, ATTENTION_IN_Q, ATTENTION_OF_QUERIES, size) ||
        !attention_is_in_pieces(p, ATTENTION_IN_K, ATTENTION_OF_KEYS, size) ||
        !attention_is_in_pieces(p, ATTENTION_IN_V, ATTENTION_OF_KEYS, size))
        return "for rows of q, k and v that begin at multiples of 16 bytes";
    return NULL;
}

const char *attention_tile_refusal(const attention_tile *t, const ridge_problem *p, int size) {
    const char *why = attention_common_refusal(p);
    if (why) return why;
    if (p->c.dim[ATTENTION_D] > t->depth || p->c.dim[ATTENTION_V] > t->values) return "for fewer dimensions of a head";
    return attention_pieces_refusal(p, size);
}

static ridge_traffic traffic_of(const ridge_problem *p) {
    return (ridge_traffic){.read = attention_bytes_read(&p->c), .written = attention_bytes_written(&p->c)};
}

/* Where other tiles are the better ones in any case. */
static const char *packed_refusal(const attention_tile *t, const ridge_problem *p) {
    const int64_t *dim = p->c.dim;
    if (t->depth > 64 && dim[ATTENTION_D] <= t->depth / 2 && dim[ATTENTION_V] <= t->values / 2)
        return "where a tile of half as many dimensions does not do";
    if (attention_packed_rows(dim) > ATTENTION_PACKED_ROWS) return "for up to 16384 rows of heads that share keys";
    if (attention_parts(t, dim, p->c.option, attention_sms(p)) < 2 && dim[ATTENTION_HEADS] == dim[ATTENTION_KV_HEADS])
        return "where heads share keys, or keys can be parted";
    return NULL;
}

/* Of a tile. */
static int packed_queries(const int64_t *dim) {
    const int64_t group = dim[ATTENTION_HEADS] / dim[ATTENTION_KV_HEADS];
    return group < 64 ? (int)(64 / group) : 1;
}
/* Few queries: keys and values come once, and each step waits for the one before it. */
ridge_plan attention_packed_plan(const attention_tile *t, const ridge_problem *p) {
    const int64_t *dim = p->c.dim;
    const int parts = attention_parts(t, dim, p->c.option, attention_sms(p));
    ridge_plan plan = {.traffic = traffic_of(p)};
    const double floats = (double)attention_part_floats(t, dim, parts), tiles = (double)packed_tiles(dim);
    double longest; /* of a tile, in steps */
    const double all = tiles / (double)attention_whole(attention_packed_rows(dim), 64) *
                       attention_steps_of(attention_mask_of(dim, p->c.option), (int)dim[ATTENTION_M],
                                          (int)dim[ATTENTION_N], packed_queries(dim), t->keys, &longest);
    const double turns = ceil(tiles * parts / attention_sms(p));
    const double tile = t->tile_us + PACKED_ROW * fmin((double)attention_packed_rows(dim), 64);
    const double steps = fmax(turns * all / (tiles * parts), ceil(longest / parts));
    plan.us = LAUNCH + fmax(steps * t->step_us + turns * tile, tile + attention_bytes_read(&p->c) / DRAM);
    const bool clustered = parts <= ATTENTION_CLUSTER && tiles * parts <= attention_sms(p);
    if (parts > 1) plan.us += clustered ? MERGE : LAUNCH + 8 * floats / DRAM;
    plan.scratch = (size_t)floats * sizeof(float);
    plan.traffic.read += 4 * floats, plan.traffic.written += 4 * floats;
    return plan;
}

ridge_plan attention_tile_plan(const attention_tile *t, const ridge_problem *p) {
    const int rows = 64 * t->groups;
    double longest;
    const double heads = attention_heads_of(p);
    const double steps = heads * steps_of(p, rows, t->keys, &longest);
    const double tiles = ceil(heads * tiles_of(p, rows) / attention_sms(p));
    const double products = tiles * t->tile_us + fmax(steps / attention_sms(p), longest) * t->step_us;
    return (ridge_plan){
        .us = LAUNCH + fmax(products, t->tile_us + attention_bytes_read(&p->c) / DRAM),
        .traffic = traffic_of(p),
    };
}

ridge_plan attention_wgmma_plan(const ridge_way *way, const ridge_problem *p) {
    const attention_tile *t = way->own;
    ridge_plan plan = {.refusal = attention_tile_refusal(t, p, 2)};
    if (!plan.refusal && t->packed) plan.refusal = packed_refusal(t, p);
    if (plan.refusal) return plan;
    return t->packed ? attention_packed_plan(t, p) : attention_tile_plan(t, p);
}

ridge_plan attention_any_plan(const ridge_way *way, const ridge_problem *p) {
    ridge_plan plan = {.refusal = attention_common_refusal(p)};
    double longest;
    (void)way;
    if (plan.refusal) return plan;
    const double heads = attention_heads_of(p);
    const int padded = p->c.dim[ATTENTION_D] <= 64 && p->c.dim[ATTENTION_V] <= 64     ? 64
                       : p->c.dim[ATTENTION_D] <= 128 && p->c.dim[ATTENTION_V] <= 128 ? 128
                                                                                      : 256;
    const double steps = heads * steps_of(p, 64, 32, &longest), step = 64.0 * 32 * 4 * padded;
    plan.us = LAUNCH + step * fmax(steps / attention_sms(p) / ANY, longest / ANY_ALONE);
    plan.traffic = traffic_of(p);
    return plan;
}
