/* What verification knows of a data type beside its name and size. A new type is a line of RIDGE_DTYPE_LIST and an entry
 * in tensor.c's table. */
#ifndef RIDGE_CORE_DTYPE_H
#define RIDGE_CORE_DTYPE_H

#include <stdbool.h>

#include "ridge/tensor.h"

typedef struct ridge_dtype_traits {
    uint8_t code;        /* DLPack's */
    uint64_t exponent;   /* an element with all of these bits set is not finite; 0: all elements are finite */
    uint64_t poison;     /* an output that was not written: a value that no arithmetic produces. e2m1 has none. */
    uint64_t guard;      /* a guard beside a tensor: a NaN or a value outside any index range, … */
    uint64_t guard_free; /* … of which these bits are random */
    double least;        /* smallest subnormal number; 0: integers */
    double most;         /* largest finite value */
    bool overflows;      /* what rounds beyond it is stored as infinity; false: as the largest finite value */
    bool is_signed;      /* types of at most 8 bits, like the next three */
    bool has_infinity;
    int exponent_bits, fraction_bits;
} ridge_dtype_traits;

/* All zero for an unknown type. */
const ridge_dtype_traits *ridge_dtype_traits_of(ridge_dtype dtype);

/* e2m1 lies in pairs: elements are not addressable, and rows begin with whole bytes. */
static inline bool ridge_dtype_is_packed(ridge_dtype dtype) { return dtype == RIDGE_E2M1; }

/* Types of places, of which a value that no fill makes may be out of bounds. */
static inline bool ridge_dtype_is_index(ridge_dtype dtype) { return dtype == RIDGE_I32 || dtype == RIDGE_I64; }

/* An output of packed elements is poisoned with these bytes: address a holds byte a % 8. All of the sixteen codes are in
 * them, so that no eight aligned bytes of a result are alike but by chance. */
#define RIDGE_PACKED_POISON UINT64_C(0x9ce1f0537b2ad846)

#endif
