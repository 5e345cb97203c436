#include "attention/unfused.h"

size_t attention_unfused_scratch(const ridge_case *c, int threads) {
    const int64_t m = c->dim[ATTENTION_M], n = c->dim[ATTENTION_N];
    (void)threads;
    return (size_t)(attention_rows_at_once(m, n) * attention_line(n)) * 6;
}

/* Scores are written once and read once in fp32, P in 16 bits. */
void attention_unfused_traffic(const ridge_case *c, ridge_traffic *traffic) {
    const double heads = (double)c->dim[ATTENTION_BATCH] * (double)c->dim[ATTENTION_HEADS];
    const double scores = heads * (double)c->dim[ATTENTION_M] * (double)attention_line(c->dim[ATTENTION_N]);
    *traffic = (ridge_traffic){.read = attention_bytes_read(c) + 6 * scores,
                               .written = attention_bytes_written(c) + 6 * scores};
}
