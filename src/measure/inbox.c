#include "measure/inbox.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OTHER_EVENTS = 1024, GROWTH = 256 };

/* The limit exceeds a job's samples: the last batch may continue past the last round, and a round restarts when a
 * variant is dropped. */
void ridge_inbox_open(ridge_inbox *inbox, const ridge_job *job, int sets, ridge_job_result *result) {
    int64_t asked = job->iterations > 0 ? 2 * (int64_t)job->iterations : RIDGE_MAX_SAMPLES;
    int64_t samples = asked + sets + 2 * (int64_t)result->n_series;
    inbox->result = result;
    inbox->most_samples = samples < INT_MAX ? (int)samples : INT_MAX;
    inbox->left = (2 * (int64_t)result->n_series + 1) * inbox->most_samples + OTHER_EVENTS;
    inbox->lost = inbox->closed = false;
    inbox->fault[0] = '\0';
    inbox->guilty = -1;
}

/* ---- validation -------------------------------------------------------------------------------------------------- */

/* Reading a bool that is neither 0 nor 1 is undefined behaviour. */
static bool is_truth(const bool *value) {
    unsigned char byte;
    memcpy(&byte, value, sizeof byte);
    return byte <= 1;
}

static bool is_time(double time) { return isfinite(time) && time >= 0; }

static bool is_sample(const ridge_inbox *inbox, const ridge_sample *s) {
    return is_time(s->time_us) && s->round >= 0 && s->round <= inbox->most_samples && s->visit >= 0 && s->visit <= 1 &&
           is_truth(&s->gpu.known);
}

static bool is_event(const ridge_inbox *inbox, const ridge_event *e, size_t size) {
    const int n = inbox->result->n_series;
    if (size != sizeof *e || e->magic != RIDGE_EVENT_MAGIC || !is_truth(&e->check.ok) || !is_truth(&e->agreement.agree))
        return false;
    switch (e->kind) {
        case RIDGE_EVENT_FRAME:
        case RIDGE_EVENT_GRAPH_FRAME: return is_time(e->value);
        case RIDGE_EVENT_STOPPED:
            return e->stop >= 0 && e->stop < RIDGE_STOP_COUNT && is_time(e->value) && e->sample.round >= 0 &&
                   e->sample.round <= inbox->most_samples;
        case RIDGE_EVENT_LOST:
        case RIDGE_EVENT_BROKEN: return true;
        case RIDGE_EVENT_SAMPLE: return e->slot >= 0 && e->slot <= 2 * n && is_sample(inbox, &e->sample);
        case RIDGE_EVENT_SKIPPED:
        case RIDGE_EVENT_CHECKED:
        case RIDGE_EVENT_WRONG:
        case RIDGE_EVENT_FAILED:
        case RIDGE_EVENT_AGREES: return e->slot >= 0 && e->slot < n;
        default: return false;
    }
}

/* ---- application to the result ----------------------------------------------------------------------------------- */

static void set_outcome(ridge_series *series, ridge_outcome outcome, const char *reason) {
    series->outcome = outcome;
    (void)snprintf(series->reason, sizeof series->reason, "%s", reason);
}

static ridge_series *series_of(ridge_job_result *result, int slot) {
    int n = result->n_series;
    return slot < n ? &result->series[slot] : slot == n ? &result->reference : &result->companion[slot - n - 1];
}

/* The variant of a slot; -1: none. */
static int variant_of(const ridge_inbox *inbox, int slot) {
    int n = inbox->result->n_series;
    return slot < n ? slot : slot == n ? -1 : slot - n - 1;
}

static void close_for(ridge_inbox *inbox, int guilty, const char *fault) {
    if (!inbox->fault[0]) (void)snprintf(inbox->fault, sizeof inbox->fault, "%s", fault);
    inbox->guilty = guilty;
    inbox->closed = true;
}

static ridge_status add_sample(ridge_inbox *inbox, const ridge_event *event, ridge_error *error) {
    ridge_series *series = series_of(inbox->result, event->slot);
    if (series->n >= inbox->most_samples) {
        close_for(inbox, variant_of(inbox, event->slot), "its worker sent more samples than there were launches");
        return RIDGE_OK;
    }
    if (series->n % GROWTH == 0) {
        ridge_sample *more = realloc(series->samples, (size_t)(series->n + GROWTH) * sizeof *more);
        if (!more) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for samples");
        series->samples = more;
    }
    series->samples[series->n++] = event->sample;
    series->check.worst = fmax(series->check.worst, event->check.worst);
    series->check.max_abs_error = fmax(series->check.max_abs_error, event->check.max_abs_error);
    series->check.max_rel_error = fmax(series->check.max_rel_error, event->check.max_rel_error);
    return RIDGE_OK;
}

/* Events of one variant. */
static ridge_status take_series(ridge_inbox *inbox, const ridge_event *event, ridge_error *error) {
    ridge_series *series = series_of(inbox->result, event->slot);
    switch (event->kind) {
        case RIDGE_EVENT_SAMPLE: return add_sample(inbox, event, error);
        case RIDGE_EVENT_SKIPPED: set_outcome(series, RIDGE_OUTCOME_SKIPPED, event->text); break;
        case RIDGE_EVENT_FAILED:
            set_outcome(series, RIDGE_OUTCOME_FAILED, event->text);
            inbox->failed[event->slot] = true;
            break;
        case RIDGE_EVENT_CHECKED:
            series->check = event->check;
            series->way = event->way;
            break;
        case RIDGE_EVENT_WRONG:
            set_outcome(series, RIDGE_OUTCOME_WRONG, event->text);
            series->check = event->check;
            inbox->failed[event->slot] = true;
            break;
        default: /* RIDGE_EVENT_AGREES */
            series->agreement = event->agreement;
            series->compared = true;
            break;
    }
    return RIDGE_OK;
}

static ridge_status take_event(ridge_inbox *inbox, const ridge_event *event, ridge_error *error) {
    switch (event->kind) {
        case RIDGE_EVENT_FRAME: inbox->result->frame_us = event->value; return RIDGE_OK;
        case RIDGE_EVENT_GRAPH_FRAME: inbox->result->graph_frame_us = event->value; return RIDGE_OK;
        case RIDGE_EVENT_LOST: inbox->lost = true; return RIDGE_OK;
        case RIDGE_EVENT_STOPPED:
            inbox->result->stop = (ridge_stop)event->stop;
            inbox->result->rounds = event->sample.round;
            inbox->result->rounds_s = event->value;
            return RIDGE_OK;
        case RIDGE_EVENT_BROKEN: return ridge_fail(error, RIDGE_NO_MEMORY, "%.239s", event->text);
        default: break;
    }
    if (inbox->fault[0]) {
        close_for(inbox, variant_of(inbox, event->slot), inbox->fault);
        return RIDGE_OK;
    }
    return take_series(inbox, event, error);
}

ridge_status ridge_inbox_take(ridge_inbox *inbox, const void *packet, size_t size, ridge_error *error) {
    ridge_event event = {0};
    if (inbox->closed) return RIDGE_OK;
    if (inbox->left-- <= 0) {
        close_for(inbox, -1, "its worker sent events without end");
        return RIDGE_OK;
    }
    memcpy(&event, packet, size < sizeof event ? size : sizeof event);
    event.text[sizeof event.text - 1] = '\0';
    event.check.text[sizeof event.check.text - 1] = '\0';
    if (is_event(inbox, &event, size)) return take_event(inbox, &event, error);
    if (!inbox->fault[0])
        (void)snprintf(inbox->fault, sizeof inbox->fault,
                       "its worker sent %zu bytes that are no event: was memory overwritten?", size);
    return RIDGE_OK;
}
