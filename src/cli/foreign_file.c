#include "cli/foreign_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/compile.h"
#include "cli/interrupt.h"
#include "cli/spawn.h"
#include "machine/identity/machine.h"
#include "ridge/cuda.h"

/* Splits at the last colon, unless the whole is the name of a file. */
static ridge_status split(const char *typed, const char *fallback, char *path, size_t size, ridge_foreign_file *file,
                          ridge_error *error) {
    const char *colon = access(typed, F_OK) == 0 ? NULL : strrchr(typed, ':');
    const size_t length = colon ? (size_t)(colon - typed) : strlen(typed);
    const char *symbol = colon ? colon + 1 : fallback;
    if (length == 0 || length >= size || !*symbol || strlen(symbol) >= sizeof file->symbol)
        return ridge_fail(error, RIDGE_INVALID, "'%.80s' is no FILE[:SYMBOL]", typed);
    (void)snprintf(path, size, "%.*s", (int)length, typed);
    (void)snprintf(file->symbol, sizeof file->symbol, "%s", symbol);
    struct stat info;
    if (stat(path, &info) != 0) return ridge_fail(error, RIDGE_NOT_FOUND, "%.200s: %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode)) return ridge_fail(error, RIDGE_INVALID, "%.200s is no regular file", path);
    return RIDGE_OK;
}

static bool ends_with(const char *text, const char *end) {
    const size_t n = strlen(text), m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

static void name_variant(const char *path, ridge_foreign_file *file) {
    const bool cuda = file->host == RIDGE_FOREIGN_EMULATED || file->host == RIDGE_FOREIGN_GPU;
    const char *slash = strrchr(path, '/'), *stem = slash ? slash + 1 : path;
    (void)snprintf(file->name, sizeof file->name, "%s/%.*s", cuda ? "cuda" : "cpu", (int)strcspn(stem, "."), stem);
}

/* ---- compilers ----------------------------------------------------------------------------------------------------- */

static ridge_status compile_c(const char *source, const char *include, ridge_foreign_file *file, ridge_error *error) {
    const char *const arguments[] = {ridge_environment("CC", "cc"),
                                     "-std=gnu17",
                                     "-O3",
                                     "-march=native",
                                     "-shared",
                                     "-fPIC",
                                     include,
                                     "-o",
                                     file->library,
                                     source,
                                     "-lm",
                                     NULL};
    return ridge_compile_run(arguments, "CC", source, error);
}

/* ---- CUDA -------------------------------------------------------------------------------------------------------- */

/* $NVCC, one of the path, or where toolkits are installed. */
static const char *find_nvcc(char *path, size_t size) {
    const char *const folders[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda", "/opt/cuda"};
    const char *chosen = ridge_environment("NVCC", NULL), *list = getenv("PATH");
    if (chosen) return chosen;
    for (const char *at = list; at && *at;) {
        const size_t n = strcspn(at, ":");
        (void)snprintf(path, size, "%.*s/nvcc", (int)n, at);
        if (n && access(path, X_OK) == 0) return path;
        at += n + (at[n] == ':');
    }
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        (void)snprintf(path, size, "%s/bin/nvcc", folders[i] ? folders[i] : "");
        if (folders[i] && access(path, X_OK) == 0) return path;
    }
    return "nvcc";
}

/* On a GPU the library has a CUDA runtime of its own, since functions of the static one cannot be lent; else it finds the
 * emulator's in the process that opens it. The emulator takes PTX, and tells lines by its tables. */
static ridge_status compile_cuda(const char *source, const char *include, ridge_foreign_file *file,
                                 ridge_error *error) {
    char path[600];
    const bool emulated = file->host == RIDGE_FOREIGN_EMULATED;
    const char *const arguments[] = {find_nvcc(path, sizeof path),
                                     "-std=c++17",
                                     "-O3",
                                     "-lineinfo",
                                     "-shared",
                                     "-Xcompiler=-fPIC",
                                     emulated ? "-cudart=none" : "-cudart=static",
                                     emulated ? "-gencode=arch=compute_90a,code=compute_90a" : "-arch=native",
                                     emulated ? "--compress-mode=none" : "-lineinfo",
                                     include,
                                     "-o",
                                     file->library,
                                     source,
                                     NULL};
    return ridge_compile_run(arguments, "NVCC", source, error);
}

static ridge_status choose_cuda(const char *path, ridge_foreign_file *file, ridge_error *error) {
    static ridge_machine machine;
    file->host = ridge_cuda_emulated() ? RIDGE_FOREIGN_EMULATED : RIDGE_FOREIGN_GPU;
    if (ridge_cuda_emulated()) return RIDGE_OK;
    RIDGE_TRY(ridge_machine_detect(&machine, error));
    if (machine.gpu.sm > 0) return RIDGE_OK;
    return ridge_fail(error, RIDGE_UNSUPPORTED, "%.120s needs a GPU: %.120s (ridge-emulated runs it on the CPU)", path,
                      machine.no_gpu);
}

/* ---- Python ------------------------------------------------------------------------------------------------------ */

/* Two lines: the interpreter itself, which a wrapper may stand for, and where its modules are. Status 9: none for arrays. */
static const char probe[] =
    "import sys, importlib.util as u; print(sys.executable); print(':'.join(p for p in sys.path if p)); "
    "sys.exit(0 if u.find_spec('numpy') or u.find_spec('torch') else 9)";
enum { NO_ARRAYS = 9 };

static ridge_status read_probe(int output, ridge_foreign_file *file) {
    char text[sizeof file->python + sizeof file->python_path];
    size_t used = 0;
    for (ssize_t n; used + 1 < sizeof text && (n = read(output, text + used, sizeof text - 1 - used)) != 0;) {
        if (n < 0 && errno != EINTR) return RIDGE_FAILED;
        used += n > 0 ? (size_t)n : 0;
    }
    text[used] = '\0';
    char *end = strchr(text, '\n'), *modules = end ? end + 1 : NULL, *last = modules ? strchr(modules, '\n') : NULL;
    if (!last || text[0] != '/') return RIDGE_FAILED;
    *end = *last = '\0';
    if (strlen(text) >= sizeof file->python || strlen(modules) >= sizeof file->python_path) return RIDGE_FAILED;
    (void)snprintf(file->python, sizeof file->python, "%s", text);
    (void)snprintf(file->python_path, sizeof file->python_path, "%s", modules);
    return RIDGE_OK;
}

static ridge_status find_python(ridge_foreign_file *file, ridge_error *error) {
    const char *const arguments[] = {ridge_environment("PYTHON", "python3"), "-c", probe, NULL};
    pid_t pid;
    int output;
    int code = -1;
    ridge_error why = {0};
    const ridge_status status = ridge_spawn(arguments, &pid, &output, &why);
    if (status != RIDGE_OK)
        return ridge_fail(error, RIDGE_UNSUPPORTED, "no Python: %.60s: %.80s (set PYTHON)", arguments[0], why.text);
    const ridge_status read = read_probe(output, file);
    (void)close(output);
    RIDGE_TRY(ridge_spawn_wait(pid, &code, error));
    if (code == 0 && read == RIDGE_OK) return RIDGE_OK;
    if (code == NO_ARRAYS)
        return ridge_fail(error, RIDGE_UNSUPPORTED, "%.60s has neither NumPy nor PyTorch: install one, or set PYTHON",
                          arguments[0]);
    return ridge_fail(error, RIDGE_UNSUPPORTED, "%.60s does not say where it is: set PYTHON to an interpreter",
                      arguments[0]);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static ridge_status make_folder(ridge_foreign_file *file, ridge_error *error) {
    RIDGE_TRY(ridge_compile_folder(file->folder, sizeof file->folder, error));
    (void)snprintf(file->library, sizeof file->library, "%s/kernel.so", file->folder);
    ridge_interrupt_remove(file->library, file->folder);
    return RIDGE_OK;
}

static ridge_status compile(const char *source, ridge_foreign_file *file, ridge_error *error) {
    char include[600], option[700];
    (void)snprintf(option, sizeof option, "-I%s", ridge_compile_include(include, sizeof include));
    RIDGE_TRY(make_folder(file, error));
    return file->host == RIDGE_FOREIGN_NATIVE ? compile_c(source, option, file, error)
                                              : compile_cuda(source, option, file, error);
}

static ridge_status take_as_is(const char *path, ridge_foreign_file *file, ridge_error *error) {
    char *whole = realpath(path, NULL);
    const bool fits = whole && strlen(whole) < sizeof file->library;
    if (fits) (void)snprintf(file->library, sizeof file->library, "%s", whole);
    free(whole);
    return fits ? RIDGE_OK : ridge_fail(error, RIDGE_INVALID, "%.200s: the path is too long", path);
}

static ridge_status check_installed(const ridge_foreign_file *file, const char *path, ridge_error *error) {
    if (ridge_foreign_has(file->host)) return RIDGE_OK;
    return ridge_fail(error, RIDGE_UNSUPPORTED, "%.200s: this build of ridge runs no %s", path,
                      file->host == RIDGE_FOREIGN_PYTHON ? "Python kernels" : "CUDA kernels of others");
}

ridge_status ridge_foreign_file_open(const char *typed, const char *symbol, ridge_foreign_file *file,
                                     ridge_error *error) {
    char path[512];
    *file = (ridge_foreign_file){.folder = ""};
    RIDGE_TRY(split(typed, symbol, path, sizeof path, file, error));
    const bool python = ends_with(path, ".py"), cuda = ends_with(path, ".cu"), c = ends_with(path, ".c");
    if (!python && !cuda && !c && !ends_with(path, ".so"))
        return ridge_fail(error, RIDGE_INVALID,
                          "%.200s is neither C (.c), CUDA (.cu), Python (.py) nor a shared object (.so)", path);
    if (cuda) RIDGE_TRY(choose_cuda(path, file, error));
    if (python) file->host = RIDGE_FOREIGN_PYTHON;
    name_variant(path, file);
    if (cuda || python) RIDGE_TRY(check_installed(file, path, error));
    if (python) RIDGE_TRY(find_python(file, error));
    return c || cuda ? compile(path, file, error) : take_as_is(path, file, error);
}

void ridge_foreign_file_choose(const ridge_foreign_file *file) {
    ridge_foreign_choose(&(ridge_foreign_kernel){.host = file->host,
                                                 .path = file->library,
                                                 .symbol = file->symbol,
                                                 .python = file->python,
                                                 .python_path = file->python_path});
}

const char *ridge_foreign_file_loose(const ridge_foreign_file *file) {
    static const char *const loose[] = {
        [RIDGE_FOREIGN_NATIVE] = "",
        [RIDGE_FOREIGN_PYTHON] = "Python: what NumPy and PyTorch do while they are imported is not confined.",
        [RIDGE_FOREIGN_EMULATED] =
            "Emulated: host code of the file shares its process with the emulator, whose witness it could forge.",
        [RIDGE_FOREIGN_GPU] =
            ("GPU: the driver keeps files, devices and executable memory open to the kernel's process, and "
             "inputs are in device memory before the clock starts.")};
    return loose[file->host];
}

void ridge_foreign_file_close(ridge_foreign_file *file) {
    if (!file->folder[0]) return;
    (void)unlink(file->library);
    (void)rmdir(file->folder);
    ridge_interrupt_remove(NULL, NULL);
    file->folder[0] = '\0';
}
