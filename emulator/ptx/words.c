/* Types by name, and the words of an instruction taken one after the other. */
#include <string.h>

#include "ptx/parser.h"

const uint8_t ptx_type_bytes[PTX_N_TYPES] = {
#define PTX_TYPE_BYTES(name, text, bytes) bytes,
    PTX_TYPES(PTX_TYPE_BYTES)
#undef PTX_TYPE_BYTES
};
const char *const ptx_type_text[PTX_N_TYPES] = {
#define PTX_TYPE_TEXT(name, text, bytes) text,
    PTX_TYPES(PTX_TYPE_TEXT)
#undef PTX_TYPE_TEXT
};

int ptx_type_find(const char *text, size_t length) {
    for (int k = PTX_NONE + 1; k < PTX_N_TYPES; k++)
        if (strlen(ptx_type_text[k]) == length && memcmp(ptx_type_text[k], text, length) == 0) return k;
    return PTX_NONE;
}

ptx_type ptx_type_of(const char *word) { return (ptx_type)ptx_type_find(word, strlen(word)); }

bool ptx_words_end(const ptx_words *words) { return words->next >= words->instruction->n_words; }

bool ptx_take(ptx_words *words, const char *word) {
    if (ptx_words_end(words) || strcmp(words->instruction->word[words->next], word) != 0) return false;
    words->next++;
    return true;
}

int ptx_take_of(ptx_words *words, const char *const *list, int otherwise) {
    for (int k = 0; list[k]; k++)
        if (ptx_take(words, list[k])) return k;
    return otherwise;
}

ptx_type ptx_take_type(ptx_words *words) {
    ptx_type type = ptx_words_end(words) ? PTX_NONE : ptx_type_of(words->instruction->word[words->next]);
    if (type != PTX_NONE) words->next++;
    return type;
}
