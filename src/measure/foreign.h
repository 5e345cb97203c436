/* The judge's side of a foreign kernel: it runs in a process of its own (src/judged), which sees the operands of one set, in
 * memory that is written anew for every fill, and nothing else of the judge.
 *
 * The judge keeps the operands it checks with in memory of its own. A fill copies them into a memory file; before a launch the
 * judged maps that file, inputs read-only and with unmapped pages around each tensor; after the launch, and with the judged
 * stopped, outputs are copied back. So what a kernel does to inputs, guards, or later to outputs cannot reach a check.
 *
 * Before the clock starts, some elements of the inputs have the wrong sign; the judge puts them right when the set is mapped and
 * the judged stopped. Processor time of mapping is compared with what it took before foreign code was loaded. */
#ifndef RIDGE_MEASURE_FOREIGN_H
#define RIDGE_MEASURE_FOREIGN_H

#include <signal.h>

#include "measure/channel.h"
#include "verify/operands.h"

typedef enum ridge_foreign_host {
    RIDGE_FOREIGN_NATIVE, /* a shared object on the CPU */
    RIDGE_FOREIGN_PYTHON, /* a Python file, on the CPU */
    RIDGE_FOREIGN_EMULATED, /* a shared object with kernels as PTX, on the emulator: not timed, and each launch is attested */
    RIDGE_FOREIGN_GPU, /* the same on a GPU */
} ridge_foreign_host;

typedef struct ridge_foreign_kernel {
    ridge_foreign_host host;
    const char *path, *symbol;        /* path is absolute */
    const char *python, *python_path; /* the interpreter, absolute, and where its modules are; else NULL */
} ridge_foreign_kernel;

/* One for each process: the kernel that variants made by ridge_foreign_variant run. Strings are copied. */
void ridge_foreign_choose(const ridge_foreign_kernel *kernel);
ridge_foreign_host ridge_foreign_chosen(void);
/* Whether the program of that host is beside this one. */
bool ridge_foreign_has(ridge_foreign_host host);

/* The symbol is called by these arguments (its result counts for nothing), and tensors of the bits of `filled`, inputs first,
 * have values that are revealed at the launch. n < 0, as it is at first: what calls a symbol is its name. `solve` gets inputs,
 * outputs, extents and options, as int64_t and double; any other name is a ridge_kernel_fn. */
void ridge_foreign_call(const ridge_channel_argument *arguments, int n, unsigned filled);

/* Seconds after which a launch fails, and the judged is killed; so it is when *interrupted becomes non-zero. 0 and NULL, as it
 * is at first: the caller watches for himself. */
void ridge_foreign_limit(double seconds, const volatile sig_atomic_t *interrupted);

/* The processors of its threads, one each; NULL: not pinned. */
void ridge_foreign_pin(const int *cpus);

/* A variant of that kernel: role peer, on the CPU. `name` has to live as long. Its prepare starts the judged process. */
ridge_variant ridge_foreign_variant(const char *name);
bool ridge_foreign_is(const ridge_variant *variant);

/* After prepare: room for so many sets. */
ridge_status ridge_foreign_open(int sets, ridge_error *error);
/* Copies a filled set into new memory. */
ridge_status ridge_foreign_fill(int set, const ridge_operands *ops, ridge_error *error);
/* Untimed, before a launch: the judged maps the set, whose inputs are right only then. RIDGE_FAILED, with a reason
 * (ridge_why): it ended, or it worked before the clock. */
ridge_status ridge_foreign_ready(int set, const ridge_operands *ops);
/* Untimed, after a launch: copies outputs back. RIDGE_FAILED, with a reason (ridge_why): memory beside a tensor was
 * written to; or, on the emulator, the launch, or one more on the same inputs, is not attested (attest.h). */
ridge_status ridge_foreign_collect(int set, const ridge_operands *ops);
/* One empty launch, there and back. */
ridge_status ridge_foreign_empty(void);
/* The median of many, in microseconds; 0: its process has ended. */
double ridge_foreign_frame(void);

#endif
