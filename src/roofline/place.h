/* Placement of a measured time on the roofline. What it results in is in ridge/bench.h. */
#ifndef RIDGE_ROOFLINE_PLACE_H
#define RIDGE_ROOFLINE_PLACE_H

#include "machine/ceilings/ceilings.h"
#include "ridge/bench.h"

/* Places a time. The bandwidth ceiling follows from bytes_read and bytes_written: paired bytes use the faster of `copy`
 * and `stream`, the excess uses `read` or `write`. hot: the cache level that holds the working set, instead of DRAM.
 * dtype: type of the arithmetic, "fp32". If time_us <= 0 (not measured), gflops, gbps and pct_measured are 0. No field
 * is NaN; intensity is infinite for work that moves no bytes. */
void ridge_place(const ridge_work *work, double time_us, const ridge_ceilings *ceilings, bool hot, const char *dtype,
                 ridge_placement *placement);

/* The same for emulated products: each multiplication takes `products` multiplications of `dtype`. The compute ceiling
 * is the peak / `products`; `binding` names it "fp16 wgmma x3". */
void ridge_place_products(const ridge_work *work, double time_us, const ridge_ceilings *ceilings, bool hot,
                          const char *dtype, int products, ridge_placement *placement);

/* Minimum time at the best rate measured at that level (read, copy, stream or write); used for `impossible`. */
double ridge_floor_us(const ridge_work *work, const ridge_ceilings *ceilings, bool hot, const char *dtype);

#endif
