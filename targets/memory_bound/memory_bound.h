/* The constants of y = clamp(a x + b, -1, 1) + z: exact in every storage type. */
#ifndef RIDGE_TARGETS_MEMORY_BOUND_H
#define RIDGE_TARGETS_MEMORY_BOUND_H

#define MEMORY_BOUND_A 1.5f
#define MEMORY_BOUND_B 0.25f

#endif
