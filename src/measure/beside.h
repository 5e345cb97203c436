/* Files that come with the program: programs that it starts, and what those run. */
#ifndef RIDGE_MEASURE_BESIDE_H
#define RIDGE_MEASURE_BESIDE_H

#include <stdbool.h>
#include <stddef.h>

/* The path of a file beside the program, in the folder above it (tests), or where they are installed. False: in none of
 * these. */
bool ridge_find_beside(const char *name, char *path, size_t size);

#endif
