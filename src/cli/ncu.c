#include "cli/ncu.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
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
#include "core/option.h"

enum { MOST_COLUMNS = 2048, POLL_MS = 100 };
static const double most = 1e18; /* upper limit of a value of one kernel */

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

static ridge_status read_value(const field *f, const ridge_ncu_metric *metric, double *value, ridge_error *error) {
    char plain[sizeof f->text];
    if (metric->optional && strcmp(f->text, "n/a") == 0) return *value = NAN, RIDGE_OK;
    if (!f->cut && drop_commas(f->text, plain) && isdigit((unsigned char)plain[0]) &&
        ridge_parse_decimal(plain, value) && *value <= most)
        return RIDGE_OK;
    return ridge_fail(error, RIDGE_CORRUPT, "ncu's table: '%.40s' is no number that counts, in %s", f->text,
                      metric->name);
}

/* What is read of the table. */
typedef struct reading {
    const ridge_ncu_metric *metrics;
    int n, name, at[RIDGE_NCU_MOST_METRICS]; /* columns; -1: it has none */
} reading;

static ridge_status read_header(reading *t, const row *r, ridge_error *error) {
    t->name = column_of(r, "Kernel Name");
    for (int m = 0; m < t->n; m++) {
        t->at[m] = column_of(r, t->metrics[m].name);
        if (t->at[m] < 0 && !t->metrics[m].optional)
            return ridge_fail(error, RIDGE_CORRUPT, "ncu's table has no column %s", t->metrics[m].name);
    }
    return RIDGE_OK;
}

static ridge_status read_units(const reading *t, const row *r, ridge_error *error) {
    for (int m = 0; m < t->n; m++)
        if (t->at[m] >= 0 && t->metrics[m].unit && strcmp(r->fields[t->at[m]].text, t->metrics[m].unit) != 0)
            return ridge_fail(error, RIDGE_CORRUPT, "ncu's table: %s is in '%.40s' and not in %s", t->metrics[m].name,
                              r->fields[t->at[m]].text, t->metrics[m].unit);
    return RIDGE_OK;
}

static ridge_status read_kernel(const reading *t, const row *r, ridge_ncu_fn act, void *context, ridge_error *error) {
    double values[RIDGE_NCU_MOST_METRICS];
    for (int m = 0; m < t->n; m++) {
        values[m] = NAN;
        if (t->at[m] >= 0) RIDGE_TRY(read_value(&r->fields[t->at[m]], &t->metrics[m], &values[m], error));
    }
    return act(context, t->name < 0 ? "" : r->fields[t->name].text, values, error);
}

ridge_status ridge_ncu_parse(const char *csv, const ridge_ncu_metric *metrics, int n, ridge_ncu_fn act, void *context,
                             ridge_error *error) {
    static _Thread_local row r; /* 162 KiB: what all sections print is some 800 columns */
    reading t = {.metrics = metrics, .n = n};
    int columns = 0, rows = 0;
    for (const char *end, *p = csv; (p = next_row(p, &end)); p = end, rows++) {
        if (!read_row(p, end, &r) || (rows > 0 && r.n != columns))
            return ridge_fail(error, RIDGE_CORRUPT, "ncu's table: line %d of it is not whole", rows + 1);
        columns = r.n;
        if (rows == 0) RIDGE_TRY(read_header(&t, &r, error));
        if (rows == 1) RIDGE_TRY(read_units(&t, &r, error));
        if (rows > 1) RIDGE_TRY(read_kernel(&t, &r, act, context, error));
    }
    if (rows <= 2) return ridge_fail(error, RIDGE_NOT_FOUND, "ncu printed no table with a kernel in it");
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

/* "--option NAME=VALUE" for each option of the case, in `texts`. Returns the number of arguments. */
static int option_arguments(const ridge_target *t, const ridge_case *c, char texts[RIDGE_MAX_OPTIONS][96],
                            const char **argv) {
    int n = 0;
    for (int o = 0; o < RIDGE_MAX_OPTIONS && t->options[o].name; o++) {
        const char *word = ridge_option_word_of(&t->options[o], c->option[o]);
        if (word)
            (void)snprintf(texts[o], sizeof texts[o], "%s=%s", t->options[o].name, word);
        else
            (void)snprintf(texts[o], sizeof texts[o], "%s=%.17g", t->options[o].name, c->option[o]);
        argv[n++] = "--option", argv[n++] = texts[o];
    }
    return n;
}

bool ridge_ncu_run(const char *const *what, const ridge_target *target, const ridge_case *c, const char *variant,
                   char *text, char *why, int size) {
    static const char *const first[] = {"ncu",   "--clock-control", "none", "--profile-from-start", "off",
                                        "--csv", "--page",          "raw",  "--print-units",        "base"};
    char self[1024], shape[96] = "", options[RIDGE_MAX_OPTIONS][96];
    const char *argv[64 + 2 * RIDGE_MAX_OPTIONS];
    int n = 0;
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0) return (void)snprintf(why, (size_t)size, "this program's own file is not known"), false;
    self[length] = '\0';
    for (int d = 0, k = 0; d < (target->derive ? target->n_sizes : ridge_target_rank(target)); d++)
        k += snprintf(shape + k, sizeof shape - (size_t)k, "%s%lld", d ? "x" : "", (long long)c->dim[d]);
    for (size_t i = 0; i < sizeof first / sizeof *first; i++) argv[n++] = first[i];
    for (int i = 0; what[i] && n < 40; i++) argv[n++] = what[i];
    const char *const launch[] = {self,        "launch",  target->name,
                                  "--backend", "cuda",    "--sizes",
                                  shape,       "--dtype", ridge_dtype_name(c->dtype),
                                  "--variant", variant};
    for (size_t i = 0; i < sizeof launch / sizeof *launch; i++) argv[n++] = launch[i];
    n += option_arguments(target, c, options, argv + n);
    argv[n] = NULL;
    if (capture((char *const *)(uintptr_t)argv, text, RIDGE_NCU_MOST_TEXT)) return true;
    explain(text, why, size);
    return false;
}
