#include "cli/foreign_file.h"

#include <errno.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Splits at the last colon, unless the whole is the name of a file. */
static ridge_status split(const char *typed, const char *fallback, char *path, size_t size, ridge_foreign_file *file,
                          ridge_error *error) {
    const char *colon = access(typed, F_OK) == 0 ? NULL : strrchr(typed, ':');
    const size_t length = colon ? (size_t)(colon - typed) : strlen(typed);
    const char *symbol = colon ? colon + 1 : fallback;
    if (length == 0 || length >= size || !*symbol || strlen(symbol) >= sizeof file->symbol)
        return ridge_fail(error, RIDGE_INVALID, "'%.80s' is no FILE[:SYMBOL]", typed);
    (void)snprintf(path, size, "%.*s", (int)length, typed);
    (void)snprintf(file->symbol, sizeof file->symbol, "%s", symbol);
    struct stat info;
    if (stat(path, &info) != 0) return ridge_fail(error, RIDGE_NOT_FOUND, "%.200s: %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode)) return ridge_fail(error, RIDGE_INVALID, "%.200s is no regular file", path);
    return RIDGE_OK;
}

static bool ends_with(const char *text, const char *end) {
    const size_t n = strlen(text), m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

static void name_variant(const char *path, ridge_foreign_file *file) {
    const char *slash = strrchr(path, '/'), *stem = slash ? slash + 1 : path;
    (void)snprintf(file->name, sizeof file->name, "cpu/%.*s", (int)strcspn(stem, "."), stem);
}

/* The folder with ridge/kernel.h: of the installation that this command is part of, else of the source tree. */
static const char *include_folder(char *path, size_t size) {
    char self[512], header[600];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(self, '/');
    if (slash) *slash = '\0';
    (void)snprintf(path, size, "%s/../include", self);
    (void)snprintf(header, sizeof header, "%.560s/ridge/kernel.h", path);
    return access(header, R_OK) == 0 ? path : RIDGE_INCLUDE_DIR;
}

static ridge_status run_compiler(const char *source, const ridge_foreign_file *file, ridge_error *error) {
    char include[600], option[700];
    const char *compiler = getenv("CC");
    if (!compiler || !*compiler) compiler = "cc";
    (void)snprintf(option, sizeof option, "-I%s", include_folder(include, sizeof include));
    const char *const arguments[] = {compiler, "-std=gnu17", "-O3",         "-march=native", "-shared", "-fPIC",
                                     option,   "-o",         file->library, source,          "-lm",     NULL};
    pid_t pid;
    int status;
    const int failed = posix_spawnp(&pid, compiler, NULL, NULL, (char *const *)(uintptr_t)arguments, environ);
    if (failed)
        return ridge_fail(error, RIDGE_UNSUPPORTED, "no compiler: %.60s: %s (set CC)", compiler, strerror(failed));
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return ridge_fail(error, RIDGE_FAILED, "the compiler was lost: %s", strerror(errno));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return RIDGE_OK;
    return ridge_fail(error, RIDGE_INVALID, "%.200s: %.60s could not compile it", source, compiler);
}

static ridge_status compile(const char *source, ridge_foreign_file *file, ridge_error *error) {
    const char *temporary = getenv("TMPDIR");
    const int n = snprintf(file->folder, sizeof file->folder, "%s/ridge-XXXXXX",
                           temporary && temporary[0] == '/' ? temporary : "/tmp");
    if (n >= (int)sizeof file->folder || !mkdtemp(file->folder)) {
        file->folder[0] = '\0';
        return ridge_fail(error, RIDGE_IO, "no folder for what is compiled: %s (set TMPDIR)", strerror(errno));
    }
    (void)snprintf(file->library, sizeof file->library, "%s/kernel.so", file->folder);
    return run_compiler(source, file, error);
}

ridge_status ridge_foreign_file_open(const char *typed, const char *symbol, ridge_foreign_file *file,
                                     ridge_error *error) {
    char path[512];
    *file = (ridge_foreign_file){.folder = ""};
    RIDGE_TRY(split(typed, symbol, path, sizeof path, file, error));
    name_variant(path, file);
    if (ends_with(path, ".c")) return compile(path, file, error);
    if (!ends_with(path, ".so"))
        return ridge_fail(error, RIDGE_INVALID, "%.200s is neither C (.c) nor a shared object (.so)", path);
    char *whole = realpath(path, NULL);
    const bool fits = whole && strlen(whole) < sizeof file->library;
    if (fits) (void)snprintf(file->library, sizeof file->library, "%s", whole);
    free(whole);
    return fits ? RIDGE_OK : ridge_fail(error, RIDGE_INVALID, "%.200s: the path is too long", path);
}

void ridge_foreign_file_close(ridge_foreign_file *file) {
    if (!file->folder[0]) return;
    (void)unlink(file->library);
    (void)rmdir(file->folder);
    file->folder[0] = '\0';
}
