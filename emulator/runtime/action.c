/* What an action does, all but launches. */
#include <stdlib.h>
#include <string.h>

#include "check/witness.h"
#include "memory/witness.h"
#include "memory/memory.h"
#include "runtime/runtime.h"

emu_action emu_action_clone(const emu_action *from) {
    emu_action action = *from;
    if (action.kind == EMU_LAUNCH) {
        uint32_t bytes = action.launch.kernel->function->parameter_bytes;
        action.launch.parameters = emu_alloc(bytes);
        if (bytes) memcpy(action.launch.parameters, from->launch.parameters, bytes);
    }
    if (action.kind == EMU_COPY && action.copy.staged) {
        size_t bytes = action.copy.width * action.copy.height * action.copy.depth;
        action.copy.staged = emu_alloc(bytes);
        memcpy(action.copy.staged, from->copy.staged, bytes);
        action.copy.from = action.copy.staged;
    }
    return action;
}

void emu_action_clear(emu_action *action) {
    if (action->kind == EMU_LAUNCH) free(action->launch.parameters);
    if (action->kind == EMU_COPY) free(action->copy.staged);
    *action = (emu_action){0};
}

static void copy_box(const emu_copy_box *c) {
    for (size_t z = 0; z < c->depth; z++)
        for (size_t y = 0; y < c->height; y++) {
            uint8_t *to = c->to + z * c->to_slice + y * c->to_pitch;
            const uint8_t *from = c->from + z * c->from_slice + y * c->from_pitch;
            if (emu_witnessing) emu_witness_copy(to, from, c->width);
            memmove(to, from, c->width);
            emu_memory_host_wrote(to, c->width);
        }
}

static void set_row(uint8_t *to, size_t bytes, uint32_t value, uint32_t element) {
    if (element == 1) {
        memset(to, (int)(value & 0xff), bytes);
    } else {
        for (size_t at = 0; at + element <= bytes; at += element) memcpy(to + at, &value, element); /* little endian */
    }
}

static void set_box(const emu_set_box *s) {
    for (size_t z = 0; z < s->depth; z++)
        for (size_t y = 0; y < s->height; y++) {
            uint8_t *to = s->to + z * s->slice + y * s->pitch;
            if (emu_witnessing) emu_witness_copy(to, NULL, s->width);
            set_row(to, s->width, s->value, s->element);
            emu_memory_host_wrote(to, s->width);
        }
}

void emu_action_do(const emu_action *action) {
    switch (action->kind) {
        case EMU_JOIN:
        case EMU_LAUNCH: break;
        case EMU_COPY: copy_box(&action->copy); break;
        case EMU_SET: set_box(&action->set); break;
        case EMU_CALL: action->call.function(action->call.argument); break;
        case EMU_FREE: (void)emu_memory_free(action->memory); break;
    }
}
