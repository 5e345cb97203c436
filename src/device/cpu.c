/* The CPU as a device. */
#include "device/device.h"

#include <stdint.h>
#include <sys/mman.h>
#include <time.h>

static const size_t huge_page = (size_t)2 << 20;

static size_t rounded(size_t bytes) { return (bytes + huge_page - 1) & ~(huge_page - 1); }

ridge_status ridge_memory_alloc(size_t bytes, void **memory, ridge_error *error) {
    *memory = NULL;
    if (bytes == 0) bytes = 1;
    if (bytes > SIZE_MAX - 2 * huge_page)
        return ridge_fail(error, RIDGE_NO_MEMORY, "%zu bytes exceed the address space", bytes);
    /* Maps one extra huge page and unmaps what is outside the aligned part. */
    size_t want = rounded(bytes), all = want + huge_page;
    char *base = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for %zu bytes", bytes);
    size_t head = (size_t)(-(uintptr_t)base & (huge_page - 1));
    if (head) munmap(base, head);
    if (all - head - want) munmap(base + head + want, all - head - want);
    (void)madvise(base + head, want, MADV_HUGEPAGE);
    *memory = base + head;
    return RIDGE_OK;
}

void ridge_memory_free(void *memory, size_t bytes) {
    if (memory) munmap(memory, rounded(bytes ? bytes : 1));
}

uint64_t ridge_clock_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

double ridge_seconds_since(uint64_t ns) {
    const uint64_t now = ridge_clock_ns();
    return now > ns ? (double)(now - ns) * 1e-9 : 0;
}
