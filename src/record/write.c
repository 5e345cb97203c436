/* Files that appear whole or not at all. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/record.h"

static const char *advice(int code) {
    switch (code) {
        case ENOENT: return ": create its directory first";
        case ENOTDIR: return ": a part of the path is a file, not a directory";
        case EACCES:
        case EPERM:
        case EROFS: return ": choose a place you may write to";
        case ENOSPC:
        case EDQUOT: return ": free some space or choose another place";
        case EISDIR: return ": name a file in it";
        case ENAMETOOLONG: return ": choose a shorter name";
        case EPIPE: return ": its reader has gone";
        default: return "";
    }
}

static ridge_status cannot_write(const char *path, int code, ridge_error *error) {
    const char *name = strcmp(path, "-") == 0 ? "standard output" : path;
    return ridge_fail(error, RIDGE_IO, "cannot write %.180s: %s%s", name, strerror(code), advice(code));
}

/* Returns 0 or an errno. */
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

static int write_stdout(const char *text, size_t size) {
    if (fflush(stdout) != 0) return errno; /* what was printed before comes before */
    return write_all(STDOUT_FILENO, text, size);
}

/* A device or a pipe has no final name to protect, and must not be replaced by a file. */
static int write_direct(const char *path, const char *text, size_t size) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return errno;
    int code = write_all(fd, text, size);
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

ridge_status ridge_write_file(const char *path, const char *text, size_t size, ridge_error *error) {
    if (!path[0]) return ridge_fail(error, RIDGE_INVALID, "cannot write: the file name is empty");
    int code;
    struct stat st;
    if (strcmp(path, "-") == 0) {
        code = write_stdout(text, size);
    } else if (stat(path, &st) != 0) {
        code = errno == ENOENT ? write_replacing(path, 0666, text, size) : errno;
    } else if (S_ISDIR(st.st_mode)) {
        code = EISDIR;
    } else if (!S_ISREG(st.st_mode)) {
        code = write_direct(path, text, size);
    } else if (access(path, W_OK) != 0) {
        code = errno; /* renaming over a file that its owner has locked would be possible, but rude */
    } else {
        char *real = realpath(path, NULL); /* through a symbolic link: the link stays, its file is replaced */
        code = real ? write_replacing(real, st.st_mode & 0777, text, size) : errno;
        free(real);
    }
    return code ? cannot_write(path, code, error) : RIDGE_OK;
}
