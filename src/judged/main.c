/* The judged process: it loads a kernel and runs it on memory that the judge hands over. It holds no seeds, no oracle, no
 * clock and no verdicts; the judge starts it, and it ends with the judge.
 *
 * Not for use by hand: without the judge's page and socket it ends at once. */
#include <dlfcn.h>
#include <ffi.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "measure/channel.h"
#include "judged/judged.h"
#include "ridge/team.h"

typedef struct judged {
    ridge_channel *channel;
    ridge_team *team;
    void *symbol;
    bool plain; /* it is called by its arguments */
    ffi_cif call;
    ffi_type *type[RIDGE_CHANNEL_ARGUMENTS];
    void *value[RIDGE_CHANNEL_ARGUMENTS];
    union number {
        void *address;
        int32_t i32;
        int64_t i64;
        float f32;
        double f64;
    } number[RIDGE_CHANNEL_ARGUMENTS];
    char *memory; /* all tensors with unmapped addresses between them */
    size_t bytes;
    ridge_kernel_tensor tensor[RIDGE_KERNEL_MAX_TENSORS];
} judged;

static int say(judged *j, const char *text) {
    (void)snprintf(j->channel->text, sizeof j->channel->text, "%.*s", (int)sizeof j->channel->text - 1, text);
    return -1;
}

/* ---- load -------------------------------------------------------------------------------------------------------- */

static void wake(void *arg, int rank, int size) { (void)arg, (void)rank, (void)size; }

/* Libraries that come later may ask for memory from several threads: one arena needs no mprotect to grow. */
static int start(judged *j) {
    ridge_channel *c = j->channel;
    (void)mallopt(M_ARENA_MAX, 1);
    if (ridge_team_create(c->threads, c->pinned ? c->cpus : NULL, &j->team, NULL) != RIDGE_OK)
        return say(j, "its threads did not start");
    ridge_team_run(j->team, wake, NULL); /* threads that are not there yet could not start any more */
    return ridge_lock_before() ? 0 : say(j, "this system has no seccomp filters: foreign code is not run without them");
}

static const char by_arguments[] = "solve";

static int load(judged *j) {
    const ridge_channel *c = j->channel;
    char text[RIDGE_CHANNEL_TEXT];
    void *library = dlopen(c->path, RTLD_NOW | RTLD_LOCAL);
    if (!library) return say(j, dlerror());
    j->symbol = dlsym(library, c->symbol);
    j->plain = c->plain || strcmp(c->symbol, by_arguments) == 0;
    if (!j->symbol && strcmp(c->symbol, "ridge_kernel") == 0) {
        j->symbol = dlsym(library, by_arguments);
        j->plain = true;
    }
    if (!j->symbol) {
        (void)snprintf(text, sizeof text, "it exports no '%.60s': name the function, FILE:SYMBOL", c->symbol);
        return say(j, text);
    }
    return ridge_lock_after() ? 0 : say(j, "this system has no seccomp filters: foreign code is not run without them");
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* The descriptor that comes with one byte; -1: none. */
static int receive(void) {
    char byte;
    union {
        char space[CMSG_SPACE(sizeof(int))];
        struct cmsghdr head;
    } control;
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
    int fd = -1;
    if (recvmsg(RIDGE_CHANNEL_SOCKET, &message, MSG_CMSG_CLOEXEC) != 1) return -1;
    const struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (head && head->cmsg_type == SCM_RIGHTS) memcpy(&fd, CMSG_DATA(head), sizeof fd);
    return fd;
}

/* Addresses between tensors that are not mapped: a row index that is off does not reach past them. */
enum { GAP = 16 << 20 };

/* Each tensor between addresses that are not mapped. Pages are entered now, or the first launch would pay for it. */
static int map_tensors(judged *j, int fd) {
    const ridge_channel *c = j->channel;
    const int n = c->n_in + c->n_out;
    size_t bytes = GAP;
    if (n < 0 || n > RIDGE_KERNEL_MAX_TENSORS) return say(j, "too many tensors");
    for (int t = 0; t < n; t++) bytes += c->tensor[t].pages + GAP;
    char *memory = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return say(j, "no address space for its operands");
    j->memory = memory;
    j->bytes = bytes;
    size_t at = GAP;
    for (int t = 0; t < n; t++) {
        const ridge_channel_tensor *from = &c->tensor[t];
        const int access = t < c->n_in ? PROT_READ : PROT_READ | PROT_WRITE;
        if (from->pages && mmap(memory + at, from->pages, access, MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd,
                                (off_t)from->pages_at) == MAP_FAILED)
            return say(j, "its operands could not be mapped");
        j->tensor[t] =
            (ridge_kernel_tensor){.data = memory + at + from->offset, .type = from->type, .rank = from->rank};
        memcpy(j->tensor[t].shape, from->shape, sizeof j->tensor[t].shape);
        at += from->pages + GAP;
    }
    return 0;
}

static ffi_type *argument_of(const judged *j, const ridge_channel_argument *from, union number *to) {
    switch (from->type) {
        case RIDGE_KERNEL_I32: return to->i32 = (int32_t)from->integer, &ffi_type_sint32;
        case RIDGE_KERNEL_I64: return to->i64 = from->integer, &ffi_type_sint64;
        case RIDGE_KERNEL_F32: return to->f32 = (float)from->real, &ffi_type_float;
        case RIDGE_KERNEL_F64: return to->f64 = from->real, &ffi_type_double;
        default: return to->address = j->tensor[from->tensor].data, &ffi_type_pointer;
    }
}

static int prepare_arguments(judged *j) {
    const ridge_channel *c = j->channel;
    for (int i = 0; i < c->n_arguments; i++) {
        j->type[i] = argument_of(j, &c->argument[i], &j->number[i]);
        j->value[i] = &j->number[i];
    }
    if (ffi_prep_cif(&j->call, FFI_DEFAULT_ABI, (unsigned)c->n_arguments, &ffi_type_void, j->type) == FFI_OK) return 0;
    return say(j, "its arguments cannot be passed");
}

static int map(judged *j) {
    if (j->memory) (void)munmap(j->memory, j->bytes);
    j->memory = NULL;
    const int fd = receive();
    if (fd < 0) return say(j, "no operands came");
    const int status = map_tensors(j, fd);
    close(fd);
    return status ? status : prepare_arguments(j);
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

static ridge_team *team_of_all; /* `parallel` gets no context but the call */

static void parallel(const ridge_kernel_call *call, ridge_kernel_body body, void *arg) {
    (void)call;
    ridge_team_run(team_of_all, body, arg);
}

/* What it returns may be a register that a void function has left as it was: it counts for nothing. */
static int run_plain(judged *j) {
    void (*function)(void);
    memcpy(&function, &j->symbol, sizeof function);
    ffi_call(&j->call, function, NULL, j->value);
    return RIDGE_KERNEL_DONE;
}

static int run(judged *j) {
    const ridge_channel *c = j->channel;
    ridge_kernel_fn kernel;
    if (!j->symbol) return say(j, "no kernel was loaded");
    if (j->plain) return run_plain(j);
    memcpy(&kernel, &j->symbol, sizeof kernel);
    int64_t dim[RIDGE_KERNEL_MAX_RANK];
    double option[RIDGE_KERNEL_MAX_RANK];
    memcpy(dim, c->dim, sizeof dim);
    memcpy(option, c->option, sizeof option);
    team_of_all = j->team;
    const ridge_kernel_call call = {.version = RIDGE_KERNEL_VERSION,
                                    .size = sizeof call,
                                    .n_dims = c->n_dims,
                                    .n_options = c->n_options,
                                    .n_in = c->n_in,
                                    .n_out = c->n_out,
                                    .dim = dim,
                                    .option = option,
                                    .in = j->tensor,
                                    .out = j->tensor + c->n_in,
                                    .threads = c->threads,
                                    .parallel = parallel};
    return kernel(&call);
}

static int obey(judged *j) {
    switch (j->channel->command) {
        case RIDGE_CHANNEL_START: return start(j);
        case RIDGE_CHANNEL_LOAD: return load(j);
        case RIDGE_CHANNEL_MAP: return map(j);
        case RIDGE_CHANNEL_RUN: return run(j);
        case RIDGE_CHANNEL_EMPTY: return ridge_team_run(j->team, wake, NULL), 0;
        default: return 0;
    }
}

int main(void) {
    judged j = {.channel = NULL};
    struct stat info;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (fstat(RIDGE_CHANNEL_FD, &info) != 0 || info.st_size != RIDGE_CHANNEL_PAGE) return 2;
    j.channel = mmap(NULL, RIDGE_CHANNEL_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, RIDGE_CHANNEL_FD, 0);
    if (j.channel == MAP_FAILED) return 2;
    close(RIDGE_CHANNEL_FD);
    for (unsigned turn = 0;;) {
        while (!ridge_channel_wait(j.channel, turn, 1000)) continue;
        if (j.channel->command == RIDGE_CHANNEL_QUIT) _exit(0);
        j.channel->status = obey(&j);
        turn += 2;
        ridge_channel_pass(j.channel, turn);
    }
}
