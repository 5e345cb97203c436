/* SHA-256 (FIPS 180-4): the links of a record's chain. */
#ifndef RIDGE_RECORD_SHA256_H
#define RIDGE_RECORD_SHA256_H

#include <stddef.h>
#include <stdint.h>

typedef struct ridge_sha256 {
    uint32_t state[8];
    uint64_t bytes;
    unsigned char block[64];
} ridge_sha256;

enum { RIDGE_SHA256_HEX = 65 }; /* 64 digits and the end of the text */

void ridge_sha256_begin(ridge_sha256 *sha);
void ridge_sha256_add(ridge_sha256 *sha, const void *data, size_t size);
void ridge_sha256_end(ridge_sha256 *sha, char hex[RIDGE_SHA256_HEX]);

#endif
