/* Targets besides those of the build: of a program that links ridge, or of a shared object that `ridge run ./mine.so` opens.
 *
 *     cc -shared -fPIC -O3 -march=native -o mine.so target.c kernels.c
 *     ridge verify ./mine.so && ridge run ./mine.so
 *
 * target.c ends with RIDGE_TARGET_SHARED(ridge_target_mine); and names kernels by RIDGE_ANY_ISA: such a build has one instruction set.
 * `ridge run ./mine` compiles the folder of a target, such as `ridge new mine` writes, and needs no such line. */
#ifndef RIDGE_TARGETS_H
#define RIDGE_TARGETS_H

#include <stddef.h>

#include "ridge/target.h"
#include "ridge/version.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Adds a target, which must live as long as the program. Not while another thread uses ridge. RIDGE_INVALID, with the reason: the
 * descriptor is not whole, its name is taken, or RIDGE_MOST_ADDED_TARGETS were added. */
enum { RIDGE_MOST_ADDED_TARGETS = 16 };
RIDGE_API ridge_status ridge_target_add(const ridge_target *target, ridge_error *error);

/* All of them: those of the build in the order of ridge_targets, then those that were added. */
RIDGE_API int ridge_target_total(void);
RIDGE_API const ridge_target *ridge_target_at(int i);

/* The mark of a shared object with a target: stands once in one of its files. Version and size say whether it was compiled with the
 * headers of the ridge that opens it. */
typedef struct ridge_shared_target {
    const char *version;
    size_t size;
    const ridge_target *target;
} ridge_shared_target;
#define RIDGE_TARGET_SHARED(descriptor)                                       \
    RIDGE_API extern const ridge_shared_target ridge_target_of_shared_object; \
    const ridge_shared_target ridge_target_of_shared_object = {RIDGE_VERSION, sizeof(ridge_target), &(descriptor)}

#ifdef __cplusplus
}
#endif
#endif
