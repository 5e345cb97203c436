/* gnuplot reads its script from one memory file and writes to another. So no pipe can fill up or break, and no shell
 * and no temporary file are needed. */
#include "report/gnuplot.h"

#include <errno.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { IN, OUT, ERR, STREAMS };

void ridge_gnuplot_quote(FILE *script, const char *text) {
    fputc('\'', script);
    for (; *text; text++) {
        if (*text == '\'') fputc('\'', script);
        fputc((unsigned char)*text < 0x20 ? ' ' : *text, script);
    }
    fputc('\'', script);
}

static bool write_all(int fd, const char *text, size_t size) {
    while (size > 0) {
        ssize_t n = write(fd, text, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        text += n;
        size -= (size_t)n;
    }
    return lseek(fd, 0, SEEK_SET) == 0;
}

/* Contents of a memory file, with a zero byte appended. NULL when memory is out. */
static char *read_all(int fd, size_t *size) {
    struct stat st;
    if (fstat(fd, &st) != 0) return NULL;
    char *text = malloc((size_t)st.st_size + 1);
    size_t used = 0;
    while (text && used < (size_t)st.st_size) {
        ssize_t n = pread(fd, text + used, (size_t)st.st_size - used, (off_t)used);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        used += (size_t)n;
    }
    if (text) text[used] = '\0';
    *size = used;
    return text;
}

/* Returns 0 or an errno; *code is the exit status, or -1 if a signal killed it. */
static int spawn_and_wait(const int fds[STREAMS], int *code) {
    char program[] = "gnuplot", no_init_file[] = "-d", from_input[] = "-";
    char *argv[] = {program, no_init_file, from_input, NULL};
    posix_spawn_file_actions_t actions;
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed) return failed;
    for (int s = 0; s < STREAMS && !failed; s++) failed = posix_spawn_file_actions_adddup2(&actions, fds[s], s);
    pid_t pid = -1;
    if (!failed) failed = posix_spawnp(&pid, program, &actions, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (failed) return failed;
    int status = 0;
    pid_t waited;
    do waited = waitpid(pid, &status, 0);
    while (waited < 0 && errno == EINTR);
    *code = waited == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return 0;
}

/* gnuplot's error message, without caret lines and quoted script. */
static ridge_status complain(int fd, ridge_error *error) {
    size_t size = 0;
    char *text = read_all(fd, &size);
    char *line = text ? strstr(text, "line ") : NULL;
    if (!line) line = text;
    ridge_status status = ridge_fail(error, RIDGE_FAILED, "gnuplot could not draw: %.*s",
                                     line ? (int)strcspn(line, "\n") : 0, line ? line : "");
    free(text);
    return status;
}

ridge_status ridge_gnuplot_run(const char *script, size_t size, char **output, size_t *output_size,
                               ridge_error *error) {
    static const char *const names[STREAMS] = {"ridge-plot-in", "ridge-plot-out", "ridge-plot-err"};
    int fds[STREAMS] = {-1, -1, -1}, code = -1, failed = 0;
    ridge_status status = RIDGE_OK;
    *output = NULL;
    *output_size = 0;
    for (int s = 0; s < STREAMS; s++) {
        fds[s] = memfd_create(names[s], MFD_CLOEXEC);
        if (fds[s] >= 0) continue;
        status = ridge_fail(error, RIDGE_IO, "no memory file for gnuplot: %s", strerror(errno));
        goto done;
    }
    if (!write_all(fds[IN], script, size)) {
        status = ridge_fail(error, RIDGE_IO, "no room for gnuplot's script: %s", strerror(errno));
        goto done;
    }
    failed = spawn_and_wait(fds, &code);
    if (failed == ENOENT || (!failed && code == 127)) {
        status = ridge_fail(error, RIDGE_UNSUPPORTED, "gnuplot not found: install gnuplot-nox");
    } else if (failed) {
        status = ridge_fail(error, failed == ENOMEM ? RIDGE_NO_MEMORY : RIDGE_FAILED,
                            "gnuplot could not be started: %s", strerror(failed));
    } else if (code != 0) {
        status = complain(fds[ERR], error);
    } else {
        *output = read_all(fds[OUT], output_size);
        if (!*output)
            status = ridge_fail(error, RIDGE_NO_MEMORY, "no memory for what gnuplot drew");
        else if (*output_size == 0)
            status = complain(fds[ERR], error);
    }
done:
    for (int s = 0; s < STREAMS; s++)
        if (fds[s] >= 0) (void)close(fds[s]);
    if (status != RIDGE_OK) {
        free(*output);
        *output = NULL;
    }
    return status;
}
