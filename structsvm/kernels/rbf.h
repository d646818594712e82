/* The RBF kernel of a block of patterns, from inner products: one pass, in single precision. */
#ifndef STRUCTSVM_RBF_H
#define STRUCTSVM_RBF_H

#include <stdint.h>
#include <string.h>

#include "structsvm/_dual/vector.h"

/* exp(x) for x <= 0, within 3e-7 of its value; below -87, where the smallest normal numbers are, it is 0.

   x = n ln 2 + r with |r| <= ln 2 / 2; exp(r) = 1 + r + r^2 g(r), and g is a polynomial through its values at
   the Chebyshev points, which leaves an error of 1e-8. Plain operations only, so that a compiler can do many at
   once and every machine rounds alike. */
static inline float exp_negative(float x) {
    const float shift = 12582912.0f;            /* 1.5 * 2^23: to add it rounds, and leaves n in the last bits */
    const float shifted = x * 1.44269504f + shift;
    const float n = shifted - shift;
    const float r = x - n * 0.693359375f + n * 2.12194440e-4f;      /* ln 2 in two parts: n times the first is exact */
    float g = 0.001392625f;
    uint32_t bits;
    float scale, value;
    g = g * r + 0.00836323295f;
    g = g * r + 0.0416665524f;
    g = g * r + 0.166665763f;
    g = g * r + 0.5f;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits << 23) + 0x3f800000u;          /* 2^n: what lies above the last bits of n is shifted out */
    memcpy(&scale, &bits, sizeof scale);
    value = (1.0f + (r + r * r * g)) * scale;
    return x < -87.0f ? 0.0f : value;
}

/* values[k] = exp(-gamma (norm + norms[k] - 2 values[k])); 0 if one of them is no number. */
STRUCTSVM_CLONES static int rbf_row(float *restrict values, float norm, const float *restrict norms, float gamma,
                                    ptrdiff_t n) {
    int wrong = 0;
    for (ptrdiff_t k = 0; k < n; k++) {
        const float x = (2.0f * values[k] - norm - norms[k]) * gamma;
        wrong |= !(x < 3e38f);
        values[k] = exp_negative(x > 0.0f ? 0.0f : x);  /* rounding may leave a tiny negative distance */
    }
    return !wrong;
}

#endif
