/* What the emulated device, an H200, can hold; as an sm_100a it has the same limits. */
#ifndef EMULATOR_RUNTIME_LIMITS_H
#define EMULATOR_RUNTIME_LIMITS_H

enum {
    EMU_MAX_THREADS = 1024, /* a block */
    EMU_SM_THREADS = 2048,
    EMU_SM_BLOCKS = 32,
    EMU_BLOCK_SHARED = 48 * 1024, /* without opt-in */
    EMU_OPTIN_SHARED = 227 * 1024,
    EMU_SM_SHARED = 228 * 1024,
    EMU_RESERVED_SHARED = 1024, /* a block */
    EMU_PORTABLE_CLUSTER = 8,
    EMU_MAX_CLUSTER = 16,
    EMU_MAX_PARAMETER_BYTES = 32764,
    EMU_L2_BYTES = 60 * 1024 * 1024,
};
#endif
