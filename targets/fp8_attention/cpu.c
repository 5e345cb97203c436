/* Attention of e4m3 on a CPU: codes become fp32 values, times the scales of heads, then attention's variants run. */
#include "attention/cpu.h"
#include "attention/cpu_lines.h"
#include "attention/fp8.h"
#include "cpu/row.h"
#include "quantize/fp8_block.h"

RIDGE_CPU_DECLARE(fp8_attention_cpu_baseline);
RIDGE_CPU_DECLARE(fp8_attention_cpu_optimized);

/* A tensor of heads, its scales, and its values: [rows, batch, heads, columns], one behind the other. */
typedef struct codes {
    const DLTensor *t, *scale;
    DLTensor values;
} codes;

/* Strides are of elements, whatever these are. */
static const unsigned char *codes_at(const lines *l, int64_t row, int64_t batch, int64_t head) {
    return (const unsigned char *)l->base + row * l->row + batch * l->batch + head * l->head;
}

static void decode_rows(const codes *c, int64_t begin, int64_t end) {
    const int64_t batches = c->t->shape[1], heads = c->t->shape[2], columns = c->t->shape[3];
    const lines all = lines_of(c->t);
    float *to = (float *)c->values.data + begin * batches * heads * columns;
    for (int64_t i = begin; i < end; i++)
        for (int64_t batch = 0; batch < batches; batch++)
            for (int64_t head = 0; head < heads; head++, to += columns) {
                const unsigned char *from = codes_at(&all, i, batch, head);
                const float scale = ((const float *)ridge_data(c->scale))[batch * ridge_row_stride(c->scale) + head];
                fp8_values(from, columns, scale, to);
            }
}

static void decode_share(void *arg, int rank, int size) {
    const codes *all = arg;
    for (int i = 0; i < 3; i++) {
        int64_t begin, end;
        ridge_share(all[i].t->shape[0], 1, rank, size, &begin, &end);
        decode_rows(&all[i], begin, end);
    }
}

/* The call of attention of these values, behind which its scratch is. */
static ridge_status with_values(const ridge_call *call, ridge_status (*run)(const ridge_call *)) {
    float *room = call->scratch;
    DLTensor in[ATTENTION_INPUTS];
    codes all[3];
    for (int i = 0; i < ATTENTION_INPUTS; i++) in[i] = call->in[i];
    for (int i = 0; i < 3; i++) {
        const DLTensor *t = &call->in[i];
        all[i] = (codes){.t = t, .scale = &call->in[ATTENTION_IN_Q_SCALE + i], .values = *t};
        all[i].values.data = room, all[i].values.byte_offset = 0, all[i].values.strides = NULL;
        in[i] = all[i].values;
        room += t->shape[0] * t->shape[1] * t->shape[2] * t->shape[3];
    }
    ridge_team_run(call->team, decode_share, all);
    ridge_call of_values = *call;
    of_values.in = in;
    of_values.scratch = (float *)call->scratch + attention_unpacked_elements(call->dim);
    return run(&of_values);
}

ridge_status RIDGE_ISA_FN(fp8_attention_cpu_baseline)(const ridge_call *call) {
    return with_values(call, RIDGE_ISA_FN(attention_cpu_baseline));
}
ridge_status RIDGE_ISA_FN(fp8_attention_cpu_optimized)(const ridge_call *call) {
    return with_values(call, RIDGE_ISA_FN(attention_cpu_optimized));
}
