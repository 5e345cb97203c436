/* Is the result of a launch on the emulator what this launch computed from its inputs? By the emulator's witness of every byte:
 *
 *   every byte of the outputs was written by a kernel, on the stream that it was given, and not from host memory;
 *   outputs are right, and stay right when every byte of the inputs that was not read has another value: a kernel that does
 *   not read a byte has the same outputs then, so what depends on it came from elsewhere;
 *   no byte was read that an earlier launch left in memory of its own, and nothing was copied to the host.
 *
 * Stale and memoized results, skipped work and answers that are known beforehand fail, whatever they look like. */
#ifndef RIDGE_MEASURE_ATTEST_H
#define RIDGE_MEASURE_ATTEST_H

#include "measure/channel.h"
#include "verify/operands.h"

typedef struct ridge_attested {
    ridge_channel_witness launch;
    const unsigned char *flags[RIDGE_KERNEL_MAX_TENSORS]; /* RIDGE_CHANNEL_READ … of each byte, inputs first */
} ridge_attested;

/* Of dense operands after the launch. RIDGE_FAILED, with a reason (ridge_why): it is not attested. Changes the inputs. */
ridge_status ridge_attest(const ridge_operands *ops, const ridge_attested *seen);

#endif
