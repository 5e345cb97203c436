/* LZ4 blocks, in which nvcc --compress-mode=speed packs. A block is a row of sequences: a byte with two counts,
 * literals, and a match, which repeats bytes that came before. A count of 15 goes on in the bytes that follow. The last
 * sequence ends with its literals. Format: https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md */
#include <string.h>

#include "ptx/lz4.h"

typedef struct input {
    const unsigned char *at, *end;
} input;

/* A count whose first four bits are `first`; false: the input ends within it. */
static bool count_read(input *in, size_t first, size_t *count) {
    *count = first;
    if (first < 15) return true;
    unsigned char more = 255;
    while (more == 255) {
        if (in->at == in->end) return false;
        more = *in->at++;
        *count += more;
    }
    return true;
}

bool ptx_lz4_unpack(const void *packed, size_t packed_bytes, char *plain, size_t plain_bytes) {
    enum { SHORTEST_MATCH = 4 };
    input in = {packed, (const unsigned char *)packed + packed_bytes};
    size_t done = 0;
    while (in.at < in.end) {
        const unsigned char counts = *in.at++;
        size_t literals, match;
        if (!count_read(&in, counts >> 4, &literals)) return false;
        if (literals > (size_t)(in.end - in.at) || literals > plain_bytes - done) return false;
        memcpy(plain + done, in.at, literals);
        in.at += literals;
        done += literals;
        if (in.at == in.end) return done == plain_bytes;
        if (in.end - in.at < 2) return false;
        const size_t distance = in.at[0] | (size_t)in.at[1] << 8;
        in.at += 2;
        if (!count_read(&in, counts & 15, &match)) return false;
        match += SHORTEST_MATCH;
        if (distance == 0 || distance > done || match > plain_bytes - done) return false;
        for (size_t end = done + match; done < end; done++) plain[done] = plain[done - distance]; /* they may overlap */
    }
    return false;
}
