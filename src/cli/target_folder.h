/* The folder of a target, compiled as the build compiles those of targets/: cpu*.c once for each instruction set. */
#ifndef RIDGE_CLI_TARGET_FOLDER_H
#define RIDGE_CLI_TARGET_FOLDER_H

#include "ridge/status.h"

typedef struct ridge_target_folder {
    char temporary[200]; /* of what was compiled */
    char library[240];
} ridge_target_folder;

/* The folder's name is the target's. Close in every case; what was opened before may be used on. */
ridge_status ridge_target_folder_compile(const char *path, ridge_target_folder *folder, ridge_error *error);
void ridge_target_folder_close(ridge_target_folder *folder);

#endif
