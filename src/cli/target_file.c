#include "cli/target_file.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/target_folder.h"
#include "ridge/targets.h"

bool ridge_target_file_is(const char *typed) { return strchr(typed, '/') != NULL; }

/* What was opened, by the path as it was typed. */
static struct {
    char *typed;
    const char *name;
} opened[RIDGE_MOST_ADDED_TARGETS];
static int n_opened;

static ridge_status check_version(const ridge_shared_target *found, const char *typed, ridge_error *error) {
    if (found->version && strcmp(found->version, ridge_version()) == 0 && found->size == sizeof(ridge_target))
        return RIDGE_OK;
    return ridge_fail(error, RIDGE_INVALID,
                      "%.120s was compiled with headers of ridge %.20s, this is %s: compile it again", typed,
                      found->version ? found->version : "?", ridge_version());
}

/* The library stays open: the descriptor and its code are in it. */
static ridge_status load(const char *typed, const char *library, const char **name, ridge_error *error) {
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle) return ridge_fail(error, RIDGE_INVALID, "%.120s cannot be opened: %.200s", typed, dlerror());
    const ridge_shared_target *found = dlsym(handle, "ridge_target_of_shared_object");
    ridge_status status = RIDGE_OK;
    if (!found)
        status = ridge_fail(
            error, RIDGE_INVALID,
            "%.120s has no target: RIDGE_TARGET_SHARED(ridge_target_NAME); is missing (ridge/targets.h)", typed);
    if (status == RIDGE_OK) status = check_version(found, typed, error);
    if (status == RIDGE_OK) status = ridge_target_add(found->target, error);
    if (status == RIDGE_OK)
        *name = found->target->name;
    else
        (void)dlclose(handle);
    return status;
}

static ridge_status load_file(const char *typed, const char **name, ridge_error *error) {
    char *whole = realpath(typed, NULL);
    if (!whole) return ridge_fail(error, RIDGE_NOT_FOUND, "%.200s: %s", typed, strerror(errno));
    const ridge_status status = load(typed, whole, name, error);
    free(whole);
    return status;
}

static ridge_status load_folder(const char *typed, const char **name, ridge_error *error) {
    ridge_target_folder folder;
    ridge_status status = ridge_target_folder_compile(typed, &folder, error);
    if (status == RIDGE_OK) status = load(typed, folder.library, name, error);
    ridge_target_folder_close(&folder);
    return status;
}

ridge_status ridge_target_file_open(const char *typed, const char **name, ridge_error *error) {
    struct stat info;
    for (int i = 0; i < n_opened; i++)
        if (strcmp(opened[i].typed, typed) == 0) return *name = opened[i].name, RIDGE_OK;
    if (stat(typed, &info) != 0) return ridge_fail(error, RIDGE_NOT_FOUND, "%.200s: %s", typed, strerror(errno));
    RIDGE_TRY(S_ISDIR(info.st_mode) ? load_folder(typed, name, error) : load_file(typed, name, error));
    opened[n_opened].typed = strdup(typed);
    if (!opened[n_opened].typed) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for a path");
    opened[n_opened++].name = *name;
    return RIDGE_OK;
}
