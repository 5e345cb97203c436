#include "cli/target_folder.h"

#include <errno.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/spawn.h"
#include "cli/compile.h"
#include "cli/interrupt.h"
#include "device/file.h"
#include "ridge/targets.h"

/* The build's own flags (CMakeLists.txt), so that a target is here what it is when it is built in. */
static const struct {
    const char *name, *flags;
} sets[] = {
#define ISA_FLAGS(isa) {#isa, RIDGE_FLAGS_##isa},
    RIDGE_ISA_LIST(ISA_FLAGS)
#undef ISA_FLAGS
};

/* ---- the command line of a compiler ------------------------------------------------------------------------------ */

enum { MOST_WORDS = 256 };
typedef struct command_line {
    const char *word[MOST_WORDS + 1];
    int n;
    char *owned[MOST_WORDS];
    int n_owned;
    bool failed; /* memory or places were short */
} command_line;

static void add(command_line *line, const char *word) {
    line->failed = line->failed || line->n == MOST_WORDS || !word;
    if (!line->failed) line->word[line->n++] = word;
}

static void add_copy(command_line *line, const char *prefix, const char *text) {
    char *copy = NULL;
    if (line->n_owned == MOST_WORDS || asprintf(&copy, "%s%s", prefix, text) < 0) copy = NULL;
    if (copy) line->owned[line->n_owned++] = copy;
    add(line, copy);
}

static void add_words(command_line *line, const char *text) {
    for (const char *at = text + strspn(text, " "); *at; at += strspn(at, " ")) {
        char word[80];
        const int n = (int)strcspn(at, " ");
        (void)snprintf(word, sizeof word, "%.*s", n, at);
        add_copy(line, "", word);
        at += n;
    }
}

static ridge_status run_and_free(command_line *line, const char *source, ridge_error *error) {
    const ridge_status status = line->failed
                                    ? ridge_fail(error, RIDGE_INVALID, "%.200s: too many files, or no memory", source)
                                    : ridge_compile_run(line->word, "CC", source, error);
    for (int i = 0; i < line->n_owned; i++) free(line->owned[i]);
    return status;
}

/* ---- objects ----------------------------------------------------------------------------------------------------- */

/* isa: index into sets, or -1 for code of no instruction set of its own. */
static ridge_status compile(const char *source, int isa, int number, const ridge_target_folder *folder,
                            ridge_error *error) {
    command_line line = {.word = {ridge_environment("CC", "cc")}, .n = 1};
    char include[600], object[260];
    add_words(&line, "-std=gnu17 -O3 -fPIC -c -D_GNU_SOURCE");
    add_copy(&line, "-I", ridge_compile_include(include, sizeof include));
    if (*RIDGE_DLPACK_INCLUDE) add_copy(&line, "-I", RIDGE_DLPACK_INCLUDE);
    if (isa >= 0) {
        add_words(&line, RIDGE_FLAGS_KERNELS);
        add_words(&line, sets[isa].flags);
        add_copy(&line, "-DRIDGE_ISA=", sets[isa].name);
        (void)snprintf(object, sizeof object, "-DRIDGE_ISA_IS_%s=1", sets[isa].name);
        add_copy(&line, "", object);
    } else
        add_words(&line, RIDGE_FLAGS_ORACLES);
    (void)snprintf(object, sizeof object, "%s/%d.o", folder->temporary, number);
    add(&line, "-o"), add_copy(&line, "", object), add(&line, source);
    return run_and_free(&line, source, error);
}

static bool is_kernel(const char *source) { return strncmp(strrchr(source, '/') + 1, "cpu", 3) == 0; }

static ridge_status compile_all(const glob_t *sources, const ridge_target_folder *folder, int *n, ridge_error *error) {
    for (size_t i = 0; i < sources->gl_pathc; i++) {
        const char *source = sources->gl_pathv[i];
        if (!is_kernel(source)) RIDGE_TRY(compile(source, -1, (*n)++, folder, error));
        for (int isa = 0; isa < RIDGE_ISA_COUNT && is_kernel(source); isa++)
            RIDGE_TRY(compile(source, isa, (*n)++, folder, error));
    }
    return RIDGE_OK;
}

/* What a file of the target would say if it were made for a shared object. */
static ridge_status compile_mark(const char *name, const ridge_target_folder *folder, int *n, ridge_error *error) {
    char source[260], text[300];
    (void)snprintf(source, sizeof source, "%s/shared.c", folder->temporary);
    (void)snprintf(text, sizeof text,
                   "#include \"ridge/targets.h\"\nextern const ridge_target ridge_target_%.60s;\n"
                   "RIDGE_TARGET_SHARED(ridge_target_%.60s);\n",
                   name, name);
    RIDGE_TRY(ridge_file_write(source, text, strlen(text), error));
    return compile(source, -1, (*n)++, folder, error);
}

static ridge_status link_all(const char *path, const ridge_target_folder *folder, int n, ridge_error *error) {
    command_line line = {.word = {ridge_environment("CC", "cc"), "-shared", "-o", folder->library}, .n = 4};
    char object[260];
    for (int i = 0; i < n; i++) {
        (void)snprintf(object, sizeof object, "%s/%d.o", folder->temporary, i);
        add_copy(&line, "", object);
    }
    add(&line, "-lm");
    return run_and_free(&line, path, error);
}

/* ---- the folder -------------------------------------------------------------------------------------------------- */

static ridge_status find_sources(const char *whole, glob_t *sources, ridge_error *error) {
    char pattern[4200];
    struct {
        const char *name;
        bool wanted;
        const char *why;
    } const kinds[] = {
        {"target.c", true, "has no target.c: ridge new NAME writes a folder of a target"},
        {"*.cu", false, "has CUDA code: build it into ridge (-DRIDGE_EXTRA_TARGETS=…), or make it a shared object"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        glob_t found = {0};
        (void)snprintf(pattern, sizeof pattern, "%s/%s", whole, kinds[i].name);
        const bool is_there = glob(pattern, GLOB_NOSORT, NULL, &found) == 0;
        globfree(&found);
        if (is_there != kinds[i].wanted) return ridge_fail(error, RIDGE_INVALID, "%.160s %s", whole, kinds[i].why);
    }
    (void)snprintf(pattern, sizeof pattern, "%s/*.c", whole);
    return glob(pattern, 0, NULL, sources) == 0 ? RIDGE_OK
                                                : ridge_fail(error, RIDGE_IO, "%.200s cannot be read", whole);
}

static ridge_status check_name(const char *name, ridge_error *error) {
    if (strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == strlen(name))
        return RIDGE_OK;
    return ridge_fail(error, RIDGE_INVALID, "%.60s: the folder's name is the target's, of letters, digits and _", name);
}

static ridge_status compile_folder(const char *whole, ridge_target_folder *folder, ridge_error *error) {
    glob_t sources = {0};
    int n = 0;
    const char *name = strrchr(whole, '/') + 1;
    ridge_status status = check_name(name, error);
    if (status == RIDGE_OK) status = find_sources(whole, &sources, error);
    if (status == RIDGE_OK) status = ridge_compile_folder(folder->temporary, sizeof folder->temporary, error);
    (void)snprintf(folder->library, sizeof folder->library, "%s/target.so", folder->temporary);
    if (status == RIDGE_OK) status = compile_all(&sources, folder, &n, error);
    if (status == RIDGE_OK) status = compile_mark(name, folder, &n, error);
    if (status == RIDGE_OK) status = link_all(whole, folder, n, error);
    globfree(&sources);
    return status;
}

ridge_status ridge_target_folder_compile(const char *path, ridge_target_folder *folder, ridge_error *error) {
    *folder = (ridge_target_folder){.temporary = ""};
    char *whole = realpath(path, NULL);
    if (!whole) return ridge_fail(error, RIDGE_NOT_FOUND, "%.200s: %s", path, strerror(errno));
    ridge_interrupt_pause(); /* the compiler, too, gets Ctrl-C; what it has made is removed below */
    ridge_status status = compile_folder(whole, folder, error);
    if (*ridge_interrupt_flag())
        status = ridge_fail(error, RIDGE_INTERRUPTED, "interrupted while %.120s was compiled", path);
    free(whole);
    return status;
}

void ridge_target_folder_close(ridge_target_folder *folder) {
    char pattern[240];
    glob_t made = {0};
    if (folder->temporary[0]) {
        (void)snprintf(pattern, sizeof pattern, "%s/*", folder->temporary);
        if (glob(pattern, GLOB_NOSORT, NULL, &made) == 0)
            for (size_t i = 0; i < made.gl_pathc; i++) (void)unlink(made.gl_pathv[i]);
        globfree(&made);
        (void)rmdir(folder->temporary);
        folder->temporary[0] = '\0';
    }
    ridge_interrupt_resume();
}
