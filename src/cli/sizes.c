/* --sizes: shapes, ranges of extents, and their products.
 *
 *     sizes  = shape {"," shape}          64x128x10,1024x1024x100
 *     shape  = axis {"x" axis}            2^10..2^16x4096: seven shapes
 *     axis   = extent [".." extent [":" extent]]
 *     extent = digits ["^" digits] ["K" | "M" | "G"]
 *
 * A..B doubles from A as long as it is at most B; A..B:S adds S. The last axis varies fastest. */
#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "cli/parse.h"

static const int64_t largest_extent = INT64_C(1) << 40;
enum { LARGEST_EXPONENT = 40 };

/* A position in the text and the error there. */
typedef struct reader {
    const char *at;
    const char *why; /* NULL: no error so far */
} reader;

/* first, first * 2, … or first, first + step, …; at most last. */
typedef struct axis {
    int64_t first, last;
    int64_t step; /* 0: doubles */
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

static bool read_axis(reader *r, axis *a) {
    if (!read_extent(r, &a->first)) return false;
    a->last = a->first;
    a->step = 1;
    if (strncmp(r->at, "..", 2) != 0) return true;
    r->at += 2;
    if (!read_extent(r, &a->last)) return false;
    if (a->last < a->first) return wrong(r, "a range A..B needs A <= B");
    a->step = 0;
    if (*r->at == ':') {
        r->at++;
        if (!read_extent(r, &a->step)) return false;
        if (a->step == 0) return wrong(r, "a range A..B:S needs a step S above 0");
    } else if (a->first == 0) {
        return wrong(r, "a range from 0 cannot double: give a step, 0..B:S");
    }
    return true;
}

/* false: there is no next one. Extents are at most 2^40, so that nothing here overflows. */
static bool next_extent(const axis *a, int64_t *extent) {
    *extent = a->step ? *extent + a->step : *extent * 2;
    return *extent <= a->last;
}

static bool next_shape(const axis *axes, ridge_size *size) {
    for (int d = size->rank - 1; d >= 0; d--) {
        if (next_extent(&axes[d], &size->dim[d])) return true;
        size->dim[d] = axes[d].first;
    }
    return false;
}

static bool read_shape(reader *r, ridge_sizes *sizes) {
    axis axes[RIDGE_MAX_RANK];
    ridge_size size = {0};
    for (;; r->at++) {
        if (size.rank == RIDGE_MAX_RANK) return wrong(r, "more than 8 dimensions");
        if (!read_axis(r, &axes[size.rank])) return false;
        size.dim[size.rank] = axes[size.rank].first;
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

ridge_status ridge_parse_sizes(const char *text, ridge_sizes *sizes, ridge_error *error) {
    reader r = {.at = text};
    sizes->n = 0;
    while (read_shape(&r, sizes) && *r.at == ',') r.at++;
    if (!r.why && *r.at != '\0') (void)wrong(&r, "extents are separated by 'x', shapes by ','");
    if (!r.why) return RIDGE_OK;
    return ridge_fail(error, RIDGE_INVALID, "--sizes '%.80s': %s (write 1024x1024x100,64x128x10 or 2^10..2^16x4096)",
                      text, r.why);
}
