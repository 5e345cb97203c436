/* Softmax, loss and gradient of logits in memory, the output of a library's product. Vectors run along a row; each row
 * is visited once.
 */
#include "cpu/linear_ce_library.h"

#include <math.h>
#include <string.h>

#include "cpu/vec_math.h"

/* Below this many logits one thread is faster than two. */
enum { ALONE = 16384 };

typedef struct work {
    const linear_ce *job;
    float *z; /* [rows][classes] */
} work;

/* z += b. Returns the maximum and, if requested, the sum. */
static float add_bias(const linear_ce *job, float *z, float *z_sum) {
    const int64_t n = job->classes, whole = n / VF_LANES * VF_LANES;
    vf m = vf_set1(-INFINITY), s = vf_zero();
    float max, sum = 0;
    for (int64_t j = 0; j < whole; j += VF_LANES) {
        const vf v = vf_add(vf_load(z + j), vf_load(job->b + j));
        vf_store(z + j, v);
        m = vf_max(m, v);
        s = vf_add(s, v);
    }
    max = vf_hmax(m);
    for (int64_t j = whole; j < n; j++) {
        z[j] += job->b[j];
        max = z[j] > max ? z[j] : max;
        sum += z[j];
    }
    *z_sum = sum + vf_sum(s);
    return max;
}

/* Terms per partial sum. Partial sums limit the growth of rounding errors when many terms are alike. */
enum { TOGETHER = 64 };

/* z = exp(z - by). Returns the sum. */
static float exponentials(float *z, int64_t n, float by, bool keep) {
    const int64_t whole = n / VF_LANES * VF_LANES;
    const vf shift = vf_set1(by);
    vf all = vf_zero();
    for (int64_t j = 0; j < whole;) {
        vf sum = vf_zero();
        for (const int64_t end = j + TOGETHER * VF_LANES; j < whole && j < end; j += VF_LANES) {
            const vf e = vf_exp(vf_sub(vf_load(z + j), shift));
            sum = vf_add(sum, e);
            if (keep) vf_store(z + j, e);
        }
        all = vf_add(all, sum);
    }
    float total = vf_sum(all);
    if (whole < n) {
        float part[VF_LANES];
        vf_store(part, vf_exp(vf_sub(vf_load_n(z + whole, (int)(n - whole)), shift)));
        for (int64_t j = whole; j < n; j++) total += part[j - whole];
        if (keep) memcpy(z + whole, part, sizeof(float) * (size_t)(n - whole));
    }
    return total;
}

/* z = up (factor z - off) */
static void scale(float *z, int64_t n, float up, float factor, float off) {
    const int64_t whole = n / VF_LANES * VF_LANES;
    const vf f = vf_set1(factor), o = vf_set1(off), u = vf_set1(up);
    for (int64_t j = 0; j < whole; j += VF_LANES) vf_store(z + j, vf_mul(u, vf_sub(vf_mul(f, vf_load(z + j)), o)));
    for (int64_t j = whole; j < n; j++) z[j] = up * (factor * z[j] - off);
}

static void row_fn(const linear_ce *job, int64_t i, float *z) {
    float z_sum;
    const bool counts = linear_ce_counts(job, i);
    const int32_t own = linear_ce_label(job->labels, i);
    const float max = add_bias(job, z, &z_sum), label = counts ? z[own] : 0;
    const float by = job->lse_in ? job->lse_in[i] : max, sum = exponentials(z, job->classes, by, job->dx != NULL);
    const float lse = job->lse_in ? job->lse_in[i] : sum > 0 ? max + logf(sum) : NAN;
    if (job->loss) {
        job->lse[i] = lse;
        job->loss[i] = linear_ce_loss(job, i, lse, label, z_sum);
    }
    if (!job->dx) return;
    if (!counts) {
        memset(z, 0, sizeof *z * (size_t)job->classes);
        return;
    }
    const linear_ce_factors f = linear_ce_of_row(job, i, lse);
    const float p = job->lse_in ? f.p : f.p / sum;
    const float at_label = f.up * (p * z[own] - f.every - (1 - job->smoothing));
    scale(z, job->classes, f.up, p, f.every);
    z[own] = at_label;
}

void RIDGE_ISA_FN(linear_ce_rows)(const linear_ce *job, int64_t row, int64_t n, float *z) {
    for (int64_t i = 0; i < n; i++) row_fn(job, row + i, z + i * job->classes);
}

static void rows_fn(void *arg, int rank, int size) {
    const work *w = arg;
    int64_t begin, end;
    ridge_share(w->job->rows, 1, rank, size, &begin, &end);
    RIDGE_ISA_FN(linear_ce_rows)(w->job, begin, end - begin, w->z + begin * w->job->classes);
}

static void classes_fn(void *arg, int rank, int size) {
    const work *w = arg;
    const linear_ce *job = w->job;
    int64_t begin, end;
    ridge_share(job->classes, 16, rank, size, &begin, &end);
    if (begin == end) return;
    memset(job->db + begin, 0, sizeof(float) * (size_t)(end - begin));
    for (int64_t i = 0; i < job->rows; i++)
        for (int64_t j = begin; j < end; j++) job->db[j] += w->z[i * job->classes + j];
}

static void on_all(const work *w, const linear_ce_library *library, ridge_team_fn body) {
    void *arg = (void *)(uintptr_t)w;
    if (w->job->rows * w->job->classes < ALONE)
        body(arg, 0, 1);
    else if (library->parallel)
        library->parallel(body, arg);
    else
        ridge_team_run(w->job->team, body, arg);
}

/* dx = G w and dw = G^T x, w and dw row-major or column-major. */
static ridge_status products(const linear_ce *job, const linear_ce_library *l, const float *g) {
    const bool w_turned = job->w_depth != 1, dw_turned = job->dw_depth != 1;
    RIDGE_TRY(l->product(false, w_turned, job->rows, job->depth, job->classes, g, job->classes, job->w,
                         w_turned ? job->w_depth : job->w_class, job->dx, job->dx_row));
    if (dw_turned)
        return l->product(true, false, job->depth, job->classes, job->rows, job->x, job->x_row, g, job->classes,
                          job->dw, job->dw_depth);
    return l->product(true, false, job->classes, job->depth, job->rows, g, job->classes, job->x, job->x_row, job->dw,
                      job->dw_class);
}

ridge_status RIDGE_ISA_FN(linear_ce_unfused)(const linear_ce *job, const linear_ce_library *library) {
    const work w = {job, job->scratch};
    const bool turned = job->w_depth != 1; /* [depth][classes] */
    if (job->rows > 0) {
        RIDGE_TRY(library->product(false, !turned, job->rows, job->classes, job->depth, job->x, job->x_row, job->w,
                                   turned ? job->w_depth : job->w_class, w.z, job->classes));
        on_all(&w, library, rows_fn);
    }
    if (!job->dx) return RIDGE_OK;
    on_all(&w, library, classes_fn);
    if (job->rows > 0) return products(job, library, w.z);
    linear_ce_clear_gradients(job);
    return RIDGE_OK;
}
