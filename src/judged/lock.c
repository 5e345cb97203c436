/* System calls that a kernel has no honest use for, as two seccomp filters. */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
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

static const int before[] = {
    SYS_clone,
    SYS_clone3,
    SYS_execve,
    SYS_execveat,
    SYS_ptrace,

    SYS_tkill,

    SYS_setitimer,
    SYS_timer_create,
    SYS_unshare,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_timerfd_create,
    SYS_sched_setaffinity,
    SYS_setns,
    SYS_pidfd_open,
    SYS_pidfd_getfd,
    SYS_socket,
    SYS_sched_setscheduler,
    SYS_bpf,
    SYS_userfaultfd,
    SYS_io_uring_setup,
    SYS_setpriority,
    SYS_perf_event_open,
    SYS_sched_setattr,
    SYS_mount,
#if defined(__x86_64__)
    SYS_fork,
    SYS_vfork,
    SYS_alarm,
    SYS_modify_ldt,
    SYS_arch_prctl,
#endif
};
static const int after[] = {
    SYS_openat, SYS_openat2,  SYS_mprotect, SYS_pkey_mprotect, SYS_rt_sigaction, SYS_prctl,   SYS_sendmsg, SYS_sendto,
    SYS_write,  SYS_pwrite64, SYS_writev,   SYS_memfd_create,  SYS_shmget,       SYS_pwritev, SYS_mremap,
#if defined(__x86_64__)
    SYS_open,   SYS_creat,
#endif
};

enum { MOST = 24 + 2 * 64 };

static void put(struct sock_filter *program, int *n, struct sock_filter one) { program[(*n)++] = one; }

/* Signals to others, that is: abort() sends one to itself. What is compared is the number of the process. */
static void put_kill(struct sock_filter *program, int *n) {
    const int calls[] = {SYS_kill, SYS_tgkill};
    for (int i = 0; i < 2; i++) {
        put(program, n, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 4));
        put(program, n, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])));
        put(program, n, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)getpid(), 1, 0));
        put(program, n, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
        put(program, n, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    }
}

/* Kills for the listed calls, and for mmap with PROT_EXEC if `no_code`; allows all others. */
static bool filter(const int *calls, int n_calls, bool no_code) {
#ifdef ARCHITECTURE
    struct sock_filter program[MOST];
    int n = 0;
    put(program, &n, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)));
    put(program, &n, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0));
    put(program, &n, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
    put(program, &n, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
    for (int i = 0; i < n_calls; i++) {
        put(program, &n, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1));
        put(program, &n, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
    }
    if (!no_code) put_kill(program, &n);
    if (no_code) {
        put(program, &n, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 3));
        put(program, &n,
            (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])));
        put(program, &n, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1));
        put(program, &n, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
    }
    put(program, &n, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    const struct sock_fprog whole = {.len = (unsigned short)n, .filter = program};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &whole) == 0;
#else
    (void)calls, (void)n_calls, (void)no_code;
    return false;
#endif
}

bool ridge_lock_before(void) { return filter(before, sizeof before / sizeof before[0], false); }

/* Both lists stay in force: the second filter is asked as well as the first. */
bool ridge_lock_after(void) { return filter(after, sizeof after / sizeof after[0], true); }
