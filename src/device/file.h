/* Files by name. Only regular files are read. Writes are atomic. */
#ifndef RIDGE_DEVICE_FILE_H
#define RIDGE_DEVICE_FILE_H

#include <stddef.h>

#include "ridge/status.h"

/* Opens a regular file for reading. A FIFO, a device or a directory is RIDGE_INVALID and never blocks; a file that does
 * not exist is RIDGE_NOT_FOUND. The caller closes *fd. */
ridge_status ridge_file_open(const char *path, int *fd, size_t *size, ridge_error *error);

/* Reads a regular file of fewer than `most` bytes and appends a zero byte. RIDGE_CORRUPT: the file is longer. The
 * caller frees *text. */
ridge_status ridge_file_read(const char *path, size_t most, char **text, size_t *size, ridge_error *error);

/* Writes a temporary file in the same directory, syncs it and renames it to path; removes it on failure. A device or a
 * FIFO is written directly. RIDGE_IO: the write failed, or no process opens the FIFO for reading within 1 s. */
ridge_status ridge_file_write(const char *path, const char *text, size_t size, ridge_error *error);

/* Whether ridge_file_write could write there now, told with its words before the work whose result is to be written.
 * What is no regular file is not opened: a FIFO's reader would see it. */
ridge_status ridge_file_check(const char *path, ridge_error *error);

/* Makes the folders above path; what exists is left alone. */
ridge_status ridge_file_make_folders(const char *path, ridge_error *error);

#endif
