/* Between judge and judged: one page of shared memory, and a socket that carries memory (file descriptors) to the judged.
 *
 * The judge writes a command and hands over the turn; the judged answers and hands it back. The page belongs to whoever
 * has the turn, but a kernel can write to it at any time: the judge reads nothing from it but the turn, a status and a text,
 * and keeps its own copy of everything else. The clock is the judge's, from before the turn is given to after it is back. */
#ifndef RIDGE_MEASURE_CHANNEL_H
#define RIDGE_MEASURE_CHANNEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ridge/kernel.h"

enum {
    RIDGE_CHANNEL_PAGE = 4096,
    RIDGE_CHANNEL_PATH = 1024,
    RIDGE_CHANNEL_SYMBOL = 128,
    RIDGE_CHANNEL_TEXT = 200,
    RIDGE_CHANNEL_CPUS = 64,
    RIDGE_CHANNEL_ARGUMENTS = 32
};

/* How a text begins where the library could not be opened, or has no such function: nothing is known of the kernel then. */
#define RIDGE_CHANNEL_UNOPENED "not opened: "

typedef enum ridge_channel_command {
    RIDGE_CHANNEL_START = 1, /* start the threads, and forbid what no kernel needs */
    RIDGE_CHANNEL_LOAD,      /* open the file, find the symbol, and forbid the rest */
    RIDGE_CHANNEL_MAP,       /* map the memory that comes through the socket, in place of what was mapped */
    RIDGE_CHANNEL_READY,     /* inputs are right: pass them, wake the threads */
    RIDGE_CHANNEL_RUN,       /* call the kernel */
    RIDGE_CHANNEL_DONE,      /* bring back what is not in shared memory */
    RIDGE_CHANNEL_EMPTY,     /* call nothing, on all threads */
    RIDGE_CHANNEL_QUIT,
} ridge_channel_command;

/* A tensor in the memory of an operand set: pages of its own. */
typedef struct ridge_channel_tensor {
    uint64_t pages_at, pages; /* bytes, whole pages */
    uint64_t offset, bytes;   /* of the first element in these pages, and of all elements */
    int32_t type, rank;
    int64_t shape[RIDGE_KERNEL_MAX_RANK];
} ridge_channel_tensor;

/* An argument of a function that is called by its arguments: the address of a tensor, or a number. */
typedef struct ridge_channel_argument {
    int32_t type;   /* of the number, RIDGE_KERNEL_I32 …; 0: a tensor */
    int32_t tensor; /* its index */
    union {
        int64_t integer;
        double real; /* RIDGE_KERNEL_F32 and F64 */
    };
} ridge_channel_argument;

/* Of a launch on the emulator: at the front of the witness, a page before the flags of each byte (emulator/witness.h). */
typedef struct ridge_channel_witness {
    uint64_t launches, elsewhere, fetched, kept;
} ridge_channel_witness;
enum { RIDGE_CHANNEL_READ = 1, RIDGE_CHANNEL_WROTE = 2, RIDGE_CHANNEL_FROM_HOST = 4 }; /* flags of a byte */

typedef struct ridge_channel {
    atomic_uint turn; /* a futex; odd: the judged's */
    uint32_t command;
    int32_t status; /* the answer: 0, what the kernel returned, or -1 with a text */
    char text[RIDGE_CHANNEL_TEXT];
    int32_t threads;
    int32_t pinned, cpus[RIDGE_CHANNEL_CPUS]; /* one a thread, if pinned */
    int32_t n_dims, n_options, n_in, n_out;
    int64_t dim[RIDGE_KERNEL_MAX_RANK];
    double option[RIDGE_KERNEL_MAX_RANK];
    ridge_channel_tensor tensor[RIDGE_KERNEL_MAX_TENSORS]; /* inputs first */
    uint64_t witness_at,
        witness_bytes;          /* of the same memory: a page, and a byte for each of the tensors' pages; 0: none */
    int32_t n_arguments, plain; /* plain: the symbol is called by its arguments, whatever its name is */
    ridge_channel_argument argument[RIDGE_CHANNEL_ARGUMENTS];
    char path[RIDGE_CHANNEL_PATH], symbol[RIDGE_CHANNEL_SYMBOL];
} ridge_channel;

_Static_assert(sizeof(ridge_channel) <= RIDGE_CHANNEL_PAGE, "a channel is a page");

/* The judged's file descriptors: the page and its end of the socket. */
enum { RIDGE_CHANNEL_FD = 3, RIDGE_CHANNEL_SOCKET = 4 };

/* Waits until the turn is not `turn`, at most `ms` milliseconds: spins for about 50 µs, then sleeps. */
bool ridge_channel_wait(ridge_channel *channel, unsigned turn, int ms);
/* Hands the turn over. */
void ridge_channel_pass(ridge_channel *channel, unsigned turn);

#endif
