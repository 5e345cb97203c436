/* What a worker sends: packets of any size and content. The input is cut into packets by lengths that it holds itself;
 * a first byte below 128 stands for a whole event whose fields the next bytes overwrite, since a fuzzer seldom guesses
 * the magic. The result must stay within its arrays, of printable texts' length, and must come to an end. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/inbox.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { VARIANTS = 3 };

static void require(bool holds) {
    if (!holds) abort();
}

static void check_series(const ridge_inbox *inbox, const ridge_series *s) {
    require(s->n >= 0 && s->n <= inbox->most_samples && (s->n == 0 || s->samples));
    require((unsigned)s->outcome <= RIDGE_OUTCOME_SKIPPED && memchr(s->reason, '\0', sizeof s->reason));
    for (int i = 0; i < s->n; i++) {
        require(isfinite(s->samples[i].time_us) && s->samples[i].time_us >= 0);
        require(s->samples[i].round >= 0 && (s->samples[i].visit == 0 || s->samples[i].visit == 1));
    }
}

static void check(const ridge_inbox *inbox) {
    const ridge_job_result *r = inbox->result;
    for (int i = 0; i < VARIANTS; i++) check_series(inbox, &r->series[i]), check_series(inbox, &r->companion[i]);
    check_series(inbox, &r->reference);
    require((unsigned)r->stop < RIDGE_STOP_COUNT && isfinite(r->frame_us) && isfinite(r->graph_frame_us));
    require(memchr(inbox->fault, '\0', sizeof inbox->fault) && inbox->guilty >= -1 && inbox->guilty < VARIANTS);
    require(!inbox->closed || inbox->fault[0]);
}

/* One packet from the front of data; returns the bytes used. */
static size_t take_packet(ridge_inbox *inbox, const uint8_t *data, size_t size, ridge_status *status) {
    unsigned char packet[sizeof(ridge_event) + 1] = {0};
    size_t n, used;
    if (data[0] >= 128 || size < 5) {
        n = used = size - 1 < (size_t)data[0] * 8 ? size - 1 : (size_t)data[0] * 8;
        if (n > sizeof packet) n = used = sizeof packet;
        memcpy(packet, data + 1, n);
        used++;
    } else {
        ridge_event event = {
            .magic = RIDGE_EVENT_MAGIC, .kind = data[0] % 16, .slot = (int8_t)data[1], .stop = data[2]};
        size_t at = (size_t)data[3] * 4 % sizeof event, part = data[4] % 32;
        if (part > size - 5) part = size - 5;
        if (part > sizeof event - at) part = sizeof event - at;
        memcpy(packet, &event, sizeof event);
        memcpy(packet + at, data + 5, part);
        n = sizeof event;
        used = 5 + part;
    }
    ridge_error error = {0};
    unsigned char *exact = malloc(n ? n : 1); /* a sanitizer sees a read beyond it */
    if (!exact) return used;
    memcpy(exact, packet, n);
    *status = ridge_inbox_take(inbox, exact, n, &error);
    free(exact);
    require(*status == RIDGE_OK || (*status == RIDGE_NO_MEMORY && memchr(error.text, '\0', sizeof error.text)));
    return used;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ridge_series series[VARIANTS] = {0}, companion[VARIANTS] = {0};
    ridge_job_result result = {.series = series, .companion = companion, .n_series = VARIANTS};
    const ridge_job job = {.n_variants = VARIANTS, .iterations = 2};
    ridge_inbox inbox = {0};
    ridge_status status = RIDGE_OK;
    ridge_inbox_open(&inbox, &job, 2, &result);
    inbox.left = 100; /* reached by short inputs, too */
    while (size > 0 && status == RIDGE_OK) {
        size_t used = take_packet(&inbox, data, size, &status);
        check(&inbox);
        data += used;
        size -= used;
    }
    for (int i = 0; i < VARIANTS; i++) free(series[i].samples), free(companion[i].samples);
    free(result.reference.samples);
    return 0;
}
