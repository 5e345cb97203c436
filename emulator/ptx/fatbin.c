/* Fat binaries: headers that nvcc's fatbinary tool writes, each followed by entries of machine code (ELF) or PTX. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"
#include "ptx/lz4.h"
#include "ptx/ptx.h"

/* All little-endian. Only the fields that are used have names that say what they are. */
typedef struct fat_header {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes; /* of the entries behind the header */
} fat_header;

typedef struct fat_entry {
    uint16_t kind, version;
    uint32_t header_bytes;
    uint64_t bytes; /* padded to 8 */
    uint32_t compressed_bytes, options;
    uint16_t minor, major;
    uint32_t sm, name_at, name_bytes;
    uint64_t flags, zero, plain_bytes;
} fat_entry;
_Static_assert(sizeof(fat_header) == 16 && sizeof(fat_entry) == 64, "as the tool writes them");

#define MAGIC 0xBA55ED50u
enum { KIND_PTX = 1, FLAG_LZ4 = 0x2000, FLAG_ZSTD = 0x8000 };

typedef struct search {
    void (*found)(void *context, const char *text, size_t bytes, int sm);
    void *context;
    int texts, compressed, others, sm;
} search;

static bool refuse(ptx_error *error, const char *why) {
    if (error) {
        error->line = 0;
        snprintf(error->text, sizeof error->text, "fat binary: %s", why);
    }
    return false;
}

static void tell(search *s, const fat_entry *entry, const char *text, size_t bytes) {
    const char *end = memchr(text, 0, bytes);
    s->texts++;
    s->found(s->context, text, end ? (size_t)(end - text) : bytes, (int)entry->sm);
}

/* An entry that is packed with LZ4. */
static bool tell_unpacked(search *s, const fat_entry *entry, const char *packed, ptx_error *error) {
    if (entry->compressed_bytes > entry->bytes || entry->plain_bytes / PTX_LZ4_MOST > entry->compressed_bytes)
        return refuse(error, "an entry's compressed text is longer than what holds it");
    char *text = emu_alloc(entry->plain_bytes + 1);
    const bool whole = ptx_lz4_unpack(packed, entry->compressed_bytes, text, entry->plain_bytes);
    if (whole) tell(s, entry, text, entry->plain_bytes);
    free(text);
    return whole || refuse(error, "an entry's compressed text is damaged");
}

/* The entries of one fat binary. */
static bool entries_read(const unsigned char *at, uint64_t bytes, search *s, ptx_error *error) {
    while (bytes) {
        fat_entry entry;
        if (bytes < sizeof entry) return refuse(error, "an entry is cut off");
        memcpy(&entry, at, sizeof entry);
        if (entry.header_bytes < sizeof entry || entry.header_bytes > bytes || entry.bytes > bytes - entry.header_bytes)
            return refuse(error, "an entry is longer than what holds it");
        const char *text = (const char *)at + entry.header_bytes;
        if (entry.kind != KIND_PTX) {
            s->others++;
        } else if (entry.flags & FLAG_LZ4) {
            if (!tell_unpacked(s, &entry, text, error)) return false;
        } else if (entry.compressed_bytes || entry.flags & FLAG_ZSTD) {
            s->compressed++;
            s->sm = (int)entry.sm;
        } else {
            tell(s, &entry, text, entry.bytes);
        }
        uint64_t step = entry.header_bytes + entry.bytes;
        at += step;
        bytes -= step;
    }
    return true;
}

bool ptx_fatbin_each(const void *fatbin, size_t bytes,
                     void (*found)(void *context, const char *text, size_t bytes, int sm), void *context,
                     ptx_error *error) {
    search s = {.found = found, .context = context};
    const bool one = bytes == 0; /* as long as its header says */
    const unsigned char *at = fatbin;
    int binaries = 0;
    while (one ? !binaries : bytes >= sizeof(fat_header)) {
        fat_header header;
        memcpy(&header, at, sizeof header);
        if (!one && header.magic == 0) { /* padding between the fat binaries of a section */
            at += 8;
            bytes -= 8;
            continue;
        }
        if (header.magic != MAGIC) return refuse(error, "its first word is not 0xBA55ED50");
        if (header.header_bytes < sizeof header ||
            (!one && (header.header_bytes > bytes || header.bytes > bytes - header.header_bytes)))
            return refuse(error, "it is cut off");
        if (!entries_read(at + header.header_bytes, header.bytes, &s, error)) return false;
        uint64_t step = header.header_bytes + header.bytes;
        at += step;
        bytes -= one ? 0 : step;
        binaries++;
    }
    if (s.texts) return true;
    char why[200];
    if (s.compressed)
        snprintf(why, sizeof why,
                 "its PTX for sm_%d is compressed by Zstandard; compile with nvcc --compress-mode=speed", s.sm);
    else if (s.others)
        snprintf(why, sizeof why,
                 "no PTX but machine code only; compile with nvcc -gencode arch=compute_90a,code=compute_90a");
    else
        snprintf(why, sizeof why, "nothing is in it");
    return refuse(error, why);
}
