/* FILE[:SYMBOL]: a kernel of the user's own, compiled if need be. */
#ifndef RIDGE_CLI_FOREIGN_FILE_H
#define RIDGE_CLI_FOREIGN_FILE_H

#include "measure/foreign.h"
#include "ridge/status.h"

typedef struct ridge_foreign_file {
    ridge_foreign_host host;
    char library[600]; /* absolute path of the shared object, or of the Python file */
    char symbol[128];
    char name[80];          /* of its variant: cpu/STEM, cuda/STEM */
    char folder[200];       /* of what was compiled; "" if nothing was */
    char python[512];       /* the interpreter; "" if none is needed */
    char python_path[8000]; /* where its modules are */
} ridge_foreign_file;

/* symbol: that of a FILE without one. RIDGE_NOT_FOUND: no such file; RIDGE_INVALID: neither .c, .cu, .py nor .so, or the compiler
 * refused it (its words are on standard error); RIDGE_UNSUPPORTED: no compiler, interpreter or GPU. Close in every case. */
ridge_status ridge_foreign_file_open(const char *typed, const char *symbol, ridge_foreign_file *file,
                                     ridge_error *error);
void ridge_foreign_file_choose(const ridge_foreign_file *file); /* variants of ridge_foreign_variant run it */
void ridge_foreign_file_close(ridge_foreign_file *file);        /* removes what was compiled */
/* What of the judge's rules does not hold for this kind of file, as a sentence; "": all hold. */
const char *ridge_foreign_file_loose(const ridge_foreign_file *file);

#endif
