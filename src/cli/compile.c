#include "cli/compile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/spawn.h"

const char *ridge_compile_include(char *path, size_t size) {
    char self[512], header[600];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(self, '/');
    if (slash) *slash = '\0';
    (void)snprintf(path, size, "%s/../include", self);
    (void)snprintf(header, sizeof header, "%.560s/ridge/kernel.h", path);
    return access(header, R_OK) == 0 ? path : RIDGE_INCLUDE_DIR;
}

ridge_status ridge_compile_folder(char *folder, size_t size, ridge_error *error) {
    const char *temporary = getenv("TMPDIR");
    const int n = snprintf(folder, size, "%s/ridge-XXXXXX", temporary && temporary[0] == '/' ? temporary : "/tmp");
    if (n < (int)size && mkdtemp(folder)) return RIDGE_OK;
    folder[0] = '\0';
    return ridge_fail(error, RIDGE_IO, "no folder for what is compiled: %s (set TMPDIR)", strerror(errno));
}

ridge_status ridge_compile_run(const char *const *arguments, const char *set, const char *source, ridge_error *error) {
    pid_t pid;
    int code = -1;
    ridge_error why = {0};
    if (ridge_spawn(arguments, &pid, NULL, &why) != RIDGE_OK)
        return ridge_fail(error, RIDGE_UNSUPPORTED, "no compiler: %.60s: %.80s (set %s)", arguments[0], why.text, set);
    RIDGE_TRY(ridge_spawn_wait(pid, &code, error));
    return code == 0 ? RIDGE_OK
                     : ridge_fail(error, RIDGE_INVALID, "%.200s: %.60s could not compile it", source, arguments[0]);
}
