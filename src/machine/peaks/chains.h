/* Lists of accumulators for peak_loop.h. */
#ifndef RIDGE_MACHINE_PEAKS_CHAINS_H
#define RIDGE_MACHINE_PEAKS_CHAINS_H

#define PEAK_0_TO_5(S) S(0) S(1) S(2) S(3) S(4) S(5)
#define PEAK_0_TO_11(S) PEAK_0_TO_5(S) S(6) S(7) S(8) S(9) S(10) S(11)
#define PEAK_0_TO_15(S) PEAK_0_TO_11(S) S(12) S(13) S(14) S(15)
#define PEAK_0_TO_19(S) PEAK_0_TO_15(S) S(16) S(17) S(18) S(19)

#endif
