#include "cli/counters.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/interrupt.h"
#include "cli/parse.h"

static const char *const metrics[] = {"dram__bytes_read.sum", "dram__bytes_write.sum"};
enum { METRICS = 2, MOST_TEXT = 1 << 20, MOST_COLUMNS = 64, POLL_MS = 100 };
static const double most_bytes = 1e18; /* upper limit for one kernel */

/* ---- ncu's table: a header, a line of units, then a line a kernel; every field in quotes --------------------------
 */

typedef struct field {
    char text[80];
    bool cut; /* the output was longer */
} field;

typedef struct row {
    field fields[MOST_COLUMNS];
    int n;
} row;

/* Reads the field at p without its quotes. Returns its end, or NULL if the quotes are unbalanced. */
static const char *read_field(const char *p, const char *end, field *f) {
    size_t n = 0;
    const bool quoted = p < end && *p == '"';
    f->cut = false;
    for (p += quoted; p < end; p++) {
        if (quoted && *p == '"') {
            if (p + 1 == end || p[1] != '"') break;
            p++;
        } else if (!quoted && *p == ',') {
            break;
        }
        if (n + 1 < sizeof f->text)
            f->text[n++] = *p;
        else
            f->cut = true;
    }
    f->text[n] = '\0';
    if (!quoted) return p;
    return p < end ? p + 1 : NULL;
}

/* False for a malformed row: unbalanced quotes, text after a closing quote, too many columns. */
static bool read_row(const char *p, const char *end, row *r) {
    for (r->n = 0; r->n < MOST_COLUMNS;) {
        p = read_field(p, end, &r->fields[r->n++]);
        if (!p || (p < end && *p != ',')) return false;
        if (p == end) return true;
        p++;
    }
    return false;
}

/* The next line that begins with a quote: a row of the table, not a message of ncu or of the program. */
static const char *next_row(const char *p, const char **end) {
    while (*p && *p != '"') {
        p += strcspn(p, "\n");
        p += *p == '\n';
    }
    *end = p + strcspn(p, "\n");
    if (*end > p && (*end)[-1] == '\r') --*end;
    return *p ? p : NULL;
}

static int column_of(const row *r, const char *name) {
    for (int i = 0; i < r->n; i++)
        if (!r->fields[i].cut && strcmp(r->fields[i].text, name) == 0) return i;
    return -1;
}

/* Copies the number without thousands separators (a comma every three digits before the point). */
static bool drop_commas(const char *text, char *plain) {
    size_t whole = strcspn(text, "."), group = strcspn(text, ","), first = group;
    if (group >= whole) {
        memcpy(plain, text, strlen(text) + 1);
        return true;
    }
    if (first < 1 || first > 3) return false;
    for (size_t i = 0; text[i]; i++) {
        bool comma = i < whole && i >= first && (i - first) % 4 == 0;
        if ((text[i] == ',') != comma) return false;
        if (!comma) *plain++ = text[i];
    }
    *plain = '\0';
    return (whole - first) % 4 == 0;
}

static ridge_status read_bytes(const field *f, const char *metric, double *bytes, ridge_error *error) {
    char plain[sizeof f->text];
    if (!f->cut && drop_commas(f->text, plain) && isdigit((unsigned char)plain[0]) &&
        ridge_parse_decimal(plain, bytes) && *bytes <= most_bytes)
        return RIDGE_OK;
    return ridge_fail(error, RIDGE_CORRUPT, "ncu's table: '%.40s' is no number of bytes, in %s", f->text, metric);
}

static ridge_status read_units(const row *r, const int at[METRICS], ridge_error *error) {
    for (int m = 0; m < METRICS; m++)
        if (strcmp(r->fields[at[m]].text, "byte") != 0)
            return ridge_fail(error, RIDGE_CORRUPT, "ncu's table: %s is in '%.40s' and not in byte", metrics[m],
                              r->fields[at[m]].text);
    return RIDGE_OK;
}

static ridge_status read_header(const row *r, int at[METRICS], ridge_error *error) {
    for (int m = 0; m < METRICS; m++) {
        at[m] = column_of(r, metrics[m]);
        if (at[m] < 0) return ridge_fail(error, RIDGE_CORRUPT, "ncu's table has no column %s", metrics[m]);
    }
    return RIDGE_OK;
}

ridge_status ridge_counters_parse(const char *csv, double *read, double *written, ridge_error *error) {
    int at[METRICS], columns = 0, rows = 0;
    double sums[METRICS] = {0}, bytes;
    row r;
    *read = *written = 0;
    for (const char *end, *p = csv; (p = next_row(p, &end)); p = end, rows++) {
        if (!read_row(p, end, &r) || (rows > 0 && r.n != columns))
            return ridge_fail(error, RIDGE_CORRUPT, "ncu's table: line %d of it is not whole", rows + 1);
        columns = r.n;
        if (rows == 0) RIDGE_TRY(read_header(&r, at, error));
        if (rows == 1) RIDGE_TRY(read_units(&r, at, error));
        for (int m = 0; m < METRICS && rows > 1; m++) {
            RIDGE_TRY(read_bytes(&r.fields[at[m]], metrics[m], &bytes, error));
            sums[m] += bytes;
        }
    }
    if (rows <= 2) return ridge_fail(error, RIDGE_NOT_FOUND, "ncu printed no table with a kernel in it");
    *read = sums[0];
    *written = sums[1];
    return RIDGE_OK;
}

/* ---- running it ------------------------------------------------------------------------------------------------- */

static _Noreturn void become(char *const argv[], int output) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)dup2(output, STDOUT_FILENO);
    (void)dup2(output, STDERR_FILENO);
    (void)setenv("LC_ALL", "C", 1); /* decimal separator is a point */
    (void)execvp(argv[0], argv);
    _exit(127);
}

/* Reads until the end of the pipe, a full buffer, or an interrupt. */
static void read_all(int fd, char *text, size_t size) {
    size_t n = 0;
    while (n + 1 < size && !*ridge_interrupt_flag()) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (poll(&p, 1, POLL_MS) <= 0) continue;
        ssize_t got = read(fd, text + n, size - 1 - n);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        n += (size_t)got;
    }
    text[n] = '\0';
}

/* Runs argv and captures its output; false if it cannot be run, fails or is interrupted. */
static bool capture(char *const argv[], char *text, size_t size) {
    int ends[2], status = 1;
    text[0] = '\0';
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) become(argv, ends[1]);
    close(ends[1]);
    if (pid > 0) read_all(ends[0], text, size);
    close(ends[0]);
    if (pid < 0) return false;
    if (*ridge_interrupt_flag()) (void)kill(pid, SIGKILL);
    pid_t ended;
    do ended = waitpid(pid, &status, 0);
    while (ended < 0 && errno == EINTR);
    return ended == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The line with the error message: ncu's begin with ==ERROR==. */
static void explain(const char *text, char *why, int size) {
    const char *line = strstr(text, "==ERROR==");
    if (!line) line = text[0] ? text : "ncu (Nsight Compute) was not found";
    (void)snprintf(why, (size_t)size, "%.*s", (int)strcspn(line, "\n"), line);
}

static bool profile(ridge_result *r, const char *self, char *text, char *why, int size) {
    char shape[96] = "";
    for (int d = 0, n = 0; d < ridge_target_rank(r->target); d++)
        n += snprintf(shape + n, sizeof shape - (size_t)n, "%s%lld", d ? "x" : "", (long long)r->c.dim[d]);
    char names[96], *const argv[] = {"ncu",
                                     "--clock-control",
                                     "none",
                                     "--profile-from-start",
                                     "off",
                                     "--csv",
                                     "--page",
                                     "raw",
                                     "--print-units",
                                     "base",
                                     "--metrics",
                                     names,
                                     (char *)(uintptr_t)self,
                                     "launch",
                                     (char *)(uintptr_t)r->target->name,
                                     "--backend",
                                     "cuda",
                                     "--sizes",
                                     shape,
                                     "--dtype",
                                     (char *)(uintptr_t)ridge_dtype_name(r->c.dtype),
                                     "--variant",
                                     (char *)(uintptr_t)r->variant->name,
                                     NULL};
    (void)snprintf(names, sizeof names, "%s,%s", metrics[0], metrics[1]);
    ridge_error error = {0};
    r->dram_read = r->dram_written = 0;
    if (!capture(argv, text, MOST_TEXT))
        explain(text, why, size);
    else if (ridge_counters_parse(text, &r->dram_read, &r->dram_written, &error) != RIDGE_OK)
        (void)snprintf(why, (size_t)size, "%s", error.text);
    else
        return true;
    return false;
}

int ridge_counters_read(ridge_run *run, char *why, int size) {
    char self[1024];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    char *text = calloc(1, MOST_TEXT);
    int known = 0;
    why[0] = '\0';
    if (n <= 0 || !text) {
        free(text);
        return 0;
    }
    self[n] = '\0';
    for (int i = 0; i < run->n_results; i++) {
        ridge_result *r = &run->results[i];
        if (ridge_variant_backend(r->variant) != RIDGE_BACKEND_cuda || !ridge_verdict_timed(r->verdict)) continue;
        if (*ridge_interrupt_flag()) break;
        known += profile(r, self, text, why, size);
    }
    for (int p = 0; p < run->n_pairs; p++) {
        const ridge_result *a = &run->results[run->pairs[p].a], *b = &run->results[run->pairs[p].b];
        run->pairs[p].counted = a->dram_read + a->dram_written > 0 && b->dram_read + b->dram_written > 0;
        if (!run->pairs[p].counted) continue;
        run->pairs[p].traffic_a = a->dram_read + a->dram_written;
        run->pairs[p].traffic_b = b->dram_read + b->dram_written;
    }
    free(text);
    return known;
}
