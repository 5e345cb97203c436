/* The words between a memory instruction's mnemonic and its operands: one table. PTX's manual gives an order; its own
 * examples and compilers' output vary from it, so that any order is taken. */
#include "memory/parts.h"

#include <string.h>

static const struct {
    const char *text;
    uint8_t class, value;
} words[] = {
    {"weak", EMU_WORD_SEMANTICS, EMU_WEAK},
    {"volatile", EMU_WORD_SEMANTICS, EMU_VOLATILE},
    {"relaxed", EMU_WORD_SEMANTICS, EMU_RELAXED},
    {"acquire", EMU_WORD_SEMANTICS, EMU_ACQUIRE},
    {"release", EMU_WORD_SEMANTICS, EMU_RELEASE},
    {"acq_rel", EMU_WORD_SEMANTICS, EMU_ACQUIRE_RELEASE},
    {"cta", EMU_WORD_SCOPE, EMU_SCOPE_CTA},
    {"cluster", EMU_WORD_SCOPE, EMU_SCOPE_CLUSTER},
    {"gpu", EMU_WORD_SCOPE, EMU_SCOPE_GPU},
    {"sys", EMU_WORD_SCOPE, EMU_SCOPE_SYS},
    {"global", EMU_WORD_SPACE, EMU_NAMED_GLOBAL},
    {"const", EMU_WORD_SPACE, EMU_NAMED_CONST},
    {"local", EMU_WORD_SPACE, EMU_NAMED_LOCAL},
    {"shared", EMU_WORD_SPACE, EMU_NAMED_SHARED},
    {"shared::cta", EMU_WORD_SPACE, EMU_NAMED_SHARED},
    {"shared::cluster", EMU_WORD_SPACE, EMU_NAMED_SHARED_CLUSTER},
    {"param", EMU_WORD_SPACE, EMU_NAMED_PARAM},
    {"param::entry", EMU_WORD_SPACE, EMU_NAMED_PARAM_ENTRY},
    {"param::func", EMU_WORD_SPACE, EMU_NAMED_PARAM_FUNC},
    {"ca", EMU_WORD_CACHE, 0},
    {"cg", EMU_WORD_CACHE, 0},
    {"cs", EMU_WORD_CACHE, 0},
    {"lu", EMU_WORD_CACHE, 0},
    {"cv", EMU_WORD_CACHE, 0},
    {"wb", EMU_WORD_CACHE, 0},
    {"wt", EMU_WORD_CACHE, 0},
    {"L1::evict_normal", EMU_WORD_EVICT_L1, 0},
    {"L1::evict_unchanged", EMU_WORD_EVICT_L1, 0},
    {"L1::evict_first", EMU_WORD_EVICT_L1, 0},
    {"L1::evict_last", EMU_WORD_EVICT_L1, 0},
    {"L1::no_allocate", EMU_WORD_EVICT_L1, 0},
    {"L2::evict_normal", EMU_WORD_EVICT_L2, 0},
    {"L2::evict_first", EMU_WORD_EVICT_L2, 0},
    {"L2::evict_last", EMU_WORD_EVICT_L2, 0},
    {"L2::cache_hint", EMU_WORD_HINT, 0},
    {"L2::64B", EMU_WORD_PREFETCH, 0},
    {"L2::128B", EMU_WORD_PREFETCH, 0},
    {"L2::256B", EMU_WORD_PREFETCH, 0},
    {"v2", EMU_WORD_VECTOR, 2},
    {"v4", EMU_WORD_VECTOR, 4},
    {"v8", EMU_WORD_VECTOR, 8},
    {"nc", EMU_WORD_NC, 0},
    {"mmio", EMU_WORD_MMIO, 0},
    {"unified", EMU_WORD_UNIFIED, 0},
    {"noftz", EMU_WORD_NOFTZ, 0},
    {"add", EMU_WORD_UPDATE, EMU_UPDATE_ADD},
    {"min", EMU_WORD_UPDATE, EMU_UPDATE_MIN},
    {"max", EMU_WORD_UPDATE, EMU_UPDATE_MAX},
    {"inc", EMU_WORD_UPDATE, EMU_UPDATE_INC},
    {"dec", EMU_WORD_UPDATE, EMU_UPDATE_DEC},
    {"and", EMU_WORD_UPDATE, EMU_UPDATE_AND},
    {"or", EMU_WORD_UPDATE, EMU_UPDATE_OR},
    {"xor", EMU_WORD_UPDATE, EMU_UPDATE_XOR},
    {"exch", EMU_WORD_UPDATE, EMU_UPDATE_EXCH},
    {"cas", EMU_WORD_UPDATE, EMU_UPDATE_CAS},
};

const ptx_space emu_named_space_of[EMU_N_NAMED_SPACES] = {
    [EMU_NAMED_GENERIC] = PTX_GENERIC, [EMU_NAMED_GLOBAL] = PTX_GLOBAL,     [EMU_NAMED_CONST] = PTX_CONST,
    [EMU_NAMED_LOCAL] = PTX_LOCAL,     [EMU_NAMED_SHARED] = PTX_SHARED,     [EMU_NAMED_SHARED_CLUSTER] = PTX_SHARED,
    [EMU_NAMED_PARAM] = PTX_PARAM,     [EMU_NAMED_PARAM_ENTRY] = PTX_PARAM, [EMU_NAMED_PARAM_FUNC] = PTX_PARAM,
};

static bool find_word(const char *text, uint8_t *class, uint8_t *value) {
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(words[i].text, text) != 0) continue;
        *class = words[i].class;
        *value = words[i].value;
        return true;
    }
    *class = EMU_WORD_TYPE;
    *value = (uint8_t)ptx_type_of(text);
    return *value != PTX_NONE && *value != PTX_PRED;
}

bool emu_memory_words_take(emu_decoding *d, uint32_t allowed, emu_memory_words *out) {
    *out = (emu_memory_words){.given = 0};
    for (; d->words.next < d->instruction->n_words; d->words.next++) {
        const char *text = d->instruction->word[d->words.next];
        uint8_t class, value;
        if (!find_word(text, &class, &value) || !(allowed >> class & 1))
            return emu_decode_fail(d, "unknown qualifier .%s", text);
        if (out->given >> class & 1) return emu_decode_fail(d, "a second qualifier of its kind: .%s", text);
        out->given |= 1u << class;
        out->value[class] = value;
    }
    bool strong = (out->given & EMU_WORD_BIT(SEMANTICS)) && out->value[EMU_WORD_SEMANTICS] >= EMU_RELAXED;
    if ((allowed & EMU_WORD_BIT(TYPE)) && !(out->given & EMU_WORD_BIT(TYPE)))
        return emu_decode_fail(d, "a type is missing");
    if ((out->given & EMU_WORD_BIT(MMIO)) && out->value[EMU_WORD_SEMANTICS] != EMU_RELAXED)
        return emu_decode_fail(d, ".mmio without .relaxed");
    if ((out->given & EMU_WORD_BIT(NC)) && strong) return emu_decode_fail(d, ".nc of an access that is not weak");
    return true;
}

emu_access emu_memory_words_access(const emu_memory_words *given, emu_access_kind kind, uint32_t bytes) {
    uint8_t named = given->value[EMU_WORD_SPACE]; /* 0: generic */
    emu_access access = {.kind = kind,
                         .semantics = (emu_semantics)given->value[EMU_WORD_SEMANTICS],
                         .scope = (emu_scope)given->value[EMU_WORD_SCOPE],
                         .space = emu_named_space_of[named],
                         .cluster = named == EMU_NAMED_SHARED_CLUSTER,
                         .bytes = bytes,
                         .align = bytes};
    if (!(given->given & EMU_WORD_BIT(SCOPE))) access.scope = kind == EMU_UPDATE ? EMU_SCOPE_GPU : EMU_SCOPE_SYS;
    if (kind == EMU_UPDATE && !(given->given & EMU_WORD_BIT(SEMANTICS))) access.semantics = EMU_RELAXED;
    return access;
}

bool emu_memory_operands(emu_decoding *d, const emu_memory_words *given, int n) {
    bool hinted = given->given & EMU_WORD_BIT(HINT);
    if (d->instruction->n_operands != n + hinted)
        return emu_decode_fail(d, "%d operands where %d are expected", d->instruction->n_operands, n + hinted);
    emu_operand policy;
    return !hinted || emu_decode_source(d, &d->instruction->operand[n], PTX_B64, &policy);
}
