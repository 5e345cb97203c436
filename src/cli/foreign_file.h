/* FILE[:SYMBOL]: a kernel of the user's own, compiled if need be. */
#ifndef RIDGE_CLI_FOREIGN_FILE_H
#define RIDGE_CLI_FOREIGN_FILE_H

#include "ridge/status.h"

typedef struct ridge_foreign_file {
    char library[600]; /* absolute path of the shared object */
    char symbol[128];
    char name[80];    /* of its variant: cpu/STEM */
    char folder[200]; /* of what was compiled; "" if nothing was */
} ridge_foreign_file;

/* symbol: that of a FILE without one. RIDGE_NOT_FOUND: no such file; RIDGE_INVALID: neither .c nor .so, or the compiler refused it (its words are on standard
 * error). Close in every case. */
ridge_status ridge_foreign_file_open(const char *typed, const char *symbol, ridge_foreign_file *file,
                                     ridge_error *error);
void ridge_foreign_file_close(ridge_foreign_file *file); /* removes what was compiled */

#endif
