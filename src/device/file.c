#include "device/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { OPENINGS = 100 }; /* attempts at a FIFO, 10 ms apart */

/* ---- reading ---------------------------------------------------------------------------------------------------- */

ridge_status ridge_file_open(const char *path, int *fd, size_t *size, ridge_error *error) {
    struct stat st;
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not block before it is refused */
    if (*fd < 0)
        return ridge_fail(error, errno == ENOENT ? RIDGE_NOT_FOUND : RIDGE_IO, "%.200s: %s", path, strerror(errno));
    ridge_status status = RIDGE_OK;
    if (fstat(*fd, &st) != 0)
        status = ridge_fail(error, RIDGE_IO, "%.200s: %s", path, strerror(errno));
    else if (!S_ISREG(st.st_mode))
        status = ridge_fail(error, RIDGE_INVALID, "%.200s: not a regular file", path);
    else
        *size = (size_t)st.st_size;
    if (status == RIDGE_OK) return RIDGE_OK;
    (void)close(*fd);
    *fd = -1;
    return status;
}

static ridge_status read_text(int fd, const char *path, size_t most, char *text, size_t *size, ridge_error *error) {
    for (*size = 0; *size < most;) {
        ssize_t n = read(fd, text + *size, most - *size);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return ridge_fail(error, RIDGE_IO, "%.200s: %s", path, strerror(errno));
        if (n == 0) {
            text[*size] = '\0';
            return RIDGE_OK;
        }
        *size += (size_t)n;
    }
    return ridge_fail(error, RIDGE_CORRUPT, "%.200s: %zu bytes or more", path, most);
}

ridge_status ridge_file_read(const char *path, size_t most, char **text, size_t *size, ridge_error *error) {
    int fd;
    *text = NULL;
    RIDGE_TRY(ridge_file_open(path, &fd, size, error));
    *text = malloc(most + 1);
    ridge_status status = *text ? read_text(fd, path, most, *text, size, error)
                                : ridge_fail(error, RIDGE_NO_MEMORY, "%.200s: no memory to read it", path);
    (void)close(fd);
    if (status == RIDGE_OK) return RIDGE_OK;
    free(*text);
    *text = NULL;
    return status;
}

/* ---- writing ---------------------------------------------------------------------------------------------------- */

static const char *advice(int code) {
    switch (code) {
        case ENOENT: return ": create its directory first";
        case ENOTDIR: return ": a part of the path is a file, not a directory";
        case EACCES:
        case EPERM:
        case EROFS: return ": choose a place you may write to";
        case EFBIG: return ": raise the limit on file sizes (ulimit -f)";
        case ENOSPC:
        case EDQUOT: return ": free some space or choose another place";
        case EISDIR: return ": name a file in it";
        case ENAMETOOLONG: return ": choose a shorter name";
        case ENXIO: return ": no process reads it";
        case EPIPE: return ": its reader has gone";
        default: return "";
    }
}

/* Returns 0 or an errno, as the functions below do. */
static int write_all(int fd, const char *text, size_t size) {
    while (size > 0) {
        ssize_t n = write(fd, text, size);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno;
        if (n == 0) return EIO;
        text += n;
        size -= (size_t)n;
    }
    return 0;
}

/* Opening a FIFO without a reader would block, so it is opened non-blocking and retried for 1 s. */
static int write_direct(const char *path, const char *text, size_t size) {
    const struct timespec pause = {.tv_nsec = 10000000};
    int fd = -1;
    for (int attempt = 0; attempt < OPENINGS; attempt++) {
        fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd >= 0 || errno != ENXIO) break;
        (void)nanosleep(&pause, NULL);
        errno = ENXIO;
    }
    if (fd < 0) return errno;
    int code = fcntl(fd, F_SETFL, O_WRONLY) == 0 ? write_all(fd, text, size) : errno;
    if (close(fd) != 0 && !code) code = errno;
    return code;
}

/* Opens a new file in the directory of path and writes its name into temporary. */
static int open_beside(const char *path, mode_t mode, char *temporary, size_t size, int *fd) {
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path + 1) : 0;
    for (int attempt = 0; attempt < 100; attempt++) {
        int n = snprintf(temporary, size, "%.*s.ridge-%ld-%d.tmp", folder, path, (long)getpid(), attempt);
        if (n < 0 || (size_t)n >= size) return ENAMETOOLONG;
        *fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (*fd >= 0) return 0;
        if (errno != EEXIST) return errno;
    }
    return EEXIST;
}

static int write_replacing(const char *path, mode_t mode, const char *text, size_t size) {
    char temporary[PATH_MAX];
    int fd = -1, code = open_beside(path, mode, temporary, sizeof temporary, &fd);
    if (code) return code;
    code = write_all(fd, text, size);
    if (!code && fsync(fd) != 0) code = errno;
    if (close(fd) != 0 && !code) code = errno;
    if (!code && rename(temporary, path) != 0) code = errno;
    if (code) (void)unlink(temporary);
    return code;
}

/* Whether a file of that name can be made: by making it, under another name. */
static int try_beside(const char *path) {
    char temporary[PATH_MAX];
    int fd = -1;
    const int code = open_beside(path, 0600, temporary, sizeof temporary, &fd);
    if (code) return code;
    (void)close(fd);
    return unlink(temporary) == 0 ? 0 : errno;
}

static int try_beside_real(const char *path) {
    char *real = realpath(path, NULL);
    const int code = real ? try_beside(real) : errno;
    free(real);
    return code;
}

static ridge_status not_writable(const char *path, int code, ridge_error *error) {
    return ridge_fail(error, RIDGE_IO, "cannot write %.180s: %s%s", path, strerror(code), advice(code));
}

ridge_status ridge_file_check(const char *path, ridge_error *error) {
    struct stat st;
    int code = 0;
    if (stat(path, &st) != 0)
        code = errno == ENOENT ? try_beside(path) : errno;
    else if (S_ISDIR(st.st_mode))
        code = EISDIR;
    else if (access(path, W_OK) != 0)
        code = errno;
    else if (S_ISREG(st.st_mode))
        code = try_beside_real(path);
    return code ? not_writable(path, code, error) : RIDGE_OK;
}

ridge_status ridge_file_write(const char *path, const char *text, size_t size, ridge_error *error) {
    if (!path[0]) return ridge_fail(error, RIDGE_INVALID, "cannot write: the file name is empty");
    int code;
    struct stat st;
    if (stat(path, &st) != 0) {
        code = errno == ENOENT ? write_replacing(path, 0666, text, size) : errno;
    } else if (S_ISDIR(st.st_mode)) {
        code = EISDIR;
    } else if (!S_ISREG(st.st_mode)) {
        code = write_direct(path, text, size);
    } else if (access(path, W_OK) != 0) {
        code = errno; /* rename() would replace a read-only file against its permissions */
    } else {
        char *real = realpath(path, NULL); /* a symbolic link stays; the file it points to is replaced */
        code = real ? write_replacing(real, st.st_mode & 0777, text, size) : errno;
        free(real);
    }
    return code ? not_writable(path, code, error) : RIDGE_OK;
}

ridge_status ridge_file_make_folders(const char *path, ridge_error *error) {
    char part[PATH_MAX];
    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        if (snprintf(part, sizeof part, "%.*s", (int)(slash - path), path) >= (int)sizeof part)
            return ridge_fail(error, RIDGE_INVALID, "%.100s…: the name is longer than %zu bytes", path, sizeof part);
        if (mkdir(part, 0777) != 0 && errno != EEXIST && access(part, X_OK) != 0)
            return ridge_fail(error, RIDGE_IO, "cannot make the folder %.200s: %s", part, strerror(errno));
    }
    return RIDGE_OK;
}
