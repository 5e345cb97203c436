/* ridge new NAME: a folder with a target that builds and passes, to be changed into one's own. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/embedded.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/say.h"
#include "core/shortage.h"
#include "device/file.h"
#include "ridge/target.h"

static const char example[] = "center_rows"; /* what the name replaces in the texts */
enum { LONGEST_NAME = 40 };

/* What is made: FOLDER/NAME, first under a name of its own. */
typedef struct place {
    char folder[512], temporary[600], path[600];
    const char *name;
} place;

static ridge_status check_name(const char *name, ridge_error *error) {
    const size_t n = strlen(name);
    if (n == 0 || n > LONGEST_NAME || strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != n || name[0] < 'a')
        return ridge_fail(error, RIDGE_INVALID,
                          "'%.60s' cannot name a target: up to %d of a-z, 0-9 and _, a letter first", name,
                          LONGEST_NAME);
    if (ridge_target_find(name)) return ridge_fail(error, RIDGE_INVALID, "ridge has a target %s already", name);
    return RIDGE_OK;
}

static ridge_status find_place(const char *typed, place *p, ridge_error *error) {
    struct stat info;
    const char *slash = strrchr(typed, '/');
    p->name = slash ? slash + 1 : typed;
    RIDGE_TRY(check_name(p->name, error));
    const int n = snprintf(p->folder, sizeof p->folder, "%.*s", slash ? (int)(slash - typed) : 1, slash ? typed : ".");
    if (n >= (int)sizeof p->folder) return ridge_fail(error, RIDGE_INVALID, "the path is too long");
    if (slash == typed) (void)snprintf(p->folder, sizeof p->folder, "/");
    (void)snprintf(p->path, sizeof p->path, "%s/%s", p->folder, p->name);
    if (lstat(p->path, &info) == 0) return ridge_fail(error, RIDGE_INVALID, "%.400s exists already", p->path);
    if (stat(p->folder, &info) == 0 && S_ISDIR(info.st_mode)) return RIDGE_OK;
    return ridge_fail(error, RIDGE_NOT_FOUND, "%.400s is no folder: make it first", p->folder);
}

/* The text with the target's name in place of the example's; the caller frees it. NULL: memory is out. */
static char *named(const char *text, const char *name, size_t *size) {
    char *made = NULL;
    FILE *to = open_memstream(&made, size);
    for (const char *found; to && (found = strstr(text, example)); text = found + strlen(example))
        fprintf(to, "%.*s%s", (int)(found - text), text, name);
    if (to) fputs(text, to);
    return ridge_memory_text(to, &made);
}

static ridge_status write_files(const place *p, ridge_error *error) {
    char path[700];
    for (const ridge_embedded *file = ridge_new_target; file->name; file++) {
        size_t size = 0;
        char *text = named(file->text, p->name, &size);
        if (!text) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for %s", file->name);
        (void)snprintf(path, sizeof path, "%s/%s", p->temporary, file->name);
        const ridge_status status = ridge_file_write(path, text, size, error);
        free(text);
        RIDGE_TRY(status);
    }
    return RIDGE_OK;
}

static void remove_files(const place *p) {
    char path[700];
    for (const ridge_embedded *file = ridge_new_target; file->name; file++) {
        (void)snprintf(path, sizeof path, "%s/%s", p->temporary, file->name);
        (void)unlink(path);
    }
    (void)rmdir(p->temporary);
}

/* All or nothing: the folder gets its name when its files are whole. */
static ridge_status make_folder(place *p, ridge_error *error) {
    (void)snprintf(p->temporary, sizeof p->temporary, "%s/.%s-XXXXXX", p->folder, p->name);
    if (!mkdtemp(p->temporary))
        return ridge_fail(error, RIDGE_IO, "cannot write in %.400s: %s", p->folder, strerror(errno));
    const mode_t mask = umask(0);
    (void)umask(mask);
    ridge_status status = write_files(p, error);
    if (status == RIDGE_OK && (chmod(p->temporary, 0777 & ~mask) != 0 ||
                               renameat2(AT_FDCWD, p->temporary, AT_FDCWD, p->path, RENAME_NOREPLACE) != 0))
        status = ridge_fail(error, RIDGE_IO, "cannot make %.400s: %s", p->path, strerror(errno));
    if (status != RIDGE_OK) remove_files(p);
    return status;
}

static void tell(const place *p) {
    char *whole = realpath(p->folder, NULL);
    if (!whole) ridge_shortage_note();
    const char *here = strchr(p->path, '/') == p->path || strncmp(p->path, "./", 2) == 0 ? "" : "./";
    ridge_say("%s has a target that builds and passes: change it into yours. The last line is for ridge's source tree:",
              p->path);
    printf("ridge verify %s%s\n", here, p->path);
    printf("ridge run %s%s\n", here, p->path);
    printf("tools/build build -DRIDGE_EXTRA_TARGETS=%s\n", whole ? whole : p->folder);
    free(whole);
}

int ridge_cmd_new(const ridge_options *o) {
    static place p;
    ridge_error error = {0};
    if (o->n_patterns != 1) {
        (void)ridge_fail(&error, RIDGE_INVALID, "new takes the name of a target, not %d: ridge new [FOLDER/]NAME",
                         o->n_patterns);
        return ridge_complain(&error);
    }
    ridge_interrupt_hold(); /* nothing is left half written */
    ridge_status status = find_place(o->patterns[0], &p, &error);
    if (status == RIDGE_OK) status = make_folder(&p, &error);
    if (status != RIDGE_OK) return ridge_complain(&error);
    tell(&p);
    return RIDGE_EXIT_OK;
}
