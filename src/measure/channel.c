#include "measure/channel.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

static void rest(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

bool ridge_channel_wait(ridge_channel *channel, unsigned turn, int ms) {
    enum { SPIN_NS = 50000 };
    const uint64_t began = now_ns();
    do {
        for (int i = 0; i < 64; i++) {
            if (atomic_load_explicit(&channel->turn, memory_order_acquire) != turn) return true;
            rest();
        }
        (void)sched_yield(); /* both may be on one processor */
    } while (now_ns() - began < SPIN_NS);
    const struct timespec most = {ms / 1000, (long)(ms % 1000) * 1000000};
    (void)syscall(SYS_futex, &channel->turn, FUTEX_WAIT, turn, &most, NULL, 0);
    return atomic_load_explicit(&channel->turn, memory_order_acquire) != turn;
}

void ridge_channel_pass(ridge_channel *channel, unsigned turn) {
    atomic_store_explicit(&channel->turn, turn, memory_order_release);
    (void)syscall(SYS_futex, &channel->turn, FUTEX_WAKE, 1, NULL, NULL, 0);
}
