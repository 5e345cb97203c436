/* The rows of a call, and the cases that an operation's `finish` distinguishes. */
#ifndef RIDGE_KERNELS_CUDA_ROWS_TENSORS_CUH
#define RIDGE_KERNELS_CUDA_ROWS_TENSORS_CUH

#include "cuda/host/launch.cuh"
#include "cuda/rows/row.cuh"

extern "C" {
#include "cuda/rows/ways.h"
}

namespace ridge {

/* x and y. `packs`: whether all rows of them can be moved in packs, but for their ends; `whole`: whether they have no
 * ends. */
template <typename T, typename U>
struct row_tensors {
    using in = T;
    using out = U;
    static constexpr bool joins = false, stores = false; /* two operands make the row, which is stored */
    static constexpr bool fills = false;                 /* columns behind the end of some rows */
    static constexpr bool shifted = false;               /* see row_shifted */
    static constexpr int reads = 1, writes = 1;          /* matrices */
    const T *x;
    U *y;
    int64_t rows, n, x_stride, y_stride;

    __device__ const T *read(int) const { return x; }
    __device__ U *written(int) const { return y; }
    /* Rows without gaps that lie at memory[0] instead, x and y in one place. */
    __device__ row_tensors within(T *const *memory) const { return {memory[0], memory[0], rows, n, n, n}; }

    /* Whether every matrix is one piece of memory, and all lie alike. */
    bool piece(void) const { return sizeof(T) == sizeof(U) && packs() && x_stride == n && y_stride == n; }
    bool packs(void) const {
        return row_lies_alike((uintptr_t)x, (uintptr_t)y, x_stride * (int64_t)sizeof(T), y_stride * (int64_t)sizeof(U),
                              sizeof(T) == sizeof(U));
    }
    bool whole(void) const {
        const uintptr_t lines = (uintptr_t)(x_stride * (int64_t)sizeof(T)) | (uintptr_t)(y_stride * (int64_t)sizeof(U));
        return n % pack_width<T> == 0 && ((uintptr_t)x | (uintptr_t)y | lines) % ROW_PACK_BYTES == 0;
    }
    template <int Width, typename Index, bool Ends = (Width > 1)>
    __device__ row_span<T, U, Width, Index, Ends> at(int64_t row, bool exists) const {
        using span = row_span<T, U, Width, Index, Ends>;
        return exists ? span(x + row * x_stride, y + row * y_stride, (Index)n) : span(x, y, 0);
    }
};

/* x, an operand beside it, and y: see row_joined_span. */
template <class Join, typename T>
struct row_joined : row_tensors<T, T> {
    static constexpr bool joins = true, stores = Join::stores;
    static constexpr int reads = 2, writes = stores ? 2 : 1;
    typename Join::tensors other;
    Join join;

    __device__ const T *read(int k) const { return k == 0 ? this->x : other.beside(); }
    __device__ T *written(int k) const { return k == 0 ? this->y : other.stored(); }
    /* What is stored takes the operand's place. */
    __device__ row_joined within(T *const *memory) const {
        return {row_tensors<T, T>::within(memory), other.within(memory[1], this->n), join};
    }

    bool packs(void) const {
        return row_tensors<T, T>::packs() && other.lies_as(this->x, this->x_stride * (int64_t)sizeof(T));
    }
    bool whole(void) const { return row_tensors<T, T>::whole() && packs(); }
    template <int Width, typename Index, bool Ends = (Width > 1)>
    __device__ auto at(int64_t row, bool exists) const {
        using span = row_joined_span<Join, T, T, Width, Index, Ends>;
        const int64_t i = exists ? row : 0;
        return span(this->x + i * this->x_stride, this->y + i * this->y_stride, exists ? (Index)this->n : 0, join,
                    other.at(i));
    }
};

/* The same where operands lie differently from y: see row_shifted_span. */
template <class Io>
struct row_shifted : Io {
    static constexpr bool shifted = true;

    template <int Width, typename Index, bool Ends = true>
    __device__ auto at(int64_t row, bool exists) const {
        const auto one = Io::template at<1, Index, false>(row, exists);
        return row_shifted_span<std::remove_const_t<decltype(one)>, Width>(one);
    }
};

/* x and y of a call. */
template <typename T>
row_tensors<T, T> row_tensors_of(const ridge_call *call) {
    return {(const T *)ridge_data(&call->in[0]), (T *)ridge_data(&call->out[0]), call->dim[0], call->dim[1],
            ridge_row_stride(&call->in[0]),      ridge_row_stride(&call->out[0])};
}

/* Parameters: as they come; aligned; aligned and in shared memory. Rows: USUAL need no rescue. */
enum { ROW_GENERAL, ROW_USUAL, ROW_SHARED_GENERAL, ROW_SHARED_USUAL };
constexpr bool row_is_usual(int how) { return how == ROW_USUAL || how == ROW_SHARED_USUAL; }
constexpr bool row_is_shared(int how) { return how == ROW_SHARED_GENERAL || how == ROW_SHARED_USUAL; }

}  // namespace ridge

#endif
