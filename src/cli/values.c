#include "cli/values.h"

#include <string.h>
#include <strings.h>

#include "ridge/targets.h"

void ridge_backend_words(ridge_words *words) {
    for (int b = 0; b < RIDGE_BACKEND_COUNT; b++) ridge_words_add(words, ridge_backend_name((ridge_backend)b));
}

void ridge_isa_words(ridge_words *words) {
    for (int i = 0; i < RIDGE_ISA_COUNT; i++) ridge_words_add(words, ridge_isa_name((ridge_isa)i));
}

void ridge_dtype_words(ridge_words *words) {
    for (int i = 0; i < ridge_target_total(); i++)
        for (int c = 0; c < ridge_target_at(i)->n_cases; c++)
            ridge_words_add(words, ridge_dtype_name(ridge_target_at(i)->cases[c].dtype));
}

void ridge_chapter_words(ridge_words *words) {
    for (int i = 0; i < ridge_target_total(); i++) ridge_words_add(words, ridge_target_at(i)->chapter);
}

void ridge_target_words(ridge_words *words) {
    for (int i = 0; i < ridge_target_total(); i++) ridge_words_add(words, ridge_target_at(i)->name);
}

void ridge_pattern_words(ridge_words *words) {
    ridge_chapter_words(words);
    ridge_target_words(words);
}

const char *ridge_variant_short_name(const ridge_variant *variant) {
    const char *slash = strchr(variant->name, '/');
    return slash ? slash + 1 : variant->name;
}

void ridge_variants_of(const ridge_target *target, ridge_words *words) {
    for (int v = 0; v < target->n_variants; v++) ridge_words_add(words, target->variants[v].name);
    for (int v = 0; v < target->n_variants; v++) ridge_words_add(words, ridge_variant_short_name(&target->variants[v]));
}

void ridge_variant_words(ridge_words *words) {
    for (int i = 0; i < ridge_target_total(); i++) ridge_variants_of(ridge_target_at(i), words);
}

static const struct alias {
    const char *name;
    ridge_dtype dtype;
} aliases[] = {
    {"fp32", RIDGE_F32},
    {"float32", RIDGE_F32},
    {"float", RIDGE_F32},
    {"single", RIDGE_F32},
    {"fp16", RIDGE_F16},
    {"float16", RIDGE_F16},
    {"half", RIDGE_F16},
    {"bfloat16", RIDGE_BF16},
    {"bfloat", RIDGE_BF16},
    {"fp64", RIDGE_F64},
    {"float64", RIDGE_F64},
    {"double", RIDGE_F64},
    {"tfloat32", RIDGE_TF32},
    {"tensorfloat32", RIDGE_TF32},
    {"fp8", RIDGE_E4M3},
    {"float8_e4m3fn", RIDGE_E4M3},
    {"float8_e5m2", RIDGE_E5M2},
    {"float4_e2m1fn", RIDGE_E2M1},
    {"float8_e8m0fnu", RIDGE_UE8M0},
    {"int8", RIDGE_I8},
};

ridge_dtype ridge_dtype_by_any_name(const char *text) {
    for (int d = 1; d < RIDGE_DTYPE_COUNT; d++)
        if (strcasecmp(text, ridge_dtype_name((ridge_dtype)d)) == 0) return (ridge_dtype)d;
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++)
        if (strcasecmp(text, aliases[i].name) == 0) return aliases[i].dtype;
    return RIDGE_DTYPE_NONE;
}
