#include "cli/counters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char read_metric[] = "dram__bytes_read.sum", write_metric[] = "dram__bytes_write.sum";
enum { MOST_TEXT = 1 << 20, MOST_COLUMNS = 64 };

/* ---- ncu's table: a header, a line of units, then a line a kernel; every field in quotes --------------------------
 */

/* The next field of a line, without its quotes and its thousands' commas; NULL at the line's end. */
static const char *next_field(const char *p, char *field, size_t size) {
    size_t n = 0;
    if (*p == '\0' || *p == '\n' || *p == '\r') return NULL;
    const bool quoted = *p == '"';
    for (p += quoted; *p && *p != '\n'; p++) {
        if (quoted && *p == '"') {
            if (p[1] != '"') break;
            p++;
        } else if (!quoted && *p == ',') {
            break;
        }
        if (*p != ',' && n + 1 < size) field[n++] = *p;
    }
    field[n] = '\0';
    if (quoted && *p == '"') p++;
    return *p == ',' ? p + 1 : p;
}

static int column_of(const char *line, const char *name) {
    char field[256];
    for (int i = 0; i < 4096 && (line = next_field(line, field, sizeof field)); i++)
        if (strcmp(field, name) == 0) return i;
    return -1;
}

static bool value_at(const char *line, int column, double *value) {
    char field[256] = "", *end;
    for (int i = 0; i <= column; i++)
        if (!(line = next_field(line, field, sizeof field))) return false;
    *value = strtod(field, &end);
    return end != field && *end == '\0';
}

static const char *next_line(const char *p) {
    p = strchr(p, '\n');
    return p ? p + 1 : NULL;
}

bool ridge_counters_parse(const char *csv, double *read, double *written) {
    int at_read = -1, at_write = -1, kernels = 0;
    *read = *written = 0;
    for (const char *line = csv; line && *line; line = next_line(line)) {
        double r, w;
        if (at_read < 0) {
            at_read = column_of(line, read_metric);
            at_write = column_of(line, write_metric);
            if (at_read < 0 || at_write < 0) at_read = -1;
        } else if (value_at(line, at_read, &r) && value_at(line, at_write, &w)) {
            *read += r;
            *written += w;
            kernels++;
        }
    }
    return kernels > 0;
}

/* ---- running it ------------------------------------------------------------------------------------------------- */

/* Runs argv and keeps what it prints; false when it cannot be run or fails. */
static bool capture(char *const argv[], char *text, size_t size) {
    int ends[2];
    if (pipe(ends) != 0) return false;
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        (void)execvp(argv[0], argv);
        _exit(127);
    }
    close(ends[1]);
    size_t n = 0;
    for (ssize_t got; pid > 0 && n + 1 < size && (got = read(ends[0], text + n, size - 1 - n)) > 0;) n += (size_t)got;
    text[n] = '\0';
    close(ends[0]);
    int status = 1;
    if (pid < 0 || waitpid(pid, &status, 0) != pid) return false;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The line that says what went wrong: ncu's own begin with ==ERROR==. */
static void explain(const char *text, char *why, int size) {
    const char *line = strstr(text, "==ERROR==");
    if (!line) line = text[0] ? text : "ncu (Nsight Compute) was not found";
    (void)snprintf(why, (size_t)size, "%.*s", (int)strcspn(line, "\n"), line);
}

static bool profile(ridge_result *r, const char *self, char *text, char *why, int size) {
    char shape[96] = "";
    for (int d = 0, n = 0; d < ridge_target_rank(r->target); d++)
        n += snprintf(shape + n, sizeof shape - (size_t)n, "%s%lld", d ? "x" : "", (long long)r->c.dim[d]);
    char metrics[96], *const argv[] = {"ncu",
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
                                       metrics,
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
    (void)snprintf(metrics, sizeof metrics, "%s,%s", read_metric, write_metric);
    bool ran = capture(argv, text, MOST_TEXT);
    if (ran && ridge_counters_parse(text, &r->dram_read, &r->dram_written)) return true;
    r->dram_read = r->dram_written = 0;
    explain(text, why, size);
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
