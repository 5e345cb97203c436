/* Reads NumPy's .npy. The header is a Python dictionary literal. A small parser accepts the form that NumPy writes
 * (keys in any order, any spacing) and rejects all else with the reason. */
#include "verify/npy.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/dtype.h"
#include "device/file.h"

/* NumPy writes at most a few hundred bytes; a header above the limit is damaged. */
enum { HEADER_LIMIT = 65536, MAGIC = 6, PREFIX_LIMIT = 12 };

typedef struct text {
    const char *at, *end;
    const char *name; /* file name */
    ridge_error *error;
} text;

static ridge_status bad_header(const text *t, const char *what) {
    return ridge_fail(t->error, RIDGE_CORRUPT, "%s: damaged .npy header: %s", t->name, what);
}

/* ---- pieces of the literal ----------------------------------------------------------------- */

static void skip_spaces(text *t) {
    while (t->at < t->end && (*t->at == ' ' || *t->at == '\t' || *t->at == '\n')) t->at++;
}

static bool take(text *t, char c) {
    skip_spaces(t);
    if (t->at == t->end || *t->at != c) return false;
    t->at++;
    return true;
}

static bool take_word(text *t, const char *word) {
    size_t n = strlen(word);
    skip_spaces(t);
    if ((size_t)(t->end - t->at) < n || memcmp(t->at, word, n) != 0) return false;
    t->at += n;
    return true;
}

/* A quoted string without escapes, of less than size bytes. */
static bool take_string(text *t, char *string, size_t size) {
    skip_spaces(t);
    if (t->at == t->end || (*t->at != '\'' && *t->at != '"')) return false;
    char quote = *t->at++;
    size_t n = 0;
    while (t->at < t->end && *t->at != quote) {
        if (n + 1 >= size || *t->at == '\\' || (unsigned char)*t->at < ' ') return false;
        string[n++] = *t->at++;
    }
    if (t->at == t->end) return false;
    t->at++;
    string[n] = '\0';
    return true;
}

static bool take_extent(text *t, int64_t *extent) {
    skip_spaces(t);
    const char *begin = t->at;
    for (*extent = 0; t->at < t->end && *t->at >= '0' && *t->at <= '9'; t->at++)
        if (__builtin_mul_overflow(*extent, 10, extent) || __builtin_add_overflow(*extent, *t->at - '0', extent))
            return false;
    return t->at > begin;
}

/* ---- element types ------------------------------------------------------------------------- */

/* Types by their descr. Bits of types that NumPy does not have come as unsigned integers, or as ml_dtypes writes them:
 * the tensor that takes them says which of its size they are. */
static const struct descr {
    const char *name, *other; /* other: without an order of bytes */
    ridge_dtype dtype;        /* RIDGE_DTYPE_NONE: bits */
    size_t size;
} descrs[] = {
    {"<f4", NULL, RIDGE_F32, 4},         {"<f8", NULL, RIDGE_F64, 8},         {"<f2", NULL, RIDGE_F16, 2},
    {"<i4", NULL, RIDGE_I32, 4},         {"<i8", NULL, RIDGE_I64, 8},         {"<u2", NULL, RIDGE_DTYPE_NONE, 2},
    {"<V2", "|V2", RIDGE_DTYPE_NONE, 2}, {"<u1", "|u1", RIDGE_DTYPE_NONE, 1}, {"<V1", "|V1", RIDGE_DTYPE_NONE, 1},
    {"<f1", "|f1", RIDGE_DTYPE_NONE, 1}, {"<i1", "|i1", RIDGE_I8, 1},
};
enum { DESCRS = sizeof descrs / sizeof descrs[0] };

static const struct descr *descr_of(const char *name) {
    for (int i = 0; i < DESCRS; i++)
        if (strcmp(name, descrs[i].name) == 0 || (descrs[i].other && strcmp(name, descrs[i].other) == 0))
            return &descrs[i];
    return NULL;
}

/* ---- the three keys ------------------------------------------------------------------------ */

static ridge_status parse_descr(text *t, ridge_npy *npy) {
    char descr[32];
    if (take(t, '['))
        return ridge_fail(t->error, RIDGE_UNSUPPORTED, "%s: structured arrays are not supported", t->name);
    if (!take_string(t, descr, sizeof descr)) return bad_header(t, "descr is not a short string");
    const struct descr *known = descr_of(descr);
    if (known) {
        memcpy(npy->descr, known->name, strlen(known->name) + 1);
        return RIDGE_OK;
    }
    if (descr[0] == '>')
        return ridge_fail(t->error, RIDGE_UNSUPPORTED, "%s: dtype %s is big endian; save it as '<%s'", t->name, descr,
                          descr + 1);
    return ridge_fail(t->error, RIDGE_UNSUPPORTED,
                      "%s: dtype '%s' is not one of f4 f8 f2 i4 i8 i1 (u2 for bf16, u1 for types of 8 bits)", t->name,
                      descr);
}

static ridge_status parse_order(text *t) {
    if (take_word(t, "False")) return RIDGE_OK;
    if (take_word(t, "True"))
        return ridge_fail(t->error, RIDGE_UNSUPPORTED, "%s: Fortran order; save numpy.ascontiguousarray(a)", t->name);
    return bad_header(t, "fortran_order is neither True nor False");
}

static ridge_status parse_shape(text *t, ridge_npy *npy) {
    if (!take(t, '(')) return bad_header(t, "shape is not a tuple");
    bool comma = true;
    for (npy->rank = 0; !take(t, ')'); npy->rank++) {
        if (!comma) return bad_header(t, "shape lacks a comma or a parenthesis");
        if (npy->rank == RIDGE_MAX_RANK)
            return ridge_fail(t->error, RIDGE_UNSUPPORTED, "%s: more than %d dimensions", t->name, (int)RIDGE_MAX_RANK);
        if (!take_extent(t, &npy->shape[npy->rank])) return bad_header(t, "an extent is not a number of 64 bits");
        comma = take(t, ',');
    }
    if (npy->rank == 1 && !comma) return bad_header(t, "shape is not a tuple");
    if (npy->rank == 0) return ridge_fail(t->error, RIDGE_UNSUPPORTED, "%s: holds a scalar, not an array", t->name);
    return RIDGE_OK;
}

static ridge_status parse_key(text *t, ridge_npy *npy, bool seen[3]) {
    static const char *const keys[3] = {"descr", "fortran_order", "shape"};
    char key[32];
    if (!take_string(t, key, sizeof key) || !take(t, ':')) return bad_header(t, "expected a key and a colon");
    int k = 0;
    while (k < 3 && strcmp(key, keys[k]) != 0) k++;
    if (k == 3) return bad_header(t, "unknown key");
    if (seen[k]) return bad_header(t, "a key appears twice");
    seen[k] = true;
    return k == 0 ? parse_descr(t, npy) : k == 1 ? parse_order(t) : parse_shape(t, npy);
}

static ridge_status parse_dictionary(text *t, ridge_npy *npy) {
    bool seen[3] = {false, false, false}, comma = true;
    if (!take(t, '{')) return bad_header(t, "not a dictionary");
    while (!take(t, '}')) {
        if (!comma) return bad_header(t, "expected a comma or a brace");
        RIDGE_TRY(parse_key(t, npy, seen));
        comma = take(t, ',');
    }
    if (!seen[0] || !seen[1] || !seen[2]) return bad_header(t, "descr, fortran_order or shape is missing");
    skip_spaces(t);
    return t->at == t->end ? RIDGE_OK : bad_header(t, "something follows the dictionary");
}

/* ---- header -------------------------------------------------------------------------------- */

static ridge_status data_bytes(const char *name, ridge_npy *npy, ridge_error *error) {
    size_t bytes = descr_of(npy->descr)->size;
    for (int d = 0; d < npy->rank; d++)
        if (__builtin_mul_overflow(bytes, (size_t)npy->shape[d], &bytes) || bytes > SIZE_MAX / 2)
            return ridge_fail(error, RIDGE_CORRUPT, "%s: the shape's size overflows", name);
    npy->bytes = bytes;
    return RIDGE_OK;
}

/* Parses the first `size` bytes of a file of file_bytes: fills npy except its data, and sets the offset of the data. */
static ridge_status parse_header(const unsigned char *bytes, size_t size, size_t file_bytes, const char *name,
                                 ridge_npy *npy, size_t *data_begin, ridge_error *error) {
    *npy = (ridge_npy){0};
    if (size < MAGIC + 4 || memcmp(bytes, "\x93NUMPY", MAGIC) != 0)
        return ridge_fail(error, RIDGE_CORRUPT, "%s: not a .npy file", name);
    int version = bytes[6];
    if (version < 1 || version > 3 || bytes[7] != 0)
        return ridge_fail(error, RIDGE_UNSUPPORTED, "%s: .npy version %d.%d is not supported", name, version, bytes[7]);
    size_t prefix = version == 1 ? 10 : 12;
    if (size < prefix) return ridge_fail(error, RIDGE_CORRUPT, "%s: truncated in the .npy header", name);
    size_t length = (size_t)bytes[8] | (size_t)bytes[9] << 8;
    if (version > 1) length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    if (length > HEADER_LIMIT)
        return ridge_fail(error, RIDGE_CORRUPT, "%s: a .npy header of %zu bytes is damaged", name, length);
    if (size - prefix < length) return ridge_fail(error, RIDGE_CORRUPT, "%s: truncated in the .npy header", name);
    text t = {(const char *)bytes + prefix, (const char *)bytes + prefix + length, name, error};
    RIDGE_TRY(parse_dictionary(&t, npy));
    RIDGE_TRY(data_bytes(name, npy, error));
    *data_begin = prefix + length;
    size_t have = file_bytes - *data_begin;
    if (have < npy->bytes)
        return ridge_fail(error, RIDGE_CORRUPT, "%s: truncated: %zu bytes of data, the shape needs %zu", name, have,
                          npy->bytes);
    if (have > npy->bytes)
        return ridge_fail(error, RIDGE_CORRUPT, "%s: %zu bytes of data, the shape needs only %zu", name, have,
                          npy->bytes);
    return RIDGE_OK;
}

static ridge_status alloc_data(ridge_npy *npy, const char *name, ridge_error *error) {
    npy->data = malloc(npy->bytes ? npy->bytes : 1);
    if (npy->data) return RIDGE_OK;
    return ridge_fail(error, RIDGE_NO_MEMORY, "%s: no memory for its %zu bytes", name, npy->bytes);
}

ridge_status ridge_npy_parse(const void *bytes, size_t size, const char *name, ridge_npy *npy, ridge_error *error) {
    size_t begin = 0;
    ridge_status status = parse_header(bytes, size, size, name, npy, &begin, error);
    if (status == RIDGE_OK) status = alloc_data(npy, name, error);
    if (status == RIDGE_OK)
        memcpy(npy->data, (const char *)bytes + begin, npy->bytes);
    else
        ridge_npy_free(npy);
    return status;
}

/* ---- files --------------------------------------------------------------------------------- */

/* Reads exactly `bytes` bytes at `offset`. */
static ridge_status read_all(int fd, const char *path, void *to, size_t bytes, size_t offset, ridge_error *error) {
    for (size_t done = 0; done < bytes;) {
        ssize_t n = pread(fd, (char *)to + done, bytes - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return ridge_fail(error, RIDGE_IO, "%s: cannot be read: %s", path, strerror(errno));
        if (n == 0) return ridge_fail(error, RIDGE_CORRUPT, "%s: became shorter while it was read", path);
        done += (size_t)n;
    }
    return RIDGE_OK;
}

static ridge_status read_file(int fd, size_t size, const char *path, ridge_npy *npy, ridge_error *error) {
    size_t head = size < HEADER_LIMIT + PREFIX_LIMIT ? size : HEADER_LIMIT + PREFIX_LIMIT, begin = 0;
    unsigned char *header = malloc(head + 1);
    if (!header) return ridge_fail(error, RIDGE_NO_MEMORY, "%s: no memory for its header", path);
    ridge_status status = read_all(fd, path, header, head, 0, error);
    if (status == RIDGE_OK) status = parse_header(header, head, size, path, npy, &begin, error);
    free(header);
    RIDGE_TRY(status);
    RIDGE_TRY(alloc_data(npy, path, error));
    return read_all(fd, path, npy->data, npy->bytes, begin, error);
}

ridge_status ridge_npy_read(const char *path, ridge_npy *npy, ridge_error *error) {
    int fd;
    size_t size;
    *npy = (ridge_npy){0};
    RIDGE_TRY(ridge_file_open(path, &fd, &size, error));
    ridge_status status = read_file(fd, size, path, npy, error);
    (void)close(fd);
    if (status != RIDGE_OK) ridge_npy_free(npy);
    return status;
}

void ridge_npy_free(ridge_npy *npy) {
    free(npy->data);
    *npy = (ridge_npy){0};
}

/* ---- conversion ---------------------------------------------------------------------------- */

static ridge_status check_integer(double v, ridge_dtype dtype, int64_t limit, int64_t i, const char *name,
                                  ridge_error *error) {
    const double most = fmin(INT32_MAX, ridge_dtype_traits_of(dtype)->most);
    double low = limit > 0 ? 0 : -most - 1, high = limit > 0 && limit <= INT32_MAX ? (double)(limit - 1) : most;
    if (!(v >= low && v <= high))
        return ridge_fail(error, RIDGE_INVALID, "%s: element %lld is %.9g, outside [%.0f, %.0f]", name, (long long)i, v,
                          low, high);
    if (v != floor(v))
        return ridge_fail(error, RIDGE_INVALID, "%s: element %lld is %.9g, not an integer", name, (long long)i, v);
    return RIDGE_OK;
}

static ridge_status convert_all(const ridge_npy *npy, ridge_dtype dtype, int64_t n, int64_t limit, const char *name,
                                void *data, ridge_error *error) {
    const struct descr *descr = descr_of(npy->descr);
    const ridge_dtype from = descr->dtype == RIDGE_DTYPE_NONE ? dtype : descr->dtype;
    for (int64_t i = 0; i < n; i++) {
        double v = ridge_load((const char *)npy->data + (size_t)i * descr->size, from, 0); /* e2m1: one in a byte */
        if (ridge_dtype_is_integer(dtype)) RIDGE_TRY(check_integer(v, dtype, limit, i, name, error));
        /* All NaNs become the default quiet NaN, because a signalling one could equal poison. */
        ridge_store(data, dtype, i, isnan(v) ? (double)NAN : v);
    }
    return RIDGE_OK;
}

/* Bits are those of a type that NumPy has not. */
static bool may_be_bits_of(size_t size, ridge_dtype dtype) {
    return size == 2 ? dtype == RIDGE_BF16 : ridge_dtype_bits(dtype) <= 8 && !ridge_dtype_is_integer(dtype);
}

ridge_status ridge_npy_convert(const ridge_npy *npy, ridge_dtype dtype, int64_t limit, const char *name, void **data,
                               ridge_error *error) {
    *data = NULL;
    const struct descr *descr = descr_of(npy->descr);
    size_t to_size = ridge_dtype_size(dtype), bytes;
    if (to_size == 0 || !descr) return ridge_fail(error, RIDGE_INVALID, "%s: no such conversion", name);
    if (descr->dtype == RIDGE_DTYPE_NONE && !may_be_bits_of(descr->size, dtype))
        return ridge_fail(error, RIDGE_INVALID, "%s: %s holds bits of %s, but the tensor is %s", name, descr->name + 1,
                          descr->size == 2 ? "bf16" : "a type of 8 bits", ridge_dtype_name(dtype));
    size_t n = npy->bytes / descr->size;
    if (__builtin_mul_overflow(n, to_size, &bytes))
        return ridge_fail(error, RIDGE_NO_MEMORY, "%s: no memory for %zu elements", name, n);
    *data = calloc(bytes ? bytes : 1, 1);
    if (!*data) return ridge_fail(error, RIDGE_NO_MEMORY, "%s: no memory for %zu bytes", name, bytes);
    ridge_status status = convert_all(npy, dtype, (int64_t)n, limit, name, *data, error);
    if (status == RIDGE_OK) return RIDGE_OK;
    free(*data);
    *data = NULL;
    return status;
}
