/* .npy files from anywhere: the bytes as they are, and the same bytes behind a right magic and header length, since a
 * fuzzer seldom guesses those. What is accepted must be whole; what is refused must say why in one line. */
#include <stdlib.h>
#include <string.h>

#include "verify/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) abort();
}

static void refused(ridge_status status, const ridge_error *error) {
    require(error->status == status && error->text[0] != '\0' && !strchr(error->text, '\n'));
}

static void convert(const ridge_npy *npy, ridge_dtype dtype, int64_t limit) {
    void *values = NULL;
    ridge_error error = {0};
    ridge_status status = ridge_npy_convert(npy, dtype, limit, "x", &values, &error);
    if (status != RIDGE_OK) refused(status, &error);
    free(values);
}

static void parse(const void *bytes, size_t size) {
    ridge_npy npy = {0};
    ridge_error error = {0};
    ridge_status status = ridge_npy_parse(bytes, size, "fuzz.npy", &npy, &error);
    if (status == RIDGE_OK) {
        require(npy.rank >= 0 && npy.rank <= RIDGE_MAX_RANK && npy.bytes <= size);
        for (int d = 0; d < npy.rank; d++) require(npy.shape[d] >= 0);
        convert(&npy, RIDGE_F32, 0);
        convert(&npy, RIDGE_BF16, 0);
        convert(&npy, RIDGE_I32, 100);
    } else {
        refused(status, &error);
    }
    ridge_npy_free(&npy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char magic[] = "\x93NUMPY\x01\x00";
    enum { MAGIC = 8, START = MAGIC + 2, LONGEST = 4096 };
    static char framed[START + LONGEST];
    parse(data, size);
    if (size < 1 || size > LONGEST) return 0;
    size_t header = data[0] < size ? data[0] : size - 1; /* the first byte says where the header ends */
    memcpy(framed, magic, MAGIC);
    framed[MAGIC] = (char)(header & 255);
    framed[MAGIC + 1] = 0;
    memcpy(framed + START, data + 1, size - 1);
    parse(framed, START + size - 1);
    return 0;
}
