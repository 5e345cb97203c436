/* Files by name: only regular files are read, and a file is written whole or not at all. */
#ifndef RIDGE_DEVICE_FILE_H
#define RIDGE_DEVICE_FILE_H

#include <stddef.h>

#include "ridge/status.h"

/* Opens a regular file for reading. A FIFO, a device or a directory is RIDGE_INVALID and never blocks; a file that does
 * not exist is RIDGE_NOT_FOUND. The caller closes *fd. */
ridge_status ridge_file_open(const char *path, int *fd, size_t *size, ridge_error *error);

/* The text of a regular file of fewer than `most` bytes, with a zero byte behind it. RIDGE_CORRUPT when it is longer.
 * The caller frees *text. */
ridge_status ridge_file_read(const char *path, size_t most, char **text, size_t *size, ridge_error *error);

/* Writes a temporary file beside path, syncs it and renames it; removes it on failure. A device or a FIFO has no name
 * to protect and is written directly; a FIFO that no process reads within a second is RIDGE_IO. */
ridge_status ridge_file_write(const char *path, const char *text, size_t size, ridge_error *error);

#endif
