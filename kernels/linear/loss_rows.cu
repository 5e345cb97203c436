#include "linear/loss_rows.cuh"

#include "cuda/linear/loss_passes.cuh"
#include "linear/rows_of_logits.cuh"

namespace ridge {

template <typename G>
struct losses_of_logits_op : loss_of_logits {
    using bias_type = float;
    using out = G;
    bool wide;
    static constexpr int elements = 16;

    struct facts {
        int label;
        float dloss, lse, at_label;
        row_gradient row;
    };
    struct gradients {
        float coef, off, hit;
        int label; /* -1: the row does not count */
        template <int Fours, class Row>
        __device__ void operator()(float (&v)[Fours][4], const Row &row, int begin) const {
            const int at_label = row.place_of(begin, label);
            each_logit(v, [&](float &e, int place) {
                e = label < 0 ? 0.0f : fmaf(coef, e, -off);
                if (place == at_label) e -= hit;
            });
        }
    };

    __host__ __device__ int64_t count(void) const { return rows; }
    template <class Row>
    __device__ Row row_of(int64_t i, int thread) const {
        return {z + i * line, bias, (G *)gradient + i * line, classes, thread, wide};
    }
    __device__ bool idle(void) const { return only_if && *only_if == 0; }
    __device__ facts ahead(int64_t i, bool exists) const {
        facts f = {-1, 0.0f, 0.0f, 0.0f, {}};
        if (rows_known) {
            f.row = row[i];
            return f;
        }
        f.label = labels[i];
        if (dloss) f.dloss = dloss[i];
        if (lse_in) f.lse = lse_in[i];
        if (loss && exists && loss_counts(f.label, classes, options.ignore_index))
            f.at_label = z[i * line + f.label] + bias[f.label];
        return f;
    }
    __device__ bool known(void) const { return rows_known || lse_in; }
    __device__ logit_statistics given(const facts &f) const {
        return {rows_known ? f.row.log_sum * ln_2 : f.lse, 1.0f, 0.0f};
    }
    __device__ bool totals(void) const { return loss && options.smoothing != 0.0f; }
    __device__ gradients finish(int64_t i, const facts &f, const logit_statistics &s, bool leads) const {
        if (rows_known) return {f.row.coef, f.row.off, f.row.hit, f.row.label};
        const float lse_of = s.sum > 0.0f ? s.largest + logf(s.sum) : NAN;
        if (leads && !known()) publish(i, f, lse_of, s.total);
        if (!dloss) return {};
        const row_gradient r = gradient_of_row(lse_of * log2_e, f.dloss, f.label, classes, options);
        if (leads && row) row[i] = r;
        if (range) widen_range(range, leads ? gradient_bound(r) : 0.0f);
        return {r.coef / s.sum, r.off, r.hit, r.label};
    }
    __device__ void publish(int64_t i, const facts &f, float lse_of, float total) const {
        if (lse) lse[i] = lse_of;
        if (!loss) return;
        float l = 0.0f;
        if (loss_counts(f.label, classes, options.ignore_index)) {
            l = (1.0f - options.smoothing) * (lse_of - f.at_label);
            if (options.smoothing != 0.0f) l += options.smoothing * (lse_of - total / (float)classes);
            if (options.z_loss != 0.0f) l += options.z_loss * lse_of * lse_of;
        }
        loss[i] = l;
    }
    __host__ __device__ bool writes(void) const { return gradient; }
};

template <typename G>
static ridge_status loss_rows_as(const loss_of_logits &l, cudaStream_t stream) {
    const uintptr_t at = (uintptr_t)l.z | (uintptr_t)l.bias;
    const bool wide =
        l.line % 4 == 0 && l.classes % 4 == 0 && at % 16 == 0 && (uintptr_t)l.gradient % (4 * sizeof(G)) == 0;
    return rows_of_logits_run(losses_of_logits_op<G>{l, wide}, l.classes, stream);
}

ridge_status linear_loss_rows(const loss_of_logits &l, ridge_dtype dtype, cudaStream_t stream) {
    if (l.rows == 0) return RIDGE_OK;
    return with_storage(ridge_dtype_stored(dtype), [&]<typename G>() { return loss_rows_as<G>(l, stream); });
}

}  // namespace ridge
