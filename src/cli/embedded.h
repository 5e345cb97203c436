/* Files that the build put into the program. */
#ifndef RIDGE_CLI_EMBEDDED_H
#define RIDGE_CLI_EMBEDDED_H

typedef struct ridge_embedded {
    const char *name; /* NULL: the end of a list */
    const char *text;
} ridge_embedded;

extern const ridge_embedded ridge_new_target[]; /* examples/center_rows */

#endif
