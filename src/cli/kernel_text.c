#include "cli/kernel_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/spawn.h"

/* What is read, and the kernel that the last line belongs to. */
typedef struct reading {
    ridge_kernel_record *kernels;
    int n, sm;
    ridge_code code;
    char arch[16];           /* of what follows */
    ridge_kernel_text *into; /* NULL: no kernel that was asked for, or a better text of it is known */
    ridge_instruction_scan scan;
    FILE *text;
    size_t size;
    bool broken; /* memory ran out */
} reading;

/* How new an architecture is, where the GPU runs it; 0: it does not. One with a suffix is for its own GPUs alone. */
static int rank_of(const char *arch, int sm) {
    int number = 0, end = 0;
    if (sscanf(arch, "sm_%d%n", &number, &end) != 1) return 0;
    const bool own = arch[end] != '\0';
    return number > sm || (own && number != sm) ? 0 : 2 * number + own;
}

static void end_text(reading *r) {
    if (!r->into) return;
    r->into->count = r->scan.found;
    if (!r->text || fclose(r->text) != 0) r->broken = true;
    r->text = NULL, r->into = NULL;
}

/* `name` up to `end` begins. */
static void begin_text(reading *r, const char *name, size_t length) {
    end_text(r);
    for (int i = 0; i < r->n; i++) {
        ridge_kernel_text *to = &r->kernels[i].in[r->code];
        const char *wanted = r->kernels[i].kernel.name;
        if (!wanted || strlen(wanted) != length || memcmp(wanted, name, length) != 0) continue;
        if (rank_of(r->arch, r->sm) <= rank_of(to->arch, r->sm)) return;
        free(to->text);
        *to = (ridge_kernel_text){0};
        (void)snprintf(to->arch, sizeof to->arch, "%s", r->arch);
        r->text = open_memstream(&to->text, &r->size);
        r->into = to;
        r->scan = (ridge_instruction_scan){.code = r->code};
        return;
    }
}

/* The name that the line begins a kernel of, and its length; NULL: it begins none. */
static const char *begins(const reading *r, const char *line, size_t *length) {
    const char *mark = r->code == RIDGE_CODE_PTX ? ".entry " : "Function : ";
    const char *found = strstr(line, mark);
    if (!found) return NULL;
    found += strlen(mark);
    *length = strcspn(found, "( \t\n");
    return found;
}

static void read_line(reading *r, const char *line) {
    size_t length = 0;
    const char *name = begins(r, line, &length);
    if (strncmp(line, "Fatbin ", strlen("Fatbin ")) == 0) end_text(r);
    (void)sscanf(line, "arch = %15s", r->arch);
    if (name) begin_text(r, name, length);
    if (!r->into) return;
    if (r->text) fputs(line, r->text);
    if (!name) ridge_instructions_line(&r->scan, line);
    if (r->scan.ended) end_text(r);
}

static ridge_status read_all(reading *r, int descriptor, ridge_error *error) {
    char *line = NULL;
    size_t size = 0;
    FILE *stream = fdopen(descriptor, "r");
    if (!stream) {
        (void)close(descriptor);
        return ridge_fail(error, RIDGE_NO_MEMORY, "no memory to read cuobjdump");
    }
    while (getline(&line, &size, stream) >= 0) read_line(r, line);
    end_text(r);
    free(line);
    (void)fclose(stream);
    return r->broken ? ridge_fail(error, RIDGE_NO_MEMORY, "no memory for the texts of kernels") : RIDGE_OK;
}

/* All names with commas between: what is not asked for is not disassembled. The caller frees it. */
static char *names_of(const ridge_kernel_record *kernels, int n) {
    char *names = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&names, &size);
    for (int i = 0, named = 0; stream && i < n; i++)
        if (kernels[i].kernel.name) fprintf(stream, "%s%s", named++ ? "," : "", kernels[i].kernel.name);
    if (!stream || fclose(stream) != 0) return NULL;
    return names;
}

/* It complains once for every object of the program that has none of the functions: its standard error is not shown. */
static ridge_status read_from(reading *r, const char *program, const char *names, ridge_error *error) {
    static const char quietly[] = "exec \"$@\" 2>/dev/null";
    char self[512];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = '\0';
    const char *const ptx[] = {"sh", "-c", quietly, "sh", program, "-ptx", self, NULL};
    const char *const sass[] = {"sh", "-c", quietly, "sh", program, "-sass", "-fun", names, self, NULL};
    ridge_error why = {0};
    pid_t pid;
    int output, code;
    RIDGE_TRY(ridge_spawn(r->code == RIDGE_CODE_PTX ? ptx : sass, &pid, &output, error));
    const ridge_status status = read_all(r, output, error);
    RIDGE_TRY(ridge_spawn_wait(pid, &code, status == RIDGE_OK ? error : &why));
    if (status != RIDGE_OK || (code != 126 && code != 127)) return status;
    return ridge_fail(error, RIDGE_UNSUPPORTED,
                      "%.80s was not found: install cuobjdump and nvdisasm of CUDA, or set RIDGE_CUOBJDUMP", program);
}

static ridge_status read_code(reading *r, ridge_error *error) {
    char *names = names_of(r->kernels, r->n);
    if (!names) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for the names of kernels");
    const ridge_status status = read_from(r, ridge_environment("RIDGE_CUOBJDUMP", "cuobjdump"), names, error);
    free(names);
    return status;
}

ridge_status ridge_kernel_texts_find(ridge_kernel_record *kernels, int n, int sm, ridge_error *error) {
    for (int code = 0; code < RIDGE_CODE_COUNT; code++) {
        reading r = {.kernels = kernels, .n = n, .sm = sm, .code = (ridge_code)code};
        RIDGE_TRY(read_code(&r, error));
    }
    return RIDGE_OK;
}

void ridge_kernel_texts_free(ridge_kernel_record *kernels, int n) {
    for (int i = 0; i < n; i++)
        for (int code = 0; code < RIDGE_CODE_COUNT; code++) free(kernels[i].in[code].text);
}
