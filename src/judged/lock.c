/* System calls that a kernel has no honest use for, as two seccomp filters. */
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "judged/judged.h"

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

/* Forbidden from the first filter on. */
static const int forbidden[] = {
    SYS_clone,
    SYS_clone3,
    SYS_execve,
    SYS_execveat,
    SYS_ptrace,
    SYS_tkill,
    SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo,
    SYS_pidfd_send_signal,
    SYS_setitimer,
    SYS_timer_create,
    SYS_timerfd_create,
    SYS_unshare,
    SYS_setns,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_sched_setaffinity,
    SYS_sched_setscheduler,
    SYS_sched_setparam,
    SYS_sched_setattr,
    SYS_setpriority,
    SYS_pidfd_open,
    SYS_pidfd_getfd,
    SYS_socket,
    SYS_socketpair,
    SYS_bpf,
    SYS_userfaultfd,
    SYS_io_uring_setup,
    SYS_perf_event_open,
    SYS_mount,
    SYS_openat2, /* its flags are in memory, where no filter sees them */
    SYS_unlinkat,
    SYS_renameat2,
    SYS_truncate,
#if defined(__x86_64__)
    SYS_unlink,
    SYS_rename,
    SYS_renameat,
    SYS_rmdir,
    SYS_creat,
    SYS_fork,
    SYS_vfork,
    SYS_alarm,
    SYS_modify_ldt,
    SYS_arch_prctl,
#endif
};

/* All that is left from the second one on: memory, waiting, the clock, the end, and the operands' socket. mmap may ask for no
 * executable pages, and signals go to the process itself. */
static const int allowed[] = {
    SYS_brk,           SYS_munmap,         SYS_madvise,         SYS_futex,
    SYS_sched_yield,   SYS_nanosleep,      SYS_clock_nanosleep, SYS_restart_syscall,
    SYS_clock_gettime, SYS_clock_getres,   SYS_gettimeofday,    SYS_getrandom,
    SYS_getpid,        SYS_gettid,         SYS_getcpu,          SYS_sched_getaffinity,
    SYS_sysinfo,       SYS_rt_sigprocmask, SYS_rt_sigreturn,    SYS_exit,
    SYS_exit_group,    SYS_recvmsg,        SYS_close,
#if defined(__x86_64__)
    SYS_time,
#endif
};

static const int moving[] = {SYS_mremap};

enum { MOST = 64 + 2 * 64 };

/* A program of the filter's machine. */
typedef struct program {
    struct sock_filter line[MOST];
    int n;
} program;

static void put(program *p, struct sock_filter line) { p->line[p->n++] = line; }
static void end(program *p, unsigned what) { put(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, what)); }
/* Skips `over` lines unless the loaded word compares so. */
static void unless(program *p, int comparison, unsigned with, int over) {
    put(p, (struct sock_filter)BPF_JUMP(BPF_JMP | comparison | BPF_K, with, 0, (unsigned char)over));
}
static void load(program *p, size_t offset) {
    put(p, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offset));
}

static void put_calls(program *p, const int *calls, size_t n, unsigned what) {
    for (size_t i = 0; i < n; i++) unless(p, BPF_JEQ, (unsigned)calls[i], 1), end(p, what);
}

/* Calls of this machine's own interface; x86's second one has other numbers for the same. */
static void begin(program *p, unsigned architecture) {
    load(p, offsetof(struct seccomp_data, arch));
    put(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, architecture, 1, 0));
    end(p, SECCOMP_RET_KILL_PROCESS);
    load(p, offsetof(struct seccomp_data, nr));
#if defined(__x86_64__)
    unless(p, BPF_JGE, 0x40000000u, 1), end(p, SECCOMP_RET_KILL_PROCESS);
#endif
}

/* Signals to others, that is: abort() sends one to itself. What is compared is the number of the process. */
static void put_signals(program *p) {
    const int calls[] = {SYS_kill, SYS_tgkill};
    for (int i = 0; i < 2; i++) {
        unless(p, BPF_JEQ, (unsigned)calls[i], 4);
        load(p, offsetof(struct seccomp_data, args[0]));
        unless(p, BPF_JEQ, (unsigned)getpid(), 1), end(p, SECCOMP_RET_ALLOW);
        end(p, SECCOMP_RET_KILL_PROCESS);
    }
}

static void put_pages(program *p, unsigned call) {
    unless(p, BPF_JEQ, call, 4);
    load(p, offsetof(struct seccomp_data, args[2]));
    unless(p, BPF_JSET, PROT_EXEC, 1), end(p, SECCOMP_RET_KILL_PROCESS);
    end(p, SECCOMP_RET_ALLOW);
}

/* A constructor that could write to files could write to the judge's memory, which is one. */
static void put_opens(program *p, unsigned call, size_t flags) {
    unless(p, BPF_JEQ, call, 4);
    load(p, offsetof(struct seccomp_data, args[flags]));
    unless(p, BPF_JSET, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC, 1), end(p, SECCOMP_RET_KILL_PROCESS);
    end(p, SECCOMP_RET_ALLOW);
}

/* Who is root without privileges may not look into the judge (which is not dumpable) through /proc either. */
static void drop_privileges(void) {
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
    (void)syscall(SYS_capset, &head, none); /* of this thread: it is the one that loads */
}

/* On all threads. Filters that are already in force are asked as well. */
static bool put_in_force(const program *p) {
    const struct sock_fprog whole = {.len = (unsigned short)p->n, .filter = (struct sock_filter *)(uintptr_t)p->line};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &whole) == 0;
}

#define LENGTH(list) (sizeof(list) / sizeof(list)[0])

bool ridge_lock_before(unsigned except) {
#ifdef ARCHITECTURE
    program p = {.n = 0};
    drop_privileges();
    begin(&p, ARCHITECTURE);
    put_calls(&p, forbidden, LENGTH(forbidden), SECCOMP_RET_KILL_PROCESS);
    put_signals(&p);
    if (!(except & RIDGE_LOCK_OPEN)) put_opens(&p, SYS_openat, 2);
#if defined(__x86_64__)
    if (!(except & RIDGE_LOCK_OPEN)) put_opens(&p, SYS_open, 1);
#endif
    end(&p, SECCOMP_RET_ALLOW);
    return put_in_force(&p);
#else
    (void)except;
    return false;
#endif
}

bool ridge_lock_after(unsigned except) {
#ifdef ARCHITECTURE
    program p = {.n = 0};
    if (except & RIDGE_LOCK_OPEN) return true;
    begin(&p, ARCHITECTURE);
    put_calls(&p, allowed, LENGTH(allowed), SECCOMP_RET_ALLOW);
    put_signals(&p);
    put_pages(&p, SYS_mmap);
    if (except & RIDGE_LOCK_PROTECT) put_pages(&p, SYS_mprotect);
    if (except & RIDGE_LOCK_REMAP) put_calls(&p, moving, LENGTH(moving), SECCOMP_RET_ALLOW);
    end(&p, SECCOMP_RET_KILL_PROCESS);
    return put_in_force(&p);
#else
    (void)except;
    return false;
#endif
}
