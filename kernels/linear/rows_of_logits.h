/* Which rows of logits are read once, of C and CUDA: see rows_of_logits.cuh. */
#ifndef RIDGE_LINEAR_ROWS_OF_LOGITS_H
#define RIDGE_LINEAR_ROWS_OF_LOGITS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    LOGITS_OF_BLOCK = 8192,          /* classes that a block keeps, at most */
    LOGITS_OF_SMALL_CLUSTER = 16384, /* up to which clusters have all rows */
    LOGITS_OF_CLUSTER = 1 << 18      /* that 16 blocks keep */
};

/* Whether clusters have rows that no block keeps. Of many long rows others are read while one waits for its exchange: an H200
 * takes 139 us for 2048 rows of 32000 that are read again, and 171 by clusters; for one row of 131072 16 and 3. */
static inline bool logits_are_clustered(int64_t rows, int64_t classes, bool writes, int sm, int sm_count) {
    return sm >= 90 && classes <= LOGITS_OF_CLUSTER &&
           (rows <= 4 * (int64_t)sm_count || (writes && classes <= LOGITS_OF_SMALL_CLUSTER));
}
/* Whether a row whose results are wanted is read again for them. */
static inline bool logits_are_read_again(int64_t rows, int64_t classes, int sm, int sm_count) {
    return classes > LOGITS_OF_BLOCK && !logits_are_clustered(rows, classes, true, sm, sm_count);
}

#endif
