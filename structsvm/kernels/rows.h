/* Passes over a row of kernel values, in single or double precision; sums of fixed lanes, so that every machine
   rounds alike. */
#ifndef STRUCTSVM_ROWS_H
#define STRUCTSVM_ROWS_H

#include "structsvm/_dual/vector.h"

#define STRUCTSVM_LANES 8

#define STRUCTSVM_DOT(NAME, TYPE)                                                                     \
    STRUCTSVM_CLONES static double NAME(const TYPE *restrict row, const double *restrict x, ptrdiff_t n) { \
        double sums[STRUCTSVM_LANES] = {0};                                                           \
        ptrdiff_t k = 0;                                                                              \
        for (; k + STRUCTSVM_LANES <= n; k += STRUCTSVM_LANES)                                        \
            for (int lane = 0; lane < STRUCTSVM_LANES; lane++)                                        \
                sums[lane] += (double)row[k + lane] * x[k + lane];                                    \
        for (; k < n; k++) sums[0] += (double)row[k] * x[k];                                          \
        double total = 0;                                                                             \
        for (int lane = 0; lane < STRUCTSVM_LANES; lane++) total += sums[lane];                       \
        return total;                                                                                 \
    }

STRUCTSVM_DOT(dot_single, float)
STRUCTSVM_DOT(dot_double, double)

/* row[k] = whole[source[k]] */
#define STRUCTSVM_GATHER(NAME, TYPE)                                                                           \
    static void NAME(char *restrict row, const char *restrict whole, const ptrdiff_t *restrict source, ptrdiff_t n) { \
        for (ptrdiff_t k = 0; k < n; k++) ((TYPE *)row)[k] = ((const TYPE *)whole)[source[k]];                 \
    }

STRUCTSVM_GATHER(gather_single, float)
STRUCTSVM_GATHER(gather_double, double)

#define STRUCTSVM_ROWS(FILLED, REPLACED, TYPE)                                                        \
    /* row[q] = rows[q][p] for q from `from` on */                                                    \
    static void FILLED(char *row, char *const *rows, ptrdiff_t p, ptrdiff_t from, ptrdiff_t n) {      \
        for (ptrdiff_t q = from; q < n; q++) ((TYPE *)row)[q] = ((const TYPE *)rows[q])[p];           \
    }                                                                                                 \
    /* k(q, last) in place of k(q, p), in all rows that are that long; row `last` has it too, if there is one */ \
    static void REPLACED(char *const *rows, const ptrdiff_t *filled, ptrdiff_t p, ptrdiff_t last) {   \
        const TYPE *moved = (const TYPE *)rows[last];                                                 \
        for (ptrdiff_t q = 0; q <= last; q++)                                                         \
            if (rows[q] && filled[q] > p)                                                             \
                ((TYPE *)rows[q])[p] = moved ? moved[q] : ((const TYPE *)rows[q])[last];              \
    }

STRUCTSVM_ROWS(filled_single, replaced_single, float)
STRUCTSVM_ROWS(filled_double, replaced_double, double)

#endif
