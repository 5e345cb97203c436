/* Which rows of logits a cluster of blocks processes, for the plans (C) and the launch (CUDA): see rows_of_logits.cuh. */
#ifndef RIDGE_LINEAR_ROWS_OF_LOGITS_H
#define RIDGE_LINEAR_ROWS_OF_LOGITS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    LOGITS_OF_BLOCK = 8192,          /* maximum classes of a row in one block's registers */
    LOGITS_OF_SMALL_CLUSTER = 16384, /* maximum classes for which clusters process any number of rows */
    LOGITS_OF_CLUSTER = 1 << 18      /* maximum classes in the registers of 16 blocks */
};

/* Whether a cluster processes each row longer than LOGITS_OF_BLOCK; otherwise one block reads it twice. Two reads hide the exchange
 * when there are many rows: 2048 rows of 32000 take 139 us twice and 171 by clusters on an H200, one row of 131072 takes 16 and 3. */
static inline bool logits_are_clustered(int64_t rows, int64_t classes, bool writes, int sm, int sm_count) {
    return sm >= 90 && classes <= LOGITS_OF_CLUSTER &&
           (rows <= 4 * (int64_t)sm_count || (writes && classes <= LOGITS_OF_SMALL_CLUSTER));
}
/* Whether a row is read a second time for its results. */
static inline bool logits_are_read_again(int64_t rows, int64_t classes, int sm, int sm_count) {
    return classes > LOGITS_OF_BLOCK && !logits_are_clustered(rows, classes, true, sm, sm_count);
}

#endif
