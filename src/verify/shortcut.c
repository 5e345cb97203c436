#include "verify/shortcut.h"

#include <string.h>

#include "verify/view.h"

/* Eleven significant bits, ties to even; NaN and infinities stay. */
static float to_tf32(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x7f800000u) == 0x7f800000u) return value;
    bits = (bits + 0xfffu + (bits >> 13 & 1)) & ~0x1fffu;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float round_to(float value, ridge_dtype type) {
    return type == RIDGE_TF32 ? to_tf32(value) : (float)ridge_rounded(type, (double)value);
}

static bool round_tensor(const ridge_view *view, ridge_dtype type) {
    bool changed = false;
    for (int64_t position = 0; position < view->elements;) {
        ridge_view_run run;
        if (!ridge_view_next(view, &position, view->elements, &run)) break;
        for (int64_t i = 0; i < run.n; i++) {
            float was, is;
            memcpy(&was, run.at + (size_t)i * sizeof was, sizeof was);
            is = round_to(was, type);
            changed = changed || !(is == was);
            memcpy(run.at + (size_t)i * sizeof is, &is, sizeof is);
        }
    }
    return changed;
}

bool ridge_shortcut_round(const ridge_operands *ops, ridge_dtype type) {
    bool changed = false;
    if (ops->c.dtype != RIDGE_F32) return false;
    for (int t = 0; t < ops->target->n_in; t++) {
        const ridge_view view = ridge_operands_view(ops, t);
        const bool computed_with = view.spec->dtype == RIDGE_DTYPE_NONE; /* scales of 8-bit operands are not */
        if (view.dtype == RIDGE_F32 && computed_with && ridge_spec_given(view.spec, &ops->c))
            changed = round_tensor(&view, type) || changed;
    }
    return changed;
}
