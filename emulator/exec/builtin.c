/* Functions that a device has without a body: vprintf, __assertfail, malloc, free. */
#include <stdio.h>
#include <string.h>

#include "exec/call.h"
#include "memory/memory.h"

/* Bytes at a generic address, as the lane sees them; NULL: a finding. */
static const uint8_t *bytes_at(emu_warp *warp, const emu_op *op, int lane, uint64_t address, uint32_t bytes) {
    const emu_access access = {
        .kind = EMU_READ, .scope = EMU_SCOPE_GPU, .space = PTX_GENERIC, .bytes = bytes, .align = 1};
    uint64_t addresses[EMU_LANES] = {0};
    uint8_t *pointer[EMU_LANES];
    addresses[lane] = address;
    return emu_memory_lanes(warp, op, 1u << lane, &access, addresses, pointer) ? pointer[lane] : NULL;
}

/* A string, cut at the buffer's end. False: a finding. */
static bool string_at(emu_warp *warp, const emu_op *op, int lane, uint64_t address, char *text, size_t bytes) {
    for (size_t i = 0; i + 1 < bytes; i++) {
        const uint8_t *at = bytes_at(warp, op, lane, address + i, 1);
        if (!at) return false;
        text[i] = (char)*at;
        if (!text[i]) return true;
    }
    text[bytes - 1] = 0;
    return true;
}

/* ---- vprintf: the format's address, and that of a buffer of arguments, each aligned to its size ------------------ */
typedef struct reader {
    emu_warp *warp;
    const emu_op *op;
    int lane;
    uint64_t at;
    bool failed;
} reader;

static uint64_t next_argument(reader *r, uint32_t bytes) {
    uint64_t value = 0;
    r->at = (r->at + bytes - 1) / bytes * bytes;
    const uint8_t *from = bytes_at(r->warp, r->op, r->lane, r->at, bytes);
    if (from) memcpy(&value, from, bytes);
    r->failed |= !from;
    r->at += bytes;
    return value;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
/* One conversion, e.g. "%-5.2f"; *stars: a width and a precision taken from the arguments. */
static void print_one(reader *r, const char *spec, char kind, const int *star, int stars) {
    bool wide = strchr(spec, 'l') || strchr(spec, 'j') || strchr(spec, 'z') || strchr(spec, 't');
#define SHOW(value)                                       \
    (stars == 2   ? printf(spec, star[0], star[1], value) \
     : stars == 1 ? printf(spec, star[0], value)          \
                  : printf(spec, value))
    if (strchr("fFeEgGaA", kind)) {
        uint64_t bits = next_argument(r, 8);
        double value;
        memcpy(&value, &bits, 8);
        SHOW(value);
    } else if (kind == 's') {
        char text[4096];
        uint64_t address = next_argument(r, 8);
        if (!r->failed && string_at(r->warp, r->op, r->lane, address, text, sizeof text))
            SHOW(text);
        else
            r->failed = true;
    } else if (kind == 'p') {
        void *value = (void *)(uintptr_t)next_argument(r, 8);
        SHOW(value);
    } else if (wide) {
        long value = (long)next_argument(r, 8);
        SHOW(value);
    } else {
        int value = (int)next_argument(r, 4);
        SHOW(value);
    }
#undef SHOW
}
#pragma GCC diagnostic pop

static int print_all(reader *r, const char *format) {
    int n = 0;
    for (const char *at = format; *at && !r->failed;) {
        size_t plain = strcspn(at, "%");
        fwrite(at, 1, plain, stdout);
        at += plain;
        if (!*at) break;
        if (at[1] == '%') {
            putchar('%');
            at += 2;
            continue;
        }
        char spec[64];
        int star[2], stars = 0;
        size_t length = 1 + strspn(at + 1, "-+ #0123456789.*hlLjzt") + 1;
        if (length >= sizeof spec || !at[length - 1]) break; /* no conversion: the rest is not printed */
        memcpy(spec, at, length);
        spec[length] = 0;
        for (size_t i = 0; i < length; i++)
            if (spec[i] == '*' && stars < 2) star[stars++] = (int)next_argument(r, 4);
        print_one(r, spec, spec[length - 1], star, stars);
        at += length;
        n++;
    }
    return r->failed ? -1 : n;
}

static emu_result run_vprintf(emu_warp *warp, const emu_op *op, const emu_call *call, emu_mask mask) {
    if (call->n_arguments != 2) return EMU_ABORT;
    for (emu_mask rest = mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        char format[4096];
        if (!string_at(warp, op, lane, emu_passed_read(warp, call->from, lane), format, sizeof format))
            return EMU_ABORT;
        reader r = {.warp = warp, .op = op, .lane = lane, .at = emu_passed_read(warp, call->from + 1, lane)};
        int n = print_all(&r, format);
        if (r.failed) return EMU_ABORT;
        if (call->result) emu_passed_write(warp, &call->result_to, lane, (uint64_t)n);
    }
    fflush(stdout);
    return EMU_NEXT;
}

/* ---- __assertfail(condition, file, line, function, bytes of a character) ----------------------------------------- */
static emu_result run_assert(emu_warp *warp, const emu_op *op, const emu_call *call, emu_mask mask) {
    int lane = __builtin_ctz(mask);
    char text[3][512];
    if (call->n_arguments != 5) return EMU_ABORT;
    for (int i = 0; i < 3; i++)
        if (!string_at(warp, op, lane, emu_passed_read(warp, call->from + (i < 2 ? i : 3), lane), text[i],
                       sizeof text[i]))
            return EMU_ABORT;
    emu_find(warp, op, lane, EMU_ASSERTION, 0, "`%s` of %s failed (%s:%u)", text[0], text[2], text[1],
             (unsigned)emu_passed_read(warp, call->from + 2, lane));
    return EMU_ABORT;
}

/* ---- the heap ---------------------------------------------------------------------------------------------------- */
static emu_result run_malloc(emu_warp *warp, const emu_op *op, const emu_call *call, emu_mask mask) {
    (void)op;
    for (emu_mask rest = mask; rest && call->result; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        void *memory = emu_memory_allocate(emu_passed_read(warp, call->from, lane), EMU_DEVICE);
        emu_passed_write(warp, &call->result_to, lane, (uint64_t)(uintptr_t)memory);
    }
    return EMU_NEXT;
}

static emu_result run_free(emu_warp *warp, const emu_op *op, const emu_call *call, emu_mask mask) {
    for (emu_mask rest = mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        uint64_t address = emu_passed_read(warp, call->from, lane);
        if (address && !emu_memory_free((void *)(uintptr_t)address)) {
            emu_find(warp, op, lane, EMU_OUT_OF_BOUNDS, address, "free of 0x%llx, which is no allocation",
                     (unsigned long long)address);
            return EMU_ABORT;
        }
    }
    return EMU_NEXT;
}

emu_builtin *emu_builtin_find(const char *name) {
    static const struct {
        const char *name;
        emu_builtin *run;
    } builtins[] = {{"vprintf", run_vprintf}, {"__assertfail", run_assert}, {"malloc", run_malloc}, {"free", run_free}};
    for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++)
        if (!strcmp(builtins[i].name, name)) return builtins[i].run;
    return NULL;
}
