/* Loaded before the C library (LD_PRELOAD): lets an allocation of the program fail, at one of the places that ask for it.
 *
 * A place is a call from the program, directly or through a library that works for it, together with its caller. Places are
 * numbered as they are met first, in all processes of the command together.
 *
 *     RIDGE_FAIL_PLACE   number of the place that gets no memory, every time; 0: none
 *     RIDGE_FAIL_TOLD    file to which the process that begins writes how many places there were
 *     RIDGE_FAIL_FORK    if set, there are no new processes either
 *
 * What hwloc, the dynamic linker and constructors ask for is given: how they fail is theirs. (A program with CUDA registers its
 * kernels before main.) */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <link.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

enum { MOST = 4096, FRAMES = 16 };

/* Of all processes of the command. */
typedef struct met {
    atomic_flag busy;
    int n;
    uint64_t place[MOST];
} met;

typedef struct range {
    uintptr_t begin, end;
} range;

static met *places;
static range program, hwloc;
static int failing;
static pid_t first_process;
static _Thread_local bool inside;
static bool running; /* between main's begin and its end */

static int look(struct dl_phdr_info *info, size_t size, void *arg) {
    int *number = arg;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
        const range r = {info->dlpi_addr + part->p_vaddr, info->dlpi_addr + part->p_vaddr + part->p_memsz};
        if (*number == 0) program = r;
        if (strstr(info->dlpi_name, "libhwloc")) hwloc = r;
    }
    ++*number;
    return 0;
}

static bool within(range r, const void *address) { return (uintptr_t)address >= r.begin && (uintptr_t)address < r.end; }

__attribute__((constructor)) static void begin(void) {
    void *frames[FRAMES];
    int number = 0;
    inside = true;
    const char *text = getenv("RIDGE_FAIL_PLACE");
    (void)dl_iterate_phdr(look, &number);
    (void)backtrace(frames, FRAMES); /* loads what it needs */
    failing = text ? atoi(text) : 0;
    (void)unsetenv("LD_PRELOAD"); /* other programs that it runs have all memory */
    first_process = getpid();
    met *shared =
        (met *)syscall(SYS_mmap, NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (text && shared != MAP_FAILED) places = shared;
    inside = false;
}

__attribute__((destructor)) static void end(void) {
    const char *path = getenv("RIDGE_FAIL_TOLD");
    inside = true;
    if (!path || !places || getpid() != first_process) return;
    FILE *file = fopen(path, "w");
    if (!file) return;
    fprintf(file, "%d\n", places->n);
    (void)fclose(file);
}

static int (*program_main)(int, char **, char **);
static int watched_main(int argc, char **argv, char **environment) {
    running = true;
    const int status = program_main(argc, argv, environment);
    running = false;
    return status;
}
/* The C library's, which calls constructors and then main. */
extern int __libc_start_main(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void),
                             void (*)(void), void *);
int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*at_end)(void), void *stack_end) {
    int (*next)(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void), void (*)(void), void *);
    void *symbol = dlsym(RTLD_NEXT, "__libc_start_main");
    memcpy(&next, &symbol, sizeof next);
    program_main = main;
    return next(watched_main, argc, argv, init, fini, at_end, stack_end);
}

/* The place's number, from 1; 0: the program does not ask. */
static int number_of(uint64_t place) {
    int i = 0;
    while (atomic_flag_test_and_set(&places->busy)) continue;
    while (i < places->n && places->place[i] != place) i++;
    if (i == places->n && i < MOST) places->place[places->n++] = place;
    atomic_flag_clear(&places->busy);
    return i + 1;
}

/* The first two addresses within the program, if nothing but libraries that work for it lies before them. */
static uint64_t place_of(void *const *frames, int n) {
    uint64_t place = 0;
    for (int i = 2, found = 0; i < n && found < 2; i++) {
        if (within(hwloc, frames[i]) && !found) return 0;
        if (!within(program, frames[i])) continue;
        place = place * UINT64_C(0x9e3779b97f4a7c15) + ((uintptr_t)frames[i] - program.begin);
        found++;
    }
    return place;
}

/* Has two frames of its own on the stack. */
static __attribute__((noinline)) bool fails(void) {
    void *frames[FRAMES];
    if (!places || inside || !running) return false;
    inside = true;
    const uint64_t place = place_of(frames, backtrace(frames, FRAMES));
    const bool refused = place && number_of(place) == failing;
    inside = false;
    if (refused) errno = ENOMEM;
    return refused;
}

void *malloc(size_t size) { return fails() ? NULL : __libc_malloc(size); }
void *calloc(size_t n, size_t size) { return fails() ? NULL : __libc_calloc(n, size); }
void *realloc(void *memory, size_t size) { return fails() ? NULL : __libc_realloc(memory, size); }
void *memalign(size_t alignment, size_t size) { return fails() ? NULL : __libc_memalign(alignment, size); }
void *aligned_alloc(size_t alignment, size_t size) { return fails() ? NULL : __libc_memalign(alignment, size); }

int posix_memalign(void **memory, size_t alignment, size_t size) {
    if (fails()) return ENOMEM;
    void *got = __libc_memalign(alignment, size);
    if (!got) return ENOMEM;
    *memory = got;
    return 0;
}

void *mmap(void *address, size_t size, int access, int flags, int file, off_t offset) {
    if (fails()) return MAP_FAILED;
    return (void *)syscall(SYS_mmap, address, size, access, flags, file, offset);
}

pid_t fork(void) {
    pid_t (*next)(void);
    void *symbol = dlsym(RTLD_NEXT, "fork");
    if (getenv("RIDGE_FAIL_FORK")) return errno = EAGAIN, -1;
    memcpy(&next, &symbol, sizeof next);
    return next();
}
