/* Dense single-precision loops; always eight sums, so that every machine rounds alike. */
#ifndef SEMPARSE_FLOATS_H
#define SEMPARSE_FLOATS_H

#include "structsvm/_dual/vector.h"

/* y += a x */
static inline void axpy(float *restrict y, float a, const float *restrict x, ptrdiff_t n) {
    for (ptrdiff_t k = 0; k < n; k++) y[k] += a * x[k];
}

static inline float dot(const float *restrict x, const float *restrict y, ptrdiff_t n) {
    float sums[8] = {0};
    ptrdiff_t k = 0;
    for (; k + 8 <= n; k += 8)
        for (int lane = 0; lane < 8; lane++) sums[lane] += x[k + lane] * y[k + lane];
    for (; k < n; k++) sums[0] += x[k] * y[k];
    return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

/* y += x W, for W of `rows` rows and `columns` columns */
STRUCTSVM_CLONES static void add_product(float *restrict y, const float *restrict x, const float *restrict W,
                                         ptrdiff_t rows, ptrdiff_t columns) {
    for (ptrdiff_t k = 0; k < rows; k++) axpy(y, x[k], W + k * columns, columns);
}

/* x += W y */
STRUCTSVM_CLONES static void add_back_product(float *restrict x, const float *restrict y, const float *restrict W,
                                              ptrdiff_t rows, ptrdiff_t columns) {
    for (ptrdiff_t k = 0; k < rows; k++) x[k] += dot(y, W + k * columns, columns);
}

/* W += a x y' */
STRUCTSVM_CLONES static void add_outer(float *restrict W, float a, const float *restrict x, const float *restrict y,
                                       ptrdiff_t rows, ptrdiff_t columns) {
    for (ptrdiff_t k = 0; k < rows; k++) axpy(W + k * columns, a * x[k], y, columns);
}

#endif
