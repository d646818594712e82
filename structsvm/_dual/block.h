/* Scores of a block of new patterns that follow the dual from step to step, in single or double precision.
   columns[p * width + q] is the kernel of support pattern p with pattern q of the block: side by side, as a step
   of p needs them. */
#ifndef STRUCTSVM_BLOCK_H
#define STRUCTSVM_BLOCK_H

#include "structsvm/_dual/vector.h"

#define STRUCTSVM_TILE 16

#define STRUCTSVM_BLOCK(TURNED, WEIGHED, MOVED, TYPE)                                                  \
    /* columns of rows, which are somewhere in memory: a few of them at a time stay in the nearest cache */ \
    static void TURNED(char *columns, char *const *rows, ptrdiff_t width, ptrdiff_t n) {               \
        for (ptrdiff_t p = 0; p < n; p += STRUCTSVM_TILE) {                                            \
            const ptrdiff_t end = p + STRUCTSVM_TILE < n ? p + STRUCTSVM_TILE : n;                     \
            for (ptrdiff_t q = 0; q < width; q++)                                                      \
                for (ptrdiff_t k = p; k < end; k++)                                                    \
                    ((TYPE *)columns)[k * width + q] = ((const TYPE *)rows[q])[k];                     \
        }                                                                                              \
    }                                                                                                  \
    /* sums[c * width + q] += sum over p of beta[p * n_classes + c] columns[p * width + q]; most beta are 0 */ \
    STRUCTSVM_CLONES static void WEIGHED(double *restrict sums, const double *restrict beta, ptrdiff_t n_classes, \
                                         const char *restrict columns, ptrdiff_t width, ptrdiff_t n) { \
        for (ptrdiff_t p = 0; p < n; p++) {                                                            \
            const TYPE *column = (const TYPE *)columns + p * width;                                    \
            for (ptrdiff_t c = 0; c < n_classes; c++) {                                                \
                const double b = beta[p * n_classes + c];                                              \
                if (b != 0)                                                                            \
                    for (ptrdiff_t q = 0; q < width; q++) sums[c * width + q] += b * (double)column[q]; \
            }                                                                                          \
        }                                                                                              \
    }                                                                                                  \
    /* up += a x, down -= a x */                                                                       \
    STRUCTSVM_CLONES static void MOVED(double *restrict up, double *restrict down, double a, const char *restrict x, \
                                       ptrdiff_t n) {                                                  \
        for (ptrdiff_t k = 0; k < n; k++) {                                                            \
            const double change = a * (double)((const TYPE *)x)[k];                                    \
            up[k] += change;                                                                           \
            down[k] -= change;                                                                         \
        }                                                                                              \
    }

STRUCTSVM_BLOCK(turned_single, weighed_single, moved_single, float)
STRUCTSVM_BLOCK(turned_double, weighed_double, moved_double, double)

#endif
