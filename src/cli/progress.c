#include "cli/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/say.h"
#include "device/device.h"

static const uint64_t redraw_ns = 200000000, line_ns = 10000000000, doing_ns = 5000000000;

static void eta_text(const ridge_progress *p, char *text, size_t size) {
    double part = (p->done - 1 + p->share) / p->total;
    double spent = ridge_seconds_since(p->began_ns);
    if (part < 0.02 || spent < 1) {
        (void)snprintf(text, size, "ETA --:--");
        return;
    }
    int left = (int)(spent * (1 - part) / part + 0.5);
    const uint64_t now = ridge_clock_ns();
    const int most = p->ends_ns > now ? (int)((double)(p->ends_ns - now) * 1e-9) : 0;
    if (p->ends_ns && left > most) left = most;
    (void)snprintf(text, size, "ETA %d:%02d", left / 60, left % 60);
}

/* Draws one line of the terminal; the last column stays free, since a cursor beyond it would wrap. */
static void draw(ridge_progress *p) {
    enum { WIDTH = 24 };
    char bar[WIDTH + 1], eta[24], line[360];
    int filled = (int)(WIDTH * (p->done - 1 + p->share) / p->total);
    for (int i = 0; i < WIDTH; i++) bar[i] = i < filled ? '#' : '.';
    bar[WIDTH] = '\0';
    eta_text(p, eta, sizeof eta);
    (void)snprintf(line, sizeof line, "[%s] %d/%d %s  %s%s%s", bar, p->done, p->total, eta, p->what,
                   *p->doing ? ": " : "", p->doing);
    const char *rest;
    (void)fflush(stdout);
    fprintf(stderr, "\r\033[K%.*s", (int)ridge_text_line(line, ridge_say_width(stderr) - 1, &rest), line);
    (void)fflush(stderr);
    p->drawn_ns = ridge_clock_ns();
}

static void print_line(ridge_progress *p) {
    char eta[24];
    eta_text(p, eta, sizeof eta);
    (void)fflush(stdout);
    fprintf(stderr, "[%d/%d] %s  %s%s%s\n", p->done, p->total, eta, p->what, *p->doing ? ": " : "", p->doing);
    p->drawn_ns = ridge_clock_ns();
}

void ridge_progress_begin(ridge_progress *p, int total) {
    *p = (ridge_progress){.terminal = isatty(STDERR_FILENO) == 1, .total = total > 0 ? total : 1};
    p->began_ns = ridge_clock_ns();
}

void ridge_progress_step(ridge_progress *p, const char *what) {
    if (p->done < p->total) p->done++;
    p->share = 0;
    p->doing[0] = '\0';
    (void)snprintf(p->what, sizeof p->what, "%s", what);
    if (p->terminal) {
        draw(p);
        return;
    }
    if (!p->drawn_ns || ridge_clock_ns() - p->drawn_ns >= line_ns) print_line(p);
}

void ridge_progress_share(ridge_progress *p, double share, const char *doing) {
    p->share = share;
    (void)snprintf(p->doing, sizeof p->doing, "%s", doing ? doing : "");
    const uint64_t age_ns = ridge_clock_ns() - p->drawn_ns;
    if (p->terminal && age_ns > redraw_ns) draw(p);
    if (!p->terminal && doing && age_ns > doing_ns) print_line(p);
}

void ridge_progress_end(ridge_progress *p) {
    if (p->terminal) fprintf(stderr, "\r\033[K");
    (void)fflush(stderr);
}
