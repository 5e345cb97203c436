#include "linear/softmax_rows.cuh"

#include "linear/rows_of_logits.cuh"

namespace ridge {

template <typename T>
struct softmax_of_logits : logit_rows {
    using bias_type = T;
    using out = T;
    bool wide;
    static constexpr int elements = 4;

    struct nothing {};
    struct scaled {
        float by;
        template <int Fours, class Row>
        __device__ void operator()(float (&v)[Fours][4], const Row &, int) const {
            each_logit(v, [&](float &e) { e *= by; });
        }
    };

    __host__ __device__ int64_t count(void) const { return rows * heads; }
    template <class Row>
    __device__ Row row_of(int64_t i, int thread) const {
        const int64_t of_x = heads == 1 ? i : i <= INT32_MAX ? (unsigned)i / (unsigned)heads : i / heads;
        const int64_t head = i - of_x * heads;
        return {z + of_x * z_line + head * z_head,
                bias ? (const T *)bias + head * bias_head : nullptr,
                (T *)p + of_x * p_line + head * p_head,
                (int)classes,
                thread,
                wide};
    }
    __device__ bool idle(void) const { return false; }
    __device__ nothing ahead(int64_t, bool) const { return {}; }
    __device__ bool known(void) const { return false; }
    __device__ logit_statistics given(nothing) const { return {}; }
    __device__ bool totals(void) const { return false; }
    __device__ scaled finish(int64_t, nothing, const logit_statistics &s, bool) const { return {1.0f / s.sum}; }
    __host__ __device__ bool writes(void) const { return true; }
};

/* A row's pieces are whole fours where all that they are of lies so. */
template <typename T>
static ridge_status softmax_rows_as(const logit_rows &r, cudaStream_t stream) {
    softmax_of_logits<T> all = {r, false};
    const int64_t fours = r.z_line | r.z_head | r.p_line | r.p_head | (r.bias ? r.bias_head : 0);
    const uintptr_t of_type = (uintptr_t)r.p | (uintptr_t)r.bias;
    all.wide = fours % 4 == 0 && r.classes % 4 == 0 && (uintptr_t)r.z % 16 == 0 && of_type % (4 * sizeof(T)) == 0;
    return rows_of_logits_run(all, r.classes, stream);
}

ridge_status linear_softmax_rows_of(const logit_rows &r, ridge_dtype dtype, cudaStream_t stream) {
    if (r.rows == 0 || r.heads == 0) return RIDGE_OK;
    return with_storage(ridge_dtype_stored(dtype), [&]<typename T>() { return softmax_rows_as<T>(r, stream); });
}

}  // namespace ridge
