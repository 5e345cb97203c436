/* --sizes: shapes, ranges of extents, and their products.
 *
 *     sizes  = shape {"," shape}          64x128x10,1024x1024x100
 *     shape  = axis {"x" axis}            2^10..2^16x4096: seven shapes
 *     axis   = range | "[" range {"," range} "]"          [64,1000..4000:1000]x64: five shapes
 *     range  = extent [".." extent [(":" | "*") extent]]
 *     extent = digits ["^" digits] ["K" | "M" | "G"]
 *
 * A..B doubles from A as long as it is at most B; A..B:S adds S, A..B*F multiplies by F. The last axis varies fastest. */
#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "cli/parse.h"

static const int64_t largest_extent = INT64_C(1) << 40;
enum { LARGEST_EXPONENT = 40, MOST_RANGES = 32 };

/* A position in the text and the error there. */
typedef struct reader {
    const char *at;
    const char *why; /* NULL: no error so far */
} reader;

/* first, first * factor, … or first, first + step, …; at most last. */
typedef struct range {
    int64_t first, last;
    int64_t factor, step; /* one of them is 0 */
} range;

/* One range after the other. */
typedef struct axis {
    range ranges[MOST_RANGES];
    int n, at; /* the range of the current extent */
} axis;

static bool wrong(reader *r, const char *why) {
    if (!r->why) r->why = why;
    return false;
}

static bool scaled(reader *r, int64_t *value, int64_t factor) {
    if (factor > 0 && *value > largest_extent / factor) return wrong(r, "an extent above 2^40");
    *value *= factor;
    return true;
}

static bool read_digits(reader *r, int64_t *value) {
    *value = 0;
    if (!isdigit((unsigned char)*r->at)) return wrong(r, "a number is missing");
    for (; isdigit((unsigned char)*r->at); r->at++) {
        *value = *value * 10 + (*r->at - '0');
        if (*value > largest_extent) return wrong(r, "an extent above 2^40");
    }
    return true;
}

static bool read_power(reader *r, int64_t *value) {
    const int64_t base = *value;
    int64_t exponent = 0;
    if (!read_digits(r, &exponent)) return false;
    if (exponent > LARGEST_EXPONENT) return wrong(r, "an exponent above 40");
    *value = 1;
    for (int64_t i = 0; i < exponent; i++)
        if (!scaled(r, value, base)) return false;
    return true;
}

static bool read_extent(reader *r, int64_t *value) {
    static const char suffixes[] = "KMG"; /* 2^10, 2^20, 2^30 */
    if (!read_digits(r, value)) return false;
    if (*r->at == '^') {
        r->at++;
        if (!read_power(r, value)) return false;
    }
    const char *suffix = *r->at ? strchr(suffixes, toupper((unsigned char)*r->at)) : NULL;
    if (!suffix) return true;
    r->at++;
    return scaled(r, value, INT64_C(1) << 10 * (suffix - suffixes + 1));
}

/* What comes behind A..B. */
static bool read_step(reader *r, range *a) {
    const bool adds = *r->at == ':', multiplies = *r->at == '*';
    if (adds || multiplies) r->at++;
    if (adds) {
        if (!read_extent(r, &a->step)) return false;
        return a->step > 0 || wrong(r, "a range A..B:S needs a step S above 0");
    }
    a->factor = 2;
    if (multiplies && !read_extent(r, &a->factor)) return false;
    if (a->factor < 2) return wrong(r, "a range A..B*F needs a factor F above 1");
    return a->first > 0 || wrong(r, "a range from 0 cannot double: give a step, 0..B:S");
}

static bool read_range(reader *r, range *a) {
    *a = (range){0};
    if (!read_extent(r, &a->first)) return false;
    a->last = a->first;
    a->step = 1;
    if (strncmp(r->at, "..", 2) != 0) return true;
    r->at += 2;
    a->step = 0;
    if (!read_extent(r, &a->last)) return false;
    if (a->last < a->first) return wrong(r, "a range A..B needs A <= B");
    return read_step(r, a);
}

static bool read_axis(reader *r, axis *a) {
    const bool listed = *r->at == '[';
    a->n = a->at = 0;
    do {
        if (a->n == MOST_RANGES) return wrong(r, "more than 32 ranges in [ ]");
        r->at += listed; /* the bracket, or a comma */
        if (!read_range(r, &a->ranges[a->n++])) return false;
    } while (listed && *r->at == ',');
    if (!listed) return true;
    if (*r->at != ']') return wrong(r, "a list [A,B] needs its ]");
    r->at++;
    return true;
}

/* false: there is no next one. Extents are at most 2^40: sums do not overflow, products might. */
static bool next_extent(axis *a, int64_t *extent) {
    const range *now = &a->ranges[a->at];
    if (now->step && *extent + now->step <= now->last) return *extent += now->step, true;
    if (now->factor && *extent <= now->last / now->factor) return *extent *= now->factor, true;
    if (a->at + 1 == a->n) return false;
    *extent = a->ranges[++a->at].first;
    return true;
}

static bool next_shape(axis *axes, ridge_size *size) {
    for (int d = size->rank - 1; d >= 0; d--) {
        if (next_extent(&axes[d], &size->dim[d])) return true;
        axes[d].at = 0;
        size->dim[d] = axes[d].ranges[0].first;
    }
    return false;
}

static bool read_shape(reader *r, ridge_sizes *sizes) {
    axis axes[RIDGE_MAX_RANK];
    ridge_size size = {0};
    for (;; r->at++) {
        if (size.rank == RIDGE_MAX_RANK) return wrong(r, "more than 8 dimensions");
        if (!read_axis(r, &axes[size.rank])) return false;
        size.dim[size.rank] = axes[size.rank].ranges[0].first;
        size.rank++;
        if (*r->at != 'x') break;
    }
    static_assert(RIDGE_MAX_SIZES == 4096, "the text below says so");
    do {
        if (sizes->n == RIDGE_MAX_SIZES) return wrong(r, "more than 4096 shapes");
        sizes->size[sizes->n++] = size;
    } while (next_shape(axes, &size));
    return true;
}

ridge_status ridge_parse_shapes(const char *text, const char *what, ridge_sizes *sizes, ridge_error *error) {
    reader r = {.at = text};
    sizes->n = 0;
    while (read_shape(&r, sizes) && *r.at == ',') r.at++;
    if (!r.why && *r.at != '\0') (void)wrong(&r, "extents are separated by 'x', shapes by ','");
    if (!r.why) return RIDGE_OK;
    return ridge_fail(error, RIDGE_INVALID, "%.40s '%.80s': %s (write 1024x1024x100,64x128x10 or 2^10..2^16x4096)",
                      what, text, r.why);
}

ridge_status ridge_parse_sizes(const char *text, ridge_sizes *sizes, ridge_error *error) {
    return ridge_parse_shapes(text, "--sizes", sizes, error);
}
