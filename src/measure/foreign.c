#include "measure/foreign.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/random.h"
#include "device/device.h"
#include "measure/attest.h"
#include "measure/beside.h"
#include "measure/stats.h"
#include "verify/view.h"

enum { PAGE = RIDGE_CHANNEL_PAGE, LINE = 64, SLACK_BYTE = 0xa5, CALIBRATIONS = 5, TRIES = 8, DECOYS = 64 };
/* Processor time of mapping beyond which the judged has worked: four times what it took without foreign code, and this. */
static const double map_slack_s = 500e-6, map_factor = 4;

/* An element that the judged sees only when the clock is about to start; before, it has another value. */
typedef struct decoy {
    int tensor;
    int64_t element;
} decoy;

typedef struct set_memory {
    decoy decoys[DECOYS];
    int n_decoys;
    int fd;
    char *memory;                /* the judge's mapping */
    size_t bytes, operand_bytes; /* behind the operands is the witness, where one is asked */
    ridge_channel_tensor tensor[RIDGE_KERNEL_MAX_TENSORS];
} set_memory;

static struct {
    ridge_foreign_host host;
    char path[RIDGE_CHANNEL_PATH], symbol[RIDGE_CHANNEL_SYMBOL], python[RIDGE_CHANNEL_PATH], modules[8192];
    pid_t pid; /* 0: not started; -1: it has ended */
    int socket;
    unsigned turn;
    ridge_channel *channel;
    set_memory *sets;
    int n_sets;
    double map_s; /* processor time of mapping, before foreign code was loaded */
    bool loaded, stopped;
    const int *cpus;
    double limit_s;
    const volatile sig_atomic_t *interrupted;
    ridge_channel_argument argument[RIDGE_CHANNEL_ARGUMENTS];
    int n_arguments; /* + 1; 0: those of the target */
    unsigned filled; /* tensors that may have decoys, where there are such arguments */
} f;

void ridge_foreign_choose(const ridge_foreign_kernel *kernel) {
    f.host = kernel->host;
    (void)snprintf(f.path, sizeof f.path, "%s", kernel->path);
    (void)snprintf(f.symbol, sizeof f.symbol, "%s", kernel->symbol);
    (void)snprintf(f.python, sizeof f.python, "%s", kernel->python ? kernel->python : "");
    (void)snprintf(f.modules, sizeof f.modules, "PYTHONPATH=%s", kernel->python_path ? kernel->python_path : "");
}

ridge_foreign_host ridge_foreign_chosen(void) { return f.host; }

/* Operands are brought to a device and back. */
static bool on_device(void) { return f.host == RIDGE_FOREIGN_EMULATED || f.host == RIDGE_FOREIGN_GPU; }

void ridge_foreign_call(const ridge_channel_argument *arguments, int n, unsigned filled) {
    for (int i = 0; i < n && i < RIDGE_CHANNEL_ARGUMENTS; i++) f.argument[i] = arguments[i];
    f.n_arguments = n < RIDGE_CHANNEL_ARGUMENTS ? n + 1 : 0;
    f.filled = filled;
}

void ridge_foreign_limit(double seconds, const volatile sig_atomic_t *interrupted) {
    f.limit_s = seconds;
    f.interrupted = interrupted;
}

void ridge_foreign_pin(const int *cpus) { f.cpus = cpus; }

/* ---- the process ------------------------------------------------------------------------------------------------- */

static const char *const programs[] = {[RIDGE_FOREIGN_NATIVE] = "ridge-judged",
                                       [RIDGE_FOREIGN_PYTHON] = "ridge-judged-python.so",
                                       [RIDGE_FOREIGN_EMULATED] = "ridge-judged-emulated",
                                       [RIDGE_FOREIGN_GPU] = "ridge-judged-cuda"};
static const char python_host[] = "ridge-judged.py"; /* beside its library */

bool ridge_foreign_has(ridge_foreign_host host) {
    char path[600];
    return ridge_find_beside(programs[host], path, sizeof path);
}

/* What the process is given to start with: arguments, and variables that its libraries need and no others. */
enum { ARGUMENTS = 8, VARIABLES = 40 };
typedef struct start_up {
    char program[600], script[600], threads[40];
    const char *argument[ARGUMENTS], *variable[VARIABLES];
    int n_variables;
} start_up;

static void keep_variables(start_up *s, const char *prefix) {
    for (char **v = environ; *v && s->n_variables < VARIABLES - 8; v++)
        if (strncmp(*v, prefix, strlen(prefix)) == 0) s->variable[s->n_variables++] = *v;
}

/* Threads of OpenMP sleep between parallel regions, or their waiting would look like work before the clock. OpenBLAS's cannot. */
static void prepare_python(start_up *s, const char *library, int threads) {
    static const char *const settings[] = {"OMP_WAIT_POLICY=PASSIVE", "KMP_BLOCKTIME=0", "OPENBLAS_NUM_THREADS=1"};
    const char *const arguments[] = {f.python, "-B", "-s", s->script, library};
    memcpy(s->argument, arguments, sizeof arguments);
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) s->variable[s->n_variables++] = settings[i];
    (void)snprintf(s->threads, sizeof s->threads, "OMP_NUM_THREADS=%d", threads);
    s->variable[s->n_variables++] = s->threads;
    s->variable[s->n_variables++] = f.modules;
}

static bool prepare_start(start_up *s, int threads) {
    *s = (start_up){.argument = {programs[f.host]}};
    if (!ridge_find_beside(programs[f.host], s->program, sizeof s->program)) return false;
    if (f.host == RIDGE_FOREIGN_EMULATED) keep_variables(s, "EMULATOR_");
    if (f.host == RIDGE_FOREIGN_GPU) keep_variables(s, "CUDA_"), keep_variables(s, "LD_LIBRARY_PATH=");
    if (f.host != RIDGE_FOREIGN_PYTHON) return true;
    static char library[sizeof s->program];
    (void)snprintf(library, sizeof library, "%s", s->program);
    if (!ridge_find_beside(python_host, s->script, sizeof s->script)) return false;
    (void)snprintf(s->program, sizeof s->program, "%.599s", f.python);
    prepare_python(s, library, threads);
    return true;
}

/* In the child: the page and the socket get their numbers, everything else is closed. */
static _Noreturn void become(const start_up *s, int page, int socket) {
    const int high_page = fcntl(page, F_DUPFD, 10), high_socket = fcntl(socket, F_DUPFD, 10);
    if (dup2(high_page, RIDGE_CHANNEL_FD) < 0 || dup2(high_socket, RIDGE_CHANNEL_SOCKET) < 0) _exit(2);
    if (close_range(RIDGE_CHANNEL_SOCKET + 1, ~0u, 0) != 0) _exit(2);
    (void)execve(s->program, (char *const *)(uintptr_t)s->argument, (char *const *)(uintptr_t)s->variable);
    _exit(2);
}

/* Whoever is no root by privilege cannot read this process, or write to it, through /proc: seeds are in it. */
static void hide(void) {
#ifndef RIDGE_SANITIZED /* the leak sanitizer traces its own process */
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
}

static ridge_status start(int threads) {
    static start_up s;
    int ends[2] = {-1, -1};
    if (!prepare_start(&s, threads)) return ridge_note_why("%s is not installed", programs[f.host]), RIDGE_UNSUPPORTED;
    hide();
    const int page = memfd_create("ridge-channel", MFD_CLOEXEC);
    if (page < 0 || ftruncate(page, PAGE) != 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return ridge_note_why("no channel: %s", strerror(errno)), RIDGE_FAILED;
    f.channel = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, page, 0);
    f.pid = f.channel == MAP_FAILED ? -1 : fork();
    if (f.pid == 0) become(&s, page, ends[1]);
    close(page);
    close(ends[1]);
    f.socket = ends[0];
    f.turn = 0;
    f.stopped = f.loaded = false;
    if (f.pid < 0) return ridge_note_why("no process for the kernel: %s", strerror(errno)), RIDGE_FAILED;
    f.channel->threads = threads;
    f.channel->pinned = f.cpus && threads <= RIDGE_CHANNEL_CPUS;
    for (int i = 0; f.channel->pinned && i < threads; i++) f.channel->cpus[i] = f.cpus[i];
    return RIDGE_OK;
}

static ridge_status ended(int status) {
    f.pid = -1;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
        ridge_note_why(
            "it made a system call that is forbidden to kernels (threads, files, timers, executable memory)%s",
            f.host == RIDGE_FOREIGN_PYTHON ? ": import what it needs at the top of its file" : "");
    else if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGSEGV || WTERMSIG(status) == SIGBUS))
        ridge_note_why("it crashed: memory outside of its operands, or a write to an input (%s)",
                       strsignal(WTERMSIG(status)));
    else if (WIFSIGNALED(status))
        ridge_note_why("it crashed: %s", strsignal(WTERMSIG(status)));
    else
        ridge_note_why("its process ended, status %d", WEXITSTATUS(status));
    return RIDGE_FAILED;
}

static void kill_it(void) {
    int status;
    (void)kill(f.pid, SIGKILL);
    (void)waitpid(f.pid, &status, 0);
    f.pid = -1;
}

/* One command, there and back. Without a limit here, the caller's own ends the judge, and the judged with it. */
static ridge_status obey(uint32_t command) {
    int status;
    if (f.pid <= 0) return ridge_note_why("its process has ended"), RIDGE_FAILED;
    f.channel->command = command;
    const unsigned asked = f.turn + 1;
    ridge_channel_pass(f.channel, asked);
    const uint64_t began = ridge_clock_ns();
    while (!ridge_channel_wait(f.channel, asked, 50)) {
        if (waitpid(f.pid, &status, WNOHANG) == f.pid) return ended(status);
        const bool late = command != RIDGE_CHANNEL_START && f.limit_s > 0 && ridge_seconds_since(began) > f.limit_s;
        if (!late && !(f.interrupted && *f.interrupted)) continue;
        kill_it();
        return ridge_note_why("it ran for more than %g s", f.limit_s), RIDGE_FAILED;
    }
    f.turn += 2;
    if (waitpid(f.pid, &status, WNOHANG) == f.pid) return ended(status);
    if (atomic_load(&f.channel->turn) == f.turn) return RIDGE_OK;
    kill_it(); /* a turn that is neither's was written by the kernel */
    return ridge_note_why("it forged the answer of its process"), RIDGE_FAILED;
}

/* The answer's text is the judged's word: printable, and cut. */
static ridge_status answer(void) {
    char text[RIDGE_CHANNEL_TEXT];
    const int32_t status = f.channel->status;
    if (status == RIDGE_KERNEL_DONE) return RIDGE_OK;
    memcpy(text, f.channel->text, sizeof text);
    text[sizeof text - 1] = '\0';
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || (unsigned char)*c > '~') *c = '?';
    if (status == RIDGE_KERNEL_UNSUPPORTED) return ridge_note_why("it does not take this case"), RIDGE_UNSUPPORTED;
    if (status == -1)
        ridge_note_why("%s", text);
    else
        ridge_note_why("it returned %d", (int)status);
    return RIDGE_FAILED;
}

static double processor_s(void) {
    clockid_t clock;
    struct timespec t;
    if (clock_getcpuclockid(f.pid, &clock) != 0 || clock_gettime(clock, &t) != 0) return 0;
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static int type_of(ridge_dtype dtype) {
    static const int types[RIDGE_DTYPE_COUNT] = {
        [RIDGE_F32] = RIDGE_KERNEL_F32,   [RIDGE_TF32] = RIDGE_KERNEL_F32,    [RIDGE_BF16] = RIDGE_KERNEL_BF16,
        [RIDGE_F16] = RIDGE_KERNEL_F16,   [RIDGE_F64] = RIDGE_KERNEL_F64,     [RIDGE_I32] = RIDGE_KERNEL_I32,
        [RIDGE_I64] = RIDGE_KERNEL_I64,   [RIDGE_E4M3] = RIDGE_KERNEL_E4M3,   [RIDGE_E5M2] = RIDGE_KERNEL_E5M2,
        [RIDGE_E2M1] = RIDGE_KERNEL_E2M1, [RIDGE_UE8M0] = RIDGE_KERNEL_UE8M0, [RIDGE_UE4M3] = RIDGE_KERNEL_UE4M3,
        [RIDGE_I8] = RIDGE_KERNEL_I8};
    return types[dtype];
}

static int count_of(const ridge_operands *ops) { return ops->target->n_in + ops->target->n_out; }

static size_t bytes_of(const ridge_view *view) { return ridge_view_bytes(view, view->span); }

/* An input ends in the last 64 bytes of its last page: what is read behind it is not mapped. Outputs end elsewhere, or tensors
 * of whole pages would all begin at the same page offset, which makes loads and stores alias; what is written behind them is
 * found by its bytes. */
static void lay_out(const ridge_operands *ops, set_memory *set) {
    uint64_t at = 0;
    for (int t = 0; t < count_of(ops); t++) {
        const ridge_view view = ridge_operands_view(ops, t);
        ridge_channel_tensor *to = &set->tensor[t];
        const uint64_t rear = t < ops->target->n_in ? 0 : RIDGE_GUARD_FRONT;
        const uint64_t bytes = (bytes_of(&view) + LINE - 1) / LINE * LINE + rear;
        *to = (ridge_channel_tensor){.pages_at = at,
                                     .pages = (bytes + PAGE - 1) / PAGE * PAGE,
                                     .type = type_of(view.dtype),
                                     .rank = view.spec->rank};
        to->offset = to->pages - bytes;
        to->bytes = bytes_of(&view);
        (void)ridge_spec_shape(view.spec, &ops->c, to->shape);
        at += to->pages;
    }
    set->operand_bytes = at ? at : PAGE;
    set->bytes = set->operand_bytes;
    if (f.host == RIDGE_FOREIGN_EMULATED) set->bytes += PAGE + set->operand_bytes;
}

static char *place_of(const set_memory *set, int t) {
    return set->memory + set->tensor[t].pages_at + set->tensor[t].offset;
}

static void drop(set_memory *set) {
    if (set->memory) (void)munmap(set->memory, set->bytes);
    if (set->fd > 0) close(set->fd);
    *set = (set_memory){.fd = 0};
}

/* Many sets are many files. */
static void allow_files(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

ridge_status ridge_foreign_open(int sets, ridge_error *error) {
    allow_files();
    f.sets = calloc((size_t)sets, sizeof *f.sets);
    f.n_sets = f.sets ? sets : 0;
    return f.sets ? RIDGE_OK : ridge_fail(error, RIDGE_NO_MEMORY, "no memory for %d sets of a foreign kernel", sets);
}

/* What lies before a tensor in its pages, and behind it up to the next 64 bytes, is known. */
static void copy_in(const ridge_operands *ops, const set_memory *set, int first, int last) {
    for (int t = first; t < last; t++) {
        const ridge_view view = ridge_operands_view(ops, t);
        const ridge_channel_tensor *to = &set->tensor[t];
        char *pages = set->memory + to->pages_at, *place = place_of(set, t);
        memset(pages, SLACK_BYTE, to->offset);
        memcpy(place, view.base, bytes_of(&view));
        memset(place + bytes_of(&view), SLACK_BYTE, to->pages - to->offset - bytes_of(&view));
    }
}

/* Some elements of the inputs get the other sign until the launch, at random: what is computed before it is then wrong. Values
 * that are indices stay. */
static void plant_decoys(const ridge_operands *ops, set_memory *set) {
    uint64_t seed = 0;
    int filled[RIDGE_KERNEL_MAX_TENSORS], n = 0;
    if (getrandom(&seed, sizeof seed, 0) != (ssize_t)sizeof seed) seed = ridge_clock_ns();
    set->n_decoys = 0;
    for (int t = 0; t < count_of(ops); t++)
        if (f.n_arguments ? f.filled >> t & 1 : t < ops->target->n_in) filled[n++] = t;
    for (int i = 0; i < DECOYS && n > 0; i++) {
        const int t = filled[ridge_random(seed, 2 * (uint64_t)i) % (uint64_t)n];
        const ridge_view view = ridge_operands_view(ops, t);
        if (view.span < 1 || ridge_dtype_is_index(view.dtype)) continue;
        const int64_t element = (int64_t)(ridge_random(seed, 2 * (uint64_t)i + 1) % (uint64_t)view.span);
        place_of(set, t)[ridge_view_bytes(&view, element) + view.size - 1] ^= (char)0x80; /* the sign: little endian */
        set->decoys[set->n_decoys++] = (decoy){t, element};
    }
}

/* All are right now. One that was drawn twice has its own value already. */
static void reveal(const ridge_operands *ops, const set_memory *set) {
    for (int i = 0; i < set->n_decoys; i++) {
        const ridge_view view = ridge_operands_view(ops, set->decoys[i].tensor);
        const size_t at = ridge_view_bytes(&view, set->decoys[i].element);
        memcpy(place_of(set, set->decoys[i].tensor) + at, view.base + at, view.size);
    }
}

ridge_status ridge_foreign_fill(int number, const ridge_operands *ops, ridge_error *error) {
    set_memory *set = &f.sets[number];
    if (number >= f.n_sets) return ridge_fail(error, RIDGE_INVALID, "no set %d", number);
    drop(set);
    lay_out(ops, set);
    set->fd = memfd_create("ridge-operands", MFD_CLOEXEC);
    if (set->fd < 0 || ftruncate(set->fd, (off_t)set->bytes) != 0)
        return ridge_fail(error, RIDGE_NO_MEMORY, "no memory file for operands: %s", strerror(errno));
    set->memory = mmap(NULL, set->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, set->fd, 0);
    if (set->memory == MAP_FAILED) {
        set->memory = NULL;
        return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for operands of a foreign kernel");
    }
    copy_in(ops, set, 0, count_of(ops));
    plant_decoys(ops, set);
    return RIDGE_OK;
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

static ridge_status send_memory(int fd) {
    char byte = 0;
    union {
        char space[CMSG_SPACE(sizeof(int))];
        struct cmsghdr head;
    } control;
    memset(&control, 0, sizeof control);
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(head), &fd, sizeof fd);
    if (sendmsg(f.socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == 1) return RIDGE_OK;
    return ridge_note_why("its process does not take operands: %s", strerror(errno)), RIDGE_FAILED;
}

static void put_argument(ridge_channel *c, ridge_channel_argument argument) {
    if (c->n_arguments < RIDGE_CHANNEL_ARGUMENTS) c->argument[c->n_arguments++] = argument;
}

/* Tensors, extents and options in the order of the target, unless there are arguments of the caller's own. */
static void describe_arguments(const ridge_operands *ops) {
    ridge_channel *c = f.channel;
    c->n_arguments = 0;
    c->plain = f.n_arguments > 0;
    for (int i = 0; i < f.n_arguments - 1; i++) put_argument(c, f.argument[i]);
    if (c->plain) return;
    for (int t = 0; t < count_of(ops); t++) put_argument(c, (ridge_channel_argument){.tensor = t});
    for (int d = 0; d < c->n_dims; d++)
        put_argument(c, (ridge_channel_argument){.type = RIDGE_KERNEL_I64, .integer = c->dim[d]});
    for (int i = 0; i < c->n_options; i++)
        put_argument(c, (ridge_channel_argument){.type = RIDGE_KERNEL_F64, .real = c->option[i]});
}

static void describe(const set_memory *set, const ridge_operands *ops) {
    ridge_channel *c = f.channel;
    c->n_in = ops->target->n_in;
    c->n_out = ops->target->n_out;
    c->n_dims = ridge_target_rank(ops->target);
    c->n_options = 0;
    while (c->n_options < RIDGE_KERNEL_MAX_RANK && ops->target->options[c->n_options].name) c->n_options++;
    memcpy(c->dim, ops->c.dim, sizeof c->dim);
    memcpy(c->option, ops->c.option, sizeof c->option);
    memcpy(c->tensor, set->tensor, sizeof c->tensor);
    c->witness_at = set->operand_bytes;
    c->witness_bytes = set->bytes - set->operand_bytes;
    describe_arguments(ops);
}

/* Stopped, the judged cannot write while outputs are copied. */
static ridge_status stop(void) {
    int status;
    if (f.stopped && f.pid > 0) return RIDGE_OK;
    if (f.pid <= 0 || kill(f.pid, SIGSTOP) != 0) return ridge_note_why("its process has ended"), RIDGE_FAILED;
    while (waitpid(f.pid, &status, WUNTRACED) < 0)
        if (errno != EINTR) return RIDGE_FAILED;
    f.stopped = WIFSTOPPED(status);
    return f.stopped ? RIDGE_OK : ended(status);
}

static void go_on(void) {
    if (f.stopped && f.pid > 0) (void)kill(f.pid, SIGCONT);
    f.stopped = false;
}

/* Processor time that mapping took, read while the judged is stopped: of a process that runs, the kernel knows it only from tick
 * to tick. Leaves it stopped. */
static ridge_status map(const set_memory *set, const ridge_operands *ops, double *seconds) {
    RIDGE_TRY(stop());
    describe(set, ops);
    const double before = processor_s();
    go_on();
    RIDGE_TRY(send_memory(set->fd));
    RIDGE_TRY(obey(RIDGE_CHANNEL_MAP));
    RIDGE_TRY(answer());
    RIDGE_TRY(stop());
    *seconds = processor_s() - before;
    return RIDGE_OK;
}

/* Foreign code comes late: what mapping takes without it is measured first, on the operands of the first launch. */
static ridge_status load(const set_memory *set, const ridge_operands *ops) {
    double seconds;
    go_on();
    RIDGE_TRY(obey(RIDGE_CHANNEL_START));
    RIDGE_TRY(answer());
    for (int i = 0; i < CALIBRATIONS; i++) {
        RIDGE_TRY(map(set, ops, &seconds));
        if (seconds > f.map_s) f.map_s = seconds;
    }
    (void)snprintf(f.channel->path, sizeof f.channel->path, "%s", f.path);
    (void)snprintf(f.channel->symbol, sizeof f.channel->symbol, "%s", f.symbol);
    go_on();
    RIDGE_TRY(obey(RIDGE_CHANNEL_LOAD));
    RIDGE_TRY(answer());
    f.loaded = true;
    return RIDGE_OK;
}

/* Maps the set without work of its own. An interruption may look like work, so it has more than one try, each with memory that
 * is new: what was done in one is lost in the next. */
static ridge_status map_idle(int number, const ridge_operands *ops) {
    const double most = map_factor * f.map_s + map_slack_s;
    double seconds = 0;
    for (int i = 0; i < TRIES; i++) {
        ridge_error why = {0};
        if (i > 0 && ridge_foreign_fill(number, ops, &why) != RIDGE_OK)
            return ridge_note_why("%s", why.text), RIDGE_FAILED;
        RIDGE_TRY(map(&f.sets[number], ops, &seconds));
        if (seconds <= most) return RIDGE_OK;
    }
    ridge_note_why("it worked before the clock started: %.0f us, where mapping its operands takes %.0f us",
                   1e6 * seconds, 1e6 * f.map_s);
    return RIDGE_FAILED;
}

/* The last command before the clock wakes its threads, as those of the others are awake. */
ridge_status ridge_foreign_ready(int number, const ridge_operands *ops) {
    if (!f.loaded) RIDGE_TRY(load(&f.sets[number], ops));
    RIDGE_TRY(map_idle(number, ops));
    reveal(ops, &f.sets[number]);
    go_on();
    RIDGE_TRY(obey(RIDGE_CHANNEL_READY));
    return answer();
}

static bool is_slack(const char *bytes, size_t n) {
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)bytes[i] != SLACK_BYTE) return false;
    return true;
}

/* Outputs are copied to `into`, placed as `ops` is. */
static ridge_status take_outputs(const set_memory *set, const ridge_operands *ops, const ridge_operands *into) {
    for (int t = ops->target->n_in; t < count_of(ops); t++) {
        const ridge_view view = ridge_operands_view(into, t);
        const ridge_channel_tensor *from = &set->tensor[t];
        const char *place = place_of(set, t);
        const size_t bytes = bytes_of(&view);
        const bool front = is_slack(set->memory + from->pages_at, from->offset);
        if (!front || !is_slack(place + bytes, from->pages - from->offset - bytes)) {
            ridge_note_why("memory %s %s was written to", front ? "behind" : "before", view.spec->name);
            return RIDGE_FAILED;
        }
        memcpy(view.base, place, bytes);
    }
    return RIDGE_OK;
}

static ridge_status bring_back(const set_memory *set, const ridge_operands *ops, const ridge_operands *into) {
    if (on_device()) {
        RIDGE_TRY(obey(RIDGE_CHANNEL_DONE));
        RIDGE_TRY(answer());
    }
    RIDGE_TRY(stop());
    return take_outputs(set, ops, into);
}

/* ---- attested launches ------------------------------------------------------------------------------------------- */

static ridge_status attest(const set_memory *set, const ridge_operands *seen) {
    const char *witness = set->memory + set->operand_bytes;
    ridge_attested a;
    ridge_channel_witness launch;
    memcpy(&launch, witness, sizeof launch);
    for (int t = 0; t < count_of(seen); t++)
        a.flags[t] = (const unsigned char *)witness + PAGE + set->tensor[t].pages_at + set->tensor[t].offset;
    a.launch = launch;
    return ridge_attest(seen, &a);
}

/* Once more on the same inputs, in the same device memory: results that were kept by their inputs are not computed now. */
static ridge_status launch_again(int number, const ridge_operands *ops, ridge_operands *into) {
    ridge_error error = {0};
    const set_memory *set = &f.sets[number];
    ridge_operands_poison(into, NULL);
    if (ridge_foreign_fill(number, into, &error) != RIDGE_OK) return ridge_note_why("%s", error.text), RIDGE_FAILED;
    RIDGE_TRY(ridge_foreign_ready(number, into));
    RIDGE_TRY(obey(RIDGE_CHANNEL_RUN));
    RIDGE_TRY(answer());
    return bring_back(set, ops, into);
}

/* The second one in a copy: its inputs are also changed there (attest.h). */
static ridge_status attest_twice(int number, const ridge_operands *ops) {
    ridge_operands seen;
    char *memory = malloc(ops->bytes + LINE);
    if (!memory) return ridge_note_why("no memory for a copy of operands"), RIDGE_FAILED;
    char *aligned = memory + (LINE - (uintptr_t)memory % LINE) % LINE;
    memcpy(aligned, ops->memory, ops->bytes);
    ridge_operands_place(&seen, ops->target, &ops->c, &ops->layout, aligned);
    seen.kind = ops->kind, seen.seed = ops->seed, seen.user = ops->user;
    ridge_status status = attest(&f.sets[number], &seen);
    memcpy(aligned, ops->memory, ops->bytes);
    if (status == RIDGE_OK) status = launch_again(number, ops, &seen);
    if (status == RIDGE_OK) status = attest(&f.sets[number], &seen);
    free(memory);
    return status;
}

ridge_status ridge_foreign_collect(int number, const ridge_operands *ops) {
    RIDGE_TRY(bring_back(&f.sets[number], ops, ops));
    return f.host == RIDGE_FOREIGN_EMULATED ? attest_twice(number, ops) : RIDGE_OK;
}

ridge_status ridge_foreign_empty(void) {
    go_on();
    RIDGE_TRY(obey(RIDGE_CHANNEL_EMPTY));
    return answer();
}

double ridge_foreign_frame(void) {
    enum { LAUNCHES = 101 };
    double times[LAUNCHES];
    for (int i = 0; i < LAUNCHES; i++) {
        const uint64_t begin = ridge_clock_ns();
        if (ridge_foreign_empty() != RIDGE_OK) return 0;
        times[i] = (double)(ridge_clock_ns() - begin) * 1e-3;
    }
    return ridge_median(times, LAUNCHES);
}

/* ---- as a variant ------------------------------------------------------------------------------------------------ */

static ridge_status prepare(const ridge_case *c, int threads, void **plan) {
    (void)c;
    *plan = &f;
    return start(threads);
}

static void release(void *plan) {
    int status;
    (void)plan;
    for (int i = 0; i < f.n_sets; i++) drop(&f.sets[i]);
    free(f.sets);
    f.sets = NULL;
    f.n_sets = 0;
    if (f.pid > 0) {
        (void)kill(f.pid, SIGKILL);
        (void)waitpid(f.pid, &status, 0);
    }
    f.pid = 0;
}

static ridge_status run(const ridge_call *call) {
    (void)call;
    RIDGE_TRY(obey(RIDGE_CHANNEL_RUN));
    return answer();
}

ridge_variant ridge_foreign_variant(const char *name) {
    return (ridge_variant){.name = name,
                           .role = RIDGE_PEER,
                           .idea = "a kernel that is judged, in a process of its own",
                           .run = RIDGE_ANY_ISA(run),
                           .prepare = prepare,
                           .release = release,
                           .own_threads = true};
}

bool ridge_foreign_is(const ridge_variant *variant) { return variant && variant->prepare == prepare; }
