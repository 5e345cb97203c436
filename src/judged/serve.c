/* The judged process: it maps memory that the judge hands over, and has a host run a kernel on it. It holds no seeds, no
 * oracle, no clock and no verdicts; the judge starts it, and it ends with the judge. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "judged/judged.h"

static const char no_filters[] = "this system has no seccomp filters: foreign code is not run without them";

int ridge_judged_say(ridge_judged *j, const char *text) {
    (void)snprintf(j->channel->text, sizeof j->channel->text, "%.*s", (int)sizeof j->channel->text - 1, text);
    return -1;
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

static bool map_pages(char *at, uint64_t bytes, int access, int fd, uint64_t from) {
    return bytes == 0 || mmap(at, bytes, access, MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd, (off_t)from) != MAP_FAILED;
}

/* Each tensor between addresses that are not mapped. Pages are entered now, or the first launch would pay for it. */
static int map_tensors(ridge_judged *j, int fd) {
    const ridge_channel *c = j->channel;
    const int n = c->n_in + c->n_out;
    size_t bytes = GAP;
    if (n < 0 || n > RIDGE_KERNEL_MAX_TENSORS) return ridge_judged_say(j, "too many tensors");
    for (int t = 0; t < n; t++) bytes += c->tensor[t].pages + GAP;
    bytes += c->witness_bytes + GAP;
    char *memory = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return ridge_judged_say(j, "no address space for its operands");
    j->memory = memory;
    j->bytes = bytes;
    size_t at = GAP;
    for (int t = 0; t < n; t++) {
        const ridge_channel_tensor *from = &c->tensor[t];
        const int access = t < c->n_in ? PROT_READ : PROT_READ | PROT_WRITE;
        if (!map_pages(memory + at, from->pages, access, fd, from->pages_at))
            return ridge_judged_say(j, "its operands could not be mapped");
        j->tensor[t] =
            (ridge_kernel_tensor){.data = memory + at + from->offset, .type = from->type, .rank = from->rank};
        memcpy(j->tensor[t].shape, from->shape, sizeof j->tensor[t].shape);
        at += from->pages + GAP;
    }
    j->witness = c->witness_bytes ? (unsigned char *)memory + at : NULL;
    if (!map_pages(memory + at, c->witness_bytes, PROT_READ | PROT_WRITE, fd, c->witness_at))
        return ridge_judged_say(j, "its witness could not be mapped");
    memcpy(j->argument, j->tensor, sizeof j->argument);
    return 0;
}

static int map(ridge_judged *j) {
    if (j->memory) (void)munmap(j->memory, j->bytes);
    j->memory = NULL;
    const int fd = receive();
    if (fd < 0) return ridge_judged_say(j, "no operands came");
    const int status = map_tensors(j, fd);
    close(fd);
    return status;
}

/* ---- commands ---------------------------------------------------------------------------------------------------- */

static int start(ridge_judged *j, const ridge_judged_host *host) {
    const int status = host->start(j);
    if (status) return status;
    return ridge_lock_before(host->lock) ? 0 : ridge_judged_say(j, no_filters);
}

static int load(ridge_judged *j, const ridge_judged_host *host) {
    const int status = host->load(j);
    if (status) return status;
    return ridge_lock_after(host->lock) ? 0 : ridge_judged_say(j, no_filters);
}

static int obey(ridge_judged *j, const ridge_judged_host *host) {
    switch (j->channel->command) {
        case RIDGE_CHANNEL_START: return start(j, host);
        case RIDGE_CHANNEL_LOAD: return load(j, host);
        case RIDGE_CHANNEL_MAP: return map(j);
        case RIDGE_CHANNEL_READY: return host->ready(j);
        case RIDGE_CHANNEL_RUN: return host->run(j);
        case RIDGE_CHANNEL_DONE: return host->done(j);
        case RIDGE_CHANNEL_EMPTY: return host->empty(j);
        default: return 0;
    }
}

int ridge_judged_serve(const ridge_judged_host *host) {
    ridge_judged j = {.channel = NULL};
    struct stat info;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (fstat(RIDGE_CHANNEL_FD, &info) != 0 || info.st_size != RIDGE_CHANNEL_PAGE) return 2;
    j.channel = mmap(NULL, RIDGE_CHANNEL_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, RIDGE_CHANNEL_FD, 0);
    if (j.channel == MAP_FAILED) return 2;
    close(RIDGE_CHANNEL_FD);
    for (unsigned turn = 0;;) {
        while (!ridge_channel_wait(j.channel, turn, 1000)) continue;
        if (j.channel->command == RIDGE_CHANNEL_QUIT) _exit(0);
        j.channel->status = obey(&j, host);
        turn += 2;
        ridge_channel_pass(j.channel, turn);
    }
}
